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
		return m.run(word, strings.TrimSpace(arg))
	}
	return nil
}

// run does a command.
func (m *model) run(word, arg string) tea.Cmd {
	switch word {
	case "":
	case "goto":
		at, ok := parseTime(arg)
		if !ok {
			m.say("goto " + arg + ": expected a time as 12.4ms or 250us")
			return nil
		}
		m.goTime(m.d.Zero + at)
	case "window":
		from, to, _ := strings.Cut(arg, " ")
		a, ok1 := parseTime(from)
		b, ok2 := parseTime(to)
		if !ok1 || !ok2 || b <= a {
			m.say("window " + arg + ": expected two times, as 1ms 2.5ms")
			return nil
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
			return nil
		}
		m.colour = c
	case "lane":
		for _, l := range m.d.Lanes {
			if has(m.d.where(l), strings.ToLower(arg)) {
				m.unveil(l)
				m.stand(slices.IndexFunc(m.lines, func(x line) bool { return x.lane == l }))
				return nil
			}
		}
		m.say("no lane is called " + arg)
	case "align":
		how, ok := alignings[arg]
		if !ok {
			m.say("align " + arg + ": expected operators, task or off")
			return nil
		}
		return m.align(how)
	case "pipes":
		m.showPipes(arg != "off")
	case "export":
		m.export(arg)
	case "stats":
		m.exportStats(arg)
	case "follow":
		m.follow = false
		m.toggleFollow()
	default:
		m.say("there is no command " + word + "; Tab shows them")
	}
	return nil
}

// alignings are the words of the command align.
var alignings = map[string]aligning{"operators": alignByOperators, "task": alignByTask, "off": alignOff}

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
	if !m.free(path, "export needs a file: its suffix says what, as part.npt, part.json, part.svg") {
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

// free says whether a file may be written: it has a name, and is not there yet.
func (m *model) free(path, usage string) bool {
	if path == "" {
		m.say(usage)
		return false
	}
	if _, err := os.Lstat(path); err == nil {
		m.say(path + " exists already; it was left alone")
		return false
	}
	return true
}

// exportStats writes the statistics of what is in sight, or of the range, as CSV.
func (m *model) exportStats(path string) {
	if !m.free(path, "stats needs a file, as ops.csv") {
		return
	}
	m.settle()
	if err := outfile.Write(path, func(w io.Writer) error { return m.counts.write(w, m.d) }); err != nil {
		m.say(err.Error())
		return
	}
	m.say(fmt.Sprintf("wrote %s: %d operators in %s", path, len(m.counts.Ops), dur(m.counts.To-m.counts.From)))
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
