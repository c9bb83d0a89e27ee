package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/model"
	"npu/internal/model/conform"
	"npu/internal/problem"
	"npu/internal/sim/soc"
)

type conformanceOptions struct {
	*app
	soc      string
	mode     string
	threads  int
	json     bool
	markdown bool
	cases    bool
	match    string
}

func newConformanceCmd(a *app) *cobra.Command {
	o := &conformanceOptions{app: a}
	c := &cobra.Command{
		Use:   "conformance ZIP|DIR...",
		Short: "Hold the operators against the ONNX project's test data",
		Long: `Runs the cases of the ONNX project's backend test data (onnx/backend/test/data, a folder of it or a zip) as models on a
simulated NPU and prints by operator how many passed, failed, and were refused as unsupported. A case counts for every
operator that it uses; one that is refused counts for the operators that nobody computes.

Exit code 1 means that a case failed: an output differs, or the run ended with a fault. Refused cases are no failure.`,
		Example: `  npu bench conformance node.zip
  npu bench conformance onnx/backend/test/data/node --match attention --cases
  npu bench conformance --json node.zip light.zip`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runConformance(c.Context(), o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.soc, "soc", "s", "Ascend910B3", "chip to simulate")
	f.StringVar(&o.mode, "mode", "graph", "eager: one launch per compiled task; graph: one sunk graph")
	f.IntVar(&o.threads, "threads", 1, "host threads for the arithmetic")
	f.BoolVar(&o.json, "json", false, "print as JSON, with every case")
	f.BoolVar(&o.markdown, "markdown", false, "print the page docs/operators.md")
	f.BoolVar(&o.cases, "cases", false, "print every case that did not pass, with the reason")
	f.StringVar(&o.match, "match", "", "only cases whose name holds this `TEXT` or matches this pattern")
	return c
}

func runConformance(ctx context.Context, o *conformanceOptions, files []string) error {
	chip, err := soc.Lookup(o.soc)
	if err != nil {
		return err
	}
	run := conform.Options{Chip: chip, Mode: model.Mode(o.mode), Threads: o.threads}
	switch {
	case run.Mode != model.Eager && run.Mode != model.Sunk:
		return problem.Usagef("--mode %q: expected eager or graph", o.mode)
	case o.threads < 1 || o.threads > 1024:
		return problem.Usagef("--threads %d: expected 1 to 1024", o.threads)
	case o.json && o.markdown:
		return problem.Usagef("--json and --markdown are two formats: take one")
	}
	rep := &conform.Report{}
	for _, f := range files {
		if err := o.suite(ctx, f, run, rep); err != nil {
			return err
		}
	}
	rep.Finish()
	switch {
	case o.json:
		err = o.printJSON(rep)
	case o.markdown:
		_, err = fmt.Fprint(o.out, rep.Markdown())
	default:
		err = o.print(rep)
	}
	if n := rep.Total().Failed; err == nil && n > 0 {
		first := rep.Cases[slices.IndexFunc(rep.Cases, func(c conform.Result) bool { return c.Status == conform.Failed })]
		err = problem.Failedf("%d of %d cases failed, first %s: %s", n, rep.Total().Cases, first.Name, first.Reason)
	}
	return err
}

// suite runs the cases of one file or folder.
func (o *conformanceOptions) suite(ctx context.Context, file string, run conform.Options, rep *conform.Report) error {
	s, err := conform.Open(file)
	if err != nil {
		return err
	}
	defer s.Close()
	found := false
	for i := range s.Cases {
		c := &s.Cases[i]
		if !o.wants(c.Name) {
			continue
		}
		found = true
		res := s.Run(ctx, c, run)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rep.Add(filepath.Base(file), res)
	}
	if !found {
		return problem.Usagef("%s: none of its %d cases matches %q", file, len(s.Cases), o.match)
	}
	return nil
}

// wants says whether --match takes a case.
func (o *conformanceOptions) wants(name string) bool {
	ok, err := path.Match(o.match, name)
	return err == nil && ok || strings.Contains(name, o.match)
}

// print shows the table by operator that cases use, and the sums.
func (o *conformanceOptions) print(rep *conform.Report) error {
	err := o.table("cases\tpassed\tfailed\tunsupported\toperator", func(row func(cells ...any)) {
		for _, x := range rep.Operators {
			if x.Cases > 0 {
				row(x.Cases, x.Passed, x.Failed, x.Unsupported, x.Name)
			}
		}
	})
	if err != nil {
		return err
	}
	if o.cases {
		fmt.Fprintln(o.out)
		err := o.table("status\tcase\treason", func(row func(cells ...any)) {
			for _, c := range rep.Cases {
				if c.Status != conform.Passed {
					row(c.Status, c.Name, c.Reason)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(o.out)
	return o.table("cases\tpassed\tfailed\tunsupported\tpassed_percent\tsuite", func(row func(cells ...any)) {
		for _, s := range append(slices.Clone(rep.Suites), rep.Total()) {
			row(s.Cases, s.Passed, s.Failed, s.Unsupported, fmt.Sprintf("%.1f", 100*float64(s.Passed)/float64(max(1, s.Cases))), s.Name)
		}
	})
}
