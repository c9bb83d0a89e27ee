package runtime

import (
	"fmt"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
)

// smallRings is a rig whose rings hold 64 descriptors, 32 of a model.
func smallRings(t testing.TB) *rig {
	t.Helper()
	return newRig(t, Config{Chip: chipWith(t, func(c *soc.Chip) { c.RingDepth, c.RingUsable = 64, 32 })})
}

// A captured stream longer than a ring goes on in further ones: every task runs once in each execution, in order, also
// when the schedule is shifted.
func TestCascade_capture(t *testing.T) {
	r := smallRings(t)
	s := r.stream()
	const n = 200
	p := r.word(0)
	r.begin(s)
	for range n {
		r.ok(r.addTo(p, 1, s))
	}
	r.ok(r.MemcpyAsync(r.counter, p, 8, s))
	m := r.finish(s)
	before := must[Counters](t)(r.Counters())
	for range 3 {
		r.ok(r.ExecuteModel(m, s))
	}
	r.ok(r.SynchronizeStream(s))
	after := must[Counters](t)(r.Counters())
	if v := r.value(); v != 3*n {
		t.Errorf("%d additions, want %d", v, 3*n)
	}
	if b := after.Doorbells - before.Doorbells; b > 3 {
		t.Errorf("%d doorbells for 3 executions", b)
	}
	adds := rowsOf(r.trace(), "add")
	rings := map[uint32]int{}
	for i, x := range adds {
		rings[x.Stream]++
		if i > 0 && x.Start < adds[i-1].End {
			t.Fatalf("task %d begins before the one before it ends", i)
		}
		if int(x.Iter) != i/n {
			t.Fatalf("task %d has iteration %d, want %d", i, x.Iter, i/n)
		}
	}
	if want := (n + 2 + 30) / 31; len(rings) != want {
		t.Errorf("%d rings, want %d", len(rings), want)
	}
}

// Changes of single tasks and of groups find them in whichever ring they are.
func TestCascade_update(t *testing.T) {
	r := smallRings(t)
	s, u := r.stream(), r.stream()
	p := r.word(0)
	r.begin(s)
	for range 100 {
		r.ok(r.addTo(p, 1, s))
	}
	r.ok(r.TaskGroupBegin(s), r.addTo(p, 1, s))
	g := must[*TaskGroup](t)(r.TaskGroupEnd(s))
	m := r.finish(s)
	r.ok(r.TaskUpdateBegin(u, g), r.addTo(p, 1000, u), r.TaskUpdateEnd(u), r.SynchronizeStream(u))
	r.execute(m, s)
	if v := r.get(p); v != 1100 {
		t.Errorf("after the update of a group: %d, want 1100", v)
	}
	list := must[[]ModelTask](t)(r.ModelTasks(m, 0))
	r.ok(r.SetTask(list[70], r.add, []uint64{uint64(p), 5}, u), r.DisableTask(list[33], u), r.SynchronizeStream(u))
	r.put(p, 0)
	r.execute(m, s)
	if v := r.get(p); v != 1103 {
		t.Errorf("after changes of single tasks: %d, want 1103", v)
	}
	r.ok(r.DestroyModel(m), r.DestroyStream(s), r.DestroyStream(u), r.Free(p))
	r.clean()
}

// Jumps and conditions work across rings, wherever the border lies.
func TestCascade_control(t *testing.T) {
	for pad := range 40 {
		t.Run(fmt.Sprint(pad), func(t *testing.T) {
			r := smallRings(t)
			// Labels: the first one is pad tasks behind the switch, the second 40 further on.
			s, e := r.stream(StreamConfig{Flags: Persistent}), r.stream()
			m := must[*Model](t)(r.BuildModelBegin("labels"))
			index, a, b := r.word(0), r.word(0), r.word(0)
			l0, l1, end := r.CreateLabel(), r.CreateLabel(), r.CreateLabel()
			r.ok(r.BindStream(m, s, true))
			for range pad {
				r.ok(r.inc(s))
			}
			r.ok(r.SwitchLabelByIndex(index, []*Label{l0, l1}, s), r.SetLabel(l0, s))
			for range 40 {
				r.ok(r.addTo(a, 1, s))
			}
			r.ok(r.GotoLabel(end, s), r.SetLabel(l1, s))
			for range 40 {
				r.ok(r.addTo(b, 1, s))
			}
			r.ok(r.SetLabel(end, s), r.EndTask(m, s), r.BuildModelEnd(m))
			for i := range uint64(4) {
				r.put(index, i%2)
				r.execute(m, e)
			}
			if x, y, z := r.get(a), r.get(b), r.value(); x != 80 || y != 80 || z != 4*uint64(pad) {
				t.Errorf("labels: %d, %d and %d, want 80, 80 and %d", x, y, z, 4*pad)
			}
			// A loop of 3 turns, and behind it the rest of the stream; the body is longer than a ring.
			c, body := r.stream(), r.stream()
			r.put(r.counter, 0)
			r.begin(c)
			_, g, err := r.CaptureInfo(c)
			old := must[CaptureMode](t)(r.ExchangeCaptureMode(CaptureRelaxed))
			h := must[*Condition](t)(r.CreateCondition(g, 3, true))
			_, err2 := r.ExchangeCaptureMode(old)
			r.ok(err, err2)
			for range pad {
				r.ok(r.addTo(a, 1, c))
			}
			bodies := must[[]*Model](t)(r.AddCondition(c, h, While, 1))
			r.ok(r.CaptureToModel(body, bodies[0], CaptureGlobal))
			for range 50 {
				r.ok(r.inc(body))
			}
			r.ok(r.countdown(h.Ptr(), body))
			r.finish(body)
			r.ok(r.addTo(b, 1, c))
			w := r.finish(c)
			r.put(a, 0)
			r.put(b, 0)
			r.execute(w, e)
			r.execute(w, e)
			if x, y, z := r.get(a), r.get(b), r.value(); x != 2*uint64(pad) || y != 2 || z != 300 {
				t.Errorf("loop: %d, %d and %d, want %d, 2 and 300", x, y, z, 2*pad)
			}
			r.ok(r.DestroyModel(w), r.DestroyModel(m))
		})
	}
}

// A loop that the device counts, with a body of several rings: each turn is one iteration of the trace.
func TestCascade_loop(t *testing.T) {
	r := smallRings(t)
	s := r.stream()
	words := must[Ptr](t)(r.Malloc(16))
	r.put(words+8, 5)
	b := must[*ModelBuilder](t)(r.BuildModel())
	head, body, again := b.Stream(true), b.Stream(false), b.Stream(false)
	head.WriteValue(words, 0)
	head.Active(body)
	for range 70 {
		body.Launch(r.add, []uint64{uint64(r.counter), 1})
	}
	body.AddValue(words, 1)
	body.Switch(words, sim.Less, words+8, again)
	body.End()
	again.Active(body)
	m := must[*Model](t)(b.Build("loop"))
	r.execute(m, s)
	r.execute(m, s)
	if v := r.value(); v != 700 {
		t.Errorf("%d additions, want 700", v)
	}
	for i, x := range rowsOf(r.trace(), "add") {
		if want := i / 70; int(x.Iter) != want {
			t.Fatalf("task %d is of iteration %d, want %d", i, x.Iter, want)
		}
	}
}

// The rings of a device are shared by streams and models: where they run out, the model is refused with 207008, and what
// it held is free again.
func TestCascade_noRings(t *testing.T) {
	r := newRig(t, Config{Chip: chipWith(t, func(c *soc.Chip) { c.RingDepth, c.RingUsable, c.Limits.StreamsPhysical = 64, 32, 40 })})
	s := r.stream()
	build := func(tasks int) (*Model, error) {
		r.begin(s)
		for range tasks {
			r.ok(r.inc(s))
		}
		return r.CaptureEnd(s)
	}
	_, _, _, bytes := r.resources()
	before := must[int](t)(r.queues())
	_, err := build(31 * 40)
	r.code("more rings than there are", err, NoStream)
	if n := must[int](t)(r.queues()); n != before {
		t.Errorf("%d rings in use, %d before", n, before)
	}
	if _, _, _, b := r.resources(); b != bytes {
		t.Errorf("%d bytes in use, %d before", b, bytes)
	}
	m := must[*Model](t)(build(31 * 20))
	_, err = build(31 * 20)
	r.code("the rings of two models", err, NoStream)
	r.ok(r.DestroyModel(m))
	r.execute(must[*Model](t)(build(31*20)), s)
	if v := r.value(); v != 31*20 {
		t.Errorf("%d additions, want %d", v, 31*20)
	}
}
