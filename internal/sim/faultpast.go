package sim

import "npu/internal/trace"

// PastTask is a task that has ended.
type PastTask struct {
	Device     int
	Stream     uint32
	Task       uint32 // flip count << 16 | task id; in a sunk graph the position in its stream
	Kind       trace.Kind
	Name       trace.StringID
	Blocks     uint32
	Engine     trace.Engine // that ran it, if it is a kernel
	Units      uint32       // cores 0 to Units−1 ran blocks of it
	Start, End int64
	Code       uint32 // device code, 0 for success
}

// History keeps the last tasks of all devices.
type History struct {
	ring [64]PastTask
	n    int
}

// KeepHistory starts to keep the last tasks. Call it from Port.Call.
func (m *Machine) KeepHistory() {
	if m.history == nil {
		m.history = &History{}
	}
}

// Past lists the last tasks that ended on a device, oldest first. Call it as KeepHistory.
func (m *Machine) Past(device int) []PastTask {
	var out []PastTask
	if h := m.history; h != nil {
		for i := max(0, h.n-len(h.ring)); i < h.n; i++ {
			if t := h.ring[i%len(h.ring)]; t.Device == device {
				out = append(out, t)
			}
		}
	}
	return out
}

func (h *History) add(q *Queue, d *Desc, end int64) {
	t := &h.ring[h.n%len(h.ring)]
	h.n++
	*t = PastTask{Device: q.dev.id, Stream: q.name, Task: q.task, Kind: d.kind(), Name: d.name(), Blocks: q.blocks, Start: q.startT, End: end, Code: q.code}
	if q.instance != nil {
		t.Task = uint32(q.cur)
	}
	if q.fn != nil {
		t.Engine = q.fn.engine()
		t.Units = min(q.blocks, q.dev.engines[t.Engine].units)
	}
	if q.fn == nil {
		t.Start = end
		if q.waited || d.kind() == trace.Memcpy || d.kind() == trace.Memset || d.kind() == trace.CacheOp {
			t.Start = q.startT
		}
	} else if t.Name == 0 {
		t.Name = q.fn.Name
	}
}

// QueueState is a queue of a device as it stands.
type QueueState struct {
	Stream  uint32
	Sunk    bool
	Task    uint32 // of its head
	Retired uint64
	Arrived uint64 // descriptors, retired ones included
	Use     QueueUse
}

// QueueStates lists the queues of a device. Call it as KeepHistory.
func (d *Device) QueueStates() []QueueState {
	var out []QueueState
	for _, q := range d.m.queues {
		if q == nil || q.dev != d {
			continue
		}
		s := QueueState{Stream: q.name, Sunk: q.instance != nil, Task: q.task, Retired: q.cur, Use: q.Use()}
		if s.Arrived = q.known; !s.Sunk {
			s.Arrived = q.arrivedBy(d.m.now)
		} else {
			s.Task = uint32(q.cur)
		}
		out = append(out, s)
	}
	return out
}
