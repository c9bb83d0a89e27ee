package decode

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"npu/internal/blackbox/identify"
)

// Style is how text is printed.
type Style struct {
	Colors bool
	Brief  bool // one screen: no registers, few records
}

// Write prints a report for people: what it is, what happened, facts, cores, tensors, records, damage.
func Write(w io.Writer, r *Report, s Style) error {
	var b bytes.Buffer
	head := r.File + ": " + identify.Description(r.Kind)
	if r.Form != "" {
		head += ", " + r.Form
	}
	if r.Version != "" {
		head += ", version " + r.Version
	}
	if r.Chip != "" {
		head += ", chip " + r.Chip
	}
	fmt.Fprintln(&b, s.bold(head))
	if r.Kernel != "" {
		fmt.Fprintf(&b, "kernel    %s\n", r.Kernel)
	}
	for i, c := range r.Cause {
		if s.Brief && i == 6 {
			fmt.Fprintf(&b, "          and %d more\n", len(r.Cause)-i)
			break
		}
		label := "          "
		if i == 0 {
			label = "cause     "
		}
		fmt.Fprintf(&b, "%s%s\n", label, s.red(c))
	}
	facts(&b, r, s)
	cores(&b, r.Cores, s)
	regions(&b, r)
	tensors(&b, r)
	records(&b, r, s)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", n)
	}
	for _, f := range r.Written {
		fmt.Fprintf(&b, "written   %s\n", f)
	}
	for i, p := range r.Problems {
		if s.Brief && i == 6 {
			fmt.Fprintf(&b, "damage    and %d more\n", len(r.Problems)-i)
			break
		}
		fmt.Fprintf(&b, "damage    offset 0x%x: %s\n", p.Offset, p.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func facts(b *bytes.Buffer, r *Report, s Style) {
	regs := 0
	for _, f := range r.Facts {
		if strings.HasPrefix(f.Name, "register ") {
			regs++
			if s.Brief {
				continue
			}
		}
		fmt.Fprintf(b, "%-10s%s\n", pad(f.Name, 9), f.Value)
	}
	if s.Brief && regs > 0 {
		fmt.Fprintf(b, "registers %d\n", regs)
	}
}

// pad keeps a blank between a long name and its value.
func pad(s string, n int) string {
	if len(s) >= n {
		return s + " "
	}
	return s
}

func regions(b *bytes.Buffer, r *Report) {
	if len(r.Regions) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "memory\taddress\tbytes\tshape\tstate\tfile")
	for _, g := range r.Regions {
		state := "ok"
		if g.Unreadable {
			state = "UNREADABLE"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", g.Name, g.Addr, g.Bytes, shapeText(g.Shape), state, g.File)
	}
	t.Flush()
}

func tensors(b *bytes.Buffer, r *Report) {
	if len(r.Tensors) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "tensor\ttype\tformat\tshape\tbytes\tmin\tmax\tmean\tnan\tinf\tzeros\taddress\tfirst values")
	for _, x := range r.Tensors {
		first := x.Hex
		if len(x.First) > 0 {
			var v []string
			for _, f := range x.First[:min(len(x.First), 6)] {
				v = append(v, num(float64(f)))
			}
			first = strings.Join(v, " ")
		}
		bytes := fmt.Sprint(x.Bytes)
		if x.Have != x.Bytes {
			bytes = fmt.Sprintf("%d of %d", x.Have, x.Bytes)
		}
		name := x.Name
		if x.Kind != "" {
			name += " (" + x.Kind + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, x.DType, x.Format, shapeText(x.Shape), bytes, opt(x.Min), opt(x.Max), opt(x.Mean), tally(x.NaN, "-"), tally(x.Inf, "-"), tally(x.Zeros, "-"), dash(x.Addr), first)
	}
	t.Flush()
	for _, x := range r.Tensors {
		if len(x.OrigShape) > 0 && shapeText(x.OrigShape) != shapeText(x.Shape) {
			fmt.Fprintf(b, "          %s: original shape %s\n", x.Name, shapeText(x.OrigShape))
		}
		if x.FirstBad != nil {
			fmt.Fprintf(b, "          %s: first NaN or Inf is element %d\n", x.Name, *x.FirstBad)
		}
		if x.Note != "" {
			fmt.Fprintf(b, "          %s: %s\n", x.Name, x.Note)
		}
		for _, f := range []string{x.File, x.Natural} {
			if f != "" {
				fmt.Fprintf(b, "written   %s\n", f)
			}
		}
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func opt(n *Number) string {
	if n == nil {
		return "-"
	}
	return num(float64(*n))
}

// tally is a count, none if nobody counted.
func tally(n *int64, none string) string {
	if n == nil {
		return none
	}
	return strconv.FormatInt(*n, 10)
}

func num(f float64) string {
	switch {
	case f != f:
		return "nan"
	case math.IsInf(f, 0):
		return strconv.FormatFloat(f, 'g', -1, 64)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

func records(b *bytes.Buffer, r *Report, s Style) {
	limit := len(r.Records)
	if s.Brief {
		limit = min(limit, 20)
	}
	for _, x := range r.Records[:limit] {
		where := x.Where
		if where != "" {
			where += ": "
		}
		fmt.Fprintf(b, "%-10s%s%s\n", x.Kind+" ", where, strings.ReplaceAll(x.Text, "\n", "\\n"))
	}
	if limit < len(r.Records) {
		fmt.Fprintf(b, "          and %d more records (npu dump decode shows all)\n", len(r.Records)-limit)
	}
}

// WriteCSV prints the tensors as a table for spreadsheets; head writes the first line.
func WriteCSV(w io.Writer, r *Report, head bool) error {
	c := csv.NewWriter(w)
	if head {
		if err := c.Write([]string{"file", "tensor", "role", "dtype", "format", "shape", "bytes", "elements", "min", "max", "mean", "std", "l2", "nan", "inf", "zeros", "address", "exported"}); err != nil {
			return err
		}
	}
	full := func(n *Number) string {
		if n == nil {
			return ""
		}
		return strconv.FormatFloat(float64(*n), 'g', -1, 64)
	}
	for _, x := range r.Tensors {
		if err := c.Write([]string{r.File, x.Name, x.Role, x.DType, x.Format, shapeText(x.Shape), fmt.Sprint(x.Bytes), tally(x.Elements, ""), full(x.Min), full(x.Max), full(x.Mean),
			full(x.Std), full(x.L2), tally(x.NaN, ""), tally(x.Inf, ""), tally(x.Zeros, ""), x.Addr, x.File}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func (s Style) bold(t string) string { return s.sgr("1", t) }
func (s Style) red(t string) string  { return s.sgr("31", t) }

func (s Style) sgr(code, t string) string {
	if !s.Colors {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}
