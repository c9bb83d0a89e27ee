package sim

// Notify is a flag that one record sets and one wait clears. A record without a waiter is remembered once.
type Notify struct {
	dev    *Device
	id     uint32
	set    bool
	queues []*Queue
	ports  []*Port
	remote *Remote // other processes record it; nil: they do not
}

// NewNotify makes a notify of the device. Call it from Port.Call or before anything runs.
func (d *Device) NewNotify() *Notify {
	m := d.m
	d.notifyCount++
	n := &Notify{dev: d, id: uint32(len(m.notifies))}
	if l := len(m.freeNotifies); l > 0 {
		n.id = m.freeNotifies[0]
		m.freeNotifies = m.freeNotifies[1:]
		m.notifies[n.id] = n
		return n
	}
	m.notifies = append(m.notifies, n)
	return n
}

// Notifies is how many notifies of the device are in use. Call it from Port.Call.
func (d *Device) Notifies() int { return d.notifyCount }

// DropNotify gives a notify's id back; no task may name it any more. Call it from Port.Call.
func (m *Machine) DropNotify(n *Notify) {
	if m.notifies[n.id] == n {
		m.notifies[n.id] = nil
		m.freeNotifies = append(m.freeNotifies, n.id)
		n.dev.notifyCount--
	}
}

// ID is the operand of record and wait descriptors.
func (n *Notify) ID() uint64 { return uint64(n.id) }

// recordNotify sets n, or passes the record on to the one that has waited longest.
func (m *Machine) recordNotify(n *Notify) {
	if n.remote != nil {
		m.link.record(n.remote, n.remote.Next(m.link.peers))
		return
	}
	switch {
	case len(n.ports) > 0:
		p := n.ports[0]
		n.ports = append(n.ports[:0], n.ports[1:]...)
		m.release(p, m.now)
	case len(n.queues) > 0:
		q := n.queues[0]
		n.queues = append(n.queues[:0], n.queues[1:]...)
		m.settle(q, m.now)
	default:
		n.set = true
	}
}

// waitNotify says whether the wait at the head of q passes; if not, q is held.
func (m *Machine) waitNotify(q *Queue, n *Notify, d *Desc) bool {
	if n.remote != nil {
		return m.link.await(q, n.remote, 0, d[7])
	}
	if n.set {
		n.set = false
		return true
	}
	m.hold(q, d[7])
	n.queues = append(n.queues, q)
	return false
}
