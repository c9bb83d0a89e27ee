package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"npu/internal/trace"
)

// busy computes for at least us microseconds.
func busy(us int) {
	for end := time.Now().Add(time.Duration(us) * time.Microsecond); time.Now().Before(end); {
	}
}

// until polls, as a host that computes would, until f holds or it takes too long.
func until(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatal("nothing computes beside the host")
		}
	}
}

// Kernels that compute for long run while their thread works, or is outside the runtime; with Foreground they wait for
// it.
func TestBackground_besideTheHost(t *testing.T) {
	for _, share := range []bool{false, true} {
		r := newRig(t, Config{})
		var ran atomic.Int32
		k := r.kernel(trace.KernelAICore, 1, 500, func(*Call) *Fault { busy(20); ran.Add(1); return nil })
		p := r.Attach(0)
		q := r.queue(t, QueueConfig{Owner: p})
		if share {
			q.Share()
		}
		for range 2 * callEvery {
			submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
		}
		until(t, func() bool { return ran.Load() >= callEvery })
		wait(t, p, q)
		before := ran.Load()
		for range 3 {
			submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
		}
		p.Outside(func() { until(t, func() bool { return ran.Load() == before+3 }) })
		p.Detach(nil)
	}
	r := newRig(t, Config{Foreground: true})
	var ran atomic.Int32
	k := r.kernel(trace.KernelAICore, 1, 500, func(*Call) *Fault { busy(20); ran.Add(1); return nil })
	p, q := r.Attach(0), r.queue(t, QueueConfig{})
	for range 4 * callEvery {
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d kernels ran before anybody waited", n)
	}
	wait(t, p, q)
	p.Detach(nil)
}

// Kernels that take no time to compute are left to the threads that wait for them.
func TestBackground_lightKernels(t *testing.T) {
	r := newRig(t, Config{})
	ran := 0 // no lock: everything happens on this goroutine
	k := r.kernel(trace.KernelAICore, 1, 500, func(*Call) *Fault { ran++; return nil })
	p, q := r.Attach(0), r.queue(t, QueueConfig{})
	for range 20 { // tells how long one takes
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	wait(t, p, q)
	r.background.mean, r.background.runs = 0, 2 // whatever disturbed the first one
	r.background.heavy.Store(false)
	for range 10 * callEvery {
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	if ran != 20 || r.background.running.Load() {
		t.Errorf("%d kernels ran before anybody waited, want 20", ran)
	}
	wait(t, p, q)
	p.Detach(nil)
}

// What is computed beside the host has the same outcome as what a waiting thread drives.
func TestBackground_sameOutcome(t *testing.T) {
	outcome := func(policy Policy, foreground bool) ([]trace.Task, []uint64, []int64) {
		const threads = 3
		r := newRig(t, Config{Policy: policy, Foreground: foreground})
		main := r.Attach(0)
		base, _ := r.Devices()[0].Memory()
		k := r.kernel(trace.KernelAICore, 15, 900, func(c *Call) *Fault {
			busy(6)
			b, f := c.Space.Resolve(base, 8*threads, ReadWrite)
			if f == nil {
				w := wordsOf(b)
				w[c.Stream%threads] = w[(c.Stream+1)%threads]*31 + w[c.Stream%threads] + 1 // depends on the order
			}
			return f
		})
		common := r.queue(t, QueueConfig{})
		common.Share()
		mutex := r.Devices()[0].NewNotify()
		mutex.set = true
		var ports [threads]*Port
		var queues [threads]*Queue
		for i := range ports {
			var err error
			if ports[i], err = main.Spawn(); err != nil {
				t.Fatal(err)
			}
			queues[i] = r.queue(t, QueueConfig{Owner: ports[i], Priority: uint8(i)})
		}
		clocks := make([]int64, threads)
		errs := make(chan error, threads)
		for i, p := range ports {
			go func() {
				p.Adopt()
				rng := rand.New(rand.NewPCG(9, uint64(i)))
				var failed error
				do := func(err error) {
					if failed == nil {
						failed = err
					}
				}
				for range 400 {
					switch rng.IntN(40) {
					case 0:
						_, err := p.WaitQueue(queues[i], Everything, 0, 2000)
						do(err)
					case 1: // one after the other, in the order of their clocks
						_, err := p.WaitNotify(mutex, 0, 100)
						do(err)
						_, err = p.Submit(common, &Task{Kind: trace.KernelAICore, Func: k}, nil, 300)
						do(err)
						_, err = p.Submit(common, &Task{Kind: trace.NotifyRecord, A: mutex.ID()}, nil, 100)
						do(err)
					default:
						_, err := p.Submit(queues[i], &Task{Kind: trace.KernelAICore, Func: k}, nil, int64(600+rng.IntN(600)))
						do(err)
					}
				}
				_, err := p.WaitQueue(queues[i], Everything, 0, 2000)
				do(err)
				clocks[i] = p.Clock()
				p.Detach(nil)
				errs <- failed
			}()
		}
		main.Outside(func() {
			for range ports {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
		wait(t, main, common)
		tasks := r.finished(t, main)
		words := slices.Clone(wordsOf(r.Devices()[0].Bytes(base, 8*threads)))
		main.Detach(nil)
		return tasks, words, clocks
	}
	for _, policy := range []Policy{Preempt, Reference} {
		tasks, words, clocks := outcome(policy, true)
		for run := range 6 {
			gotTasks, gotWords, gotClocks := outcome(policy, false)
			if !slices.Equal(gotTasks, tasks) || !slices.Equal(gotWords, words) || !slices.Equal(gotClocks, clocks) {
				t.Fatalf("%v, run %d: the outcome differs from that without a background driver: words %x, want %x; clocks %d, want %d", policy, run, gotWords, words, gotClocks, clocks)
			}
		}
	}
}

// A wait that nothing can end is found also where the thread that waits did not drive.
func TestBackground_deadlock(t *testing.T) {
	for range 10 {
		r := newRig(t, Config{})
		k := r.kernel(trace.KernelAICore, 1, 500, func(*Call) *Fault { busy(20); return nil })
		p, q, never := r.Attach(0), r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
		submit(t, p, never, Task{Kind: trace.EventWait, A: r.Devices()[0].NewEvent().ID(), B: 1})
		for range 2 * callEvery {
			submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
		}
		var dead *Deadlock
		if _, err := p.WaitQueue(never, Everything, 0, 0); !errors.As(err, &dead) {
			t.Fatalf("error %v, want a deadlock", err)
		}
		p.Detach(nil)
	}
}
