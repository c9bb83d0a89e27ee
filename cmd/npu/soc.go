package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

type socOptions struct {
	*app
	json bool
}

func newSocCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "soc",
		Short: "Show the chips that can be simulated, and how far their times can be trusted",
		Example: `  npu soc list
  npu soc show 910B3
  npu soc check kernel_details.csv`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSocListCmd(a), newSocShowCmd(a), newSocFitCmd(a), newSocCheckCmd(a))
	return c
}

func newSocListCmd(a *app) *cobra.Command {
	o := &socOptions{app: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the chips with their main figures",
		Example: `  npu soc list
  npu soc list --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runSocList(o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON, with all figures")
	return c
}

func newSocShowCmd(a *app) *cobra.Command {
	o := &socOptions{app: a}
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show everything that is known of one chip",
		Long: `Shows cores, clocks, memories, rates, runtime limits and links of one chip, and says which figures are assumed.
Upper and lower case are the same, "Ascend" in front may be left out. Mind that Ascend910B is a part of the first 910
generation; the 910B series is 910B1 to 910B4.`,
		Example: `  npu soc show 910B3
  npu soc show Ascend310P3 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSoc,
		RunE:              func(_ *cobra.Command, args []string) error { return runSocShow(o, args[0]) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func completeSoc(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, c := range soc.All() {
			names = append(names, c.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runSocList(o *socOptions) error {
	all := soc.All()
	if o.json {
		list := make([]map[string]any, len(all))
		for i, c := range all {
			list[i] = socJSON(c)
		}
		return o.printJSON(list)
	}
	header := "name\tfamily\tai_cores\tvector_cores\tai_cpus\tcube_mhz\tmemory\tl2\tcube_tflops\tmemory_gb_s"
	return o.table(header, func(row func(...any)) {
		for _, c := range all {
			row(c.Name, c.Short, c.AICores, c.VectorCores, c.AICPUs, c.CubeMHz, o.socBytes(c.MemoryBytes), o.socBytes(c.L2Bytes),
				fmt.Sprintf("%.1f", c.CubeTFLOPS(tensor.Float16)), fmt.Sprintf("%.0f", c.MemoryGBs()))
		}
	})
}

func runSocShow(o *socOptions, name string) error {
	c, err := soc.Lookup(name)
	if err != nil {
		return err
	}
	if o.json {
		return o.printJSON(socJSON(c))
	}
	return o.table("figure\tvalue\tnote", func(row func(...any)) {
		for _, f := range c.Figures() {
			v := f.Value
			if v == nil {
				v = "unknown"
			}
			if x, ok := v.(float64); ok {
				v = strconv.FormatFloat(x, 'f', -1, 64)
			}
			row(f.Key, v, f.Note)
		}
	})
}

// socJSON gives each figure under its name; unknown ones are null with KEY_reason, remarks on others are KEY_note.
func socJSON(c *soc.Chip) map[string]any {
	m := make(map[string]any)
	for _, f := range c.Figures() {
		m[f.Key] = f.Value
		switch {
		case f.Value == nil:
			m[f.Key+"_reason"] = f.Note
		case f.Note != "":
			m[f.Key+"_note"] = f.Note
		}
	}
	return m
}

// socBytes is a size for people on a terminal, in bytes for programs.
func (o *socOptions) socBytes(n int64) string {
	switch {
	case !o.outTTY:
		return strconv.FormatInt(n, 10)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
