package sim

// Notify is a flag that one record sets and one wait clears. A record without a waiter is remembered once.
type Notify struct {
	id     uint32
	set    bool
	queues []*Queue
	ports  []*Port
}

// NewNotify makes a notify. Call it from Port.Call or before anything runs.
func (d *Device) NewNotify() *Notify {
	if n := len(d.freeNotifies); n > 0 {
		id := d.freeNotifies[0]
		d.freeNotifies = d.freeNotifies[1:]
		d.notifies[id] = &Notify{id: id}
		return d.notifies[id]
	}
	n := &Notify{id: uint32(len(d.notifies))}
	d.notifies = append(d.notifies, n)
	return n
}

// Notifies is how many notifies of the device are in use. Call it from Port.Call.
func (d *Device) Notifies() int { return len(d.notifies) - len(d.freeNotifies) }

// DropNotify gives a notify's id back; no task may name it any more. Call it from Port.Call.
func (d *Device) DropNotify(n *Notify) {
	if d.notifies[n.id] == n {
		d.notifies[n.id] = nil
		d.freeNotifies = append(d.freeNotifies, n.id)
	}
}

// ID is the operand of record and wait descriptors.
func (n *Notify) ID() uint64 { return uint64(n.id) }

// recordNotify sets n, or passes the record on to the one that has waited longest.
func (m *Machine) recordNotify(n *Notify) {
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
	if n.set {
		n.set = false
		return true
	}
	m.hold(q, d[7])
	n.queues = append(n.queues, q)
	return false
}
