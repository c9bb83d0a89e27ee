package runtime

import (
	"sync"

	"npu/internal/sim"
)

// service is a thread of the runtime that runs user code: host functions of a context, or exception callbacks. The
// driver sets its clock when it hands out a call.
type service struct {
	port *sim.Port
	mail *sim.Mailbox
	done chan struct{}
}

// startService starts a service thread that handles what comes into its mailbox.
func (th *Thread) startService(c call, handle func(cb *Thread, j *sim.Job)) (*service, error) {
	port, err := th.port.Spawn()
	if err != nil {
		return nil, th.blocked(c.name, nil, err)
	}
	sv := &service{port: port, done: make(chan struct{})}
	if err := th.port.Call(func() {
		sv.mail = th.rt.machine.NewMailbox()
		sv.mail.Lost = th.rt.calls.drop
	}); err != nil {
		return nil, th.blocked(c.name, nil, err)
	}
	cb := &Thread{rt: th.rt, port: port, ctx: th.ctx, inside: true}
	port.Serve()
	go func() {
		defer close(sv.done)
		port.Adopt()
		for {
			j, _, err := port.Take(sv.mail, 0)
			if err == nil {
				handle(cb, j)
				cb.flushSpans()
				err = port.Done(j)
			}
			if err != nil {
				port.Leave()
				return
			}
		}
	}()
	return sv, nil
}

// end stops the service and waits for it. A nil service has ended.
func (sv *service) end() {
	if sv != nil {
		sv.port.Retire()
		<-sv.done
	}
}

// calls are the functions that tasks on their way will ask for, by number.
type calls struct {
	mu   sync.Mutex
	next uint64
	f    map[uint64]func(*Thread)
	kept map[uint64]bool // asked for again and again, by a model
}

func (c *calls) add(f func(*Thread)) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.f == nil {
		c.f = map[uint64]func(*Thread){}
	}
	c.next++
	c.f[c.next] = f
	return c.next
}

func (c *calls) take(n uint64) func(*Thread) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.f[n]
	if !c.kept[n] {
		delete(c.f, n)
	}
	return f
}

// keep lets a call be taken any number of times, until release.
func (c *calls) keep(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[uint64]bool{}
	}
	c.kept[n] = true
}

func (c *calls) release(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, n)
	delete(c.f, n)
}

// drop forgets a call whose task was dropped.
func (c *calls) drop(n uint64) { _ = c.take(n) }

func (c *calls) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.f)
}
