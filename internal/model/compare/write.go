package compare

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// widestName is how much of a layer's name a table shows: the end, which tells most.
const widestName = 48

// mostLines is how many notes are printed.
const mostLines = 8

// Write prints a comparison as a table, or as Markdown: the verdict, every layer in order, and what has no partner.
func Write(w io.Writer, r *Result, markdown bool) error {
	var b strings.Builder
	head := []string{"layer of A", "layer of B", "operator", "shape", "cosine", "max error", "local error", "kind"}
	fmt.Fprintf(&b, "%s\n\n", r.Verdict)
	if markdown {
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, l := range r.Layers {
			fmt.Fprintf(&b, "| %s |\n", strings.ReplaceAll(strings.Join(l.cells(), "\t"), "\t", " | "))
		}
	} else {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, strings.Join(head, "\t"))
		for _, l := range r.Layers {
			fmt.Fprintln(t, strings.Join(l.cells(), "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		title string
		list  []string
	}{{"only in A", r.OnlyA}, {"only in B", r.OnlyB}, {"notes", r.Notes}} {
		if len(x.list) > 0 {
			fmt.Fprintf(&b, "\n%s\n", x.title)
		}
		for i, s := range x.list {
			if i == mostLines && len(x.list) > mostLines+1 {
				fmt.Fprintf(&b, "  and %d more (see --json)\n", len(x.list)-i)
				break
			}
			if markdown {
				s = "* " + s
			}
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil || r.Against == nil {
		return err
	}
	if _, err := io.WriteString(w, "\nA against the device: "); err != nil {
		return err
	}
	return Write(w, r.Against, markdown)
}

func (l *Layer) cells() []string {
	op := l.OpA
	if l.OpB != op {
		op += "/" + l.OpB
	}
	kind := string(l.Kind)
	if l.Detail != "" && l.Kind.differs() {
		kind += ": " + l.Detail
	}
	return []string{short(l.A), short(l.B), op, l.Shape, number(l.Cosine, "%.6f"), number(l.MaxAbs, "%.3g"), number(l.LocalError, "%.2g"), kind}
}

func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

func short(s string) string {
	if r := []rune(s); len(r) > widestName {
		return "…" + string(r[len(r)-widestName+1:])
	}
	return s
}
