package errcode

import (
	"fmt"
	"io"
	"strings"
)

// Write prints entries for people: the likeliest reading in full, further ones after it.
func Write(w io.Writer, entries []Entry) error {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte('\n')
		}
		head := strings.TrimSpace(e.Code + "  " + e.Name)
		fmt.Fprintf(&b, "%s  (%s)\n", head, strings.ReplaceAll(e.Kind, "_", " "))
		line := func(label, text string) {
			if text != "" {
				fmt.Fprintf(&b, "  %-8s %s\n", label, text)
			}
		}
		line("means", e.Meaning)
		line("class", e.Class)
		line("causes", e.Causes)
		line("next", e.Next)
		for _, r := range e.Related {
			line("see", r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
