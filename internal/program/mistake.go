package program

import (
	"fmt"
	"strings"
)

// Mistake is something wrong with the text of a program, found before anything runs.
type Mistake struct {
	Pos  Pos
	Text string
	Hint string
}

func (m *Mistake) Error() string {
	s := m.Pos.String() + ": " + m.Text
	if m.Hint != "" {
		s += " (" + m.Hint + ")"
	}
	return s
}

// Mistakes is all that is wrong with a program, in order of lines.
type Mistakes struct {
	File  string
	List  []*Mistake
	lines []string
}

// Error names the first mistake and how many there are.
func (m *Mistakes) Error() string {
	s := m.File + ":" + m.List[0].Error()
	if n := len(m.List) - 1; n > 0 {
		s += fmt.Sprintf("; and %d more, nothing was run", n)
	}
	return s
}

// Show prints each mistake with its line and a mark under the column; a single one without its text, which Error has.
func (m *Mistakes) Show() string {
	var b strings.Builder
	for _, x := range m.List {
		if len(m.List) > 1 {
			fmt.Fprintf(&b, "%s:%s\n", m.File, x.Error())
		}
		if n := x.Pos.Line; n >= 1 && n <= len(m.lines) {
			line := []rune(strings.TrimRight(m.lines[n-1], " \t\r"))
			mark := make([]rune, 0, x.Pos.Col)
			for i := 0; i < x.Pos.Col-1 && i < len(line); i++ {
				if line[i] == '\t' {
					mark = append(mark, '\t')
				} else {
					mark = append(mark, ' ')
				}
			}
			fmt.Fprintf(&b, "    %s\n    %s^\n", string(line), string(mark))
		}
	}
	return b.String()
}

// maxMistakes is how many mistakes of a program are worth reading.
const maxMistakes = 20
