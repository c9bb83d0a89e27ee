package timeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

// update is set by -update, a flag that teatest brings along.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

// job is a trace of streams that wait for each other and for engines, with wide names and a failure.
func job() *trace.Trace {
	r := trace.NewRecorder()
	name := func(s string) trace.StringID { return r.Intern(s) }
	r.SetMeta(trace.Meta{Chip: "Ascend910B3", Model: "made up", Devices: 1})
	r.NameStream(0, 0, "copy", 0)
	r.NameStream(0, 1, "计算流", 0)
	r.NameThread(1, "main")
	r.Tasks([]trace.Task{
		{Submit: 900, Ready: 1000, Start: 1000, End: 21_000, Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.HostToDevice, Bytes: 1 << 20, Name: name("输入图像"), Stream: 0, Task: 1, Thread: 1},
		{Submit: 1500, Ready: 21_000, Start: 21_000, End: 21_000, Kind: trace.EventRecord, Event: 7, Gen: 1, Stream: 0, Task: 2, Thread: 1},
		{Submit: 2000, Ready: 21_000, Start: 21_000, End: 21_000, Kind: trace.EventWait, Event: 7, Gen: 1, Stream: 1, Task: 1, Thread: 1},
		{Submit: 2500, Ready: 21_000, Start: 22_000, End: 52_000, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: name("Conv2D"), Name: name("conv1"), Stream: 1, Task: 2, Thread: 1, Blocks: 20, Bytes: 3 << 20},
		{Submit: 60_000, Ready: 60_000, Start: 60_500, End: 62_500, Kind: trace.KernelAIVector, Engine: trace.EngineVector, Op: name("Relu"), Name: name("relu1"), Stream: 1, Task: 3, Thread: 1, Blocks: 40},
		{Submit: 63_000, Ready: 63_000, Start: 63_000, End: 93_000, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: name("MatMulV2"), Name: name("fc"), Stream: 2, Task: 1, Thread: 1, Blocks: 20},
		{Submit: 64_000, Ready: 64_000, Start: 93_000, End: 99_000, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: name("Conv2D"), Name: name("conv2"), Stream: 1, Task: 4, Thread: 1, Blocks: 20, Code: 507015},
	})
	r.Spans([]trace.Span{
		{Start: 500, End: 900, Name: name("aclrtMemcpyAsync"), Thread: 1, Stream: 0, Task: 1},
		{Start: 1200, End: 1500, Name: name("aclrtRecordEvent"), Thread: 1, Stream: 0, Task: 2},
		{Start: 1700, End: 2000, Name: name("aclrtStreamWaitEvent"), Thread: 1, Stream: 1, Task: 1},
		{Start: 2200, End: 2500, Name: name("aclrtLaunchKernel"), Thread: 1, Stream: 1, Task: 2},
		{Start: 3000, End: 58_000, Name: name("prepare"), Thread: 1, Task: trace.NoTask},
		{Start: 10_000, End: 40_000, Name: name("aclrtSynchronizeStream"), Thread: 1, Task: trace.NoTask},
		{Start: 59_000, End: 60_000, Name: name("aclrtLaunchKernel"), Thread: 1, Stream: 1, Task: 3},
		{Start: 62_000, End: 63_000, Name: name("aclrtLaunchKernel"), Thread: 1, Stream: 2, Task: 1},
		{Start: 63_200, End: 64_000, Name: name("aclrtLaunchKernel"), Thread: 1, Stream: 1, Task: 4},
	})
	hbm := name("HBM in use (bytes)")
	r.Counters([]trace.Counter{{Time: 0, Value: 1 << 20, Name: hbm}, {Time: 20_000, Value: 64 << 20, Name: hbm}, {Time: 70_000, Value: 32 << 20, Name: hbm}})
	return r.Finish()
}

// screen is a model of a finished trace.
func screen(t testing.TB, tr *trace.Trace, p theme.Profile, g theme.Glyphs, w, h int, keys string) *model {
	t.Helper()
	d := NewData(tr, "job.npt")
	d.link()
	m := newModel(still{d}, theme.New(p, false, g))
	m.w, m.h, m.inline = w, h, true
	m.resolve()
	press(t, m, keys)
	return m
}

func press(t testing.TB, m *model, keys string) {
	t.Helper()
	list, err := parseKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		m.Update(k)
	}
	m.settle()
}

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
		t.Fatalf("%v (make it with go test ./internal/tui/timeline -update)", err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update rewrites it, then look at it)\n--- have\n%s\n--- want\n%s", path, got, want)
	}
}

// fits checks what must hold of any screen: as many lines as it has, none wider than it is.
func fits(t interface{ Fatalf(string, ...any) }, view string, w, h int) {
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

func TestView_golden(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} {
		for p, profile := range map[string]theme.Profile{"none": theme.None, "16": theme.Ansi, "true": theme.True} {
			t.Run(fmt.Sprintf("job-%dx%d-%s", size[0], size[1], p), func(t *testing.T) {
				m := screen(t, job(), profile, theme.Braille, size[0], size[1], "j.....")
				fits(t, m.View(), size[0], size[1])
				golden(t, t.Name()[len("TestView_golden/"):]+".txt", m.View())
			})
		}
	}
}

// Everything that can be opened, in ASCII and in braille.
func TestView_parts(t *testing.T) {
	for name, keys := range map[string]string{"help": "?", "gap": "ji", "statistics": "<tab>", "search": "/conv", "hit": "/conv<enter>", "folded": "<space>", "wait": "ccccj", "type": "c",
		"range": "wwv......v", "command": ":", "marks": "ma...", "zoomed": "j....ff", "absolute": "T", "call": "gj...", "pinned": "jp", "counter": "G", "flame": "<tab><tab>", "table": "j.<tab><tab><tab>", "moved": "jKK", "prompt": ":col<tab>"} {
		for g, glyphs := range map[string]theme.Glyphs{"ascii": theme.ASCII, "braille": theme.Braille} {
			t.Run(name+"-"+g, func(t *testing.T) {
				m := screen(t, job(), theme.None, glyphs, 80, 24, keys)
				view := m.View()
				fits(t, view, 80, 24)
				if glyphs == theme.ASCII {
					for _, r := range view {
						if r > 0x7e && !strings.ContainsRune("输入图像计算流", r) {
							t.Errorf("%q on a screen of ASCII", r)
						}
					}
					return
				}
				golden(t, "part-"+name+".txt", view)
			})
		}
	}
}

// No screen and no keys break anything.
func TestView_any(t *testing.T) {
	traces := []func() *Data{
		func() *Data { return NewData(job(), "x.npt") }, func() *Data { return NewData(gen.Trace(gen.Options{Tasks: 300, Devices: 2}), "x.npt") },
		func() *Data { return NewData(trace.NewRecorder().Finish(), "x.npt") }, func() *Data { return pairOf(t) },
	}
	all := []rune("ws0fzhladADjk{}gG.,[]tinNvmpxXcoTuFKJbBP:/'? \t\r\x1b+-12ab\x00\x01")
	rapid.Check(t, func(rt *rapid.T) {
		w, h := rapid.IntRange(1, 250).Draw(rt, "w"), rapid.IntRange(1, 80).Draw(rt, "h")
		m := newModel(still{rapid.SampledFrom(traces).Draw(rt, "trace")()}, theme.New(rapid.SampledFrom([]theme.Profile{theme.None, theme.True}).Draw(rt, "colours"), false, theme.Braille))
		m.inline = true
		m.Update(tea.WindowSizeMsg{Width: w, Height: h})
		for _, r := range rapid.SliceOfN(rapid.SampledFrom(all), 0, 30).Draw(rt, "keys") {
			k := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
			switch r {
			case '\x00', '\x01': // the mouse, anywhere
				m.Update(tea.MouseMsg{X: rapid.IntRange(0, w).Draw(rt, "x"), Y: rapid.IntRange(0, h).Draw(rt, "y"), Shift: rapid.Bool().Draw(rt, "shift"), Ctrl: rapid.Bool().Draw(rt, "ctrl"),
					Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseButtonLeft, tea.MouseButtonRight, tea.MouseButtonWheelUp, tea.MouseButtonWheelDown}).Draw(rt, "button"),
					Action: rapid.SampledFrom([]tea.MouseAction{tea.MouseActionPress, tea.MouseActionMotion, tea.MouseActionRelease}).Draw(rt, "action")})
				fits(rt, m.View(), w, h)
				continue
			case '\t':
				k = tea.KeyMsg{Type: tea.KeyTab}
			case '\r':
				k = tea.KeyMsg{Type: tea.KeyEnter}
			case '\x1b':
				k = tea.KeyMsg{Type: tea.KeyEsc}
			case ' ':
				k.Type = tea.KeySpace
			}
			m.Update(k)
			fits(rt, m.View(), w, h)
			if m.d.To > m.d.From+1 && (m.to-m.from < least || m.cur < m.from || m.cur >= m.to) {
				rt.Fatalf("in sight from %d to %d, cursor at %d", m.from, m.to, m.cur)
			}
		}
		m.settle()
		fits(rt, m.View(), w, h)
	})
}

// An aligned picture, and the pipes of engines, on screens of all kinds.
func TestView_aligned(t *testing.T) {
	for name, profile := range map[string]theme.Profile{"none": theme.None, "16": theme.Ansi, "true": theme.True} {
		m := newModel(still{pairOf(t)}, theme.New(profile, false, theme.Braille))
		m.w, m.h, m.inline = 110, 30, true
		m.resolve()
		press(t, m, "B..")
		fits(t, m.View(), 110, 30)
		golden(t, "aligned-110x30-"+name+".txt", m.View())
		m = screen(t, gen.Trace(gen.Options{Tasks: 200, Streams: 2, Seed: 3}), profile, theme.Braille, 100, 40, "wwwP")
		fits(t, m.View(), 100, 40)
		golden(t, "pipes-100x40-"+name+".txt", m.View())
	}
}
