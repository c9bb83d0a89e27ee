package timeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

// pairOf is a trace before and after a change: some operators take longer, one more is there, and times count from elsewhere.
func pairOf(t testing.TB) *Data {
	t.Helper()
	make := func(names []string, ns []int64, at int64) *trace.Trace {
		r := trace.NewRecorder()
		r.NameThread(1, "main")
		for i, n := range names {
			r.Tasks([]trace.Task{{Submit: at, Ready: at, Start: at, End: at + ns[i], Stream: 1, Task: uint32(i), Thread: 1, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: r.Intern(strings.TrimRight(n, "0123456789")), Name: r.Intern(n)}})
			at += ns[i] + 1000
		}
		return r.Finish()
	}
	before := make([]string{"Conv1", "Relu1", "Conv2", "MatMul1"}, []int64{10_000, 2000, 8000, 5000}, 500)
	after := make([]string{"Conv1", "Cast1", "Relu1", "Conv2", "MatMul1"}, []int64{12_000, 1000, 2000, 4000, 5000}, 1_700_000_000_000_000_000)
	d := Together([]*trace.Trace{before, after}, []string{"before", "after"}, "before against after")
	d.link()
	return d
}

func starts(d *Data, group string) map[string]int64 {
	out := map[string]int64{}
	for _, g := range d.Groups {
		for _, l := range g.Lanes {
			if g.Name == group && l.Kind == Stream {
				for i := range l.index.Len() {
					out[d.label(ref{l, i})] = l.index.Start(i)
				}
			}
		}
	}
	return out
}

// Two traces that have no time in common begin together; aligned, each operator that both have begins at one time.
func TestAlign(t *testing.T) {
	d := pairOf(t)
	if a, b := starts(d, "before NPU 0"), starts(d, "after NPU 0"); a["Conv1"] != 0 || b["Conv1"] != 0 || a["Relu1"] != 11_000 || b["Relu1"] != 15_000 {
		t.Fatal(a, b)
	}
	m := newModel(still{d}, theme.New(theme.None, false, theme.Braille))
	m.w, m.h, m.inline = 110, 36, true
	m.resolve()
	press(t, m, "B")
	a, b := starts(m.d, "before NPU 0"), starts(m.d, "after NPU 0")
	for _, n := range []string{"Conv1", "Relu1", "Conv2", "MatMul1"} {
		if a[n] != b[n] {
			t.Errorf("%s begins at %d and %d", n, a[n], b[n])
		}
	}
	if a["Relu1"] != 15_000 || a["Conv2"] != 18_000 || a["MatMul1"] != 27_000 || b["Cast1"] != 13_000 {
		t.Error(a, b)
	}
	press(t, m, ":lane before npu 0 stream<enter>t")
	if view := m.View(); !strings.Contains(view, "aligned") || !strings.Contains(view, "after NPU") || !strings.Contains(view, "after 12 µs (+20.0 %)") {
		t.Error(view)
	}
	press(t, m, ":goto 13.5us<enter>")
	if why := strings.Join(m.whyGap(m.at.lane, must(m.gapHere())), " "); !strings.Contains(why, "4 µs more is room for a side that takes longer") || !strings.Contains(why, "Idle for 1 µs") {
		t.Error(why)
	}
	press(t, m, "B")
	if m.d != d || m.to != d.To {
		t.Error("the alignment does not end")
	}
	press(t, m, ":lane before npu 0 stream<enter>/conv2<enter>b")
	if a, b := starts(m.d, "before NPU 0"), starts(m.d, "after NPU 0"); a["Conv2"] != 14_000 || b["Conv2"] != 14_000 || b["Conv1"] != -4000 {
		t.Error(a, b)
	}
	press(t, m, ":align off<enter>:align x<enter>")
	if m.d != d || !strings.Contains(m.message, "expected operators") {
		t.Error(m.message)
	}
	one := screen(t, job(), theme.None, theme.Braille, 100, 30, "B")
	if !strings.Contains(one.message, "one device only") {
		t.Error(one.message)
	}
}

func must(g gap, _ bool) gap { return g }

// Whatever is aligned, each side keeps its order and how long its tasks last, and gaps only grow.
func TestAlign_any(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := gen.Options{Tasks: rapid.IntRange(1, 400).Draw(rt, "tasks"), Devices: rapid.IntRange(2, 3).Draw(rt, "devices"), Streams: 2, Seed: rapid.Uint64().Draw(rt, "seed")}
		d := Finished(gen.Trace(o), "x")
		c := newCounterparts(d)
		got, n := d.alignOperators(c)
		if n == 0 {
			return
		}
		for _, l := range got.Lanes {
			q := got.onPlain(ref{l, 0})
			if l.Kind != Stream {
				continue
			}
			if !q.ok() {
				rt.Fatalf("%s has %d tasks, and had another number", l.Name, l.index.Len())
			}
			for i := range l.index.Len() {
				if a, b := l.index, q.lane.index; a.End(i)-a.Start(i) != b.End(i)-b.Start(i) || a.Gap(i) < b.Gap(i) || got.label(ref{l, i}) != d.label(ref{q.lane, i}) {
					rt.Fatalf("%s, task %d: %d to %d, gap %d; was %d to %d, gap %d", l.Name, i, a.Start(i), a.End(i), a.Gap(i), b.Start(i), b.End(i), b.Gap(i))
				}
			}
		}
	})
}

// The longest rising part is one: it rises, and no other is longer.
func TestRising(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		list := make([][]int32, rng.IntN(12))
		for i := range list {
			list[i] = []int32{int32(rng.IntN(15))}
		}
		got := rising(list, func(x []int32) int64 { return int64(x[0]) })
		most := 0
		for set := range 1 << len(list) {
			last, n := int32(-1), 0
			for i, x := range list {
				if set>>i&1 == 1 {
					if x[0] <= last {
						n = -1
						break
					}
					last, n = x[0], n+1
				}
			}
			most = max(most, n)
		}
		if len(got) != most || !slices.IsSortedFunc(got, func(a, b []int32) int { return int(a[0] - b[0]) }) {
			t.Fatalf("%v of %v, %d are possible", got, list, most)
		}
	}
}
