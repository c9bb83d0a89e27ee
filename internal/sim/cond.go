package sim

// Cond is something that host threads wait for in virtual time: a mutex, a channel, work for a callback thread. Its
// state is whatever the functions given to Port.WaitCond and Port.Call read and write; they run in virtual-time order
// and need no lock.
type Cond struct {
	ports       []*Port
	busy, again bool // a condition that holds may itself signal
}

// Signal lets go the ports, longest waiting first, whose condition holds now. Call it from Port.Call after a change.
func (m *Machine) Signal(c *Cond) {
	c.again = true
	if c.busy {
		return
	}
	c.busy = true
	for c.again {
		c.again = false
		k := 0
		for _, p := range c.ports {
			if p.dev.try() {
				m.release(p, m.now)
			} else {
				c.ports[k] = p
				k++
			}
		}
		c.ports = c.ports[:k]
	}
	c.busy = false
}

// WaitCond blocks until try holds: it is asked at this port's clock, and after each Signal of c. What it takes when it
// holds is this port's. timeout is in virtual ns, 0 for ever; cost is the modelled host time of the return.
func (p *Port) WaitCond(c *Cond, try func() bool, timeout, cost int64) (expired bool, err error) {
	err = p.block(request{kind: waitCond, cond: c, try: try, timeout: timeout, cost: cost})
	return p.result.Expired, err
}
