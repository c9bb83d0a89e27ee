package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
)

// app is what every command needs; a command's constructor takes it and touches nothing until it runs.
type app struct {
	*streams
	color string // --color
}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "npu",
		Short: "Run, trace and diagnose NPU programs and models, without hardware",
		Long: `npu runs models and stream programs on a simulated Ascend NPU, and opens what real ones leave behind:
offline models, profiling data, dumps and logs.`,
		Example: `  npu run                      # the embedded demo
  npu run model.onnx -i image=cat.npy`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return problem.Usagef("%w (see '%s --help')", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "colour in the output: auto, always, never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.setColor(a.color) }
	root.AddCommand(
		newRunCmd(a),
		newCompareCmd(a),
		newInspectCmd(a),
		newVersionCmd(a),
		newCompletionCmd(a),
		newManCmd(a),
		newLogCmd(a),
		newErrcodeCmd(a),
		newDumpCmd(a),
		newTraceCmd(a),
		newSocCmd(a),
		newCompileCmd(a),
		newTopCmd(a),
		newPsCmd(a),
		newBenchCmd(a),
		newBenchPeerCmd(a),
	)
	for _, c := range commands(root) {
		c.Args = usageArgs(c.Args)
	}
	return root
}

// commands lists c and everything below it.
func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, s := range c.Commands() {
		all = append(all, commands(s)...)
	}
	return all
}

// usageArgs makes wrong positional arguments a usage error (exit 2).
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return problem.Usagef("%w (see '%s --help')", err, c.CommandPath())
		}
		return nil
	}
}

// exitCode prints err as one line and returns the code that it means. args are those of the command that failed.
func exitCode(s *streams, ctx context.Context, args []string, err error) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		fmt.Fprintln(s.err, "npu: interrupted")
		return 130
	}
	class := problem.ClassOf(err)
	msg := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	if strings.HasPrefix(msg, "unknown command") {
		class = problem.Usage
	}
	if hint := pointerHint(args); hint != "" {
		msg += " (" + hint + ")"
	}
	fmt.Fprintln(s.err, "npu: "+msg)
	return int(class)
}
