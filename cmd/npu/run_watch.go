package main

import (
	"context"
	"errors"
	"os"
	"time"

	"npu/internal/model"
	"npu/internal/problem"
	"npu/internal/runtime/ipc"
	"npu/internal/tui/top"
)

// runModels runs a model, or one on each device, where others can see it.
func (o *runOptions) runModels(ctx context.Context, models []*model.Model, r model.RunOptions) (res *model.Result, err error) {
	r.RunDir, r.Pace = ipc.Path(os.Getenv), o.pace
	err = o.watched(ctx, func(ctx context.Context) (err error) {
		res, err = model.RunRanks(ctx, models, r)
		return err
	})
	return res, err
}

// watched calls f, with --top under the live screen of the runs on this machine. The screen ends with f; left before,
// f goes on without it.
func (o *runOptions) watched(ctx context.Context, f func(context.Context) error) error {
	if !o.top {
		return f(ctx)
	}
	if !o.outTTY {
		return problem.Usagef("--top needs a terminal: leave it out, and use npu top --json beside the run")
	}
	if ipc.Path(os.Getenv) == "" {
		return problem.Usagef("--top needs a run directory: unset NPU_RUN_DIR")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	screen, end := context.WithCancel(ctx)
	defer end()
	done := make(chan error, 1)
	go func() {
		done <- f(ctx)
		end()
	}()
	src := top.NewRuns(listRuns, runInterval)
	look := &topOptions{app: o.app, theme: "auto"}
	err := top.Show(screen, src, top.Screen{Panel: top.PanelStreams, Interval: runInterval, Theme: look.look(), In: o.in, Out: o.out})
	src.Close()
	if errors.Is(err, context.Canceled) && screen.Err() == nil {
		cancel() // Ctrl-C in the screen
		<-done
		return context.Canceled
	}
	if runErr := <-done; runErr != nil || errors.Is(err, context.Canceled) {
		return runErr
	}
	return err
}

// runInterval is the time between two frames of --top.
const runInterval = 250 * time.Millisecond
