package dumpdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Float is a number that JSON can hold: NaN and infinities become strings.
type Float float64

// MarshalJSON writes "nan", "inf" for what JSON lacks.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case v != v:
		return []byte(`"nan"`), nil
	case math.IsInf(v, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(float64(f))
}

// Write prints a comparison: the first operator that differs on top, then every pair in order of execution.
func Write(w io.Writer, r *Result) error {
	var b bytes.Buffer
	counts := map[string]int{}
	for _, p := range r.Pairs {
		counts[p.Verdict]++
	}
	if f := r.First; f != nil {
		fmt.Fprintf(&b, "first difference: %s %s", f.Node, f.Tensor)
		if f.Why != "" {
			fmt.Fprintf(&b, " (%s)", f.Why)
		}
		if f.hasFirst {
			fmt.Fprintf(&b, ": element %v is %g and %g", f.FirstAt, float64(f.FirstA), float64(f.FirstB))
		}
		b.WriteByte('\n')
	} else {
		b.WriteString("no difference beyond the tolerance\n")
	}
	fmt.Fprintf(&b, "%d tensors compared: %d equal, %d close, %d differ", len(r.Pairs), counts["equal"], counts["close"], counts["differs"])
	if n := counts["not compared"]; n > 0 {
		fmt.Fprintf(&b, ", %d not compared", n)
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "node\ttensor\ttypes\tshape\tcosine\tmax abs\tmean abs\tmax rel\tnan\tinf\tdiffer\tverdict\twhy")
	for _, p := range r.Pairs {
		types := p.DTypeA
		if p.DTypeB != p.DTypeA {
			types += "/" + p.DTypeB
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.6f\t%.4g\t%.4g\t%.4g\t%d/%d\t%d/%d\t%d\t%s\t%s\n", p.Node, p.Tensor, types, p.Shape, p.Cosine, float64(p.MaxAbs), float64(p.MeanAbs), float64(p.MaxRel),
			p.NaN[0], p.NaN[1], p.Inf[0], p.Inf[1], p.Differ, p.Verdict, p.Why)
	}
	t.Flush()
	for _, l := range []struct {
		side string
		list []string
	}{{"only in A", r.OnlyA}, {"only in B", r.OnlyB}, {"note", r.Notes}} {
		for i, s := range l.list {
			if i == 10 {
				fmt.Fprintf(&b, "%s: and %d more\n", l.side, len(l.list)-i)
				break
			}
			fmt.Fprintf(&b, "%s: %s\n", l.side, s)
		}
	}
	var out strings.Builder
	for _, line := range strings.SplitAfter(b.String(), "\n") {
		out.WriteString(strings.TrimRight(line, " \n"))
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
