package sim

import "npu/internal/trace"

// Shot is what the descriptor of a kernel launch holds every time it is submitted.
type Shot struct{ w0, w2, w3, w4 uint64 }

// NewShot is a launch of function f, which is of that kind, with its own block dim.
func NewShot(kind trace.Kind, f uint32) Shot { return Shot{w0: uint64(kind), w2: uint64(f)} }

// SetArgs names an argument block of n words in device memory.
func (s *Shot) SetArgs(addr uint64, n int) { s.w3, s.w4 = uint64(min(n, 255))<<24, addr }

// Fire is Submit for kernel launches where nothing stands in the way: the queue is this port's own and its ring has
// room. Otherwise it does nothing and returns false. Eight stores, one compare-and-swap.
func (p *Port) Fire(q *Queue, s *Shot, args []uint64, cost int64) bool {
	if q.owner != p {
		return false
	}
	pos := q.tail
	if pos-q.headSeen >= q.room || len(args) > ArgWords {
		return false
	}
	slot := pos & q.mask
	w3, w4 := s.w3, s.w4
	if len(args) > 0 {
		w3, w4 = uint64(len(args))<<24, q.putArgs(slot, args)
	}
	clock := p.clock + cost
	if clock <= q.last {
		clock = q.last + 1
	}
	p.clock, q.last = clock, clock
	d := &q.ring[slot]
	d[0] = s.w0 | uint64(q.id)<<32 | uint64(q.task)<<48
	d[1] = uint64(clock + Doorbell)
	d[2] = s.w2
	d[3] = w3 | uint64(p.id+1)
	d[4] = w4
	d[5] = 0
	d[6] = 0
	d[7] = 0
	q.tail = pos + 1
	p.lastStream, p.lastPos = q.name, pos+1
	if q.task++; q.task == 65535 {
		q.task = 0
	}
	p.ring(q)
	return true
}
