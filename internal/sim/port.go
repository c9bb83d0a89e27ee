package sim

import (
	"sync/atomic"
	"time"
)

// The clock word of a port: clock in the upper 50 bits, doorbell count in the lower 14. A launch publishes both with
// one compare-and-swap.
const (
	tailBits = 14
	logSize  = 1 << tailBits
	logMask  = logSize - 1
)

// Clock values that hold nothing back. They also say who may end the state; the low bits of a device wait carry the
// request's number, since two waits in a row would look alike otherwise.
const (
	infOut = int64(2) << 48 // outside the runtime, or detached: only the thread itself
	infDev = int64(3) << 48 // blocked on the device: only the driver
	never  = int64(1) << 62
)

// Doorbell is the latency from a host's submission to the scheduler, in device nanoseconds. It is the look-ahead of
// the simulation.
const Doorbell = 600

// Port is a host thread's connection to the devices: a clock, a log of doorbells, and at most one pending wait. All
// methods are for the one goroutine that is this host thread, except where they say otherwise.
type Port struct {
	word atomic.Uint64 // published clock and doorbell count
	_    cacheLine

	// The thread's own side.
	m        *Machine
	id       uint16
	clock    int64
	pub      uint64 // the word as this thread last knew it
	logHead  uint32
	req      request
	seq      uint32
	result   result
	service  bool
	answered int64 // instant for which the latest request was answered
	retired  atomic.Bool
	lanes    []*lane    // of shared queues, by queue id
	last     submission // the latest one to a queue that is not this port's own
	_        cacheLine

	// Between the thread and whoever wakes it.
	done    atomic.Uint32
	parked  atomic.Uint32
	expired atomic.Uint32 // declared outside by the watchdog
	left    atomic.Int64  // clock at which the thread went outside
	gid     atomic.Uint64
	ch      chan struct{}
	_       cacheLine

	// The driver's side.
	seen     atomic.Uint64 // the word as the driver last saw it
	ahead    atomic.Int64  // clock of the latest submission to a shared queue that the driver has seen
	drained  atomic.Uint32 // doorbells taken from the log
	seenTail uint32
	seenSeq  uint32
	dev      request // copy of req, taken when the wait was seen
	gone     bool
	stall    stall
	log      [logSize]uint16
}

// stall is the watchdog's memory of a port that holds the others back.
type stall struct {
	word  uint64
	looks int
	since time.Time
}

// submission is one that has been made; a clock of 0 stands for none.
type submission struct {
	queue uint16
	pos   uint64
	clock int64
}

// Clock is the thread's device-time clock in nanoseconds.
func (p *Port) Clock() int64 { return p.clock }

// ID is the thread's number in the trace, from 1.
func (p *Port) ID() uint16 { return p.id + 1 }

// Spend advances the clock by the modelled host cost of a call. It is published with the next submission or wait;
// the clock never stands still across a call that costs at least 1 ns.
func (p *Port) Spend(ns int64) { p.clock += ns }

// Submit writes t into q's ring and rings the doorbell: one store of 64 bytes and one compare-and-swap. It returns at
// once unless the ring is full; then it drives the device until there is room. cost is the modelled host time of the
// call. args, if any, are copied into the queue's argument ring (at most ArgWords), so that the caller's memory can be
// reused at once. It returns the task's position in the queue. An error is ErrNotOwner or a deadlock of the whole
// program.
func (p *Port) Submit(q *Queue, t *Task, args []uint64, cost int64) (uint64, error) {
	if old := q.owner; old != p && old != nil {
		if !old.gone {
			return 0, ErrNotOwner
		}
		q.owner = p // its thread has ended
		p.clock = max(p.clock, old.clock)
	}
	if q.lanes != nil {
		return p.submitShared(q, t, args, cost)
	}
	if q.tail-q.headSeen >= q.room {
		if err := p.waitRoom(q, q.tail); err != nil {
			return 0, err
		}
	}
	return p.submit(q, t, args, cost), nil
}

func (p *Port) submit(q *Queue, t *Task, args []uint64, cost int64) uint64 {
	pos := q.tail
	if len(args) > 0 {
		t.Args = q.putArgs(args)
		t.Words = uint8(len(args))
	}
	p.clock += cost
	if q.owner == nil { // other threads may have been here
		p.clock = p.after(q, p.clock)
		p.last = submission{q.id, pos, p.clock}
	}
	t.put(&q.ring[pos&q.mask], q.id, uint16(pos-q.wrap), p.id+1, p.clock+Doorbell)
	q.tail = pos + 1
	if pos-q.wrap == 65534 {
		q.wrap = pos + 1
	}
	p.ring(q)
	return pos
}

// after is the clock of a submission to a queue that nobody owns: behind the one before. If that came from a port that
// was ahead, it is wall time that has decided the order.
func (p *Port) after(q *Queue, clock int64) int64 {
	if clock <= q.last {
		clock = q.last + 1
		p.m.OrderedByWall()
	}
	q.last = clock
	return clock
}

// waitRoom waits until a ring that is full up to position tail has a quarter of its room again.
func (p *Port) waitRoom(q *Queue, tail uint64) error {
	return p.block(request{kind: waitRoom, queue: q, pos: tail - q.room*3/4})
}

// Answered is the instant up to which this port knows what has happened: its latest request was answered for it. It
// does not depend on how far the devices have been simulated meanwhile.
func (p *Port) Answered() int64 { return p.answered }

// Last is the stream and the task id of this port's latest submission; ok is false if there was none.
func (p *Port) Last() (stream, task uint32, ok bool) {
	err := p.Call(func() {
		var q *Queue
		pos, m := p.last.pos, p.m
		if p.last.clock > 0 {
			q = m.queues[p.last.queue]
			ok = !q.dead
		}
		if id := int(p.log[(p.pub-1)&logMask]); id < len(m.queues) {
			if o := m.queues[id]; o.owner == p && (!ok || o.ring[(o.tail-1)&o.mask].arrival() > p.last.clock+Doorbell) {
				q, pos, ok = o, o.tail-1, true
			}
		}
		if ok {
			stream, task = q.name, uint32(pos/65535)<<16|uint32(pos%65535)
		}
	})
	return stream, task, ok && err == nil
}

// ring publishes the clock and one doorbell of q.
func (p *Port) ring(q *Queue) {
	bell := uint32(p.pub & logMask)
	p.log[bell] = q.id
	next := (bell + 1) & logMask
	if (next+1)&logMask == p.logHead {
		p.logFull(next)
	}
	p.publish(uint64(p.clock)<<tailBits|uint64(next), q)
	if next%callEvery == 0 {
		p.m.callBackground()
	}
}

// publish replaces the clock word. If the watchdog declared this thread outside meanwhile, it re-enters at the
// device's present time; q is the queue of a descriptor that was just written and must not arrive in the past.
func (p *Port) publish(w uint64, q *Queue) {
	if !p.word.CompareAndSwap(p.pub, w) {
		p.reenter(w, q)
	} else {
		p.pub = w
	}
	if p.m.hungry.Load() != 0 {
		p.m.nudge(p.clock + Doorbell)
	}
}

// logFull waits until the driver has taken doorbells out of the log.
func (p *Port) logFull(next uint32) {
	for {
		p.logHead = p.drained.Load()
		if (next+1)&logMask != p.logHead {
			return
		}
		if p.m.tryOwn() {
			p.m.drive(nil)
			p.m.disown()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

func (p *Port) reenter(w uint64, q *Queue) {
	m := p.m
	m.own()
	p.expired.Store(0)
	clock := int64(w >> tailBits)
	if m.now > p.clock {
		p.clock = m.now
		if q != nil {
			q.ring[(q.tail-1)&q.mask][1] = uint64(p.clock + Doorbell)
			q.last = p.clock
		}
		if clock < infOut {
			clock = p.clock
		}
	}
	p.pub = uint64(clock)<<tailBits | w&logMask
	p.word.Store(p.pub)
	m.disown()
}

// Outside runs f while this thread holds nothing back: f may block on anything. What the other threads do meanwhile
// is ordered by wall time, and the trace says so.
func (p *Port) Outside(f func()) {
	m := p.m
	m.outside.Add(1)
	m.wallOrdered.Store(true)
	p.left.Store(p.clock)
	p.publish(uint64(infOut)<<tailBits|p.pub&logMask, nil)
	if m.kick(); m.hungry.Load() == 0 {
		m.kickService()
		m.callBackground()
	}
	f()
	m.own()
	if m.now > p.clock+Doorbell { // somebody has gone on, beyond what a thread at this clock lets happen
		p.clock = m.now
	}
	p.expired.Store(0)
	p.pub = uint64(p.clock)<<tailBits | p.pub&logMask
	p.word.Store(p.pub)
	m.outside.Add(-1)
	m.disown()
}

// Detach ends the port; it holds nothing back any more and must not be used again. last, which may be nil, runs on the
// device's state at the port's clock, as in Call.
func (p *Port) Detach(last func()) {
	m := p.m
	p.leaveLanes()
	// Its number becomes free at this clock, not when the machine happens to come here.
	err := p.Call(func() {
		if last != nil {
			last()
		}
		p.gone = true
	})
	p.publish(uint64(infOut)<<tailBits|p.pub&logMask, nil)
	if err != nil { // interrupted: nothing is in order any more
		m.own()
		m.refresh()
		if last != nil {
			last()
		}
		p.gone = true
		m.disown()
	}
	if m.kick(); m.hungry.Load() == 0 {
		m.kickService()
		m.callBackground()
	}
}
