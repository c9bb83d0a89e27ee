package runtime

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/sim"
	"npu/internal/trace"
)

// randomProgram is what a property test runs: some threads, each with streams of its own, that launch kernels of all
// sizes and order themselves by events of each other. With blocking it also uses notifies, which may wait for ever.
type randomProgram struct {
	seed             uint64
	threads, streams int
	ops              int // per thread
	policy           sim.Policy
	blocking         bool
}

// result is what came of it.
type result struct {
	tr        *trace.Trace
	submitted map[uint32]int // tasks by stream
	priority  map[uint32]int
	calls     int64 // host functions that ran
	launched  int64 // host functions that were submitted
	err       error
}

func (p randomProgram) run(t testing.TB) result {
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Policy: p.policy, Recorder: rec, TimingOnly: true})
	var ks []*Kernel
	for _, k := range []struct {
		kind   trace.Kind
		blocks uint32
		ns     int64
	}{{trace.KernelAICore, 1, 700}, {trace.KernelAICore, 90, 3100}, {trace.KernelAIVector, 33, 900}, {trace.KernelAIVector, 170, 450}, {trace.KernelAICPU, 1, 5000}} {
		ks = append(ks, must[*Kernel](t)(th.NewKernel(fmt.Sprintf("%v %d", k.kind, k.blocks), k.kind, k.blocks, k.ns, nil)))
	}
	events := make([]*Event, 2*p.threads)
	for i := range events {
		events[i] = must[*Event](t)(th.CreateEventExWithFlag(EventSync | EventTimeLine))
	}
	notify := must[*Notify](t)(th.CreateNotify(0))
	buf := must[Ptr](t)(th.Malloc(1 << 20))
	res := result{submitted: map[uint32]int{}, priority: map[uint32]int{}}
	var calls, launched atomic.Int64
	perThread := make([]map[uint32]int, p.threads)
	streams := make([][]*Stream, p.threads)
	var m Mutex
	var children []*Child
	for i := range p.threads {
		perThread[i] = map[uint32]int{}
		n := max(1, p.streams/p.threads)
		children = append(children, must[*Child](t)(th.Go(func(c *Thread) (err error) {
			rng := rand.New(rand.NewPCG(p.seed, uint64(i)))
			for j := range n {
				s, err := c.CreateStream(StreamConfig{Priority: (3*i + 5*j) % 8})
				if err != nil {
					return err
				}
				streams[i] = append(streams[i], s)
			}
			for range p.ops {
				s := streams[i][rng.IntN(n)]
				tasks := 1
				switch op := rng.IntN(20); {
				case op < 9:
					err = c.LaunchKernel(ks[rng.IntN(len(ks))], []uint64{1, 2}, s)
				case op < 11:
					err = c.RecordEvent(events[2*i+rng.IntN(2)], s)
				case op < 13: // an event of any thread: whether the wait is a task depends on what was recorded
					e := events[rng.IntN(len(events))]
					before := s.q.Submitted()
					err = c.WaitEvent(s, e)
					tasks = int(s.q.Submitted() - before)
				case op < 14:
					err = c.MemsetAsync(buf, 1, int64(1+rng.IntN(1<<20)), s)
				case op < 15:
					launched.Add(1)
					err = c.LaunchHostFunc(s, func(cb *Thread) { calls.Add(1); cb.Work(300) })
				case op < 16 && p.blocking:
					err = c.WaitNotify(notify, s, 0)
				case op < 17 && p.blocking:
					err = c.RecordNotify(notify, s)
				case op < 18:
					tasks = 0
					if err = c.Lock(&m); err == nil {
						c.Work(int64(rng.IntN(2000)))
						err = c.Unlock(&m)
					}
				case op < 19:
					tasks = 0
					_, err = c.QueryStream(s)
				default:
					tasks = 0
					err = c.SynchronizeStream(s)
				}
				if err != nil {
					return err
				}
				perThread[i][s.ID()] += tasks
			}
			for _, s := range streams[i] {
				if e := c.SynchronizeStream(s); e != nil && err == nil {
					err = e
				}
			}
			return err
		})))
	}
	res.err = th.Wait(children...)
	for err := res.err; err != nil; { // a deadlock ends this wait as well; the others come to their end
		var dead *sim.Deadlock
		if err = th.Wait(children...); !errors.As(err, &dead) {
			break
		}
		ended := true
		for _, c := range children {
			select {
			case <-c.done:
			default:
				ended = false
			}
		}
		if ended {
			break
		}
	}
	for i := range streams {
		for _, s := range streams[i] {
			res.submitted[s.ID()] = perThread[i][s.ID()]
			res.priority[s.ID()] = s.Priority()
			if res.err != nil {
				_ = th.DestroyStreamForce(s) // what is stuck stays stuck
			}
		}
	}
	closeOnce(t, rt, th)
	res.tr, res.calls, res.launched = rec.Finish(), calls.Load(), launched.Load()
	return res
}

// check holds the trace against what every program must keep: order in a stream, records before waits (both in
// Trace.Check), each task once, priority.
func (res result) check(t testing.TB) {
	t.Helper()
	if err := res.tr.Check(); err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]int{}
	type key struct{ stream, task uint32 }
	once := map[key]bool{}
	var kernels [8][]trace.Task
	for _, x := range res.tr.Tasks.All() {
		if _, ours := res.submitted[x.Stream]; !ours {
			continue
		}
		seen[x.Stream]++
		if k := (key{x.Stream, x.Task}); once[k] {
			t.Fatalf("task %d of stream %d ran twice", x.Task, x.Stream)
		} else {
			once[k] = true
		}
		if x.Kind.Kernel() {
			kernels[x.Engine] = append(kernels[x.Engine], x)
		}
	}
	for s, n := range res.submitted {
		if seen[s] != n {
			t.Fatalf("stream %d: %d tasks ran, %d were submitted", s, seen[s], n)
		}
	}
	if res.calls != res.launched {
		t.Fatalf("%d host functions ran, %d were submitted", res.calls, res.launched)
	}
	for _, list := range kernels {
		for i, low := range list { // in order of start
			for _, high := range list[i+1:] {
				if high.Start > low.Start+1_000_000 {
					break
				}
				if res.priority[high.Stream] < res.priority[low.Stream] && high.Ready < low.Start && high.Start > low.Start {
					t.Fatalf("stream %d (priority %d) started at %d although stream %d (priority %d) was ready at %d and had to wait until %d",
						low.Stream, res.priority[low.Stream], low.Start, high.Stream, res.priority[high.Stream], high.Ready, high.Start)
				}
			}
		}
	}
}

func TestProperty_programsEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := randomProgram{
			seed: rapid.Uint64().Draw(rt, "seed"), threads: rapid.IntRange(1, 4).Draw(rt, "threads"), streams: rapid.IntRange(1, 8).Draw(rt, "streams"),
			ops: rapid.IntRange(1, 60).Draw(rt, "ops"), policy: sim.Policy(rapid.IntRange(0, 1).Draw(rt, "policy")), blocking: rapid.Bool().Draw(rt, "blocking"),
		}
		res := p.run(t)
		var dead *sim.Deadlock
		switch {
		case res.err == nil:
			res.check(t)
		case !p.blocking:
			rt.Fatalf("a program that cannot block for ever: %v", res.err)
		case !errors.As(res.err, &dead) || len(dead.Graph) < 2:
			rt.Fatalf("error %v, want a deadlock with who waits for what", res.err)
		}
	})
}

// The size that users have: 8 streams, 2000 tasks each, 4 threads.
func TestProperty_large(t *testing.T) {
	ops := 4000
	if testing.Short() {
		ops = 500
	}
	for _, policy := range []sim.Policy{sim.Preempt, sim.Reference} {
		res := randomProgram{seed: 7, threads: 4, streams: 8, ops: ops, policy: policy}.run(t)
		if res.err != nil {
			t.Fatal(res.err)
		}
		res.check(t)
	}
}
