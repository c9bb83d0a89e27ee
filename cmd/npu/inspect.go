package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/identify"
	"npu/internal/blackbox/plog"
	"npu/internal/problem"
	"npu/internal/trace/load"
)

type inspectOptions struct {
	*app
	file        string
	json        bool
	ops         bool
	tasks       bool
	memory      bool
	dot         bool
	raw         bool
	check       bool
	shapes      []string
	streamCount string
}

func newInspectCmd(a *app) *cobra.Command {
	o := &inspectOptions{app: a}
	c := &cobra.Command{
		Use:   "inspect FILE...",
		Short: "Say what a file is, and show its contents",
		Long: `Recognises models (.onnx, .om), captures (.npt), stream programs, and what real devices leave behind (profiling data and its directories,
dumps, core files, stacks, black box, logs, outputs of npu-smi) by their contents, not by their names.
For a model: inputs and outputs ready to paste, operators, and with --tasks and --memory what it compiles to.`,
		Example: `  npu inspect model.onnx --ops
  npu inspect model.onnx --shape x=1x3x224x224 --memory
  npu inspect --json run.npt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for i, f := range args {
				if i > 0 {
					fmt.Fprintln(a.out)
				}
				o.file = f
				if err := runInspect(c.Context(), o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.BoolVar(&o.ops, "ops", false, "list the operators of a model")
	f.BoolVar(&o.tasks, "tasks", false, "list the tasks that a model compiles to")
	f.BoolVar(&o.memory, "memory", false, "show the memory plan of a model against its lower bound")
	f.BoolVar(&o.dot, "dot", false, "print a model's graph for Graphviz")
	f.BoolVar(&o.raw, "raw", false, "print the text form of a binary file")
	f.BoolVar(&o.check, "check", false, "validate")
	f.StringVar(&o.streamCount, "streams", "auto", "with --memory: streams for parallel branches, a number or auto")
	f.StringArrayVar(&o.shapes, "shape", nil, "NAME=1x3x224x224: shape of a model's input (repeatable)")
	return c
}

// runInspect finds out what the file is and shows it.
func runInspect(ctx context.Context, o *inspectOptions) error {
	if load.Part(o.file) {
		return inspectTrace(ctx, o)
	}
	kind, err := identify.File(o.file)
	if err != nil {
		return err
	}
	if (kind == "" || kind == identify.Text) && load.Likely(o.file) {
		return inspectTrace(ctx, o)
	}
	switch kind {
	case "onnx":
		return inspectONNX(o)
	case "om":
		return inspectOM(ctx, o, o.file)
	case "npt":
		return inspectTrace(ctx, o)
	case identify.Stream:
		return inspectStream(o)
	}
	if strings.HasSuffix(o.file, ".stream") {
		return inspectStream(o)
	}
	if strings.EqualFold(filepath.Ext(o.file), ".om") {
		return inspectOM(ctx, o, o.file) // refuses it and says what it is instead
	}
	if kind != "" && kind != identify.Text && kind != identify.Empty {
		return inspectDump(ctx, o)
	}
	if kind != identify.Empty {
		if is, err := inspectSMI(o); is {
			return err
		}
	}
	if how := packing(o.file); how != "" {
		return problem.Damagedf("%s: packed with %s: unpack it first (npu log reads packed logs as they are)", o.file, how)
	}
	if kind == identify.Text {
		return problem.Damagedf("%s: not a kind of file that this program knows; if this text is a log or a piece of one: npu log %[1]s", o.file)
	}
	return problem.Damagedf("%s: not a kind of file that this program knows", o.file)
}

// packing names how a file is packed; empty: not at all.
func packing(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	return plog.Packing(head[:n])
}
