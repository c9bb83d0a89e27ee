package sim

import "npu/internal/trace"

// Shot is what the descriptor of a kernel launch holds every time it is submitted.
type Shot struct{ w0, w2, w3, w4 uint64 }

// NewShot is a launch of function f, which is of that kind, with its own block dim.
func NewShot(kind trace.Kind, f uint32) Shot { return Shot{w0: uint64(kind), w2: uint64(f)} }

// SetArgs names an argument block of n words in device memory.
func (s *Shot) SetArgs(addr uint64, n int) { s.w3, s.w4 = uint64(min(n, 255))<<24, addr }

// Fire is Submit for kernel launches where nothing stands in the way: the queue is this port's own, or shared, and its
// ring has room. Otherwise it does nothing and returns false. args are at most ArgWords. It is written out in one piece,
// since a call costs as much as a quarter of the rest: the descriptor's stores, one for the doorbell, one
// compare-and-swap.
func (p *Port) Fire(q *Queue, s *Shot, args []uint64, cost int64) bool {
	if q.owner != p {
		l := p.lane(q)
		return l != nil && p.fireShared(l, s, args, cost)
	}
	pos := q.tail
	bell := uint32(p.pub & logMask)
	next := (bell + 1) & logMask
	if pos-q.headSeen >= q.room || (next+1)&logMask == p.logHead {
		return false
	}
	w3, w4 := s.w3, s.w4
	if len(args) > 0 {
		w3, w4 = uint64(len(args))<<24, q.putArgs(args)
	}
	clock := p.clock + cost
	p.clock = clock
	d := &q.ring[pos&q.mask]
	task := pos - q.wrap
	d[0] = s.w0 | uint64(q.id)<<32 | task<<48
	d[1] = uint64(clock + Doorbell)
	d[2] = s.w2
	d[3] = w3 | uint64(p.id+1)
	d[4] = w4
	q.tail = pos + 1
	if task == 65534 {
		q.wrap = pos + 1
	}
	// As in ring and publish.
	p.log[bell&logMask] = q.id
	w := uint64(clock)<<tailBits | uint64(next)
	if p.word.CompareAndSwap(p.pub, w) {
		p.pub = w
	} else {
		p.reenter(w, q)
	}
	if m := p.m; m.hungry.Load() != 0 {
		m.nudge(clock + Doorbell)
	}
	if next%callEvery == 0 {
		p.m.callBackground()
	}
	return true
}

// fireShared is Fire for a shared queue: commit, where nothing stands in the way.
func (p *Port) fireShared(l *lane, s *Shot, args []uint64, cost int64) bool {
	w0, w3, w4 := s.w0|uint64(p.id+1)<<48, s.w3, s.w4
	if len(args) > 0 {
		w0, w3, w4 = w0|inlineArgs, uint64(len(args))<<24, l.putArgs(args)
	}
	old, passed := l.word.Load(), l.passed.Load()
	n, clock := (old-passed)&posMask, p.clock+cost
	if n >= l.room || clock >= wordClock {
		return false
	}
	if last := int64(old >> wordShift); clock <= last {
		clock = last + 1
		p.m.OrderedByWall() // a port that was ahead has come before
	}
	d := &l.ring[old&uint64(len(l.ring)-1)]
	d[0] = w0 | w3<<16 | old>>posBits&laneMask<<32
	d[1] = uint64(clock + Doorbell)
	d[2] = s.w2
	d[3] = w4
	if !l.word.CompareAndSwap(old, uint64(clock)<<wordShift|l.id|(old+1)&posMask) {
		p.giveWay(l)
		return false
	}
	p.clock = clock
	if len(args) > 0 {
		l.argAt = int(w4) + len(args)
	}
	p.last = submission{queue: l.queue, pos: passed + n, clock: clock}
	if p.word.Load() != p.pub || p.m.hungry.Load() != 0 {
		p.publish(uint64(clock)<<tailBits|p.pub&logMask, nil)
	}
	if old%callEvery == 0 {
		p.m.callBackground()
	}
	return true
}
