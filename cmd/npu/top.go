package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/tui/theme"
	"npu/internal/tui/top"
)

type topOptions struct {
	*app
	once, json, csv bool
	count           int
	interval        time.Duration
	sort, filter    string
	panel           string
	record, replay  string
	npuSMI          string
	theme, failOn   string
	ascii, mouse    bool
	paced           bool // --interval was given
}

func newTopCmd(a *app) *cobra.Command {
	o := &topOptions{app: a}
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch devices and what runs on them",
		Long: `Shows the devices of this machine, their history, and the processes on them. Figures of real Ascend devices come from
npu-smi, which is found by itself, is asked in the background, and can be as slow as it likes: the screen shows how old
its last answer is. Runs of this tool show their simulated devices, see npu run --pace. Nothing here changes the system. Press ? for the keys.

Without a terminal, or with --once, --json, --csv or --count, it prints: aligned tables, JSON with units in the keys and a
reason beside each null, or CSV. JSON of several frames is one object a line, which --replay plays again.`,
		Example: `  npu top
  npu top --once --sort -temp_c
  npu top --json --count 60 --interval 1s > hour.jsonl
  npu top --replay hour.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.paced = c.Flags().Changed("interval")
			return runTop(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.once, "once", "1", false, "print one frame and stop (of a recording: the last)")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.csv, "csv", false, "print CSV: the devices, or the rows of --panel")
	f.IntVarP(&o.count, "count", "n", 0, "print this many frames")
	f.DurationVarP(&o.interval, "interval", "d", time.Second, "time between two frames")
	f.StringVar(&o.sort, "sort", "", "sort by a column (a key of the JSON, or mem); -COLUMN turns the order around")
	f.StringVar(&o.filter, "filter", "", "show only rows that match: a regular expression, KEY=EXPR for one column, ! inverts")
	f.StringVar(&o.panel, "panel", "", "panel to begin with: devices, processes, streams, memory, operators")
	f.StringVar(&o.record, "record", "", "write each frame to this file too, to be played with --replay")
	f.StringVar(&o.replay, "replay", "", "show a recording instead of this machine")
	f.StringVar(&o.npuSMI, "npu-smi", os.Getenv("NPU_SMI"), "path of npu-smi (default: $NPU_SMI, else found by itself)")
	f.StringVar(&o.theme, "theme", "auto", "colours for a dark or a light background: auto, dark, light")
	f.StringVar(&o.failOn, "fail-on", "", "health: exit with 1 when a device that is printed is not healthy")
	f.BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	f.BoolVar(&o.mouse, "mouse", false, "take the mouse: click selects and sorts, the wheel scrolls (% on the screen)")
	f.Lookup("npu-smi").DefValue = ""
	for name, values := range map[string][]string{"sort": top.SortKeys(), "panel": top.Panels(), "theme": {"auto", "dark", "light"}} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

// minInterval keeps a typing error from asking without pause.
const minInterval = 100 * time.Millisecond

func runTop(ctx context.Context, o *topOptions) error {
	sel, panel, err := o.check()
	if err != nil {
		return err
	}
	src, warn, err := top.Open(o.replay, o.npuSMI, listRuns, o.interval)
	if err != nil {
		return err
	}
	defer src.Close()
	if warn != nil {
		fmt.Fprintln(o.err, "npu: warning:", warn)
	}
	var rec *top.Recorder
	if o.record != "" {
		if rec, err = top.NewRecorder(o.record); err != nil {
			return problem.Mark(problem.Usage, err)
		}
		defer rec.Close()
	}
	if o.plain() {
		p := top.Plain{Format: o.format(), Panel: panel, Count: o.frames(), Select: sel, Record: rec, Sick: o.failOn != ""}
		return p.Run(ctx, src, o.out)
	}
	return top.Show(ctx, src, top.Screen{Select: sel, Panel: panel, Interval: o.interval, Record: rec, Theme: o.look(), Mouse: o.mouse, In: o.in, Out: o.out})
}

// check refuses flags that make no sense together.
func (o *topOptions) check() (sel top.Select, panel int, err error) {
	switch {
	case o.json && o.csv:
		err = problem.Usagef("--json and --csv exclude each other")
	case o.once && o.count > 1:
		err = problem.Usagef("--once and --count %d exclude each other", o.count)
	case o.count < 0:
		err = problem.Usagef("--count %d: expected 1 or more", o.count)
	case o.interval < minInterval:
		err = problem.Usagef("--interval %v: expected %v or more", o.interval, minInterval)
	case o.theme != "auto" && o.theme != "dark" && o.theme != "light":
		err = problem.Usagef("--theme %q: expected auto, dark or light", o.theme)
	case o.failOn != "" && o.failOn != "health":
		err = problem.Usagef("--fail-on %q: expected health", o.failOn)
	case o.replay != "" && o.replay == o.record:
		err = problem.Usagef("--record and --replay name the same file %s", o.record)
	}
	if err != nil {
		return sel, 0, err
	}
	if sel.Filter, err = top.ParseFilter(o.filter); err != nil {
		return sel, 0, err
	}
	if sel.Sort, err = top.ParseSort(o.sort); err != nil {
		return sel, 0, err
	}
	panel, err = top.ParsePanel(o.panel)
	return sel, panel, err
}

func (o *topOptions) plain() bool {
	return !o.outTTY || o.once || o.failOn != "" || o.json || o.csv || o.count > 0 || os.Getenv("TERM") == "dumb"
}

func (o *topOptions) format() top.Format {
	switch {
	case o.json:
		return top.JSON
	case o.csv:
		return top.Rows
	}
	return top.Table
}

// frames is how many to print: one in a pipe unless --interval asks for a stream or a recording is converted.
func (o *topOptions) frames() int {
	switch {
	case o.once:
		return 1
	case o.count > 0:
		return o.count
	case o.paced || o.replay != "":
		return 0
	}
	return 1
}

// look chooses colours and glyphs for this terminal.
func (o *topOptions) look() *theme.Theme {
	p := theme.None
	if o.colors {
		p = theme.DetectProfile(os.LookupEnv)
		if o.color == "always" && p == theme.None {
			p = theme.Ansi
		}
	}
	g := theme.DetectGlyphs(os.LookupEnv)
	if o.ascii {
		g = theme.ASCII
	}
	light := o.theme == "light" || o.theme == "auto" && theme.DetectLight(os.LookupEnv)
	return theme.New(p, light, g)
}
