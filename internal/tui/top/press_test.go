package top

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/theme"
)

// Every key does what its help says.
func TestKeys(t *testing.T) {
	key := func(types ...tea.KeyType) func(*model) {
		return func(m *model) {
			for _, k := range types {
				m.Update(tea.KeyMsg{Type: k})
				m.View()
			}
		}
	}
	typed := func(s string) func(*model) { return func(m *model) { press(m, s) } }
	dev := func(m *model) int { return m.panels[PanelDevices].at }
	for name, c := range map[string]struct {
		do   func(*model)
		want func(*model, *still) bool
	}{
		"down":      {typed("jj"), func(m *model, _ *still) bool { return dev(m) == 2 }},
		"up":        {typed("jjk"), func(m *model, _ *still) bool { return dev(m) == 1 }},
		"arrows":    {key(tea.KeyDown, tea.KeyDown, tea.KeyUp), func(m *model, _ *still) bool { return dev(m) == 1 }},
		"last":      {typed("G"), func(m *model, _ *still) bool { return dev(m) == 15 }},
		"end":       {key(tea.KeyEnd), func(m *model, _ *still) bool { return dev(m) == 15 }},
		"first":     {typed("Gg"), func(m *model, _ *still) bool { return dev(m) == 0 }},
		"home":      {key(tea.KeyEnd, tea.KeyHome), func(m *model, _ *still) bool { return dev(m) == 0 }},
		"page":      {key(tea.KeyPgDown), func(m *model, _ *still) bool { return dev(m) == m.panels[0].page-1 }},
		"pageback":  {key(tea.KeyPgDown, tea.KeyPgUp), func(m *model, _ *still) bool { return dev(m) == 0 }},
		"half":      {key(tea.KeyCtrlD), func(m *model, _ *still) bool { return dev(m) == m.panels[0].page/2 }},
		"halfback":  {key(tea.KeyCtrlD, tea.KeyCtrlU), func(m *model, _ *still) bool { return dev(m) == 0 }},
		"tab":       {key(tea.KeyTab), func(m *model, _ *still) bool { return m.active == PanelProcesses }},
		"shift-tab": {key(tea.KeyShiftTab), func(m *model, _ *still) bool { return m.active == PanelOperators && m.lower == PanelOperators }},
		"1":         {typed("31"), func(m *model, _ *still) bool { return m.active == PanelDevices && m.lower == PanelStreams }},
		"2":         {typed("2"), func(m *model, _ *still) bool { return m.active == PanelProcesses }},
		"3":         {typed("3"), func(m *model, _ *still) bool { return m.active == PanelStreams }},
		"4":         {typed("4"), func(m *model, _ *still) bool { return m.active == PanelMemory }},
		"5":         {typed("5"), func(m *model, _ *still) bool { return m.active == PanelOperators }},
		"enter": {typed("jj\r"), func(m *model, s *still) bool {
			return m.detail && s.watched != nil && s.watched.NPU == 1 && s.watched.Chip == 0
		}},
		"enter moves": {typed("\rjjj"), func(m *model, s *still) bool { return m.detail && s.watched.NPU == 1 && s.watched.Chip == 1 }},
		"enter twice": {typed("\r\r"), func(m *model, s *still) bool { return !m.detail && s.watched == nil }},
		"esc details": {typed("\r\x1b"), func(m *model, s *still) bool { return !m.detail && s.watched == nil }},
		"help":        {typed("?"), func(m *model, _ *still) bool { return m.help }},
		"f1":          {key(tea.KeyF1), func(m *model, _ *still) bool { return m.help }},
		"help twice":  {typed("??"), func(m *model, _ *still) bool { return !m.help }},
		"help esc":    {typed("?\x1b"), func(m *model, _ *still) bool { return !m.help }},
		"help keys":   {typed("?jjjgG"), func(m *model, _ *still) bool { return m.help && dev(m) == 0 }},
		"filter":      {typed("/alarm"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 1 && m.prompt != nil }},
		"filter kept": {typed("/alarm\r"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 1 && m.prompt == nil }},
		"filter esc":  {typed("/alarm\x1b"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 16 && m.prompt == nil }},
		"filter gone": {typed("/alarm\r\x1b"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 16 }},
		"filter not":  {typed("/!alarm\r"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 15 }},
		"filter key":  {typed("/phy=7$\r"), func(m *model, _ *still) bool { return len(m.panels[0].ids) == 1 }},
		"filter bad":  {typed("/("), func(m *model, _ *still) bool { return m.promptErr != "" && len(m.panels[0].ids) == 16 }},
		"filter q":    {typed("/q"), func(m *model, _ *still) bool { return m.prompt.String() == "q" }},
		"edit": {func(m *model) {
			press(m, "/ab c")
			key(tea.KeyCtrlW, tea.KeyBackspace, tea.KeyBackspace, tea.KeyHome)(m)
			press(m, "x")
			key(tea.KeyEnd)(m)
			press(m, "y")
			key(tea.KeyLeft, tea.KeyLeft, tea.KeyDelete)(m)
		}, func(m *model, _ *still) bool { return m.prompt.String() == "xy" }},
		"sort": {typed(">>>>"), func(m *model, _ *still) bool {
			return m.panels[0].sort == Sort{"power_w", true} || m.panels[0].sort.Key != ""
		}},
		"sort back":  {typed("><"), func(m *model, _ *still) bool { return m.panels[0].sort == Sort{} }},
		"sort left":  {typed("<"), func(m *model, _ *still) bool { return m.panels[0].sort == Sort{"mem", true} }},
		"reverse":    {typed("2R"), func(m *model, _ *still) bool { return m.panels[1].sort == Sort{"mem_mb", false} }},
		"tree":       {typed("t"), func(m *model, _ *still) bool { return m.tree && m.active == PanelProcesses }},
		"tree off":   {typed("tt"), func(m *model, _ *still) bool { return !m.tree }},
		"ids":        {typed("i"), func(m *model, _ *still) bool { return m.ids }},
		"view":       {typed("vv"), func(m *model, _ *still) bool { return m.view == viewCompact }},
		"view round": {typed("vvv"), func(m *model, _ *still) bool { return m.view == viewAuto }},
		"columns":    {typed("lll"), func(m *model, _ *still) bool { return m.panels[0].skip == 3 }},
		"columns <-": {typed("llh"), func(m *model, _ *still) bool { return m.panels[0].skip == 1 }},
		"pause":      {typed(" "), func(m *model, _ *still) bool { return m.paused }},
		"go on":      {typed("  "), func(m *model, _ *still) bool { return !m.paused }},
		"faster":     {typed("+"), func(m *model, s *still) bool { return s.interval == 500*time.Millisecond }},
		"fastest":    {typed("+++++"), func(m *model, s *still) bool { return s.interval == 200*time.Millisecond }},
		"slower":     {typed("-"), func(m *model, s *still) bool { return s.interval == 2*time.Second }},
		"slowest":    {typed("---------"), func(m *model, s *still) bool { return s.interval == 10*time.Second }},
		"reset":      {typed("0"), func(m *model, _ *still) bool { return m.hist.get(m.frame.Devices[0].Key()).util.n == 0 }},
		"step":       {typed("]"), func(m *model, _ *still) bool { return strings.Contains(m.message, "recording") }},
		"step back":  {typed("["), func(m *model, _ *still) bool { return strings.Contains(m.message, "recording") }},
		"interrupt":  {key(tea.KeyCtrlC), func(m *model, _ *still) bool { return m.interrupted }},
		"interrupt in prompt": {func(m *model) {
			press(m, "/a")
			key(tea.KeyCtrlC)(m)
		}, func(m *model, _ *still) bool { return m.interrupted }},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
			m.View()
			c.do(m)
			if !c.want(m, s) {
				t.Errorf("not so\n%s", m.View())
			}
		})
	}
}

// Commands that Bubble Tea carries out.
func TestKeys_commands(t *testing.T) {
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 2, machines["8cards"])
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
}

// Letters that arrive in one read each count; a paste into the prompt stays whole.
func TestKeys_merged(t *testing.T) {
	m, _ := screen(t, theme.None, theme.Braille, 80, 24, 2, machines["8cards"])
	m.View()
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jjj")})
	if m.panels[0].at != 3 {
		t.Errorf("row %d after jjj in one read", m.panels[0].at)
	}
	press(m, "/")
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("a\x1b[31mé中"), Paste: true})
	if got := m.prompt.String(); got != "a[31mé中" {
		t.Errorf("%q", got)
	}
}

// The selection stays on its row when the order changes, and on its place when the row goes.
func TestSelection(t *testing.T) {
	m, s := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["16dies"])
	m.View()
	press(m, "jjjj")
	sel := m.panels[0].sel
	press(m, "<R")
	if m.panels[0].sel != sel {
		t.Errorf("%s became %s", sel, m.panels[0].sel)
	}
	press(m, ">")
	less := machine("Ascend910", 1, 2, 30)
	s.frames = append(s.frames, less)
	s.at = len(s.frames) - 1
	m.take()
	m.View()
	if m.panels[0].at != 1 {
		t.Errorf("row %d of 2", m.panels[0].at)
	}
}

// Until somebody moves, the first row is selected, also when devices come in front of those that were there.
func TestSelection_untouched(t *testing.T) {
	m, s := screen(t, theme.None, theme.Braille, 80, 24, 1, simulator)
	m.View()
	both := *machine("910B3", 2, 1, 5)
	both.Devices = append(both.Devices, simulator(5).Devices...)
	s.frames = append(s.frames, &both)
	s.at = 1
	m.take()
	m.dirty = true
	view := m.View()
	if m.panels[0].at != 0 || m.selectedDevice().Source != "npu-smi" {
		t.Errorf("row %d", m.panels[0].at)
	}
	if !strings.Contains(view, "sim1") { // two devices of one number have two names
		t.Errorf("no sim1 in\n%s", view)
	}
}

func TestSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	m, _ := screen(t, theme.True, theme.Braille, 120, 40, 60, machines["8cards"])
	press(m, "SS")
	files, _ := filepath.Glob("npu-top-*.svg")
	if len(files) != 2 || !strings.Contains(m.message, files[1][:8]) {
		t.Fatalf("%v %q", files, m.message)
	}
	b, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(b), "910B3") || !strings.HasSuffix(string(b), "</svg>\n") {
		t.Errorf("%v %.200s", err, b)
	}
}

// A paused screen stands still while the source goes on.
func TestPause(t *testing.T) {
	m, s := screen(t, theme.None, theme.Braille, 80, 24, 20, machines["8cards"])
	press(m, " ")
	seq := m.frame.Seq
	s.frames = append(s.frames, machine("910B3", 8, 1, 99))
	s.at = len(s.frames) - 1
	m.Update(tick(moment))
	if m.frame.Seq != seq || !strings.Contains(m.View(), "PAUSED") {
		t.Error("the screen moves while paused")
	}
	press(m, " ")
	m.Update(tick(moment))
	if m.frame.Seq == seq {
		t.Error("the screen does not go on")
	}
}

// Every binding is in the help, and each line of the help fits.
func TestHelp(t *testing.T) {
	b := newBindings()
	for _, k := range b.all() {
		if h := k.Help(); h.Key == "" || h.Desc == "" || len([]rune(h.Desc)) > 26 || len([]rune(h.Key)) > 10 || k.Group == "" {
			t.Errorf("%+v", h)
		}
	}
}
