package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/outfile"
	"npu/internal/problem"
	"npu/internal/runtime/ipc"
	"npu/internal/trace/live"
	"npu/internal/tui/timeline"
)

// glance is how long a single frame of a run waits for tasks.
const glance = time.Second

// aliveEvery is the time between two looks whether a run is still there; one that ends by itself says so.
const aliveEvery = 500 * time.Millisecond

// runTraceViewLive shows a run while it goes on.
func runTraceViewLive(ctx context.Context, o *traceViewOptions) error {
	s, err := o.screen()
	if err != nil {
		return err
	}
	name, f, err := openLive(o.pid)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := live.Follow(f)
	if err != nil {
		return problem.Failedf("--pid %d: %w", o.pid, err)
	}
	defer r.Stop()
	gone, looked := false, time.Time{}
	next := func() (live.Batch, error) {
		before := gone // what it wrote last comes before its place is free, or with the look after that
		if now := time.Now(); !gone && now.Sub(looked) > aliveEvery {
			gone, looked = !alive(o.pid), now
		}
		b, err := r.Next()
		if err != nil {
			return b, problem.Failedf("%s: %w", name, err)
		}
		b.Ended = b.Ended || before
		return b, nil
	}
	if o.snapshot == "" && !o.still() {
		src := timeline.Follow(name, next)
		defer src.Close()
		return timeline.Show(ctx, src, s)
	}
	d, err := timeline.Glance(ctx, name, next, glance)
	if err != nil {
		return problem.Mark(problem.Failed, err)
	}
	if o.snapshot == "" {
		return timeline.Print(d, s)
	}
	s.Theme = o.paint()
	return outfile.Write(o.snapshot, func(w io.Writer) error { return timeline.Picture(w, d, s) })
}

// openLive finds the run of a pid, and the file in which it hands out its records.
func openLive(pid int) (name string, f *os.File, err error) {
	path := ipc.Path(os.Getenv)
	if path == "" {
		return "", nil, problem.Usagef("--pid %d: NPU_RUN_DIR=off, so runs cannot be found: unset it", pid)
	}
	dir, err := ipc.Look(path)
	if err != nil {
		return "", nil, problem.Mark(problem.Failed, err)
	}
	if dir != nil {
		defer dir.Close()
		for _, p := range dir.Processes() {
			if p.PID != pid {
				continue
			}
			name = fmt.Sprintf("pid %d", pid)
			if p.Snapshot != nil && p.Snapshot.Program != "" {
				name += " " + strings.TrimSpace(p.Snapshot.Program)
			}
			if f, err = dir.OpenRecords(p.Slot); errors.Is(err, os.ErrNotExist) {
				return "", nil, problem.Failedf("--pid %d: %w", pid, live.ErrOther)
			}
			return name, f, problem.Mark(problem.Failed, err)
		}
	}
	return "", nil, problem.Usagef("--pid %d: no run of this tool has this pid (npu ps lists them; a run with NPU_RUN_DIR=off, or in another run directory than %s, is not seen)", pid, path)
}

// alive says whether a run still has its place in the run directory.
func alive(pid int) bool {
	list, err := processes()
	if err != nil {
		return true // nothing is known
	}
	for _, p := range list {
		if p.PID == pid {
			return true
		}
	}
	return false
}

// completePids lists the runs.
func completePids(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list, _ := processes()
	var out []string
	for _, p := range list {
		text := fmt.Sprint(p.PID)
		if p.Snapshot != nil {
			text += "\t" + p.Snapshot.Program
		}
		out = append(out, text)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
