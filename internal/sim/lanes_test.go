package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npu/internal/trace"
)

// manyPorts lets n ports submit to q at the same time; each runs f and ends.
func manyPorts(t *testing.T, r *rig, n int, f func(i int, p *Port) error) {
	t.Helper()
	var wg sync.WaitGroup
	ports := make([]*Port, n)
	for i := range ports {
		ports[i] = r.Attach(0)
	}
	for i, p := range ports {
		wg.Go(func() {
			p.Adopt()
			if err := f(i, p); err != nil {
				t.Error(err)
			}
			p.Detach(nil)
		})
	}
	wg.Wait()
}

// Whatever ports put into one shared queue at the same time comes out once, each port's tasks in their order, with
// their arguments and operands, also when the ring is always full and task ids wrap.
func TestShared_nothingIsLost(t *testing.T) {
	const ports, each = 5, 14_000
	for _, depth := range []int{64, 2048} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			r := newRig(t, Config{})
			base, _ := r.Devices()[0].Memory()
			got := make([][]uint64, ports)
			k := r.kernel(trace.KernelAIVector, 1, 50, func(c *Call) *Fault {
				b, f := c.Space.Resolve(c.Args, 8*c.Desc.argWords(), Read)
				if f != nil {
					return f
				}
				words := wordsOf(b)
				for i, w := range words[2:] {
					if w != words[1]+uint64(i) {
						t.Errorf("port %d, launch %d: argument %d is %d", words[0], words[1], i+2, w)
					}
				}
				if int(c.Desc.thread()) != int(words[0])+1 {
					t.Errorf("port %d, launch %d: of host thread %d", words[0], words[1], c.Desc.thread())
				}
				got[words[0]] = append(got[words[0]], words[1])
				return nil
			})
			q := r.queue(t, QueueConfig{Depth: depth, Args: base + 1<<20})
			q.Share()
			shot := NewShot(trace.KernelAIVector, k)
			want := make([][]uint64, ports)
			manyPorts(t, r, ports, func(i int, p *Port) error {
				rng := rand.New(rand.NewPCG(uint64(depth), uint64(i)))
				var buf [ArgWords]uint64
				for j := range uint64(each) {
					if rng.IntN(8) == 0 { // a task with operands: writes its own number
						_, err := p.Submit(q, &Task{Kind: trace.ValueWrite, A: base + 8*uint64(i), B: j, Name: trace.StringID(7 + i)}, nil, 100)
						if err != nil {
							return err
						}
						continue
					}
					args := buf[:2+rng.IntN(ArgWords-1)]
					args[0], args[1] = uint64(i), j
					for k := range args[2:] {
						args[2+k] = j + uint64(k)
					}
					if !p.Fire(q, &shot, args, 100) {
						if _, err := p.Submit(q, &Task{Kind: trace.KernelAIVector, Func: k}, args, 100); err != nil {
							return err
						}
					}
					clear(args) // the caller's memory can be used again at once
					want[i] = append(want[i], j)
				}
				return nil
			})
			p := r.Attach(0)
			defer p.Detach(nil)
			wait(t, p, q)
			for i := range ports {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("port %d: %d launches ran, not the %d that it made in their order", i, len(got[i]), len(want[i]))
				}
			}
			if err := p.Call(r.Flush); err != nil {
				t.Fatal(err)
			}
			tasks := r.rec.tasks
			if len(tasks) != ports*each {
				t.Fatalf("%d rows, want %d", len(tasks), ports*each)
			}
			for i, x := range tasks {
				if x.Task != uint32(i/65535)<<16|uint32(i%65535) {
					t.Fatalf("row %d is task %x", i, x.Task)
				}
				if i > 0 && x.Start < tasks[i-1].End {
					t.Fatalf("task %d begins at %d, the one before ends at %d", i, x.Start, tasks[i-1].End)
				}
				if x.Kind == trace.ValueWrite && int(x.Name) != 7+int(x.Thread)-1 {
					t.Fatalf("task %d of thread %d is called %d", i, x.Thread, x.Name)
				}
			}
		})
	}
}

// More threads than there are lanes share one of them; threads that come and go leave theirs to the next.
func TestShared_lanes(t *testing.T) {
	r := newRig(t, Config{})
	q := r.queue(t, QueueConfig{Depth: 256})
	q.Share()
	k := r.kernel(trace.KernelAICore, 1, 10, nil)
	launch := func(_ int, p *Port) error {
		for range 20 {
			if _, err := p.Submit(q, &Task{Kind: trace.KernelAICore, Func: k}, nil, 100); err != nil {
				return err
			}
		}
		return nil
	}
	for range 30 {
		manyPorts(t, r, 10, launch)
	}
	if n := len(*q.lanes.list.Load()); n > 11 {
		t.Errorf("%d lanes for ten threads at a time", n-1)
	}
	manyPorts(t, r, 100, launch)
	if n := len(*q.lanes.list.Load()); n != laneMask+1 {
		t.Errorf("%d lanes for a hundred threads, want all %d", n, laneMask+1)
	}
	p := r.Attach(0)
	defer p.Detach(nil)
	wait(t, p, q)
	if n, want := len(r.finished(t, p)), (30*10+100)*20; n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}

// A submission lifts the clock of a port that is behind to that of the one before, and only then wall time has decided.
// After the last clock that a word can hold, order is that of arrival.
func TestShared_clock(t *testing.T) {
	r := newRig(t, Config{})
	q := r.queue(t, QueueConfig{})
	q.Share()
	a, b := r.Attach(0), r.Attach(0)
	defer a.Detach(nil)
	submit(t, a, q, Task{Kind: trace.Nop})
	b.Spend(500)
	submit(t, b, q, Task{Kind: trace.Nop})
	if b.Clock() != 1500 || r.WallOrdered() {
		t.Errorf("clock %d after a submission at 1500 behind one at 1000, wall-ordered %v", b.Clock(), r.WallOrdered())
	}
	a.Spend(-400) // as if the others had gone on
	submit(t, a, q, Task{Kind: trace.Nop})
	if a.Clock() != 1600 {
		t.Errorf("clock %d after a submission at 1600", a.Clock())
	}
	b.Spend(-1000)
	submit(t, b, q, Task{Kind: trace.Nop})
	if b.Clock() != 1601 || !r.WallOrdered() {
		t.Errorf("clock %d after a submission at 1500 behind one at 1600, wall-ordered %v", b.Clock(), r.WallOrdered())
	}
	a.Spend(2 * wordClock)
	submit(t, a, q, Task{Kind: trace.Nop})
	submit(t, b, q, Task{Kind: trace.Nop})
	b.Detach(nil)
	wait(t, a, q)
	if n := len(r.finished(t, a)); n != 6 {
		t.Errorf("%d rows, want 6", n)
	}
}

// A thread that has launched on a shared queue and then computes holds the devices back no further than its launch: its
// own word says less.
func TestShared_ahead(t *testing.T) {
	r := newRig(t, Config{})
	q, own := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	q.Share()
	k := r.kernel(trace.KernelAICore, 1, 40_000, nil)
	shot := NewShot(trace.KernelAICore, k)
	a, b := r.Attach(0), r.Attach(0)
	submit(t, a, q, Task{Kind: trace.Nop}) // takes the lane
	if !a.Fire(q, &shot, nil, 1_000_000) {
		t.Fatal("the launch takes the long way")
	}
	done := make(chan error)
	go func() {
		b.Adopt()
		_, err := b.Submit(own, &Task{Kind: trace.KernelAICore, Func: k}, nil, 1000)
		if err == nil {
			_, err = b.WaitQueue(own, 1, 0, 0)
		}
		b.Detach(nil)
		done <- err
	}()
	end := time.Now().Add(10 * time.Second)
	for computing := true; computing; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			computing = false
		default:
			if time.Now().After(end) {
				t.Error("the other thread waits for this one")
				computing = false
			}
		}
	}
	a.Detach(nil)
	if r.WallOrdered() {
		t.Error("wall time has decided something")
	}
}

// Whether a ring is full, and until when, does not depend on how far another thread has driven the devices.
func TestRing_fullDeterministic(t *testing.T) {
	for _, share := range []bool{false, true} {
		var want []int64
		for run := range 20 {
			r := newRig(t, Config{})
			slow, fast := r.queue(t, QueueConfig{Depth: 64}), r.queue(t, QueueConfig{})
			if share {
				slow.Share()
			}
			k := r.kernel(trace.KernelAICore, 1, 700, nil)
			main := r.Attach(0)
			a, err := main.Spawn()
			if err != nil {
				t.Fatal(err)
			}
			b, err := main.Spawn()
			if err != nil {
				t.Fatal(err)
			}
			if slow.lanes == nil {
				slow.owner = a
			}
			errs := make(chan error, 2)
			var clocks []int64
			var stop atomic.Bool
			if run%2 == 1 {
				go func() {
					for !stop.Load() { // burns a core
					}
				}()
			}
			go func() { // fills its ring: the host is a little quicker than the device
				a.Adopt()
				rng := rand.New(rand.NewPCG(1, 2))
				var err error
				for i := 0; i < 3000 && err == nil; i++ {
					_, err = a.Submit(slow, &Task{Kind: trace.KernelAICore, Func: k}, nil, int64(500+rng.IntN(500)))
					clocks = append(clocks, a.Clock())
				}
				a.Detach(nil)
				errs <- err
			}()
			go func() { // drives
				b.Adopt()
				var err error
				for i := 0; i < 500 && err == nil; i++ {
					if _, err = b.Submit(fast, &Task{Kind: trace.KernelAICore, Func: k}, nil, 1000); err == nil {
						_, err = b.WaitQueue(fast, Everything, 0, 1000)
					}
				}
				b.Detach(nil)
				errs <- err
			}()
			main.Outside(func() {
				for range 2 {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
			})
			main.Detach(nil)
			stop.Store(true)
			if want == nil {
				want = clocks
			}
			for i := range clocks {
				if clocks[i] != want[i] {
					t.Fatalf("shared %v, run %d: launch %d returns at %d, at %d before", share, run, i, clocks[i], want[i])
				}
			}
		}
	}
}

// The latest submission is found whatever kind of queue it went to.
func TestPort_last(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	own, shared := r.queue(t, QueueConfig{Owner: p}), r.queue(t, QueueConfig{})
	shared.Share()
	expect := func(q *Queue, task uint32) {
		t.Helper()
		if s, id, ok := p.Last(); !ok || s != q.name || id != task {
			t.Errorf("latest is task %d of stream %d (%v), want task %d of stream %d", id, s, ok, task, q.name)
		}
	}
	if _, _, ok := p.Last(); ok {
		t.Error("there is a latest submission before the first one")
	}
	for i := range uint32(3) {
		submit(t, p, shared, Task{Kind: trace.Nop})
		expect(shared, i)
		submit(t, p, own, Task{Kind: trace.Nop})
		expect(own, i)
	}
	submit(t, p, shared, Task{Kind: trace.Nop})
	expect(shared, 3)
}
