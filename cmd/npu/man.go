package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"npu/internal/problem"
)

type manOptions struct {
	*app
	dir string
}

func newManCmd(a *app) *cobra.Command {
	o := &manOptions{app: a}
	c := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print the manual page of a command, or write all of them",
		Example: `  npu man run | man -l -
  npu man --dir /usr/local/share/man/man1`,
		RunE: func(c *cobra.Command, args []string) error { return runMan(o, c.Root(), args) },
	}
	c.Flags().StringVar(&o.dir, "dir", "", "write the pages of all commands into this directory")
	return c
}

func runMan(o *manOptions, root *cobra.Command, args []string) error {
	// A fixed date: the same program prints the same page.
	date := time.Unix(0, 0).UTC()
	head := &doc.GenManHeader{Section: "1", Source: "npu", Manual: "npu", Date: &date}
	for _, c := range commands(root) {
		c.DisableAutoGenTag = true
	}
	if o.dir != "" {
		return doc.GenManTree(root, head, o.dir)
	}
	c, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return problem.Usagef("no command %q (see 'npu --help')", strings.Join(args, " "))
	}
	return doc.GenMan(c, head, o.out)
}
