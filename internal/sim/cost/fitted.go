package cost

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed fitted.tsv
var fittedTSV string

// Fitted is one row of fitted.tsv: the constants of a scope, and how well times that were kept out of the fit were met.
type Fitted struct {
	Scope
	Constants
	Shapes       int // distinct shapes that the row rests on
	ErrorPercent int // median error of those when each is left out of the fit in turn
	Origin       string
}

const fittedHeader = "# chip\tname\tstart_ns\tstream_permille\tl2_gain_percent\tinstr_percent\trun_cycles\tcube_permille\ttrans_a_percent\ttrans_b_percent\tshapes\terror_percent\torigin\n"

// fittedRows are those of fitted.tsv.
var fittedRows = sync.OnceValue(func() []Fitted {
	rows, err := ParseFitted(fittedTSV)
	if err != nil {
		panic("cost: fitted.tsv: " + err.Error()) // the embedded table is broken: no input can cause this
	}
	return rows
})

var embedded = sync.OnceValue(func() *Profile { return NewProfile(fittedRows()) })

// Embedded are the rows of the profile that Estimate uses.
func Embedded() []Fitted { return slices.Clone(fittedRows()) }

// NewProfile makes a profile of fitted rows.
func NewProfile(rows []Fitted) *Profile {
	p := &Profile{}
	for _, r := range rows {
		p.Set(r.Scope, r.Constants)
	}
	return p
}

// WriteFitted writes rows as a table that ParseFitted reads; "-" stands for a figure that is inherited.
func WriteFitted(w io.Writer, rows []Fitted) error {
	var b strings.Builder
	b.WriteString(fittedHeader)
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\t%s", r.Chip, r.Name)
		for _, v := range r.Constants {
			if v == 0 {
				b.WriteString("\t-")
			} else {
				fmt.Fprintf(&b, "\t%d", v)
			}
		}
		fmt.Fprintf(&b, "\t%d\t%d\t%s\n", r.Shapes, r.ErrorPercent, r.Origin)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ParseFitted reads such a table. Lines that start with # are comments.
func ParseFitted(table string) ([]Fitted, error) {
	var rows []Fitted
	seen := map[Scope]bool{}
	number := 0
	for line := range strings.Lines(table) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != int(constantCount)+5 {
			return nil, fmt.Errorf("line %d: %d columns, expected %d", number, len(f), int(constantCount)+5)
		}
		r := Fitted{Scope: Scope{f[0], f[1]}, Origin: f[len(f)-1]}
		if f[0] == "" || f[1] == "" || seen[r.Scope] {
			return nil, fmt.Errorf("line %d: scope %s %s is empty or there twice", number, f[0], f[1])
		}
		seen[r.Scope] = true
		for i, word := range f[2 : len(f)-1] {
			if word == "-" && i < int(constantCount) {
				continue
			}
			v, err := strconv.ParseInt(word, 10, 64)
			if err != nil || v < 0 || v > 1e9 {
				return nil, fmt.Errorf("line %d: %q is no number from 0 to 10^9", number, word)
			}
			switch {
			case i < int(constantCount):
				r.Constants[i] = v
			case i == int(constantCount):
				r.Shapes = int(v)
			default:
				r.ErrorPercent = int(v)
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b Fitted) int { return strings.Compare(a.Chip, b.Chip) })
	return rows, nil
}
