package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/outfile"
	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/cache"
	"npu/internal/trace/load"
	"npu/internal/tui/theme"
	"npu/internal/tui/timeline"
)

type traceViewOptions struct {
	*app
	traceInput
	once     bool
	size     string
	keys     string
	colour   string
	snapshot string
	theme    string
	ascii    bool
	files    []string
	pid      int
}

func newTraceViewCmd(a *app) *cobra.Command {
	o := &traceViewOptions{app: a}
	c := &cobra.Command{
		Use:   "view FILE|DIR... | --pid PID",
		Short: "Look at a trace as a timeline",
		Long: `Shows host threads, streams, engines and counters as lanes over time: to zoom, to walk from task to task along what they
waited for, to see why nothing ran, to measure and to cut out. Press ? for the keys. The trace is read in the background.

Without a terminal, or with --once, it prints one frame as text; --keys presses keys before that, and --snapshot writes a
picture.

--pid follows a run of this tool on this machine ("npu ps" lists them) from then on; its end stays in sight until one goes
back, and F follows it again.`,
		Example: `  npu trace view run.npt
  npu trace view --pid 4711
  npu trace view --once --size 120x40 --keys 'ji' run.npt
  npu trace view --snapshot conv.svg --keys '/conv<enter>ff' run.npt`,
		RunE: func(c *cobra.Command, args []string) error {
			live := c.Flags().Changed("pid")
			switch {
			case live && len(args) > 0:
				return problem.Usagef("--pid follows a run, and %s is a file: give one of them", args[0])
			case !live && len(args) == 0:
				return problem.Usagef("no trace given: npu trace view FILE, or --pid PID for a run that goes on (npu ps lists them)")
			}
			if o.files = args; live {
				return runTraceViewLive(c.Context(), o)
			}
			return runTraceView(c.Context(), o)
		},
	}
	o.flags(c)
	f := c.Flags()
	f.BoolVarP(&o.once, "once", "1", false, "print one frame and stop")
	f.IntVar(&o.pid, "pid", 0, "follow this run of this tool")
	f.StringVar(&o.size, "size", "", "columns and lines of a printed frame or a picture (default: the terminal's, else 120x40)")
	f.StringVar(&o.keys, "keys", "", "keys to press before a frame is printed: letters, and <enter> <esc> <tab> <space> <left> <right> <up> <down>")
	f.StringVar(&o.colour, "colour-by", "kind", "what slices are coloured by: "+strings.Join(timeline.Colours(), ", "))
	f.StringVar(&o.snapshot, "snapshot", "", "write one frame as a picture to this file (SVG)")
	f.StringVar(&o.theme, "theme", "auto", "colours for a dark or a light background: auto, dark, light")
	f.BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	for name, values := range map[string][]string{"colour-by": timeline.Colours(), "theme": {"auto", "dark", "light"}} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = c.RegisterFlagCompletionFunc("pid", completePids)
	return c
}

func runTraceView(ctx context.Context, o *traceViewOptions) error {
	s, err := o.screen()
	if err != nil {
		return err
	}
	file, err := o.file()
	if err != nil {
		return err
	}
	switch {
	case o.snapshot != "":
		s.Theme = o.paint()
		return o.frame(ctx, file, func(d *timeline.Data) error {
			return outfile.Write(o.snapshot, func(w io.Writer) error { return timeline.Picture(w, d, s) })
		})
	case o.still():
		return o.frame(ctx, file, func(d *timeline.Data) error { return timeline.Print(d, s) })
	}
	for _, path := range o.files {
		if _, err := os.Stat(path); err != nil {
			return problem.Mark(problem.Damaged, err)
		}
	}
	src := timeline.Open(file)
	defer src.Close()
	return timeline.Show(ctx, src, s)
}

// still says whether one frame is wanted and no screen.
func (o *traceViewOptions) still() bool {
	return o.once || !o.outTTY || o.keys != "" || os.Getenv("TERM") == "dumb"
}

// file is the trace to show, with its place in the cache.
func (o *traceViewOptions) file() (timeline.File, error) {
	memory, err := parseSize(o.memory)
	if err != nil {
		return timeline.File{}, problem.Usagef("--mem %w", err)
	}
	options := load.Options{Memory: memory}
	f := timeline.File{Name: viewName(o.files)}
	if !o.noCache {
		options.Cache = cache.Default()
		f.Keep = func() string { return options.Cache.Image(o.files) }
		f.Fits = options.Cache.Fits
		f.Kept = func() { _ = options.Cache.Prune() } // a cache that is too large only takes room
	}
	labels := sideNames(o.files)
	for i, path := range o.files {
		read := func(ctx context.Context, tap func([]trace.Task)) (*trace.Trace, error) {
			options := options
			options.Tap = tap
			return load.Read(ctx, path, options)
		}
		if i == 0 {
			f.Load, f.Side = read, labels[0]
			continue
		}
		f.More = append(f.More, timeline.Side{Label: labels[i], Load: read})
	}
	return f, nil
}

// frame shows what could be read before it says what could not.
func (o *traceViewOptions) frame(ctx context.Context, f timeline.File, show func(*timeline.Data) error) error {
	d, damage := timeline.Read(ctx, f)
	if d == nil {
		return damage
	}
	if err := show(d); err != nil {
		return err
	}
	if damage == nil && o.strict {
		return incomplete(strings.Join(o.files, ", "), d.T)
	}
	return damage
}

// screen checks the flags.
func (o *traceViewOptions) screen() (timeline.Screen, error) {
	s := timeline.Screen{Keys: o.keys, W: 120, H: 40, In: o.in, Out: o.out}
	if o.width > 0 {
		s.W = o.width
	}
	if o.size != "" {
		if n, err := fmt.Sscanf(o.size, "%dx%d", &s.W, &s.H); n != 2 || err != nil || s.W < 1 || s.H < 1 || s.W > 1000 || s.H > 1000 {
			return s, problem.Usagef("--size %q: expected columns and lines as 120x40, at most 1000x1000", o.size)
		}
	}
	var ok bool
	if s.Colour, ok = timeline.ParseColour(o.colour); !ok {
		return s, problem.Usagef("--colour-by %q: expected %s", o.colour, strings.Join(timeline.Colours(), ", "))
	}
	if o.theme != "auto" && o.theme != "dark" && o.theme != "light" {
		return s, problem.Usagef("--theme %q: expected auto, dark or light", o.theme)
	}
	s.Theme = o.look(false)
	return s, nil
}

// look chooses colours and glyphs for this terminal, as top does.
func (o *traceViewOptions) look(picture bool) *theme.Theme {
	t := topOptions{app: o.app, theme: o.theme, ascii: o.ascii}
	if !picture {
		return t.look()
	}
	g := theme.Braille
	if o.ascii {
		g = theme.ASCII
	}
	return theme.New(theme.True, o.theme == "light", g)
}

// paint is the look of a picture, which no terminal limits.
func (o *traceViewOptions) paint() *theme.Theme { return o.look(true) }

// viewName is what the screen calls the trace.
func viewName(files []string) string {
	names := sideNames(files)
	switch len(names) {
	case 1:
		return filepath.Base(filepath.Clean(files[0]))
	case 2:
		return names[0] + " against " + names[1]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// sideNames tells traces apart: by the ends of their paths, with as many folders as that takes, and without their suffix.
func sideNames(files []string) []string {
	out := make([]string, len(files))
	for deep := 1; deep < 12; deep++ {
		seen := map[string]bool{}
		for i, path := range files {
			parts := strings.Split(strings.TrimSuffix(filepath.ToSlash(filepath.Clean(path)), ".npt"), "/")
			out[i] = strings.Join(parts[max(0, len(parts)-deep):], "/")
			seen[out[i]] = true
		}
		if len(seen) == len(files) {
			return out
		}
	}
	for i := range out { // one file twice
		out[i] = fmt.Sprintf("%s (%d)", out[i], i+1)
	}
	return out
}
