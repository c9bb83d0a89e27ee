package timeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/trace/export"
)

// command is one of the command line: what it takes, for the hint, and what Tab offers for that.
type command struct {
	name, takes string
	offers      func(m *model, typed string) []string // nil for none
}

// commands lists all, in the order in which Tab offers them.
func commands() []command {
	words := func(list ...string) func(*model, string) []string {
		return func(*model, string) []string { return list }
	}
	lanes := func(m *model, _ string) (out []string) {
		for _, l := range m.d.Lanes {
			out = append(out, m.d.where(l))
		}
		return out
	}
	return []command{
		{"goto", "TIME, as 12.4ms", nil},
		{"window", "FROM TO, as 1ms 2.5ms", nil},
		{"find", "EXPRESSION", func(m *model, _ string) []string { return m.d.names() }},
		{"lane", "NAME", lanes},
		{"colour", "kind, type, stream, duration or wait", words(colourNames[:]...)},
		{"align", "operators, task or off", words("operators", "task", "off")},
		{"pipes", "on or off", words("on", "off")},
		{"export", "FILE.npt, .json, .csv, ... or .svg", func(m *model, typed string) []string { return files(typed, append(export.Suffixes(), ".svg")) }},
		{"stats", "FILE.csv", func(m *model, typed string) []string { return files(typed, []string{".csv"}) }},
		{"follow", "", nil},
		{"quit", "", nil},
	}
}

// names is the operator types and task names of the trace, as an expression finds them.
func (d *Data) names() []string {
	out := make([]string, 0, len(d.ranks))
	for _, id := range d.ranks {
		out = append(out, d.T.String(id))
	}
	return out
}

// files offers directories, and the suffixes behind a name that has none. Files are not offered: none is written over.
func files(typed string, suffixes []string) []string {
	var out []string
	dir, base := filepath.Split(typed)
	list, _ := os.ReadDir(filepath.Clean("./" + dir))
	if filepath.IsAbs(typed) {
		list, _ = os.ReadDir(dir)
	}
	for _, e := range list {
		if e.IsDir() && strings.HasPrefix(e.Name(), base) && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, dir+e.Name()+"/")
		}
	}
	stem, _, _ := strings.Cut(base, ".")
	if stem == "" {
		stem = "part"
	}
	for _, s := range suffixes {
		out = append(out, dir+stem+s)
	}
	return out
}

// completion is what Tab offers, one after the other.
type completion struct {
	list []string
	at   int
	set  string // what the last Tab wrote
}

// complete finishes the word of a command; pressed again it offers the next.
func (m *model) complete(by int) {
	if m.ask != askCommand {
		return
	}
	c := &m.completion
	if len(c.list) > 0 && m.edit.String() == c.set {
		c.at = (c.at + by + len(c.list)) % len(c.list)
	} else {
		*c = completion{list: m.offered()}
	}
	if len(c.list) == 0 {
		return
	}
	c.set = c.list[c.at]
	m.edit.Set(c.set)
}

// offered is the lines that what is typed can become.
func (m *model) offered() []string {
	word, rest, given := strings.Cut(m.edit.String(), " ")
	var out []string
	for _, c := range commands() {
		switch {
		case !given && strings.HasPrefix(c.name, word):
			if out = append(out, c.name); c.takes != "" {
				out[len(out)-1] += " "
			}
		case given && c.name == word && c.offers != nil:
			for _, s := range c.offers(m, rest) {
				if strings.HasPrefix(strings.ToLower(s), strings.ToLower(rest)) {
					out = append(out, word+" "+s)
				}
			}
		}
	}
	return slices.Compact(out)
}

// hint says what the prompt expects.
func (m *model) hint() string {
	if m.ask == askFind {
		return fmt.Sprintf("%d names fit", len(slices.DeleteFunc(slices.Clone(m.hits), func(b bool) bool { return !b })))
	}
	if m.ask != askCommand {
		return ""
	}
	word, rest, given := strings.Cut(m.edit.String(), " ")
	var names []string
	for _, c := range commands() {
		switch {
		case c.name == word && given && rest != "":
			return ""
		case c.name == word && (given || c.takes == ""):
			return c.takes
		case !given && strings.HasPrefix(c.name, word):
			names = append(names, c.name)
		}
	}
	return strings.Join(names, " ")
}
