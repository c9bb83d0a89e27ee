package sim

import "math"

// queueState is where a queue stands on the device.
type queueState uint8

const (
	qIdle    queueState = iota // nothing to do, the host has submitted nothing more
	qQueued                    // a step event is pending
	qReady                     // its head waits for an engine
	qRunning                   // its head occupies an engine
	qBlocked                   // its head waits for an event, a notify, a word, a model or the host
	qStopped                   // dispatch is stopped
	qOff                       // a sunk queue that is not active
)

type cacheLine [64]byte

// Queue is a submission queue: a ring of descriptors that one host thread fills (or several, under mu, if shared) and
// that the device empties strictly in order. A sunk queue holds a program instead: its descriptors are written once
// and executed by a model instance.
type Queue struct {
	// Immutable.
	id       uint16
	dev      *Device
	space    *Space
	prio     uint8 // rank for arbitration: 0 first
	ring     []Desc
	mask     uint64
	room     uint64 // descriptors that fit
	instance *Instance
	lane     int    // its number in the instance
	name     uint32 // stream id for the trace
	argBase  uint64 // device address of the argument ring
	argMem   []uint64
	quiet    bool

	// Producer side: the owning thread, or the device if the queue is shared (lanes.go).
	owner    *Port // nil: whoever submits, one at a time, or shared
	lanes    *lanes
	tail     uint64
	headSeen uint64 // everything before is retired, as far as the owner knows: a ring that looks full may have room
	argPos   int    // next free word of argMem
	wrap     uint64 // position of the last task with id 0
	last     int64  // clock of the last submission, if nobody owns the queue
	_        cacheLine

	// Device side, the owner's.
	cur      uint64 // next descriptor to retire
	known    uint64 // descriptors that have arrived
	task     uint32 // of the head: flip count << 16 | task id
	state    queueState
	engine   uint8
	skip     uint8 // descriptors that a condition leaves out
	waited   bool  // the head task was blocked before it could go on
	dead     bool  // destroyed: its remaining descriptors are dropped
	special  bool  // halted, stopped or dropping: see hold
	halted   bool  // failed under STOP: everything is dropped
	stopped  bool  // no further dispatch
	dropTo   int64 // what arrives before is dropped (abort)
	dropped  bool  // something was, and nobody has been told
	domain   *Domain
	stepAt   int64 // time of the pending step event
	waitSeq  uint32
	job      *Job  // of the head task, if it is a call of user code or a fault that is being reported
	endT     int64 // of a failed head task while it is being reported
	fn       *Function
	blocks   uint32 // of the head task
	left     uint32 // blocks not started
	inflight uint32 // blocks running
	readyT   int64
	startT   int64
	freeT    int64 // when it went idle
	blockNs  int64
	code     uint32 // of the head task
	pending  *Fault // of the head task, until it ends
	fault    *Fault // of a task before, not reported yet
	faultPos uint64
	waiters  []*Port
	minWait  uint64
	sketch   sketch // of the kernel that was recorded last
}

// Domain is what fails together when a task fails under STOP_ON_FAILURE: the queues of a context.
type Domain struct {
	stop  bool
	fault *Fault // the first one under stop; it stays
}

// SetStop makes every task that fails from now on stop its queue and fail the domain. Call it from Port.Call.
func (d *Domain) SetStop() { d.stop = true }

// Fault is the fault that the domain has failed with, nil while it is good. Call it from Port.Call.
func (d *Domain) Fault() *Fault { return d.fault }

// QueueConfig says what a queue is made for.
type QueueConfig struct {
	Space    *Space  // address space of its tasks
	Domain   *Domain // fails with it; nil: it fails alone
	Owner    *Port   // the only port that submits, until Share
	Priority uint8   // 0 greatest … 7 least
	Default  bool    // a context's default stream
	Depth    int     // ring entries; rounded up to a power of two
	Usable   int     // entries that may be filled (the rest is held back); 0: Depth - 35
	Stream   uint32  // number in the trace
	Quiet    bool    // its doorbells and waits are not counted as interactions
	Args     uint64  // device address of an argument ring of ArgBytes(Depth)
}

// ArgWords is how many argument words a launch can carry in its queue's argument ring.
const ArgWords = 32

// ringSize is the number of entries of a ring of the given depth, at most 4096.
func ringSize(depth int) int {
	size := 64
	for size < min(depth, 1<<posBits) {
		size *= 2
	}
	return size
}

// ArgBytes is the size of the argument ring that belongs to a ring of the given depth.
func ArgBytes(depth int) int { return ringSize(depth) * ArgWords * 8 }

// putArgs copies the arguments of the next task into the argument ring and returns their device address. The ring has
// ArgWords for each entry of the queue, and fewer entries than that are ever filled, so what is overwritten has been
// read: no position needs to be kept for it.
func (q *Queue) putArgs(args []uint64) uint64 {
	n, at := len(args), q.argPos
	if at+n > len(q.argMem) {
		at = 0
	}
	if n > len(q.argMem)-at {
		return 0 // the queue was made without an argument ring
	}
	q.argPos = at + n
	copy(q.argMem[at:at+n], args)
	return q.argBase + uint64(at)*8
}

// ranks: explicit queues by priority, then (policy preempt) the default queues.
const (
	rankDefault = 8
	ranks       = 9
)

// NewQueue makes a queue on a device. Call it from Port.Call or before anything runs.
func (m *Machine) NewQueue(dev *Device, c QueueConfig) (*Queue, error) {
	if len(m.queues) >= noQueue && len(m.freeQueues) <= restingQueues {
		return nil, ErrNoQueue
	}
	size := ringSize(c.Depth)
	room := c.Usable
	if room <= 0 || room > size-1 {
		room = size - 35
	}
	q := &Queue{
		id: uint16(len(m.queues)), dev: dev, space: c.Space, prio: min(c.Priority, 7), name: c.Stream,
		ring: make([]Desc, size), mask: uint64(size - 1), room: uint64(room), minWait: math.MaxUint64, argBase: c.Args, quiet: c.Quiet,
		domain: c.Domain, owner: c.Owner, stepAt: never,
	}
	if q.domain == nil {
		q.domain = &Domain{}
	}
	if c.Args != 0 {
		q.argMem = wordsOf(dev.Bytes(c.Args, ArgBytes(c.Depth)))
	}
	if c.Default && m.cfg.Policy == Preempt {
		q.prio = rankDefault
	}
	if len(m.freeQueues) > restingQueues {
		// The id that has rested longest: a doorbell of a thread that still used the old queue must not find a new one.
		q.id = m.freeQueues[0]
		m.freeQueues = m.freeQueues[1:]
		m.queues[q.id] = q
		return q, nil
	}
	m.queues = append(m.queues, q)
	return q, nil
}

// Commit writes to the memory of the rings, so that no submission meets a page that the process does not have yet. Call it
// before the first submission.
func (q *Queue) Commit() {
	clear(q.ring)
	clear(q.argMem)
}

// noQueue is the id that no queue has.
const noQueue = math.MaxUint16

// restingQueues is how many ids of destroyed queues are kept from reuse.
const restingQueues = 256

// DropQueue removes a queue. Tasks that it still has must have been aborted. Call it from Port.Call.
func (m *Machine) DropQueue(q *Queue) {
	if q.dead {
		return
	}
	q.dead = true
	q.state = qOff
	if q.lanes != nil {
		m.unshare(q.lanes)
	}
	m.releaseAll(q)
	m.queues[q.id] = deadQueue
	m.freeQueues = append(m.freeQueues, q.id)
}

// deadQueue takes the doorbells that were still under way to a queue that is gone.
var deadQueue = &Queue{dead: true, state: qOff}

// Gone says whether the queue was dropped. Call it from Port.Call.
func (q *Queue) Gone() bool { return q.dead }

// Submitted is the position after the last submission: the target of a wait for everything so far.
func (q *Queue) Submitted() uint64 {
	if l := q.lanes; l != nil {
		for {
			w, passed := l.word.Load(), l.passed.Load()
			if l.word.Load() == w {
				return passed + (w-passed)&posMask
			}
		}
	}
	return q.tail
}

// Args is the device address of the argument ring.
func (q *Queue) Args() uint64 { return q.argBase }

// Arrived and Retired are positions on the device's side: descriptors that have arrived by the present instant, and
// those that are done. Call them from Port.Call.
func (q *Queue) Arrived() uint64 { return q.arrivedBy(q.dev.m.now) }

// arrivedBy counts the descriptors whose doorbell has reached the scheduler at time t. Those of threads that are ahead
// are known already, but have not arrived.
func (q *Queue) arrivedBy(t int64) uint64 {
	n := q.known
	for n > q.cur && q.ring[(n-1)&q.mask].arrival() > t {
		n--
	}
	return n
}

// Retired is described with Arrived.
func (q *Queue) Retired() uint64 { return q.cur }

// Device is the device that the queue belongs to.
func (q *Queue) Device() *Device { return q.dev }

// desc is the head descriptor.
func (q *Queue) desc() *Desc { return &q.ring[q.cur&q.mask] }
