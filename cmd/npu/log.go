package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/diagnose"
	"npu/internal/blackbox/plog"
	"npu/internal/problem"
)

type logOptions struct {
	*app
	paths  []string
	json   bool
	all    bool
	follow bool
	since  string
	level  string
	kernel string
}

func newLogCmd(a *app) *cobra.Command {
	o := &logOptions{app: a}
	c := &cobra.Command{
		Use:   "log FILE|DIR|-...",
		Short: "Find the first cause in the logs of a dead job",
		Long: `log reads process logs (plog), device logs, driver logs and excerpts of them (plain, gzip, tar, folders, standard
input), finds the first error across files, processes and ranks, explains it by its numbers and folds what follows
from it under it.`,
		Example: `  npu log ~/ascend/log                       # all processes and devices of this host
  pbpaste | npu log -                        # an excerpt from an issue
  npu log --kernel AddCustom.o plog-123.log  # with function and line`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.paths = args
			return runLog(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print the findings as JSON, first cause first")
	f.BoolVarP(&o.all, "all", "a", false, "print every line of evidence and every followup in full")
	f.BoolVarP(&o.follow, "follow", "f", false, "keep reading a growing log and print new findings")
	f.StringVar(&o.since, "since", "", "only lines from this time on: 2025-04-02 07:19, 07:19:26, or 10m (before now)")
	f.StringVar(&o.level, "level", "event", "lowest level that is looked at: debug, info, warning, event, error")
	f.StringVar(&o.kernel, "kernel", "", "kernel object (.o) for function and line of the program counter")
	return c
}

func runLog(ctx context.Context, o *logOptions) error {
	lv, ok := plog.ParseLevel(o.level)
	if !ok {
		return problem.Usagef("--level %q: expected debug, info, warning, event or error", o.level)
	}
	since, err := diagnose.ParseSince(o.since, time.Now())
	if err != nil {
		return problem.Usagef("--since %q: %w", o.since, err)
	}
	opts := diagnose.Options{Level: lv, Since: since}
	if o.kernel != "" {
		if opts.Symbol, err = diagnose.LoadSymbols(o.kernel); err != nil {
			return err
		}
	}
	style := diagnose.Style{Colors: o.colors, Width: o.width, All: o.all}
	if o.follow {
		return diagnose.Follow(ctx, o.paths, o.in, opts, func(rep *diagnose.Report) error {
			return o.printLog(rep, style)
		})
	}
	rep, err := diagnose.Run(ctx, o.paths, o.in, opts)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if rep != nil {
		if perr := o.printLog(rep, style); perr != nil {
			return perr
		}
	}
	return err
}

func (o *logOptions) printLog(rep *diagnose.Report, s diagnose.Style) error {
	if !o.json {
		return diagnose.Write(o.out, rep, s)
	}
	list := rep.Findings
	if list == nil {
		list = []diagnose.Finding{}
	}
	return o.printJSON(list)
}
