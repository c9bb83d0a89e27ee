package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/trace"
)

// Records come in any order and some never: an event remembers exactly those that came.
func TestEvent_has(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "records")
		order := rapid.Permutation(gens(n)).Draw(t, "order")
		var e Event
		came := map[uint64]bool{}
		for _, g := range order {
			if rapid.IntRange(0, 4).Draw(t, "dropped") == 0 {
				e.lost = append(e.lost, g)
			} else {
				came[g] = true
			}
			e.count(g)
			for _, x := range gens(n + 1) {
				if e.has(x) != came[x] {
					t.Fatalf("after %d of %v: generation %d is there: %v, want %v", g, order, x, e.has(x), came[x])
				}
			}
		}
		if e.gen != uint64(n) || len(e.ahead) != 0 {
			t.Fatalf("all %d generations are accounted for, the event says %d and %v ahead", n, e.gen, e.ahead)
		}
	})
}

func gens(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i) + 1
	}
	return out
}

// Waiting host threads get a condition in the order in which they began to wait, also when one that gets it signals.
func TestCond_handsOn(t *testing.T) {
	r := newRig(t, Config{})
	var c Cond
	free := 0
	var order []uint16
	main := r.Attach(0)
	done := make(chan error)
	const n = 5
	for i := range n {
		p, err := main.Spawn()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			p.Adopt()
			p.Spend(int64(1000 * (n - i)))
			_, err := p.WaitCond(&c, func() bool {
				if free == 0 {
					return false
				}
				order = append(order, p.ID())
				free--
				if len(order)%2 == 1 {
					free++ // this one passes it on
					r.Signal(&c)
				}
				return true
			}, 0, 100)
			p.Detach(nil)
			done <- err
		}()
	}
	main.Spend(100_000)
	for range (n + 1) / 2 {
		if err := main.Call(func() { free++; r.Signal(&c) }); err != nil {
			t.Fatal(err)
		}
	}
	main.Outside(func() {
		for range n {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	main.Detach(nil)
	if want := []uint16{6, 5, 4, 3, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v: the last to start began to wait first", order, want)
	}
}

// What an abort cuts off leaves a row that says so, frees its cores, and no stale event acts on the queue later.
func TestAbort_freesEngines(t *testing.T) {
	for _, policy := range []Policy{Preempt, Reference} {
		r := newRig(t, Config{Policy: policy})
		p := r.Attach(0)
		big := r.kernel(trace.KernelAICore, 200, 10_000, nil) // ten waves
		small := r.kernel(trace.KernelAICore, 20, 1000, nil)
		q, other := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{Priority: 3})
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: big})
		submit(t, p, other, Task{Kind: trace.KernelAICore, Func: small})
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: big})
		p.Spend(24_000)
		if err := p.Call(func() { r.Abort(q, 0) }); err != nil {
			t.Fatal(err)
		}
		at := p.Clock()
		wait(t, p, other)
		if p.Clock() > at+10_000 {
			t.Errorf("%v: the other queue got the cores at %d only", policy, p.Clock())
		}
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: small})
		wait(t, p, q)
		rows := r.finished(t, p)
		if len(rows) != 3 || rows[0].Code != CodeAborted || rows[0].End > at+Doorbell || rows[2].Code != 0 || rows[2].End-rows[2].Start != 1000 || rows[2].Task != 2 {
			t.Errorf("%v: rows %+v", policy, rows)
		}
		for e := range r.Devices()[0].engines {
			if en := &r.Devices()[0].engines[e]; en.free != en.units || en.bits != 0 {
				t.Errorf("%v: engine %d has %d of %d units free, ranks %b wait", policy, e, en.free, en.units, en.bits)
			}
		}
		p.Detach(nil)
	}
}
