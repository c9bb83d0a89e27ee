package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"npu/internal/sim"
	"npu/internal/trace"
)

// orderedProgram uses everything that orders threads through the runtime, and writes down what each call told it. All
// of it, and the trace, must be the same in every run.
func orderedProgram(t testing.TB, threads int, policy sim.Policy) []byte {
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Policy: policy, Recorder: rec, Spans: true, TimingOnly: true})
	log := make([]bytes.Buffer, threads+1)
	boom := must[*Kernel](t)(th.NewKernel("boom", trace.KernelAICore, 1, 800, nil))
	var ks []*Kernel
	for i, blocks := range []uint32{1, 45, 200} {
		ks = append(ks, must[*Kernel](t)(th.NewKernel(fmt.Sprint("k", i), trace.KernelAICore+trace.Kind(i%2), blocks, 600+int64(blocks)*7, nil)))
	}
	note := func(i int, c *Thread, what string, err error) {
		var e *Error
		code := Code(0)
		if errors.As(err, &e) {
			code = e.Code
		}
		fmt.Fprintf(&log[i], "%s %d %d\n", what, c.Clock(), code)
	}
	if err := th.SetExceptionCallback(func(cb *Thread, e *Exception) {
		fmt.Fprintf(&log[threads], "exception %d %d %d\n", e.Stream, e.Task, cb.Clock())
		cb.Work(2500)
	}); err != nil {
		t.Fatal(err)
	}
	var m Mutex
	c := NewChan(3)
	var children []*Child
	body := func(i int) func(*Thread) error {
		return func(x *Thread) error {
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			var ss [2]*Stream
			var err error
			for j := range ss {
				if ss[j], err = x.CreateStream(StreamConfig{Priority: (i + 4*j) % 8}); err != nil {
					return err
				}
			}
			e, err := x.CreateEventWithFlag(EventSync | EventTimeLine)
			if err != nil {
				return err
			}
			soft, err := x.CreateEventExWithFlag(EventSync)
			if err != nil {
				return err
			}
			for range 120 {
				s := ss[rng.IntN(2)]
				switch rng.IntN(14) {
				case 0, 1, 2, 3:
					note(i, x, "launch", x.LaunchKernel(ks[rng.IntN(3)], []uint64{1}, s))
				case 4:
					note(i, x, "record", errors.Join(x.RecordEvent(e, s), x.RecordEvent(soft, s)))
				case 5:
					note(i, x, "wait", errors.Join(x.WaitEventTimeout(s, e, 1), x.WaitEvent(s, soft)))
				case 6:
					note(i, x, "reset", x.ResetEvent(e, s))
				case 7:
					note(i, x, "sync", x.SynchronizeStreamTimeout(s, 1+rng.IntN(3)))
				case 8:
					done, err := x.QueryStream(s)
					note(i, x, fmt.Sprint("query ", done), err)
				case 9:
					note(i, x, "lock", x.Lock(&m))
					x.Work(int64(rng.IntN(4000)))
					note(i, x, "unlock", x.Unlock(&m))
				case 10:
					note(i, x, "host", x.LaunchHostFunc(s, func(cb *Thread) { cb.Work(700) }))
				case 11:
					note(i, x, "fault", x.LaunchKernel(boom, nil, s))
				case 12:
					note(i, x, "abort", x.AbortStream(s))
				case 13:
					p, err := x.Malloc(int64(1 + rng.IntN(1<<20)))
					note(i, x, fmt.Sprintf("malloc %x", p), err)
					if err == nil && rng.IntN(2) == 0 {
						note(i, x, "free", x.Free(p))
					}
				}
			}
			note(i, x, "send", x.Send(c, i))
			for _, s := range ss {
				note(i, x, "destroy", x.DestroyStreamForce(s))
			}
			return nil
		}
	}
	if threads == 1 {
		if err := body(0)(th); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < threads && threads > 1; i++ {
		children = append(children, must[*Child](t)(th.Go(body(i))))
	}
	for range threads {
		v, _, err := th.Recv(c)
		note(threads, th, fmt.Sprint("received ", v), err)
	}
	if err := th.Wait(children...); err != nil {
		t.Fatal(err)
	}
	if rt.WallOrdered() {
		t.Errorf("ordered by wall time: %v", rt.Warnings())
	}
	closeOnce(t, rt, th)
	var out bytes.Buffer
	for i := range log {
		out.Write(log[i].Bytes())
	}
	tr := rec.Finish()
	for _, x := range tr.Tasks.All() {
		fmt.Fprintf(&out, "%+v\n", x)
	}
	for _, x := range tr.Spans.All() {
		fmt.Fprintf(&out, "%+v\n", *x)
	}
	fmt.Fprintf(&out, "%v\n%v\n", tr.Strings, tr.Streams)
	return out.Bytes()
}

// 50 runs, half of them while other goroutines burn the cores, give the same bytes.
func TestDeterminism(t *testing.T) {
	runs := 50
	if testing.Short() || raceEnabled {
		runs = 6
	}
	for _, policy := range []sim.Policy{sim.Preempt, sim.Reference} {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%v/threads=%d", policy, threads), func(t *testing.T) {
				want := orderedProgram(t, threads, policy)
				if len(want) < 10_000 {
					t.Fatalf("only %d bytes came out:\n%s", len(want), want)
				}
				for i := range runs {
					var stop atomic.Bool
					if i%2 == 1 {
						for range 2 {
							go burn(&stop)
						}
					}
					got := orderedProgram(t, threads, policy)
					stop.Store(true)
					if !bytes.Equal(got, want) {
						t.Fatalf("run %d differs:\n%s", i, firstDifference(got, want))
					}
				}
			})
		}
	}
}

// burn keeps a core busy until stop is set.
func burn(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("line %d\n%s\n%s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}

// Four threads that take turns on one stream, and on the default stream, give the same trace every time, also when the
// ring is full.
func TestDeterminism_oneStream(t *testing.T) {
	program := func(policy sim.Policy) []byte {
		rec := trace.NewRecorder()
		rt, th := open(t, Config{Policy: policy, Recorder: rec, TimingOnly: true})
		k := must[*Kernel](t)(th.NewKernel("k", trace.KernelAICore, 3, 900, nil))
		s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
		s.Share()
		e := must[*Event](t)(th.CreateEvent())
		var m Mutex
		var children []*Child
		for i := range 4 {
			children = append(children, must[*Child](t)(th.Go(func(c *Thread) error {
				rng := rand.New(rand.NewPCG(5, uint64(i)))
				for range 30 {
					if err := c.Lock(&m); err != nil {
						return err
					}
					var err error
					for n := rng.IntN(60); n >= 0 && err == nil; n-- {
						err = errors.Join(c.LaunchKernel(k, []uint64{1}, s), c.LaunchKernel(k, nil, nil))
					}
					if err = errors.Join(err, c.RecordEvent(e, s), c.Unlock(&m)); err != nil {
						return err
					}
					c.Work(int64(rng.IntN(20_000)))
				}
				return nil
			})))
		}
		if err := errors.Join(th.Wait(children...), th.SynchronizeDevice()); err != nil {
			t.Fatal(err)
		}
		if rt.WallOrdered() {
			t.Errorf("ordered by wall time: %v", rt.Warnings())
		}
		closeOnce(t, rt, th)
		var out bytes.Buffer
		for _, x := range rec.Finish().Tasks.All() {
			fmt.Fprintf(&out, "%+v\n", x)
		}
		return out.Bytes()
	}
	for _, policy := range []sim.Policy{sim.Preempt, sim.Reference} {
		want := program(policy)
		for i := range 20 {
			var stop atomic.Bool
			if i%2 == 1 {
				go burn(&stop)
			}
			got := program(policy)
			stop.Store(true)
			if !bytes.Equal(got, want) {
				t.Fatalf("%v, run %d differs:\n%s", policy, i, firstDifference(got, want))
			}
		}
	}
}
