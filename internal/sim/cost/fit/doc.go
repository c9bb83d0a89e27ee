package fit

import (
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"npu/internal/sim/cost"
)

//go:embed sources.tsv
var sourcesTSV string

//go:embed model.md
var modelText string

// WriteDoc writes the page docs/cost-model.md: the model in words, the figures of the study, and its constants.
func (st *Study) WriteDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString(modelText)
	b.WriteString("\n## How well it foretells\n\n")
	b.WriteString("Errors are |estimated / measured − 1| in percent, medians over distinct shapes, each of which counts once with the median of\nits repeats. Identical kernels repeat within about 20 %. *Ratio* is the sum of all estimates over the sum of all measured times.\n")
	for _, f := range st.Files {
		fmt.Fprintf(&b, "\n**%s**, %s: %d of %d rows compared, %d distinct shapes.\n\n", filepath.Base(f.File), f.Soc, f.Compared, f.Rows, f.Shapes)
		b.WriteString("| estimated with | all | p90 | over 20 µs | large 16-bit matrix products | ratio |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, m := range f.Met {
			fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f (%d) | %.1f (%d) | %.2f |\n", m.How, m.All.MedianPercent, m.All.P90Percent,
				m.Over20.MedianPercent, m.Over20.Shapes, m.Products.MedianPercent, m.Products.Shapes, m.All.TimeRatio)
		}
	}
	b.WriteString("\n## Measured files\n\n| file | from | path there | content |\n| --- | --- | --- | --- |\n")
	for line := range strings.Lines(sourcesTSV) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 4 {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f[0], f[1], f[2], f[3])
		}
	}
	b.WriteString("\n## Constants\n\n")
	b.WriteString("Empty: inherited from the line of the class, the kind of core, or assumed. *Error* is the median error of kernels that\nare estimated with this line and without measurements of their own: for a chip's type each shape left out in turn, for a\ntype on any chip each chip, for a class each of its types, for a kind of core each class.\n\n")
	b.WriteString("| chip | name |")
	for c := range cost.Constant(len(cost.Constants{})) {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString(" shapes | error % |\n|" + strings.Repeat(" --- |", len(cost.Constants{})+4) + "\n")
	for _, r := range st.Fit {
		fmt.Fprintf(&b, "| %s | %s |", r.Chip, r.Name)
		for _, v := range r.Constants {
			if v == 0 {
				b.WriteString(" |")
			} else {
				fmt.Fprintf(&b, " %d |", v)
			}
		}
		if r.ErrorPercent == 0 {
			fmt.Fprintf(&b, " %d | |\n", r.Shapes)
		} else {
			fmt.Fprintf(&b, " %d | %d |\n", r.Shapes, r.ErrorPercent)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
