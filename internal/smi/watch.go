package smi

import (
	"fmt"
	"strings"
)

// Watch is what "npu-smi info watch" printed: rows below one header.
type Watch struct {
	Titles []Title
	Rows   [][]Value // a value for each title
	Notes  []string  // lines that could not be read
}

// Title is one column: its name, and the unit that stood in brackets.
type Title struct{ Name, Unit string }

// maxRows bounds what a hostile text can make us remember: a day of 16 chips.
const maxRows = 2 << 20

// ParseWatch reads the samples of "npu-smi info watch"; nil if the text has none. The titles may stand so close that only
// their brackets part them.
func ParseWatch(text string) *Watch {
	var w *Watch
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case strings.HasPrefix(words[0], "NpuID"):
			titles := watchTitles(line)
			if w != nil && len(titles) == len(w.Titles) {
				continue // printed again
			}
			if w != nil {
				w.note("another header, what is below it is left out: " + strings.TrimSpace(line))
				return w
			}
			w = &Watch{Titles: titles}
		case w == nil:
		case len(words) > len(w.Titles) || len(w.Rows) >= maxRows || !number(words[0]).Known:
			w.note(fmt.Sprintf("no sample: %.80q", strings.TrimSpace(line)))
		default:
			// The last word of a text may have lost its end.
			cut := len(words) < len(w.Titles) || !strings.HasSuffix(line, " ") && !strings.HasSuffix(line, "\n")
			row := make([]Value, len(w.Titles))
			for i := range row {
				if row[i] = unknown("the line is cut"); i < len(words) && !(cut && i == len(words)-1) {
					row[i] = number(words[i])
				}
			}
			if cut && strings.HasSuffix(line, "\n") && len(words) < len(w.Titles)-1 {
				for i := 2; i < len(row); i++ { // in the middle of a line, too: which ones nobody knows
					row[i] = unknown(fmt.Sprintf("npu-smi printed %d of %d figures in this line", len(words), len(w.Titles)))
				}
			}
			w.Rows = append(w.Rows, row)
		}
	}
	if w == nil || len(w.Rows) == 0 {
		return nil
	}
	return w
}

func (w *Watch) note(s string) {
	if len(w.Notes) < maxNotes {
		w.Notes = append(w.Notes, s)
	}
}

func watchTitles(line string) []Title {
	var out []Title
	for part := range strings.SplitSeq(line, ")") {
		name, unit, ok := strings.Cut(part, "(")
		if ok {
			out = append(out, Title{strings.TrimSpace(name), strings.TrimSpace(unit)})
		}
	}
	return out
}

// Column is the place of a title, -1 without it.
func (w *Watch) Column(name string) int {
	for i, t := range w.Titles {
		if sameKey(t.Name, name) {
			return i
		}
	}
	return -1
}

// Rounds divides the rows: a round ends when a chip comes again.
func (w *Watch) Rounds() [][][]Value {
	var out [][][]Value
	npu, chip := w.Column("NpuID"), w.Column("ChipId")
	type key struct{ npu, chip float64 }
	seen := map[key]bool{}
	begin := 0
	for i, r := range w.Rows {
		k := key{chip: -1}
		if npu >= 0 {
			k.npu = r[npu].N
		}
		if chip >= 0 {
			k.chip = r[chip].N
		}
		if seen[k] {
			out = append(out, w.Rows[begin:i])
			begin = i
			clear(seen)
		}
		seen[k] = true
	}
	return append(out, w.Rows[begin:])
}
