package top

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// seek is where a text stands on the screen.
func seek(t *testing.T, m *model, text string) (x, y int) {
	t.Helper()
	for y, l := range strings.Split(m.View(), "\n") {
		if before, _, ok := strings.Cut(l, text); ok {
			return cell.Width(before), y
		}
	}
	t.Fatalf("no %q in\n%s", text, m.View())
	return 0, 0
}

func click1(m *model, x, y int) tea.Cmd {
	_, cmd := m.Update(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	m.Update(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionRelease})
	m.View()
	return cmd
}

func wheel(m *model, x, y, n int) {
	b := tea.MouseButtonWheelDown
	if n < 0 {
		b, n = tea.MouseButtonWheelUp, -n
	}
	for range n {
		m.Update(tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionPress})
		m.View()
	}
}

func TestMouse(t *testing.T) {
	m, s := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
	x, y := seek(t, m, "2.1")
	click1(m, x, y)
	if d := m.selectedDevice(); m.active != PanelDevices || d.NPU != 2 || d.Chip.N != 1 || m.detail {
		t.Errorf("a click selects %+v", d.Key())
	}
	click1(m, x, y)
	if !m.detail || s.watched == nil {
		t.Error("a double click opens nothing")
	}
	press(m, "\x1b")
	now := m.now()
	m.now = func() time.Time { return now.Add(time.Second) }
	click1(m, x, y)
	if m.detail {
		t.Error("two slow clicks are a double click")
	}
	x, y = seek(t, m, "Temp")
	click1(m, x, y)
	if (m.panels[0].sort != Sort{"temp_c", true}) {
		t.Errorf("a click on a title sorts by %v", m.panels[0].sort)
	}
	if click1(m, x, y); m.panels[0].sort.Down {
		t.Error("a second click does not turn the order around")
	}
	at := m.panels[0].at
	if wheel(m, x, y+3, 1); m.panels[0].at != min(15, at+3) {
		t.Errorf("the wheel goes from row %d to %d", at, m.panels[0].at)
	}
	wheel(m, x, y+3, -9)
	if m.panels[0].at != 0 {
		t.Errorf("row %d", m.panels[0].at)
	}
	x, y = seek(t, m, "4 Memory")
	if click1(m, x+2, y); m.active != PanelMemory {
		t.Errorf("a click on a tab chooses panel %d", m.active)
	}
	wheel(m, 20, 5, 1)
	if m.active != PanelDevices {
		t.Error("the wheel does not act on what is below it")
	}
	x, y = seek(t, m, "? help")
	if click1(m, x, y); !m.help {
		t.Error("the bottom line is no button")
	}
	wheel(m, 5, 5, 2)
	if click1(m, 30, 10); m.help {
		t.Error("a click does not close the help")
	}
	x, y = seek(t, m, "q quit")
	if cmd := click1(m, x, y); cmd == nil || cmd() != (tea.QuitMsg{}) {
		t.Error("no end")
	}
	press(m, "%")
	if !m.pointer || !strings.Contains(m.message, "Shift selects") {
		t.Errorf("%v %q", m.pointer, m.message)
	}
}

// A click anywhere, at any size, with anything open, breaks nothing.
func TestMouse_anywhere(t *testing.T) {
	t.Chdir(t.TempDir()) // a click may save a picture
	r := rand.New(rand.NewPCG(1, 2))
	for i, keys := range []string{"", "\r", "?", "2t", "4\r", "/a", ":so", "3"} {
		m, _ := screen(t, theme.None, theme.Braille, 80, 24, 10, machines[[]string{"16dies", "simulator", "8cards"}[i%3]])
		for _, size := range [][2]int{{40, 10}, {80, 24}, {170, 50}, {3, 2}} {
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			press(m, keys)
			for range 30 {
				x, y := r.IntN(size[0]+2)-1, r.IntN(size[1]+2)-1
				click1(m, x, y)
				wheel(m, x, y, r.IntN(3)-1)
			}
			fits(t, m.View(), size[0], size[1])
		}
	}
}
