package main

import (
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/errcode"
	"npu/internal/problem"
)

type errcodeOptions struct {
	*app
	query string
	json  bool
}

func newErrcodeCmd(a *app) *cobra.Command {
	o := &errcodeOptions{app: a}
	c := &cobra.Command{
		Use:   "errcode CODE|NAME|HEX...",
		Short: "Explain an error number: meaning, usual causes, next step",
		Long: `errcode explains ACL codes (507015), scheduler codes (0x26), inner codes (0x7150026), driver codes, AI CPU codes,
message codes (EZ9999), device events (0x80E01801), black-box exception ids, and the bits of AI-core error words
(0x800000, or all three as "(0x800000, 0, 0)"). Part of a name finds every entry that holds it.`,
		Example: `  npu errcode 507015
  npu errcode '(0, 0x8000, 0)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.query = strings.Join(args, " ")
			return runErrcode(o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func runErrcode(o *errcodeOptions) error {
	es := errcode.Lookup(o.query)
	if len(es) == 0 {
		return problem.Usagef("errcode %q: not in the catalogue (write it as the log prints it, or part of a name)", o.query)
	}
	if o.json {
		return o.printJSON(es)
	}
	return errcode.Write(o.out, es)
}
