package runtime

import "npu/internal/sim"

// Child is a thread started by Go.
type Child struct {
	cond  sim.Cond
	ended bool // in virtual time
	err   error
	done  chan struct{}
}

// Go starts f on a new host thread whose clock begins at this thread's. It inherits the current context, as a child
// thread does that calls aclrtSetCurrentContext first.
func (th *Thread) Go(f func(*Thread) error) (*Child, error) {
	if err := th.forbidden(callThread); err != nil {
		return nil, err
	}
	th.port.Spend(callThread.ns)
	port, err := th.port.Spawn()
	if err != nil {
		return nil, th.blocked(callThread.name, nil, err)
	}
	c := &Child{done: make(chan struct{})}
	child := &Thread{rt: th.rt, port: port}
	child.setContext(th.ctx)
	go func() {
		defer close(c.done)
		port.Adopt()
		c.err = f(child)
		// The end of the thread happens in virtual time: whoever waits for it goes on then.
		child.detach(func() {
			c.ended = true
			child.rt.machine.Signal(&c.cond)
		})
	}()
	return c, nil
}

// Wait blocks until the children have ended, in virtual time, and returns the first error.
func (th *Thread) Wait(children ...*Child) error {
	var first error
	for _, c := range children {
		_, err := th.port.WaitCond(&c.cond, func() bool { return c.ended }, 0, callJoin.ns)
		if err = th.blocked(callJoin.name, nil, err); err == nil {
			<-c.done // it has ended already
			err = c.err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
