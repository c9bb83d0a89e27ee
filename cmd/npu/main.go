// Command npu is a suite for NPU diagnostics and profiling over a simulated Ascend NPU.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(run(context.Background(), newStreams(), os.Args[1:])) }

// grace is how long an interrupted command may take to clean up.
const grace = 2 * time.Second

// run executes one command line and returns its exit code. An interrupt ends the command at once: it sees its context
// done, and if it does not come back the process ends without it.
func run(ctx context.Context, s *streams, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCmd(&app{streams: s})
	root.SetArgs(args)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	select {
	case err := <-done:
		return exitCode(s, ctx, args, err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return exitCode(s, ctx, args, err)
	case <-time.After(grace):
		return exitCode(s, ctx, args, ctx.Err())
	}
}
