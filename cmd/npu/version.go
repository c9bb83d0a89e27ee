package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct {
	*app
	json bool
}

func newVersionCmd(a *app) *cobra.Command {
	o := &versionOptions{app: a}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Example: `  npu version
  npu version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runVersion(o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func runVersion(o *versionOptions) error {
	version := "devel"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		version = b.Main.Version
	}
	if o.json {
		return o.printJSON(map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := fmt.Fprintf(o.out, "npu %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
