package decode

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cores prints those that reported an error, each in full; then those that were only stopped, by the place where they
// stand. If none has reported anything, as in a hang, the first one of each place is printed in full.
func cores(b *bytes.Buffer, list []Core, s Style) {
	var places [][]Core
	failed := false
	for _, c := range list {
		if !c.Bystander {
			failed = true
			oneCore(b, c, s, coreName(c))
			continue
		}
		i := slices.IndexFunc(places, func(p []Core) bool { return p[0].Type == c.Type && p[0].PC == c.PC && p[0].Source == c.Source })
		if i < 0 {
			i, places = len(places), append(places, nil)
		}
		places[i] = append(places[i], c)
	}
	for _, p := range places {
		c := p[0]
		c.Bystander = len(p) == 1
		if failed || s.Brief {
			if rest := len(c.Registers); rest > 0 {
				c.Memories = append(c.Memories, fmt.Sprintf("%d registers (all in --json)", rest))
			}
			c.Registers = nil
		}
		var ids []int
		for _, x := range p {
			ids = append(ids, x.ID)
		}
		name := coreName(c)
		if len(p) > 1 {
			name = fmt.Sprintf("%s %s", c.Type, ranges(ids))
		}
		if len(p) > 1 && !failed && !s.Brief {
			c.Why = append(c.Why, fmt.Sprintf("all %d cores stand here; registers of %s %d:", len(p), c.Type, c.ID))
		} else if len(p) > 1 {
			c.Why = append(c.Why, fmt.Sprintf("%d cores stand here, bystanders", len(p)))
		}
		oneCore(b, c, s, name)
	}
}

func coreName(c Core) string {
	if c.Type == "" {
		return fmt.Sprintf("core %d", c.ID)
	}
	return fmt.Sprintf("%s %d", c.Type, c.ID)
}

// ranges is a list of numbers in short: 0–3, 7.
func ranges(n []int) string {
	var out []string
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		switch {
		case k-i >= 2:
			out = append(out, fmt.Sprintf("%d–%d", n[i], n[k]))
		default:
			for _, x := range n[i : k+1] {
				out = append(out, fmt.Sprint(x))
			}
		}
		i = k + 1
	}
	return strings.Join(out, ", ")
}

func oneCore(b *bytes.Buffer, c Core, s Style, line string) {
	switch {
	case c.PCFixed != "":
		line += fmt.Sprintf("  pc %s repaired by %s to %s", c.PC, c.PCFixedBy, c.PCFixed)
	case c.PC != "":
		line += "  pc " + c.PC
	}
	if c.Offset != "" {
		line += ", entry+" + c.Offset
	} else if c.TextOffset != "" {
		line += ", text+" + c.TextOffset
	}
	if c.Source != "" {
		line += ", " + c.Source
	}
	if c.Bystander {
		line += ", bystander"
	}
	fmt.Fprintln(b, s.bold(line))
	if len(c.ErrorWords) > 0 {
		fmt.Fprintf(b, "          error words (%s), bits %s\n", strings.Join(c.ErrorWords, ", "), strings.Trim(fmt.Sprint(c.Bits), "[]"))
	}
	if len(c.Codes) > 0 {
		fmt.Fprintf(b, "          codes %s\n", strings.Trim(fmt.Sprint(c.Codes), "[]"))
	}
	for _, w := range c.Why {
		fmt.Fprintf(b, "          %s\n", w)
	}
	if c.PCDoubtful != "" {
		fmt.Fprintf(b, "          the repaired program counter is doubtful: %s\n", c.PCDoubtful)
	}
	code(b, c.Code)
	if len(c.Memories) > 0 {
		fmt.Fprintf(b, "          memories: %s\n", strings.Join(c.Memories, ", "))
	}
	registers(b, c, s)
}

// code prints the words around the program counter, one a line where the instructions are known.
func code(b *bytes.Buffer, list []CodeWord) {
	if len(list) == 0 {
		return
	}
	if list[0].Text != "" {
		for _, w := range list {
			mark := "  "
			if w.Here {
				mark = "=>"
			}
			line := fmt.Sprintf("        %s %s  %s  %s", mark, w.Addr, w.Word, w.Text)
			if w.Note != "" {
				line = fmt.Sprintf("%-60s %s", line, w.Note)
			}
			fmt.Fprintln(b, line)
		}
		return
	}
	b.WriteString("          code")
	for _, w := range list {
		if w.Here {
			fmt.Fprintf(b, " >%s<", w.Word)
		} else {
			b.WriteString(" " + w.Word)
		}
	}
	fmt.Fprintf(b, " from %s\n", list[0].Addr)
}

// maxRegisters is how many registers are printed of a core; all are in JSON.
const maxRegisters = 400

// registers prints four a line those that are not zero, and names those that are.
func registers(b *bytes.Buffer, c Core, s Style) {
	if s.Brief {
		if len(c.Registers) > 0 {
			fmt.Fprintf(b, "          %d registers\n", len(c.Registers))
		}
		return
	}
	n := 0
	var zeros []string
	for _, r := range c.Registers {
		if r.Value == "0x0" {
			zeros = append(zeros, r.Name)
			continue
		}
		if n == maxRegisters {
			continue
		}
		if n%4 == 0 {
			if n > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("         ")
		}
		fmt.Fprintf(b, " %-18s %-18s", r.Name, r.Value)
		n++
	}
	if n > 0 {
		b.WriteByte('\n')
	}
	if rest := len(c.Registers) - n - len(zeros); rest > 0 {
		fmt.Fprintf(b, "          %d more registers; all are in --json\n", rest)
	}
	switch short := names(zeros); {
	case len(short) > 24:
		fmt.Fprintf(b, "          %d registers are zero; all are in --json\n", len(zeros))
	case len(short) > 0:
		fmt.Fprintf(b, "          zero: %s\n", strings.Join(short, ", "))
	}
}

// names writes runs of numbered names in short: X5–X23.
func names(list []string) []string {
	var out []string
	split := func(s string) (string, int) {
		i := len(s)
		for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
			i--
		}
		n := -1
		if i < len(s) && len(s)-i < 6 {
			n, _ = strconv.Atoi(s[i:])
		}
		return s[:i], n
	}
	for i := 0; i < len(list); {
		k := i
		stem, n := split(list[i])
		for n >= 0 && k+1 < len(list) {
			if next, m := split(list[k+1]); next != stem || m != n+k+1-i {
				break
			}
			k++
		}
		if k-i >= 2 {
			out = append(out, list[i]+"–"+list[k])
		} else {
			out = append(out, list[i:k+1]...)
		}
		i = k + 1
	}
	return out
}
