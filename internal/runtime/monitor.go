package runtime

import "npu/internal/sim"

// Mutex is a lock between host threads in virtual time: who gets it next is decided by the threads' clocks, not by how
// fast the machine is. The zero Mutex is free. Lock and Unlock are methods of Thread.
type Mutex struct {
	cond sim.Cond
	held bool
}

// Lock waits until m is free and takes it. A waiting thread holds back no other one.
func (th *Thread) Lock(m *Mutex) error {
	_, err := th.port.WaitCond(&m.cond, func() bool {
		if m.held {
			return false
		}
		m.held = true
		return true
	}, 0, callLock.ns)
	return th.blocked(callLock.name, nil, err)
}

// Unlock gives m to the thread that has waited longest, or frees it.
func (th *Thread) Unlock(m *Mutex) error {
	free := false
	err := th.port.Call(func() {
		free = !m.held
		m.held = false
		th.rt.machine.Signal(&m.cond)
	})
	if err == nil && free {
		return th.fail(InvalidParam, callUnlock.name, "the mutex is not locked", "")
	}
	return th.blocked(callUnlock.name, nil, err)
}

// Chan passes values between host threads in virtual time. Send and Recv are methods of Thread.
type Chan struct {
	size     int
	buf      []any
	closed   bool
	readable sim.Cond
	writable sim.Cond
}

// NewChan makes a channel that holds up to size values, at least one.
func NewChan(size int) *Chan { return &Chan{size: max(1, size)} }

// Send puts v into c, and waits while c is full.
func (th *Thread) Send(c *Chan, v any) error {
	closed := false
	_, err := th.port.WaitCond(&c.writable, func() bool {
		if closed = c.closed; closed {
			return true
		}
		if len(c.buf) == c.size {
			return false
		}
		c.buf = append(c.buf, v)
		th.rt.machine.Signal(&c.readable)
		return true
	}, 0, callSend.ns)
	if err == nil && closed {
		return th.fail(InvalidParam, callSend.name, "the channel is closed", "")
	}
	return th.blocked(callSend.name, nil, err)
}

// Recv takes the oldest value out of c, and waits while c is empty. ok is false when c is closed and empty.
func (th *Thread) Recv(c *Chan) (v any, ok bool, err error) {
	_, err = th.port.WaitCond(&c.readable, func() bool {
		if ok = len(c.buf) > 0; !ok {
			return c.closed
		}
		v = c.buf[0]
		c.buf = append(c.buf[:0], c.buf[1:]...)
		th.rt.machine.Signal(&c.writable)
		return true
	}, 0, callRecv.ns)
	return v, ok, th.blocked(callRecv.name, nil, err)
}

// CloseChan ends c: values that it holds can still be received.
func (th *Thread) CloseChan(c *Chan) error {
	err := th.port.Call(func() {
		c.closed = true
		th.rt.machine.Signal(&c.readable)
		th.rt.machine.Signal(&c.writable)
	})
	return th.blocked(callSend.name, nil, err)
}
