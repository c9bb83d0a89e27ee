package timeline

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/outfile"
	"npu/internal/trace/cut"
	"npu/internal/trace/export"
	"npu/internal/tui/svg"
)

// commands are those of the command line, with what they take.
var commands = []struct{ name, takes string }{
	{"goto", "TIME, as 12.4ms"}, {"window", "FROM TO"}, {"find", "EXPRESSION"}, {"colour", "kind, type, stream, duration or wait"},
	{"export", "FILE.npt, .json, .csv, ... or .svg"}, {"lane", "NAME"}, {"quit", ""},
}

// hint says what the prompt expects.
func (m *model) hint() string {
	if m.ask == askFind {
		return fmt.Sprintf("%d names fit", len(slices.DeleteFunc(slices.Clone(m.hits), func(b bool) bool { return !b })))
	}
	if m.ask != askCommand {
		return ""
	}
	word, _, given := strings.Cut(m.edit.String(), " ")
	var names []string
	for _, c := range commands {
		if c.name == word {
			if given && m.edit.String() != word+" " {
				return ""
			}
			return c.takes
		}
		if strings.HasPrefix(c.name, word) {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, " ")
}

// complete finishes the word of a command.
func (m *model) complete() {
	text := m.edit.String()
	if m.ask != askCommand {
		return
	}
	word, rest, given := strings.Cut(text, " ")
	var all []string
	prefix := ""
	if !given {
		for _, c := range commands {
			all = append(all, c.name+" ")
		}
		rest = word
	} else {
		prefix = word + " "
		switch word {
		case "colour":
			all = colourNames[:]
		case "lane":
			for _, l := range m.d.Lanes {
				all = append(all, m.d.where(l))
			}
		}
	}
	for _, s := range all {
		if strings.HasPrefix(strings.ToLower(s), strings.ToLower(rest)) {
			m.edit.Set(prefix + s)
			return
		}
	}
}

// answered does what a prompt was for.
func (m *model) answered() tea.Cmd {
	ask, text := m.ask, strings.TrimSpace(m.edit.String())
	m.ask = askNothing
	switch ask {
	case askFind:
		if err := m.search(text); err != nil {
			m.say(err.Error())
			return nil
		}
		if m.find != nil {
			m.toHit(false)
		}
	case askCommand:
		word, arg, _ := strings.Cut(text, " ")
		if word == "quit" || word == "q" {
			return tea.Quit
		}
		m.run(word, strings.TrimSpace(arg))
	}
	return nil
}

// run does a command.
func (m *model) run(word, arg string) {
	switch word {
	case "":
	case "goto":
		at, ok := parseTime(arg)
		if !ok {
			m.say("goto " + arg + ": expected a time as 12.4ms or 250us")
			return
		}
		m.goTime(m.d.Zero + at)
	case "window":
		from, to, _ := strings.Cut(arg, " ")
		a, ok1 := parseTime(from)
		b, ok2 := parseTime(to)
		if !ok1 || !ok2 || b <= a {
			m.say("window " + arg + ": expected two times, as 1ms 2.5ms")
			return
		}
		m.remember()
		m.show(m.d.Zero+a, m.d.Zero+b)
		m.keep()
	case "find":
		if err := m.search(arg); err != nil {
			m.say(err.Error())
		} else if m.find != nil {
			m.toHit(false)
		}
	case "colour", "color":
		c, ok := ParseColour(arg)
		if !ok {
			m.say("colour " + arg + ": expected " + strings.Join(colourNames[:], ", "))
			return
		}
		m.colour = c
	case "lane":
		for _, l := range m.d.Lanes {
			if has(m.d.where(l), strings.ToLower(arg)) {
				m.unveil(l)
				m.stand(slices.IndexFunc(m.lines, func(x line) bool { return x.lane == l }))
				return
			}
		}
		m.say("no lane is called " + arg)
	case "export":
		m.export(arg)
	default:
		m.say("there is no command " + word + "; Tab shows them")
	}
}

// search marks the names that fit an expression. Small letters find large ones too.
func (m *model) search(s string) error {
	if s == "" {
		m.find, m.hits, m.said = nil, nil, ""
		return nil
	}
	expr := s
	if strings.IndexFunc(s, unicode.IsUpper) < 0 {
		expr = "(?i)" + s
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return fmt.Errorf("search %s: %w", s, err)
	}
	m.find, m.said = re, s
	m.hits = make([]bool, len(m.d.T.Strings))
	for i, name := range m.d.T.Strings {
		m.hits[i] = name != "" && re.MatchString(name)
	}
	return nil
}

// export writes what is in sight, or the range, as a trace or as a picture. A file that exists is left alone.
func (m *model) export(path string) {
	if path == "" {
		m.say("export needs a file: its suffix says what, as part.npt, part.json, part.svg")
		return
	}
	if _, err := os.Lstat(path); err == nil {
		m.say(path + " exists already; it was left alone")
		return
	}
	if strings.HasSuffix(path, ".svg") {
		m.picture(path)
		return
	}
	from, to := m.measured()
	start := cut.Start(m.d.T)
	piece := cut.Trace(m.d.T, cut.Options{From: max(from-start, 0), To: max(to-start, 1)})
	if err := export.Write(path, piece); err != nil {
		m.say(err.Error())
		return
	}
	m.say(fmt.Sprintf("wrote %s: %d tasks and %d calls in %s", path, piece.Tasks.Len(), piece.Spans.Len(), dur(to-from)))
}

// snapshot writes the screen as it is seen, into a file that does not exist yet.
func (m *model) snapshot() {
	base := "npu-trace-" + m.now().Format("20060102-150405")
	name := base + ".svg"
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); os.IsNotExist(err) {
			break
		}
		name = fmt.Sprintf("%s-%d.svg", base, i)
	}
	m.picture(name)
}

func (m *model) picture(path string) {
	m.message = ""
	m.draw()
	text := m.buf.String(m.th)
	err := outfile.Write(path, func(w io.Writer) error {
		return svg.Write(w, text, svg.Options{Light: m.th.Light, Title: "npu trace view"})
	})
	if err != nil {
		m.say(err.Error())
		return
	}
	m.say("wrote " + path)
}
