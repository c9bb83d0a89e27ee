package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/errcode"
	"npu/internal/problem"
)

type errcodeOptions struct {
	*app
	queries []string
	json    bool
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
			o.queries = []string{strings.Join(args, " ")}
			if len(args) > 1 && !slices.ContainsFunc(args, func(a string) bool { return !numbered(a) }) {
				o.queries = args // codes, each for itself: not the words of one line
			}
			return runErrcode(o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func runErrcode(o *errcodeOptions) error {
	es := []errcode.Entry{}
	var missing []string
	for _, q := range o.queries {
		found := errcode.Lookup(q)
		if es = append(es, found...); len(found) == 0 {
			missing = append(missing, strconv.Quote(q))
		}
	}
	var err error
	switch {
	case len(es) == 0: // nothing to print
	case o.json:
		err = o.printJSON(es)
	default:
		err = errcode.Write(o.out, es)
	}
	if err == nil && len(missing) > 0 {
		err = problem.Usagef("errcode %s: not in the catalogue (write it as the log prints it, or part of a name)", strings.Join(missing, ", "))
	}
	return err
}

// numbered says whether arg is a code of its own: 507015, 0x26, EZ9999; not a word or a list, as lines of logs have them.
func numbered(arg string) bool {
	return strings.ContainsAny(arg, "0123456789") && !strings.ContainsAny(arg, "(),:=") && !strings.HasPrefix(arg, "bit")
}
