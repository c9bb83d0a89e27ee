package timeline

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace/load"
	"npu/internal/tui/keys"
	"npu/internal/tui/theme"
)

// on names what the cursor is on: the lane, and the task.
func on(m *model) string {
	if m.at.lane == nil {
		return m.d.Groups[m.group].Name
	}
	if !m.at.ok() {
		return m.at.lane.Name + ":"
	}
	return m.at.lane.Name + ":" + m.d.label(m.at)
}

// Every key does what its help says. Each case begins on the lane of stream 1, at its first task.
func TestKeys(t *testing.T) {
	span := func(m *model) int64 { return m.to - m.from }
	for _, c := range []struct {
		keys string
		want func(m *model) bool
	}{
		{"w", func(m *model) bool { return span(m) == 49_500 && m.cur >= m.from && m.cur < m.to }},
		{"w+=", func(m *model) bool { return span(m) < 13_000 }},
		{"ws", func(m *model) bool { return span(m) == 99_000 }},
		{"ww-_", func(m *model) bool { return span(m) == 99_000 }},
		{"ww0", func(m *model) bool { return m.from == m.d.From && m.to == m.d.To }},
		{".ff", func(m *model) bool {
			return on(m) == "Stream 1 计算流:conv1" && m.from < 22_000 && m.to > 52_000 && span(m) < 40_000
		}},
		{".z", func(m *model) bool { return span(m) < 40_000 }},
		{"vlllllllllvz", func(m *model) bool { return span(m) < 30_000 && m.ranged }},
		{"l", func(m *model) bool { return m.cur > 21_500 && m.cur < 23_000 }},
		{"l<left>", func(m *model) bool { return m.cur > 20_000 && m.cur < 21_500 }},
		{"wwwd", func(m *model) bool { return m.from > 19_500 && m.from < 19_700 }},
		{"wwwda", func(m *model) bool { return m.from == 18_375 }},
		{"wwwD", func(m *model) bool { return m.from > 25_000 }},
		{"wwwLA", func(m *model) bool { return m.from < 20_000 }},
		{"ww<end>", func(m *model) bool { return m.cur == m.d.To-1 }},
		{"ww<end><home>", func(m *model) bool { return m.cur == m.d.From }},
		{"j", func(m *model) bool { return strings.HasPrefix(on(m), "Stream 2") }},
		{"k", func(m *model) bool { return strings.HasPrefix(on(m), "Stream 0") }},
		{"{", func(m *model) bool { return on(m) == "NPU 0" }},
		{"{{", func(m *model) bool { return on(m) == "Host" }},
		{"{{}", func(m *model) bool { return on(m) == "NPU 0" }},
		{"g", func(m *model) bool { return on(m) == "Host" }},
		{"G", func(m *model) bool { return m.at.lane.Kind == Counter }},
		{"<pgdown>", func(m *model) bool { return m.at.lane.Kind == Counter }},
		{"<pgdown><pgup>", func(m *model) bool { return on(m) == "Host" }},
		{"..", func(m *model) bool { return on(m) == "Stream 1 计算流:relu1" }},
		{"...,,", func(m *model) bool { return on(m) == "Stream 1 计算流:conv1" }},
		{"[", func(m *model) bool { return on(m) == "Stream 0 copy:EVENT_RECORD" }},
		{"[]", func(m *model) bool { return on(m) == "Stream 1 计算流:EVENT_WAIT" }},
		{"..[", func(m *model) bool { return strings.HasSuffix(on(m), ":aclrtLaunchKernel") }},
		{"..[]", func(m *model) bool { return on(m) == "Stream 1 计算流:relu1" }},
		{"...[", func(m *model) bool { return on(m) == "Stream 2:fc" }}, // it had the engine
		{"t", func(m *model) bool { return on(m) == "Stream 1 计算流:conv1" }},
		{"i", func(m *model) bool { return on(m) == "Stream 1 计算流:" && m.cur > 62_500 && m.cur < 93_000 }},
		{"/relu<enter>", func(m *model) bool { return on(m) == "Stream 1 计算流:relu1" }},
		{"/conv<enter>n", func(m *model) bool { return on(m) == "Stream 1 计算流:conv2" }},
		{"/conv<enter>nN", func(m *model) bool { return on(m) == "Stream 1 计算流:conv1" }},
		{"/CONV<enter>", func(m *model) bool { return strings.Contains(m.message, "no further hit") }},
		{"/(<enter>", func(m *model) bool { return strings.Contains(m.message, "missing closing") }},
		{"/conv<esc>", func(m *model) bool { return m.find == nil && m.ask == askNothing }},
		{"/conv<enter><esc>", func(m *model) bool { return m.find == nil }},
		{"v..v", func(m *model) bool { return m.ranged && !m.open && m.counts.Tasks > 0 && m.counts.To == 60_500 }},
		{"v.<esc>", func(m *model) bool { return !m.ranged }},
		{"ma..", func(m *model) bool { return strings.Contains(m.delta(), "Δa 39.5 µs") }},
		{"ma..'a", func(m *model) bool { return m.cur == m.marks['a'] }},
		{"'b", func(m *model) bool { return strings.Contains(m.message, "no mark b") }},
		{"m/", func(m *model) bool { return len(m.marks) == 0 }},
		{"<space>", func(m *model) bool { return m.folded[1] && on(m) == "NPU 0" }},
		{"<space><space>", func(m *model) bool { return !m.folded[1] && m.at.lane != nil }},
		{"p", func(m *model) bool { return m.lines[0].lane == m.at.lane && m.here() == 0 }},
		{"pp", func(m *model) bool { return len(m.pinned) == 0 }},
		{"x", func(m *model) bool { return len(m.hidden) == 1 && len(m.lines) == 10 }},
		{"xX", func(m *model) bool { return len(m.hidden) == 0 && len(m.lines) == 11 }},
		{"J", func(m *model) bool { return m.lines[6].lane == m.at.lane && m.lines[5].lane.Name == "Stream 2" }},
		{"JKK", func(m *model) bool { return m.lines[4].lane == m.at.lane && m.here() == 4 }},
		{"KKK", func(m *model) bool { return m.lines[4].lane == m.at.lane && strings.Contains(m.message, "at its end") }},
		{"JX", func(m *model) bool { return m.lines[5].lane == m.at.lane }},
		{"pK", func(m *model) bool { return len(m.pinned) == 1 && strings.Contains(m.message, "at its end") }},
		{"<tab><tab>", func(m *model) bool {
			return m.tab == tabFlame && strings.Contains(m.View(), "▏Conv2D") && strings.Contains(m.View(), "▏95%")
		}},
		{"<tab><tab><tab>", func(m *model) bool { return m.tab == tabTable && strings.Contains(m.View(), "idle before") }},
		{"c", func(m *model) bool { return m.colour == ByType }},
		{"ccccc", func(m *model) bool { return m.colour == ByKind }},
		{"o", func(m *model) bool { return m.noArrows }},
		{"T", func(m *model) bool { return m.exact(m.cur) == "21000" }},
		{"<tab>", func(m *model) bool { return m.tab == tabStatistics && strings.Contains(m.View(), "operator") }},
		{"wwu", func(m *model) bool { return span(m) == 49_500 }},
		{"ww<backspace><backspace>", func(m *model) bool { return span(m) == 99_000 }},
		{"wwuu<ctrl+r>", func(m *model) bool { return span(m) == 49_500 }},
		{"u", func(m *model) bool { return strings.Contains(m.message, "nothing to undo") }},
		{":goto 30us<enter>", func(m *model) bool { return m.cur == m.d.From+30_000 && on(m) == "Stream 1 计算流:conv1" }},
		{":goto x<enter>", func(m *model) bool { return strings.Contains(m.message, "expected a time") }},
		{":window 10us 20us<enter>", func(m *model) bool { return m.from == m.d.From+10_000 && span(m) == 10_000 }},
		{":colour wait<enter>", func(m *model) bool { return m.colour == ByCause }},
		{":col<tab>", func(m *model) bool { return m.edit.String() == "colour " }},
		{":colour ty<tab>", func(m *model) bool { return m.edit.String() == "colour type" }},
		{":lane dma<enter>", func(m *model) bool { return m.at.lane.Name == "DMA" }},
		{":find fc<enter>", func(m *model) bool { return on(m) == "Stream 2:fc" }},
		{":colour <tab><tab>", func(m *model) bool { return m.edit.String() == "colour type" }},
		{":find Co<tab>", func(m *model) bool { return m.edit.String() == "find Conv2D" }},
		{":export x<tab><tab>", func(m *model) bool { return m.edit.String() == "export x.json" }},
		{":stats<enter>", func(m *model) bool { return strings.Contains(m.message, "needs a file") }},
		{":follow<enter>", func(m *model) bool { return strings.Contains(m.message, "complete") }},
		{":nonsense<enter>", func(m *model) bool { return strings.Contains(m.message, "no command nonsense") }},
		{"e", func(m *model) bool { return m.ask == askCommand && m.edit.String() == "export " }},
		{"%", func(m *model) bool { return m.mouseOff }},
		{"%%", func(m *model) bool { return !m.mouseOff }},
		{"?", func(m *model) bool { return m.help && strings.Contains(m.View(), "closer, about the cursor") }},
		{"?<esc>", func(m *model) bool { return !m.help }},
	} {
		m := screen(t, job(), theme.None, theme.Braille, 100, 30, "")
		if on(m) != "Stream 1 计算流:EVENT_WAIT" {
			t.Fatal(on(m))
		}
		press(t, m, c.keys)
		if fits(t, m.View(), 100, 30); !c.want(m) {
			t.Errorf("%q leads to %s, %d to %d, cursor %d, %q\n%s", c.keys, on(m), m.from, m.to, m.cur, m.message, m.View())
		}
	}
}

// Each binding is in the help and no key means two things.
func TestBindings(t *testing.T) {
	b := newBindings()
	seen := map[string]string{}
	for _, k := range b.all() {
		for _, name := range k.Keys() {
			if other, twice := seen[name]; twice {
				t.Errorf("%s means %s and %s", name, other, k.Help().Desc)
			}
			seen[name] = k.Help().Desc
		}
	}
	m := screen(t, job(), theme.None, theme.Braille, 80, 24, "")
	bound := map[string]bool{}
	for _, a := range append(m.actions(), action{Binding: b.quit}, action{Binding: b.interrupt}, action{Binding: b.redraw}, action{Binding: b.stop},
		action{Binding: b.help}, action{Binding: b.leave}, action{Binding: b.copy}, action{Binding: b.export}, action{Binding: b.snapshot}, action{Binding: b.capture}, action{Binding: b.base}, action{Binding: b.operators}) {
		bound[a.Keys()[0]] = true
	}
	for _, k := range b.all() {
		if !bound[k.Keys()[0]] {
			t.Errorf("nothing is done for %s", k.Help().Key)
		}
	}
	if len(b.all()) != len(bound) {
		t.Errorf("%d bindings in the help, %d done", len(b.all()), len(bound))
	}
}

// Commands that Bubble Tea carries out, before there is a trace and after.
func TestKeys_commands(t *testing.T) {
	waiting := newModel(still{}, theme.New(theme.None, false, theme.Braille))
	for _, m := range []*model{waiting, screen(t, job(), theme.None, theme.Braille, 80, 24, "")} {
		for name, c := range map[string]struct {
			k    tea.KeyMsg
			want tea.Msg
		}{
			"q":      {tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}, tea.QuitMsg{}},
			"ctrl-c": {tea.KeyMsg{Type: tea.KeyCtrlC}, tea.QuitMsg{}},
			"ctrl-l": {tea.KeyMsg{Type: tea.KeyCtrlL}, tea.ClearScreen()},
			"ctrl-z": {tea.KeyMsg{Type: tea.KeyCtrlZ}, tea.SuspendMsg{}},
		} {
			if cmd := m.key(c.k); cmd == nil || cmd() != c.want {
				t.Errorf("%s does not give %T", name, c.want)
			}
		}
		m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("wwjj?")})
		fits(t, m.View(), 80, 24)
	}
}

// A copy goes out with one frame and no more.
func TestCopy(t *testing.T) {
	m := screen(t, job(), theme.None, theme.Braille, 80, 24, "ty")
	first, second := m.View(), m.View()
	text := base64.StdEncoding.EncodeToString([]byte(m.headline()))
	if !strings.HasPrefix(first, "\x1b]52;c;"+text+"\a") || strings.Contains(second, "\x1b]52") {
		t.Errorf("%q\n%q", first[:60], second[:60])
	}
}

// What is in sight can be written, read again, and holds what was in sight.
func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	m := screen(t, job(), theme.None, theme.Braille, 100, 30, "")
	press(t, m, ":window 20us 63us<enter>:export part.npt<enter>:export part.svg<enter>:export part.npt<enter>S")
	part, err := load.File(t.Context(), "part.npt")
	if err != nil || part.Tasks.Len() != 6 {
		t.Errorf("%v, %d tasks: %s", err, part.Tasks.Len(), m.message)
	}
	if b, err := os.ReadFile("part.svg"); err != nil || !strings.HasPrefix(string(b), "<svg") {
		t.Error(err)
	}
	press(t, m, ":stats ops.csv<enter>")
	b, err := os.ReadFile("ops.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || !slices.Equal(rows[1], []string{"operator", "Conv2D", "20000", "63000", "1", "30000", "30000", "30000"}) {
		t.Errorf("%v, %v", rows, err)
	}
	if all, _ := filepath.Glob("npu-trace-*.svg"); len(all) != 1 {
		t.Error(all)
	}
}

// The wheel goes over lanes and, with Ctrl, zooms at the pointer; dragging moves time, takes a range, and moves lanes; a click
// puts the cursor there, two fit what is there.
func TestMouse(t *testing.T) {
	m := screen(t, job(), theme.None, theme.Braille, 100, 30, "")
	p := m.plan()
	x := p.names + p.w/2
	send := func(x, y int, b tea.MouseButton, a tea.MouseAction, mod func(*tea.MouseMsg)) {
		e := tea.MouseMsg{X: x, Y: y, Button: b, Action: a}
		if mod != nil {
			mod(&e)
		}
		m.Update(e)
	}
	const left, press, motion, release = tea.MouseButtonLeft, tea.MouseActionPress, tea.MouseActionMotion, tea.MouseActionRelease
	ctrl := func(e *tea.MouseMsg) { e.Ctrl = true }
	send(x, 5, tea.MouseButtonWheelUp, press, ctrl)
	if mid := m.from + (m.to-m.from)/2; m.to-m.from > 70_000 || mid < 45_000 || mid > 55_000 {
		t.Error("zoom:", m.from, m.to)
	}
	from := m.from
	send(x, 5, left, press, nil)
	send(x-10, 5, left, motion, nil)
	send(x-20, 5, left, motion, nil)
	send(x-20, 5, left, release, nil)
	if by, want := m.from-from, (m.to-m.from)*20/int64(p.w); by < want-2 || by > want+2 {
		t.Errorf("dragged by %d ns, expected %d", by, want)
	}
	m.undo(&m.undone, &m.redone)
	if m.from != from {
		t.Error("undone:", m.from, from)
	}
	m.whole()
	at := m.here()
	send(x, 5, tea.MouseButtonWheelDown, press, nil)
	if m.here() != at+1 {
		t.Error("the wheel does not go to the next lane")
	}
	for range 2 {
		send(p.names+30, p.y+5, left, press, nil)
		send(p.names+30, p.y+5, left, release, nil)
	}
	if on(m) != "Stream 1 计算流:conv1" || m.to-m.from > 40_000 {
		t.Error("clicked twice:", on(m), m.from, m.to)
	}
	send(p.names+10, 1, left, press, nil)
	send(p.names+20, 1, left, motion, nil)
	send(p.names+20, 1, left, release, nil)
	if from, to := m.measured(); !m.ranged || m.open || to-from < 9*(m.to-m.from)/int64(p.w) {
		t.Error("range:", m.ranged, m.open, from, to)
	}
	send(2, p.y+4, left, press, nil)
	send(2, p.y+6, left, release, nil)
	if names := []string{m.lines[4].lane.Name, m.lines[5].lane.Name, m.lines[6].lane.Name}; !slices.Equal(names, []string{"Stream 1 计算流", "Stream 2", "Stream 0 copy"}) {
		t.Error("lanes after one was dragged:", names)
	}
	fits(t, m.View(), 100, 30)
}

// Letters that arrive in one read each count.
func TestKeys_merged(t *testing.T) {
	m := screen(t, job(), theme.None, theme.Braille, 80, 24, "")
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ww")})
	if len(m.undone) != 2 || len(keys.Split(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ww")})) != 2 {
		t.Error(len(m.undone))
	}
}
