package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// command is one word of the command line, with what it takes and what that can be.
type command struct {
	name, takes string
	values      func(m *model) []string
	run         func(m *model, arg string) error
}

// commands are those of the command line, in the order of the hint.
func commands() []command {
	return []command{
		{"sort", "COLUMN, -COLUMN", func(m *model) []string { return m.panels[m.active].keys }, (*model).sortCommand},
		{"filter", "EXPRESSION, KEY=x, !not", nil, func(m *model, arg string) error { m.setFilter(arg); return nil }},
		{"panel", strings.Join(panelNames[:], ", "), func(*model) []string { return panelNames[:] }, (*model).panelCommand},
		{"npu", "ID, as 3 or 3.1", func(m *model) []string { return m.deviceNames() }, (*model).npuCommand},
		{"pid", "PID", func(m *model) []string { return m.pids() }, (*model).pidCommand},
		{"view", strings.Join(viewNames[:], ", "), func(*model) []string { return viewNames[:] }, (*model).viewCommand},
		{"interval", "TIME, as 500ms or 2s", nil, (*model).intervalCommand},
		{"export", "FILE.csv, .json, .svg, .ansi, .txt", nil, (*model).export},
		{"quit", "", nil, nil},
	}
}

// hint says what the command line expects.
func (m *model) hint() string {
	text := m.prompt.String()
	word, arg, given := strings.Cut(text, " ")
	var names []string
	for _, c := range commands() {
		switch {
		case given && c.name == word:
			if c.values != nil {
				return strings.Join(fitting(c.values(m), arg), " ")
			}
			return c.takes
		case !given && strings.HasPrefix(c.name, word):
			names = append(names, c.name)
		}
	}
	return strings.Join(names, " ")
}

// fitting are the values that begin with text, whatever the case; a "-" in front is kept.
func fitting(values []string, text string) []string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	var out []string
	for _, v := range values {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(text)) {
			out = append(out, sign+v)
		}
	}
	return out
}

// complete finishes the word before the cursor, as far as it is clear; what is complete goes on to the next that fits.
func (m *model) complete() {
	text := m.prompt.String()
	word, arg, given := strings.Cut(text, " ")
	var all []string
	before, part := "", word
	for _, c := range commands() {
		switch {
		case !given:
			all = append(all, c.name)
		case c.name == word && c.values != nil:
			all, before, part = c.values(m), word+" ", arg
		}
	}
	fits := fitting(all, part)
	switch {
	case len(fits) == 0:
		return
	case len(fits) == 1 && !given:
		m.prompt.Set(fits[0] + " ")
	case len(fits) == 1:
		m.prompt.Set(before + fits[0])
	default:
		m.prompt.Set(before + common(fits))
	}
}

// common is the longest beginning that all share.
func common(list []string) string {
	s := list[0]
	for _, v := range list[1:] {
		for !strings.HasPrefix(v, s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// command does what was typed on the command line.
func (m *model) command(text string) tea.Cmd {
	word, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "":
		return nil
	case "q", "quit":
		return tea.Quit
	}
	for _, c := range commands() {
		if c.name != word {
			continue
		}
		if arg == "" && word != "filter" {
			m.say(":" + word + " takes " + c.takes)
			return nil
		}
		if err := c.run(m, arg); err != nil {
			m.say(err.Error())
		}
		return nil
	}
	m.say("there is no command " + word + "; Tab shows them")
	return nil
}

func (m *model) sortCommand(arg string) error {
	key, turn := strings.CutPrefix(arg, "-")
	p := &m.panels[m.active]
	if !slices.Contains(p.keys, key) {
		return fmt.Errorf("the %s have no column %s to sort by; there are %s", panelNames[m.active], key, strings.Join(p.keys, ", "))
	}
	p.sort = natural(key)
	p.sort.Down = p.sort.Down != turn
	p.top = 0
	return nil
}

func (m *model) panelCommand(arg string) error {
	n, err := ParsePanel(arg)
	if err != nil {
		return fmt.Errorf("panel %s: there are %s", arg, strings.Join(panelNames[:], ", "))
	}
	m.choose(n)
	return nil
}

func (m *model) viewCommand(arg string) error {
	i := slices.Index(viewNames[:], arg)
	if i < 0 {
		return fmt.Errorf("view %s: there are %s", arg, strings.Join(viewNames[:], ", "))
	}
	m.view = viewMode(i)
	return nil
}

func (m *model) intervalCommand(arg string) error {
	d, err := time.ParseDuration(arg)
	if err != nil || d < paces[0] || d > time.Minute {
		return fmt.Errorf("interval %s: expected a time from %v to 1m, as 500ms", arg, paces[0])
	}
	if m.player != nil {
		return fmt.Errorf("a recording has its own pace; step with [ and ]")
	}
	m.interval = d
	m.src.Interval(d)
	return nil
}

func (m *model) deviceNames() []string {
	names := namesOf(m.frame.Devices)
	var out []string
	for i := range m.frame.Devices {
		out = append(out, names.device(&m.frame.Devices[i]))
	}
	return out
}

func (m *model) pids() []string {
	var out []string
	for _, p := range m.frame.Processes.Rows {
		if s := strconv.Itoa(p.PID); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// npuCommand selects the row of a device.
func (m *model) npuCommand(arg string) error {
	i := slices.Index(m.deviceNames(), arg)
	if i < 0 {
		return fmt.Errorf("there is no NPU %s; there are %s", arg, strings.Join(m.deviceNames(), " "))
	}
	return m.pick(PanelDevices, fmt.Sprint(m.frame.Devices[i].Key()))
}

// pidCommand selects the row of a process, the first one in the tree.
func (m *model) pidCommand(arg string) error {
	for _, p := range m.frame.Processes.Rows {
		if strconv.Itoa(p.PID) == arg {
			return m.pick(PanelProcesses, (&processRow{Process: p, depth: b2i(m.tree)}).id())
		}
	}
	return fmt.Errorf("no process %s uses a device", arg)
}

// pick selects a row by what it is.
func (m *model) pick(panel int, id string) error {
	m.choose(panel)
	m.draw() // a panel that was not on the screen knows its rows now
	p := &m.panels[panel]
	i := slices.Index(p.ids, id)
	if i < 0 {
		return fmt.Errorf("the filter %s hides it", p.text)
	}
	m.move(i - p.at)
	return nil
}
