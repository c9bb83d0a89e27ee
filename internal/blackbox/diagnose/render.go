package diagnose

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Style is how text is printed.
type Style struct {
	Colors bool
	Width  int // columns to wrap at; 0 not to wrap
	All    bool
}

// Write prints the report for people in the order cause, where, why, what to do, evidence.
func Write(w io.Writer, rep *Report, s Style) error {
	var b bytes.Buffer
	for _, n := range rep.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if len(rep.Findings) == 0 {
		fmt.Fprintf(&b, "no error found in %d lines of %d file%s\n", rep.Lines, len(rep.Files), plural(len(rep.Files)))
	}
	for i := range rep.Findings {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(rep.Findings) > 1 {
			fmt.Fprintf(&b, "%s\n", s.bold(fmt.Sprintf("[%d of %d]", i+1, len(rep.Findings))))
		}
		writeFinding(&b, &rep.Findings[i], s)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeFinding(b *bytes.Buffer, f *Finding, s Style) {
	head := f.Cause
	switch {
	case f.ACL != 0 && !strings.HasPrefix(head, fmt.Sprint(f.ACL)):
		head += fmt.Sprintf(" [%d]", f.ACL)
	}
	s.block(b, "cause", []string{s.red(head)})
	where := f.Where
	if f.Time != "" {
		where = strings.TrimPrefix(where+"; "+f.Time, "; ")
	}
	if f.Clock != "" {
		where += "; the device's clock is " + f.Clock
	}
	s.block(b, "where", []string{where})
	s.block(b, "why", f.Why)
	s.block(b, "do", f.Advice)
	s.block(b, "sure", []string{f.Confidence})
	s.block(b, "facts", facts(f))
	var follow []string
	for i, u := range f.Followups {
		if i == 6 && !s.All {
			follow = append(follow, fmt.Sprintf("and %d more", len(f.Followups)-i))
			break
		}
		follow = append(follow, followText(u))
	}
	s.block(b, "then", follow)
	var ev []string
	for i, e := range f.Evidence {
		if i == 6 && !s.All {
			ev = append(ev, fmt.Sprintf("and %d more lines", len(f.Evidence)-i))
			break
		}
		text := e.Text
		limit := 160
		if s.Width > 0 {
			limit = max(60, s.Width-10)
		}
		if !s.All && len(text) > limit {
			text = strings.ToValidUTF8(text[:limit], "") + "..."
		}
		ev = append(ev, fmt.Sprintf("%s:%d: %s", e.File, e.Line, text))
	}
	s.block(b, "evidence", ev)
}

// facts are the numbers on one or two lines.
func facts(f *Finding) []string {
	var codes, core []string
	add := func(dst *[]string, k, v string) {
		if v != "" {
			*dst = append(*dst, k+" "+v)
		}
	}
	if f.ACLName != "" {
		add(&codes, fmt.Sprint(f.ACL), f.ACLName)
	}
	add(&codes, "scheduler", f.TS)
	add(&codes, "inner", f.Inner)
	if f.Drv != nil {
		add(&codes, "driver", fmt.Sprint(*f.Drv))
	}
	add(&codes, "messages", strings.Join(f.ErrorCodes, " "))
	if len(f.ErrCode) > 0 {
		add(&core, "errcode", "("+strings.Join(f.ErrCode, ", ")+")")
	}
	if len(f.Codes) > 0 {
		add(&core, "codes", strings.Trim(fmt.Sprint(f.Codes), "[]"))
	}
	add(&core, "pc start", f.PCStart)
	add(&core, "current", f.Current)
	for _, u := range slices.Sorted(maps.Keys(f.PCCandidates)) {
		if u != f.PCFixedBy {
			add(&core, "or by "+u, f.PCCandidates[u])
		}
	}
	add(&core, "tiling key", f.TilingKey)
	if f.Chip != "" {
		add(&core, "chip", f.Chip)
	}
	var out []string
	for _, l := range [][]string{codes, core} {
		if len(l) > 0 {
			out = append(out, strings.Join(l, ", "))
		}
	}
	return out
}

func followText(u Followup) string {
	var who []string
	if u.Rank != nil {
		who = append(who, fmt.Sprintf("rank %d", *u.Rank))
	}
	if u.Device != nil {
		who = append(who, fmt.Sprintf("device %d", *u.Device))
	}
	if u.PID != nil {
		who = append(who, fmt.Sprintf("process %d", *u.PID))
	}
	t := u.What
	if u.ACL != 0 && !strings.Contains(t, fmt.Sprint(u.ACL)) {
		t = fmt.Sprintf("%d: %s", u.ACL, t)
	}
	if len(who) > 0 {
		t += " (" + strings.Join(who, ", ") + ")"
	}
	if u.Count > 1 {
		t += fmt.Sprintf(", %d times", u.Count)
	}
	if u.Time != "" {
		t = u.Time + " " + t
	}
	return t
}

// block prints a label in a column of its own and its lines beside it, as a list if there are several.
func (s Style) block(b *bytes.Buffer, label string, lines []string) {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == "" })
	mark, indent := "", 10
	if len(lines) > 1 {
		mark, indent = "- ", 12
	}
	for n, l := range lines {
		head := strings.Repeat(" ", 10)
		if n == 0 {
			head = s.bold(label) + strings.Repeat(" ", 10-len(label))
		}
		for i, part := range s.wrap(l, indent) {
			if i == 0 {
				b.WriteString(head + mark)
			} else {
				b.WriteString(strings.Repeat(" ", indent))
			}
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
}

func (s Style) wrap(text string, indent int) []string {
	if s.Width < 40 {
		return []string{text}
	}
	var out []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > s.Width-indent {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}

func (s Style) bold(t string) string { return s.sgr("1", t) }
func (s Style) red(t string) string  { return s.sgr("1;31", t) }

func (s Style) sgr(code, t string) string {
	if !s.Colors {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}
