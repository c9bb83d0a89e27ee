package timeline

import (
	"testing"

	"pgregory.net/rapid"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

// The flame of any piece of time has the time of every task and outermost call in it, once; parts are not more than the whole.
func TestFlame(t *testing.T) {
	list := []*Data{NewData(job(), "x"), NewData(gen.Trace(gen.Options{Tasks: 500, Devices: 2}), "x")}
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(list).Draw(rt, "trace")
		from := rapid.Int64Range(d.From, d.To-1).Draw(rt, "from")
		to := rapid.Int64Range(from+1, d.To).Draw(rt, "to")
		c := count(d, from, to, nil)
		var check func(f *flame)
		check = func(f *flame) {
			sum := int64(0)
			for i, k := range f.Kids {
				if sum += k.Ns; i > 0 && k.Ns > f.Kids[i-1].Ns {
					rt.Fatalf("%s is longer than the part before it", k.Name)
				}
				check(k)
			}
			if sum > f.Ns {
				rt.Fatalf("the parts of %s take %d of %d ns", f.Name, sum, f.Ns)
			}
		}
		check(c.Flame)
		want := map[string]int64{}
		for _, l := range d.Lanes {
			for i := range max(0, lenOf(l)) {
				ns := min(l.index.End(i), to) - max(l.index.Start(i), from)
				if outer := l.Kind == Host && l.Short == ""; ns > 0 && (l.Kind == Stream || outer) {
					want[d.Groups[l.Group].Name] += ns
				}
			}
		}
		for name, ns := range want {
			if f := c.Flame.named(name); f == nil || f.Ns != ns {
				rt.Fatalf("%s: %+v, expected %d ns", name, f, ns)
			}
		}
		for _, g := range c.Flame.Kids {
			if m := g.merged(); g.Name != "Host" && m.Ns != g.Ns {
				rt.Fatalf("%s has %d ns, merged %d", g.Name, g.Ns, m.Ns)
			}
		}
	})
}

func lenOf(l *Lane) int {
	if l.index == nil {
		return 0
	}
	return l.index.Len()
}

// Calls lie below the calls that made them, and operators below their type.
func TestFlame_nested(t *testing.T) {
	d := NewData(job(), "x")
	f := count(d, d.From, d.To, nil).Flame
	thread := f.named("Host").named("Thread 1 main")
	if p := thread.named("prepare"); p == nil || p.Ns != 55_000 || p.named("aclrtSynchronizeStream") == nil || p.named("aclrtSynchronizeStream").Ns != 30_000 {
		t.Errorf("%+v", p)
	}
	if c := f.named("NPU 0").merged().named("Conv2D"); c == nil || c.Ns != 36_000 || c.Count != 2 || c.named("conv1").Ns != 30_000 {
		t.Errorf("%+v", c)
	}
	r := trace.NewRecorder()
	for i := range 300 {
		r.Tasks([]trace.Task{{Start: int64(i) * 10, End: int64(i)*10 + 5, Op: r.Intern(string(rune('a' + i)))}})
	}
	d = NewData(r.Finish(), "x")
	if s := count(d, d.From, d.To, nil).Flame.Kids[0].Kids[0]; len(s.Kids) != widestFlame || s.Kids[widestFlame-1].Name != "201 others" || s.Kids[widestFlame-1].Ns != 201*5 {
		t.Errorf("%d parts, the last is %+v", len(s.Kids), s.Kids[len(s.Kids)-1])
	}
}
