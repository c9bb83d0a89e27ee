package sim

import "npu/internal/trace"

// NewUpdate registers a change of sunk tasks and returns the operand of the Nop task that makes it, once. Call it from
// Port.Call.
func (m *Machine) NewUpdate(f func()) uint64 {
	if n := len(m.freeUpdates); n > 0 {
		i := m.freeUpdates[n-1]
		m.freeUpdates = m.freeUpdates[:n-1]
		m.updates[i] = f
		return uint64(i) + 1
	}
	m.updates = append(m.updates, f)
	return uint64(len(m.updates))
}

// update makes the change that a Nop task names.
func (m *Machine) update(n uint64) {
	if n == 0 || n > uint64(len(m.updates)) {
		return
	}
	i := n - 1
	if f := m.updates[i]; f != nil {
		m.updates[i] = nil
		m.freeUpdates = append(m.freeUpdates, uint32(i))
		f()
	}
}

// Patch replaces what a kernel launch of the instance's program starts: function and block dim. It counts for every
// instance that shares the program. Call it from the function of an update.
func (in *Instance) Patch(queue int, pos uint64, t *Task) {
	d := &in.queues[queue].ring[pos]
	d[0] = d[0]&^0xff | uint64(t.Kind)
	d[2] = uint64(t.Func) | uint64(t.Blocks)<<32
	in.replay.forget()
}

// Disable turns a task of the instance's program into one that does nothing. Call it as Patch.
func (in *Instance) Disable(queue int, pos uint64) {
	d := &in.queues[queue].ring[pos]
	d[0] = d[0]&^0xff | uint64(trace.Nop)
	d[5] = 0
	in.replay.forget()
}

// Readdress replaces operand A or B (word 0 or 1) of a task of the instance's program. Call it as Patch.
func (in *Instance) Readdress(queue int, pos uint64, word int, v uint64) {
	in.queues[queue].ring[pos][5+word] = v
	in.replay.forget()
}
