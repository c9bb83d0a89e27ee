package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npu/internal/trace"
)

// program runs three host threads that launch, order themselves by events and a device mutex, query and wait, and
// returns the rows and the clocks at the end. Its outcome must not depend on the machine.
func program(t testing.TB, seed uint64, policy Policy) ([]trace.Task, []int64) {
	r := newRig(t, Config{Policy: policy})
	main := r.Attach(0)
	d := r.Devices()[0]
	kernels := []uint32{
		r.kernel(trace.KernelAICore, 3, 700, nil), r.kernel(trace.KernelAICore, 45, 2100, nil),
		r.kernel(trace.KernelAIVector, 17, 900, nil), r.kernel(trace.KernelAIVector, 130, 333, nil),
	}
	const threads = 3
	mutex := d.NewNotify()
	mutex.set = true
	hidden := r.queue(t, QueueConfig{})
	hidden.Share()
	var ports [threads]*Port
	var queues [threads][2]*Queue
	var events [threads]*Event
	for i := range ports {
		var err error
		if ports[i], err = main.Spawn(); err != nil {
			t.Fatal(err)
		}
		for j := range queues[i] {
			queues[i][j] = r.queue(t, QueueConfig{Priority: uint8((i*3 + j) % 8), Depth: 128})
		}
		events[i] = d.NewEvent()
	}
	order := make([]int, 0, 1024) // who held the device mutex, in turn
	clocks := make([]int64, threads)
	errs := make(chan error, threads)
	for i := range ports {
		go func() {
			p := ports[i]
			p.Adopt()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			var failed error
			do := func(err error) {
				if err != nil && failed == nil {
					failed = err
				}
			}
			gen := uint64(0)
			for range 300 {
				q := queues[i][rng.IntN(2)]
				switch rng.IntN(8) {
				case 0, 1, 2:
					_, err := p.Submit(q, &Task{Kind: trace.KernelAICore, Func: kernels[rng.IntN(len(kernels))]}, nil, int64(500+rng.IntN(4000)))
					do(err)
				case 3:
					gen++
					_, err := p.Submit(q, &Task{Kind: trace.EventRecord, A: events[i].ID(), B: gen}, nil, 1500)
					do(err)
				case 4: // wait for a record that this thread made
					if gen == 0 {
						continue
					}
					_, err := p.Submit(q, &Task{Kind: trace.EventWait, A: events[i].ID(), B: gen}, nil, 1500)
					do(err)
				case 5:
					_, err := p.WaitQueue(q, Everything, 0, 4000)
					do(err)
				case 6:
					done := false
					do(p.Call(func() { done = q.Retired() == q.Arrived() }))
					if done {
						p.Spend(777) // the answer changes what happens next
					}
				case 7:
					_, err := p.WaitNotify(mutex, 0, 100)
					do(err)
					order = append(order, i)
					p.Spend(int64(rng.IntN(300)))
					_, err = p.Submit(hidden, &Task{Kind: trace.NotifyRecord, A: mutex.ID()}, nil, 100)
					do(err)
				}
			}
			for _, q := range queues[i] {
				_, err := p.WaitQueue(q, Everything, 0, 4000)
				do(err)
			}
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
	tasks := r.finished(t, main)
	main.Detach(nil)
	for _, o := range order {
		clocks = append(clocks, int64(o))
	}
	return tasks, clocks
}

// The same program gives the same rows, clocks and mutex order every time, also while another goroutine burns a core.
func TestThreads_deterministic(t *testing.T) {
	runs := 12
	if testing.Short() {
		runs = 4
	}
	for _, policy := range []Policy{Preempt, Reference} {
		wantTasks, wantClocks := program(t, 42, policy)
		if len(wantTasks) < 400 {
			t.Fatalf("only %d rows", len(wantTasks))
		}
		for i := range runs {
			var stop atomic.Bool
			if i%2 == 1 {
				go func() {
					for !stop.Load() { // burns a core
					}
				}()
			}
			tasks, clocks := program(t, 42, policy)
			stop.Store(true)
			if !slices.Equal(clocks, wantClocks) {
				t.Fatalf("%v run %d: clocks or mutex order differ:\n%v\n%v", policy, i, clocks, wantClocks)
			}
			if !slices.Equal(tasks, wantTasks) {
				for k := range tasks {
					if tasks[k] != wantTasks[k] {
						t.Fatalf("%v run %d: row %d differs:\n%+v\n%+v", policy, i, k, tasks[k], wantTasks[k])
					}
				}
				t.Fatalf("%v run %d: %d rows, want %d", policy, i, len(tasks), len(wantTasks))
			}
		}
	}
}

// Two threads that wait for each other's event for ever get an error that names both.
func TestThreads_deadlock(t *testing.T) {
	r := newRig(t, Config{})
	d := r.Devices()[0]
	e := [2]*Event{d.NewEvent(), d.NewEvent()}
	q := [2]*Queue{r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})}
	p := [2]*Port{r.Attach(0), r.Attach(0)}
	errs := make(chan error, 2)
	for i := range 2 {
		go func() {
			p[i].Adopt()
			_, err := p[i].Submit(q[i], &Task{Kind: trace.EventWait, A: e[1-i].ID(), B: 1}, nil, 100)
			if err == nil {
				_, err = p[i].Submit(q[i], &Task{Kind: trace.EventRecord, A: e[i].ID(), B: 1}, nil, 100)
			}
			if err == nil {
				_, err = p[i].WaitQueue(q[i], 2, 0, 0)
			}
			p[i].Detach(nil)
			errs <- err
		}()
	}
	for range 2 {
		var dead *Deadlock
		if err := <-errs; !errors.As(err, &dead) || !strings.Contains(err.Error(), "EVENT_WAIT") {
			t.Errorf("error %v, want a deadlock that names the waits", err)
		}
	}
}

// A thread that blocks outside the runtime without a word is found; the others go on, and the order is marked as
// that of wall time.
func TestThreads_undeclaredBlocking(t *testing.T) {
	r := newRig(t, Config{})
	q := r.queue(t, QueueConfig{})
	k := r.kernel(trace.KernelAICore, 1, 50_000, nil)
	a, b := r.Attach(0), r.Attach(0)
	release := make(chan bool)
	done, gone := make(chan error), make(chan bool)
	go func() {
		b.Adopt()
		<-release // holds the horizon at 0
		b.Detach(nil)
		close(gone)
	}()
	go func() {
		a.Adopt()
		_, err := a.Submit(q, &Task{Kind: trace.KernelAICore, Func: k}, nil, 100)
		if err == nil {
			_, err = a.WaitQueue(q, 1, 0, 0)
		}
		a.Detach(nil)
		close(release)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the waiting thread never came back")
	}
	<-gone
	if !r.WallOrdered() || len(r.Warnings()) == 0 || !strings.Contains(r.Warnings()[0], "host thread") {
		t.Errorf("wall-ordered %v, warnings %v", r.WallOrdered(), r.Warnings())
	}
}

// Two threads in lock step over a shared queue: no launch is lost.
func TestThreads_sharedQueue(t *testing.T) {
	r := newRig(t, Config{})
	q := r.queue(t, QueueConfig{Depth: 64})
	q.Share()
	k := r.kernel(trace.KernelAICore, 1, 300, nil)
	const n = 5000
	errs := make(chan error, 2)
	for range 2 {
		p := r.Attach(0)
		go func() {
			p.Adopt()
			var err error
			for i := 0; i < n && err == nil; i++ {
				_, err = p.Submit(q, &Task{Kind: trace.KernelAICore, Func: k}, nil, 200)
			}
			p.Detach(nil)
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	p := r.Attach(0)
	defer p.Detach(nil)
	if _, err := p.WaitQueue(q, 2*n, 0, 0); err != nil {
		t.Fatal(err)
	}
	if got := len(r.finished(t, p)); got != 2*n {
		t.Errorf("%d rows, want %d", got, 2*n)
	}
}

// Interrupt ends a wait that would simulate for ever, and later waits too.
func TestInterrupt(t *testing.T) {
	r := newRig(t, Config{Recorder: discard{}})
	p := r.Attach(0)
	q := r.queue(t, QueueConfig{})
	prog := &Program{Heads: []int{0}, Labels: []Label{{0, 0}}, Queues: [][]Desc{Assemble([]Task{{Kind: trace.LabelGoto}})}}
	in, err := r.NewInstance(r.Devices()[0], r.space, prog, 0, 0, []uint32{9})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, p, q, Task{Kind: trace.ModelExecute, A: in.ID()})
	time.AfterFunc(20*time.Millisecond, r.Interrupt)
	for range 2 {
		if _, err := p.WaitQueue(q, 1, 0, 0); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("error %v", err)
		}
	}
}

// Only what another goroutine must end counts as waiting, not an allocation that waits for the garbage collector.
func TestGoroutine_waits(t *testing.T) {
	for _, c := range []struct {
		state, frame string
		want         bool
	}{
		{"chan receive", "main.main()", true},
		{"select (no cases)", "main.main()", true},
		{"sync.Mutex.Lock", "internal/sync.runtime_SemacquireMutex(0x0)", true},
		{"semacquire", "sync.runtime_Semacquire(0x0)", true},
		{"semacquire", "npu/internal/sim.(*lane).putArgs(...)", false},
		{"GC assist wait", "main.main()", false},
		{"sleep", "time.Sleep(0x1)", false},
		{"running", "main.main()", false},
	} {
		g := goroutine{state: c.state, stack: "7 [" + c.state + "]:\n" + c.frame + "\n\tfile.go:1\n"}
		if got := g.waits(); got != c.want {
			t.Errorf("%s in %s waits: %v", c.state, c.frame, got)
		}
	}
	var wg, up sync.WaitGroup // as the Go runtime writes it
	var mu sync.Mutex
	wg.Add(1)
	mu.Lock()
	up.Add(2)
	ids := make([]uint64, 2)
	go func() { ids[0] = goroutineID(); up.Done(); wg.Wait() }()
	go func() { ids[1] = goroutineID(); up.Done(); mu.Lock() }()
	up.Wait()
	for _, id := range ids {
		for !goroutines()[id].waits() {
			time.Sleep(time.Millisecond)
		}
	}
	wg.Done()
	mu.Unlock()
}
