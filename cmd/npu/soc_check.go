package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/fit"
)

type socCheckOptions struct {
	*app
	files   []string
	soc     string
	profile string
	json    bool
}

func newSocCheckCmd(a *app) *cobra.Command {
	o := &socCheckOptions{app: a}
	c := &cobra.Command{
		Use:   "check [NAME=]FILE...",
		Short: "Show how far simulated times are from measured ones",
		Long: `Estimates every kernel of kernel_details.csv or op_summary.csv files and compares the times: median error and 90th
percentile over distinct shapes, by size, by operator type, and the ten worst. Beside the calibrated profile stand the
figures with nothing measured (data_sheet) and those of a plain roofline. Rows that cannot be compared are counted with
the reason. The chip is the NAME before the file, else that of --soc, else told from core numbers, clock and bandwidth.`,
		Example: `  npu soc check ASCEND_PROFILER_OUTPUT/kernel_details.csv
  npu soc check --soc 910B3 op_summary_20250402.csv --json
  npu soc fit a.csv -o a.tsv && npu soc check --profile a.tsv b.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runSocCheck(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.soc, "soc", "s", "", "chip that the files were measured on")
	f.StringVar(&o.profile, "profile", "", "constants to check, a table from 'npu soc fit -o'; \"none\": nothing measured (default: those built in)")
	f.BoolVar(&o.json, "json", false, "print as JSON, one report a file")
	_ = c.RegisterFlagCompletionFunc("soc", completeSoc)
	return c
}

func runSocCheck(ctx context.Context, o *socCheckOptions) error {
	rows, err := o.rows()
	if err != nil {
		return err
	}
	var reports []*fit.Report
	var damaged error
	for _, arg := range o.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, chip, why, err := fit.Load(arg, o.soc)
		if err != nil {
			return err
		}
		r := fit.Check(rows, chip, f)
		r.SocReason = why
		reports = append(reports, r)
		if f.Damaged != nil && damaged == nil {
			damaged = problem.Mark(problem.Damaged, fmt.Errorf("%w (%d rows were compared)", f.Damaged, f.Compared()))
		}
	}
	if o.json {
		err = o.printJSON(reports)
	} else {
		for i, r := range reports {
			if i > 0 {
				fmt.Fprintln(o.out)
			}
			if err = o.print(r); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	return damaged
}

// rows are the constants to check.
func (o *socCheckOptions) rows() ([]cost.Fitted, error) {
	switch o.profile {
	case "":
		return cost.Embedded(), nil
	case "none":
		return nil, nil
	}
	b, err := os.ReadFile(o.profile)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	rows, err := cost.ParseFitted(string(b))
	if err != nil {
		return nil, problem.Damagedf("%s: %w", o.profile, err)
	}
	return rows, nil
}

func (o *socCheckOptions) print(r *fit.Report) error {
	p := &printer{s: o.streams}
	p.line("file", "%s", r.File)
	if r.SocReason != "" {
		p.line("chip", "%s, told from %s (--soc NAME if it is another)", r.Soc, r.SocReason)
	} else {
		p.line("chip", "%s", r.Soc)
	}
	switch {
	case r.FittedOn:
		p.line("profile", "constants of %s, fitted on this file too: for kernels left out see 'npu soc fit'", r.Measured)
	case o.profile == "none":
		p.line("profile", "nothing measured: chip table and assumptions")
	case r.Measured == "any":
		p.line("profile", "no constants of this chip: those of the chips that were measured")
	default:
		p.line("profile", "constants of %s", r.Measured)
	}
	p.line("rows", "%d, compared %d in %d distinct shapes", r.Rows, r.Compared, r.All.Profile.Shapes)
	for _, s := range r.Skipped {
		p.line("skipped", "%d rows: %s %v", s.Rows, s.Reason, s.Types)
	}
	p.printf("\nerror of the estimated time\n")
	if p.err != nil {
		return p.err
	}
	header := "shapes\tmeasured_ns\tmedian_%\tp90_%\twithin_25_%\ttotal_ratio\tdata_sheet_median_%\troofline_median_%\tkernels"
	rows := func(list []fit.Row, calibrated bool) func(func(...any)) {
		return func(row func(...any)) {
			for _, x := range list {
				name := x.Name
				if calibrated && x.Calibrated != nil && !*x.Calibrated {
					name += " (not calibrated)"
				}
				row(x.Profile.Shapes, o.ns(x.TimeNs), x.Profile.MedianPercent, x.Profile.P90Percent, x.Profile.WithinPercent,
					x.Profile.TimeRatio, x.Assumed.MedianPercent, x.Roofline.MedianPercent, name)
			}
		}
	}
	if err := o.table(header, rows(append([]fit.Row{r.All}, r.Sizes...), false)); err != nil {
		return err
	}
	p.printf("\nby operator type\n")
	if err := o.table(header, rows(r.Types, true)); err != nil {
		return err
	}
	p.printf("\nworst\n")
	return o.table("error_%\testimate_ns\tmeasured_ns\troofline_ns\trows\tline\tkernel", func(row func(...any)) {
		for _, w := range r.Worst {
			row(w.ErrorPercent, o.ns(w.EstimateNs), o.ns(w.MeasuredNs), o.ns(w.RooflineNs), w.Rows, w.Line, w.Type+" "+w.In+" → "+w.Out)
		}
	})
}
