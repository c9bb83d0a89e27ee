package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"npu/internal/outfile"
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/fit"
)

type socFitOptions struct {
	*app
	files    []string
	soc      string
	out, doc string
	json     bool
}

func newSocFitCmd(a *app) *cobra.Command {
	o := &socFitOptions{app: a}
	c := &cobra.Command{
		Use:   "fit [NAME=]FILE...",
		Short: "Find the constants of simulated times from measured kernels",
		Long: `Finds the constants of the cost model, by kind of core, class, operator type and chip, from kernel_details.csv or
op_summary.csv files, and shows how well they foretell kernels that they have not seen: each shape left out in turn,
and each file by the others. The chip is the NAME before the file, else that of --soc, else told from core numbers,
clock and bandwidth.`,
		Example: `  npu soc fit 910B4=kernel_details.csv
  npu soc fit a/kernel_details.csv b/op_summary.csv -o constants.tsv
  npu soc check --profile constants.tsv c/kernel_details.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runSocFit(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.soc, "soc", "s", "", "chip that the files were measured on")
	f.StringVarP(&o.out, "output", "o", "", "write the constants as a table")
	f.StringVar(&o.doc, "doc", "", "write figures and constants as a Markdown page")
	f.BoolVar(&o.json, "json", false, "print the figures as JSON")
	_ = c.RegisterFlagCompletionFunc("soc", completeSoc)
	return c
}

func runSocFit(ctx context.Context, o *socFitOptions) error {
	var sources []fit.Source
	for _, arg := range o.files {
		f, chip, why, err := fit.Load(arg, o.soc)
		if err != nil {
			return err
		}
		sources = append(sources, fit.Source{File: f, Chip: chip, Why: why})
	}
	st, err := fit.NewStudy(ctx, sources)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := outfile.Write(o.out, func(w io.Writer) error { return cost.WriteFitted(w, st.Fit) }); err != nil {
			return err
		}
	}
	if o.doc != "" {
		if err := outfile.Write(o.doc, st.WriteDoc); err != nil {
			return err
		}
	}
	if o.json {
		return o.printJSON(st)
	}
	return o.print(st)
}

func (o *socFitOptions) print(st *fit.Study) error {
	for _, f := range st.Files {
		why := ""
		if f.SocReason != "" {
			why = ", told from " + f.SocReason
		}
		if _, err := fmt.Fprintf(o.streams.out, "%s: %s%s; %d of %d rows in %d distinct shapes\n", f.File, f.Soc, why, f.Compared, f.Rows, f.Shapes); err != nil {
			return err
		}
	}
	fmt.Fprintln(o.streams.out)
	return o.table("shapes\tmedian_%\tp90_%\tover_20us_%\tlarge_products_%\ttotal_ratio\tsoc\tkernels", func(row func(...any)) {
		for _, f := range st.Files {
			for _, m := range f.Met {
				row(m.All.Shapes, m.All.MedianPercent, m.All.P90Percent, m.Over20.MedianPercent, m.Products.MedianPercent, m.All.TimeRatio, f.Soc, m.How)
			}
		}
	})
}
