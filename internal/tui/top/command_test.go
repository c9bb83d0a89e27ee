package top

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

func TestCommands(t *testing.T) {
	for line, want := range map[string]func(m *model, s *still) bool{
		"sort temp_c":  func(m *model, _ *still) bool { return m.panels[0].sort == Sort{"temp_c", true} },
		"sort -temp_c": func(m *model, _ *still) bool { return m.panels[0].sort == Sort{"temp_c", false} },
		"panel memory\r:sort free": func(m *model, _ *still) bool {
			first := (&memoryRow{device: pickDevices(m.frame.Devices, Filter{}, natural("free"))[0]}).id()
			return m.active == PanelMemory && m.panels[PanelMemory].ids[0] == first
		},
		"sort owner":     func(m *model, _ *still) bool { return strings.Contains(m.message, "no column owner") },
		"sort":           func(m *model, _ *still) bool { return strings.Contains(m.message, "takes COLUMN") },
		"filter alarm":   func(m *model, _ *still) bool { return len(m.panels[0].ids) == 1 },
		"panel mem":      func(m *model, _ *still) bool { return m.active == PanelMemory },
		"panel x":        func(m *model, _ *still) bool { return strings.Contains(m.message, "panel x") },
		"npu 3.1":        func(m *model, _ *still) bool { d := m.selectedDevice(); return d.NPU == 3 && d.Chip.N == 1 },
		"npu 9":          func(m *model, _ *still) bool { return strings.Contains(m.message, "no NPU 9") },
		"pid 3999":       func(m *model, _ *still) bool { return m.selectedProcesses()[0].PID == 3999 },
		"pid 1":          func(m *model, _ *still) bool { return strings.Contains(m.message, "no process 1") },
		"view full":      func(m *model, _ *still) bool { return m.view == viewFull },
		"view wide":      func(m *model, _ *still) bool { return strings.Contains(m.message, "view wide") },
		"interval 300ms": func(m *model, s *still) bool { return s.interval == 300*time.Millisecond },
		"interval 1ns":   func(m *model, s *still) bool { return s.interval == 0 && strings.Contains(m.message, "interval 1ns") },
		"dance":          func(m *model, _ *still) bool { return strings.Contains(m.message, "no command dance") },
		"":               func(m *model, _ *still) bool { return m.message == "" },
	} {
		m, s := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
		m.View()
		press(m, ":"+line+"\r")
		if m.prompt != nil || !want(m, s) {
			t.Errorf(":%s does not do so: %q", line, m.message)
		}
	}
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
	for _, line := range []string{"q", "quit"} {
		if cmd := m.command(line); cmd == nil || cmd() != (tea.QuitMsg{}) {
			t.Errorf(":%s does not quit", line)
		}
	}
	press(m, ":pid 3999\x1b")
	if m.prompt != nil || m.active != PanelDevices {
		t.Error("Esc does a command")
	}
	press(m, ":")
	if m.Update(tea.KeyMsg{Type: tea.KeyBackspace}); m.prompt != nil {
		t.Error("an empty command line is not left by Backspace")
	}
}

func TestComplete(t *testing.T) {
	for typed, want := range map[string]string{
		":so\t":         "sort ",
		":sort te\t":    "sort temp_c",
		":sort -te\t":   "sort -temp_c",
		":p\t":          "p",
		":pa\t":         "panel ",
		":npu 7\t":      "npu 7.",
		":view c\t":     "view compact",
		":zz\t":         "zz",
		":interval 1\t": "interval 1",
		":pid 399\t":    "pid 3999",
	} {
		m, _ := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
		m.View()
		if press(m, typed); m.prompt.String() != want {
			t.Errorf("%q becomes %q, expected %q", typed, m.prompt.String(), want)
		}
		fits(t, m.View(), 80, 24)
	}
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
	press(m, ":")
	if v := m.View(); !strings.Contains(v, "sort filter panel") {
		t.Errorf("no hint in\n%s", v)
	}
}

// What is copied goes out with one frame.
func TestCopy(t *testing.T) {
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 20, simulator)
	for panel, want := range map[string][2]string{"1": {"0", "name=Ascend910B3"}, "2": {"4000", "user=lin"}, "3": {"0", "state=running"}, "4": {"0", "npu=0"}, "5": {"MatMulV2", "count=100"}} {
		press(m, panel)
		for key, text := range map[string]string{"y": want[0], "Y": want[1]} {
			m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)})
			m.dirty = true
			name, row := m.selectedText()
			full := name
			if key == "Y" {
				full = row
			}
			first, second := m.View(), m.View()
			if !strings.HasPrefix(first, widget.Clip(full)) || strings.Contains(second, "\x1b]52") || !strings.Contains(full, text) {
				t.Errorf("panel %s, %s: %q", panel, key, full)
			}
		}
	}
}

func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	m, _ := screen(t, theme.True, theme.Braille, 120, 40, 60, machines["16dies"])
	m.View()
	press(m, "/!alarm\r:export a.json\r:export a.csv\r:export a.svg\r:export a.ansi\r:export a.txt\r")
	b, err := os.ReadFile("a.json")
	if err != nil {
		t.Fatal(err)
	}
	var frame struct {
		Devices []map[string]any `json:"devices"`
	}
	if err := json.Unmarshal(b, &frame); err != nil || len(frame.Devices) != 15 {
		t.Errorf("%v, %d devices", err, len(frame.Devices))
	}
	f, err := os.Open("a.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if rows, err := csv.NewReader(f).ReadAll(); err != nil || len(rows) != 16 {
		t.Errorf("%v, %d rows", err, len(rows))
	}
	for name, want := range map[string]string{"a.svg": "<svg", "a.ansi": "\x1b[", "a.txt": " npu top"} {
		b, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(b), want) || name == "a.txt" && strings.Contains(string(b), "\x1b") {
			t.Errorf("%s: %v %.30q", name, err, b)
		}
	}
	if press(m, ":export a.csv\r"); !strings.Contains(m.message, "left alone") {
		t.Error(m.message)
	}
	if press(m, ":export a.xls\r"); !strings.Contains(m.message, "suffix") {
		t.Error(m.message)
	}
	if press(m, "2e\r"); !strings.HasPrefix(m.message, "wrote npu-top-processes-") {
		t.Error(m.message)
	}
}
