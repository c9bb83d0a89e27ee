// Command npu is a suite for NPU diagnostics and profiling over a simulated Ascend NPU.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(context.Background(), newStreams(), os.Args[1:])) }

// run executes one command line and returns its exit code.
func run(ctx context.Context, s *streams, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCmd(&app{streams: s})
	root.SetArgs(args)
	return exitCode(s, ctx, root.ExecuteContext(ctx))
}
