package top

import (
	"fmt"
	"strings"
	"time"

	"npu/internal/tui/cell"
	"npu/internal/tui/keys"
	"npu/internal/tui/theme"
)

// part is one piece of the top line; the less it matters, the earlier it goes when there is no room.
type part struct {
	text string
	role theme.Role
	rank int // 0 stays
}

// drawHead is the line that answers first: how many devices, which is sick, how old the figures are.
func (m *model) drawHead(a cell.Area) {
	name := " npu top "
	if a.W < 50 {
		name = " top "
	}
	left := append([]part{{name, theme.Brand, 0}}, m.summary()...)
	right := m.freshness()
	width := func() int {
		n := -2
		for _, p := range append(left[:len(left):len(left)], right...) {
			n += cell.Width(p.text) + 2
		}
		return n
	}
	for width() > a.W {
		if !dropWorst(&left, &right) {
			break
		}
	}
	x := 0
	for _, p := range left {
		x = a.Text(x, 0, p.role, p.text) + 2
	}
	end := a.W
	for i := len(right) - 1; i >= 0; i-- {
		end -= cell.Width(right[i].text)
		if end >= x-1 {
			a.Text(end, 0, right[i].role, right[i].text)
		}
		end -= 2
	}
}

func dropWorst(lists ...*[]part) bool {
	var from *[]part
	at, rank := 0, 0
	for _, l := range lists {
		for i, p := range *l {
			if p.rank > rank {
				from, at, rank = l, i, p.rank
			}
		}
	}
	if from == nil {
		return false
	}
	*from = append((*from)[:at], (*from)[at+1:]...)
	return true
}

// summary is what all devices do together.
func (m *model) summary() []part {
	n := len(m.frame.Devices)
	if n == 0 {
		return nil
	}
	word := "devices"
	if n == 1 {
		word = "device"
	}
	out := []part{{fmt.Sprintf("%d %s", n, word), theme.Strong, 3}}
	sick, worst := 0, 0
	var util, power, used, total float64
	nu, np := 0, 0
	for i := range m.frame.Devices {
		d := &m.frame.Devices[i]
		if s := d.Severity(); s > 0 {
			sick, worst = sick+1, max(worst, s)
		}
		if d.Util.Known {
			util, nu = util+d.Util.N, nu+1
		}
		if d.Power.Known {
			power, np = power+d.Power.N, np+1
		}
		if s := d.Mem(); s.Share().Known {
			used, total = used+s.Used.N, total+s.Total.N
		}
	}
	if sick == 0 {
		out = append(out, part{"all well", theme.Good, 7})
	} else {
		out = append(out, part{fmt.Sprintf("%s %d sick", healthSign(worst), sick), healthRole(worst), 1})
	}
	if nu > 0 {
		out = append(out, part{fmt.Sprintf("util %.0f%%", util/float64(nu)), theme.UtilRamp(util / float64(nu) / 100), 5})
	}
	if total > 0 {
		out = append(out, part{fmt.Sprintf("mem %.0f/%.0f GiB", used/1024, total/1024), theme.MemRamp(used / total), 6})
	}
	if np > 0 {
		text := fmt.Sprintf("%.0f W", power)
		if power >= 10000 {
			text = fmt.Sprintf("%.1f kW", power/1000)
		}
		if np < n {
			text = ">" + text
		}
		out = append(out, part{text, theme.Power, 8})
	}
	return out
}

// freshness is where the figures come from and how old they are.
func (m *model) freshness() []part {
	var out []part
	if m.pointer {
		out = append(out, part{"mouse", theme.Dim, 8})
	}
	if m.paused {
		out = append(out, part{"PAUSED", theme.Warn, 1})
	}
	if m.player != nil {
		at, n := m.player.Position()
		out = append(out, part{fmt.Sprintf("recording %d/%d  %s", at+1, n, m.frame.Time.Local().Format("15:04:05")), theme.Bar, 1})
		return out
	}
	calm := m.calm()
	if calm >= 0 { // one age is enough: the oldest
		names := ""
		for _, s := range m.frame.Sources {
			names += strings.TrimSuffix("  "+s.Name+" "+s.Version, " ")
		}
		return append(out, part{names[2:], theme.Dim, 8}, part{seconds(calm) + " old", theme.Bar, 4}, part{m.now().Format("15:04:05"), theme.Dim, 9})
	}
	for _, s := range m.frame.Sources {
		name := s.Name
		if s.Version != "" {
			out = append(out, part{s.Name + " " + s.Version, theme.Dim, 8})
			name = ""
		}
		age := ""
		role := theme.Bar
		if !s.At.IsZero() {
			age = seconds(m.now().Sub(s.At)) + " old"
			if m.now().Sub(s.At) > 3*max(m.interval, s.Took) {
				role = theme.Warn
				age = "! " + age
			}
		}
		switch s.State {
		case Waiting:
			age = "asking" + more
		case Failed:
			age, role = "! no answer", theme.Warn
		case Stale:
			role = theme.Bad
			age = "!! " + strings.TrimPrefix(age, "! ")
		}
		out = append(out, part{strings.TrimSpace(name + " " + age), role, 2})
	}
	return append(out, part{m.now().Format("15:04:05"), theme.Dim, 9})
}

// calm is the greatest age of the figures if all sources answer in time, else -1.
func (m *model) calm() time.Duration {
	age := time.Duration(-1)
	for _, s := range m.frame.Sources {
		if s.State != Live || s.At.IsZero() || m.now().Sub(s.At) > 3*max(m.interval, s.Took) {
			return -1
		}
		age = max(age, m.now().Sub(s.At), 0)
	}
	return age
}

// drawFoot is the prompt, a message, what is wrong with a source, or the keys that matter now.
func (m *model) drawFoot(a cell.Area) {
	switch {
	case m.prompt != nil:
		x := a.Text(0, 0, theme.BarKey, string(m.asks))
		text := m.prompt.String()
		start := x
		x = a.Text(x, 0, theme.Strong, text)
		cursor := start + cell.Width(string([]rune(text)[:m.prompt.Cursor()]))
		if cursor >= x {
			a.Rune(cursor, 0, theme.Brand, ' ')
			if m.th.Profile == theme.None {
				a.Rune(cursor, 0, theme.Brand, '_')
			}
			x = cursor + 1
		} else {
			a.Sub(cursor, 0, 1, 1).Mark(0, theme.Selected)
		}
		hint, role := "Enter keep  Esc drop  KEY=expr  !not", theme.Dim
		if m.asks == ':' {
			hint = m.hint()
		} else if m.promptErr != "" {
			hint, role = "! "+m.promptErr, theme.Warn
		}
		hint = cell.Cut(hint, a.W-x-2, more)
		right(a.Sub(x+1, 0, a.W-x-1, 1), 0, role, hint)
		return
	case m.message != "":
		a.Text(0, 0, theme.Strong, cell.Cut(m.message, a.W, more))
		return
	}
	for _, s := range m.frame.Sources {
		if s.State == Stale {
			a.Text(0, 0, theme.Bad, cell.Cut("!! "+s.Name+": "+s.Says+strings.Join(append([]string{""}, s.Try...), "; try: "), a.W, more))
			return
		}
	}
	x := 0
	x0, y0 := a.At()
	for _, k := range m.footKeys() {
		h := k.Help()
		if x+cell.Width(h.Key)+cell.Width(h.Desc)+1 > a.W {
			break
		}
		from := x
		x = a.Text(x, 0, theme.BarKey, h.Key)
		x = a.Text(x+1, 0, theme.Dim, h.Desc) + 2
		m.buttons = append(m.buttons, button{x: x0 + from, y: y0, w: x - from - 2, panel: -1, key: k})
	}
	if c := fmt.Sprintf("top itself %.1f%% of a core", m.cost.share.N); m.cost.share.Known && x+cell.Width(c) < a.W {
		right(a, 0, theme.Dim, c)
	}
}

// footKeys are the keys that matter now, in few words.
func (m *model) footKeys() []keys.Binding {
	b := &m.keys
	short := func(k keys.Binding, key, does string) keys.Binding {
		k.SetHelp(key, does)
		return k
	}
	switch {
	case m.help:
		return []keys.Binding{short(b.back, "Esc", "close"), short(b.down, "↑↓", "scroll"), short(b.quit, "q", "quit")}
	case m.detail:
		return []keys.Binding{short(b.back, "Esc", "close"), short(b.down, "↑↓", "other row"), short(b.pageDown, "PgDn", "scroll"), short(b.snapshot, "S", "picture"), short(b.quit, "q", "quit")}
	case m.player != nil:
		return []keys.Binding{short(b.help, "?", "help"), short(b.quit, "q", "quit"), short(b.pause, "Space", "pause"), short(b.step, "[ ]", "step"), short(b.nextPanel, "Tab", "panel"), short(b.details, "Enter", "details"), short(b.filter, "/", "filter"), short(b.sortRight, "<>", "sort")}
	}
	return []keys.Binding{short(b.help, "?", "help"), short(b.quit, "q", "quit"), short(b.details, "Enter", "details"), short(b.nextPanel, "Tab", "panel"), short(b.filter, "/", "filter"), short(b.sortRight, "<>", "sort"), short(b.pause, "Space", "pause"), short(b.tree, "t", "tree"), short(b.view, "v", "view"), short(b.snapshot, "S", "picture")}
}
