package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"npu/internal/tui/theme"
)

// update is set by -update, a flag that teatest brings along.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with go test ./internal/tui/top -update)", err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update rewrites it, then look at it)\n--- have\n%s\n--- want\n%s", path, got, want)
	}
}

// fits checks what must hold of any screen: as many lines as it has, none wider than it is.
func fits(t *testing.T, view string, w, h int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines on a screen of %d×%d", len(lines), w, h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Fatalf("line %d of a screen of %d×%d is %d wide: %q", i, w, h, n, l)
		}
	}
}

var machines = map[string]func(int) *Frame{
	"16dies":    func(n int) *Frame { return machine("Ascend910", 8, 2, n) },
	"8cards":    func(n int) *Frame { return machine("910B3", 8, 1, n) },
	"simulator": simulator,
}

func TestView_golden(t *testing.T) {
	for name, frame := range machines {
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} {
			for p, profile := range map[string]theme.Profile{"none": theme.None, "16": theme.Ansi, "true": theme.True} {
				if profile != theme.None && name != "16dies" {
					continue
				}
				t.Run(fmt.Sprintf("%s-%dx%d-%s", name, size[0], size[1], p), func(t *testing.T) {
					m, _ := screen(t, profile, theme.Braille, size[0], size[1], 130, frame)
					fits(t, m.View(), size[0], size[1])
					golden(t, t.Name()[len("TestView_golden/"):]+".txt", m.View())
				})
			}
		}
	}
}

// Everything that can be opened, on a small and on a large screen, in ASCII and in braille.
func TestView_parts(t *testing.T) {
	for name, keys := range map[string]string{"help": "?", "details": "\r", "process": "2\r", "tree": "t", "streams": "3", "memory": "4", "operators": "5",
		"filter": "/910B3", "filtered": "2/lin\r", "nothing": "/xyz\r", "badfilter": "/(", "ids": "i", "sorted": ">>>>", "paused": " ", "compact": "vv"} {
		for _, size := range [][2]int{{80, 24}, {170, 50}} {
			for g, glyphs := range map[string]theme.Glyphs{"ascii": theme.ASCII, "braille": theme.Braille} {
				t.Run(fmt.Sprintf("%s-%dx%d-%s", name, size[0], size[1], g), func(t *testing.T) {
					m, _ := screen(t, theme.None, glyphs, size[0], size[1], 130, simulator)
					press(m, keys)
					view := m.View()
					fits(t, view, size[0], size[1])
					if glyphs == theme.ASCII {
						for _, r := range view {
							if r > 0x7e && !strings.ContainsRune("通义千问í×", r) {
								t.Errorf("%q on a screen of ASCII", r)
							}
						}
					}
					if size[0] == 80 && glyphs == theme.Braille {
						golden(t, "part-"+name+".txt", view)
					}
				})
			}
		}
	}
}

// What is wrong with a source is said in words, with what to do.
func TestView_failures(t *testing.T) {
	waiting := &Frame{Seq: 1, Sources: []Status{{Name: "npu-smi", State: Waiting, Since: moment.Add(-3 * time.Second)}}}
	failed := NewNone("npu-smi", "the driver cannot be reached", []string{"run as root, or join the group", "load the driver"}).frame
	stale := machine("910B3", 8, 1, 5)
	stale.Sources[0].State, stale.Sources[0].Says, stale.Sources[0].Try = Stale, "npu-smi does not answer within 10 s", []string{"dmesg | grep -i davinci"}
	stale.Sources[0].At = moment.Add(-30 * time.Second)
	for name, c := range map[string]struct {
		f    *Frame
		want []string
	}{
		"waiting": {waiting, []string{"Asking npu-smi", "3.3 s"}},
		"failed":  {failed, []string{"the driver cannot be reached", "What to do", "load the driver"}},
		"stale":   {stale, []string{"does not answer", "30 s old", "dmesg", "910B3"}},
	} {
		m, _ := screen(t, theme.None, theme.Braille, 80, 24, 1, func(int) *Frame { return c.f })
		view := m.View()
		for _, w := range c.want {
			if !strings.Contains(view, w) {
				t.Errorf("%s: no %q in\n%s", name, w, view)
			}
		}
		golden(t, "state-"+name+".txt", view)
	}
}

// No size breaks the screen, whatever is open on it: every width and every height, each with some of the others.
func TestView_everySize(t *testing.T) {
	stride := 17
	if testing.Short() {
		stride = 67
	}
	for i, keys := range []string{"", "\r", "?", "t\r", "4", "/a"} {
		m, _ := screen(t, theme.True, theme.Glyphs(i%3), 80, 24, 40, machines[[]string{"16dies", "simulator", "8cards"}[i%3]])
		press(m, keys)
		for w := 1; w <= 250; w++ {
			for h := 1 + (5*w+i)%stride; h <= 80; h += stride {
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
				fits(t, m.View(), w, h)
			}
		}
	}
}

// Sixteen devices fit 80×24, each on a line with all that matters.
func TestView_sixteenDevices(t *testing.T) {
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 60, machines["16dies"])
	view := m.View()
	for i := range 16 {
		if !strings.Contains(view, fmt.Sprintf("%d.%d", i/2, i%2)) {
			t.Errorf("no device %d.%d in\n%s", i/2, i%2, view)
		}
	}
}

// A frame at 200×50 stays within the budget of allocations.
func TestView_allocations(t *testing.T) {
	m, _ := screen(t, theme.True, theme.Braille, 200, 50, 200, machines["16dies"])
	if n := testing.AllocsPerRun(20, func() { m.dirty = true; m.View() }); n > 1500 {
		t.Errorf("%v allocations a frame", n)
	}
}

// press types keys: \r is Enter, \x1b Esc, others are letters.
func press(m *model, s string) {
	for _, r := range s {
		k := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
		switch r {
		case '\r':
			k = tea.KeyMsg{Type: tea.KeyEnter}
		case '\x1b':
			k = tea.KeyMsg{Type: tea.KeyEsc}
		case '\t':
			k = tea.KeyMsg{Type: tea.KeyTab}
		case ' ':
			k = tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
		}
		m.Update(k)
		m.View()
	}
}
