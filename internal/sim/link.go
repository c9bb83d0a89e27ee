package sim

import (
	"sync/atomic"
	"time"
)

// LinkLatency is the time from a record in one process to its effect in another, in device ns. It is the look-ahead of
// processes that wait for each other.
const LinkLatency = 2000

// Link keeps the clock of this process's devices in order with those of other processes (a group), as far as they wait
// for each other's records. Each process states in shared memory the earliest time at which it may do anything. While
// something here waits for a record, the devices simulate nothing that a record of another process may still precede.
//
// A record is written, with its time, before the earliest time moves past it, and the earliest time of a process that
// waits is lowered on its behalf (rule: lower before you raise). So who reads the times and then the records, in this
// order, misses none. An outcome does not depend on how fast the processes are.
type Link struct {
	m       *Machine
	peers   Peers
	active  atomic.Bool  // this process has something that others can record or wait for
	blocked atomic.Int32 // waits that are open
	base    atomic.Int64 // wall to device time, while no peer limits it

	// The owner's.
	waits   []linkWait
	lowered bool
	granted map[*Queue]bool
	verdict verdict
}

// Peers is how a Link reaches the other processes of its group. Its functions may be called from any goroutine and do
// not block.
type Peers interface {
	Me() int                     // number of this process
	Group() []int                // the others that it is linked with, directly or through others
	Clock(i int) []atomic.Uint64 // seven shared words of process i
	Epoch() *atomic.Uint64       // shared by all
	Generation(i int) uint64     // of the process that is number i now; 24 bits
	Alive(i int, generation uint64) bool
	Poke(i int)           // makes process i call Link.Poked
	PID(i int) int        // of process i
	Waits(i int) []string // says in words what process i waits for
}

// Words of Peers.Clock.
const (
	clockTime     = iota // earliest time << 16 | version
	clockWant            // a stalled process: the time that it wants its peers to pass
	clockSleeping        // it is stalled: poke it
	clockWaiting         // it has open waits
	clockPoked           // it was asked to drive
	clockStuck           // its token while it is stuck, see Link.judge
	clockVerdict         // a token with which it was found deadlocked
)

// farthest is the earliest time of a process that does nothing by itself.
const farthest = uint64(1)<<48 - 1

// NewLink ties the machine to others. Call it before anything runs.
func (m *Machine) NewLink(p Peers) *Link {
	m.link = &Link{m: m, peers: p, granted: map[*Queue]bool{}}
	return m.link
}

// Activate begins to state this process's time to others. Call it from Port.Call.
func (l *Link) Activate() { l.active.Store(true) }

// Deactivate ends that: the shared words are not touched any more.
func (l *Link) Deactivate() {
	l.m.own()
	l.active.Store(false)
	l.m.disown()
}

func (l *Link) on() bool { return l != nil && l.active.Load() }

// waiting says whether something here waits for a record of another process.
func (l *Link) waiting() bool { return l.on() && l.blocked.Load() > 0 }

// bound is the time before which nothing of other processes can arrive; never while nothing here waits.
func (l *Link) bound() int64 {
	if !l.waiting() {
		return never
	}
	for {
		e := l.peers.Epoch().Load()
		least := farthest
		for _, q := range l.peers.Group() {
			least = min(least, l.peers.Clock(q)[clockTime].Load()>>16)
		}
		if l.peers.Epoch().Load() != e {
			continue
		}
		if least == farthest {
			// Nobody says when he will act: he may be outside. Virtual time then does not outrun wall time.
			return l.base.Load() + time.Now().UnixNano()
		}
		return int64(least) + LinkLatency
	}
}

// publish states the earliest time at which this process may do anything, and wakes who waits for that. The caller owns
// the devices. It says whether a wait was let go on the way.
func (l *Link) publish() bool {
	if !l.on() {
		return false
	}
	word := &l.peers.Clock(l.peers.Me())[clockTime]
	moved := false
	for {
		old := word.Load()
		moved = l.arrivals(l.bound()) || moved
		n := l.earliest()
		if l.m.unseen() {
			n = min(n, old>>16) // not taken in yet: do not raise
		}
		if n == old>>16 || word.CompareAndSwap(old, n<<16|old&0xffff) {
			l.wake(n)
			return moved
		}
	}
}

// earliest is when the devices or a thread of this process may do something next.
func (l *Link) earliest() uint64 {
	m := l.m
	n := int64(farthest)
	if len(m.pending) > 0 {
		n = min(n, m.pending[0].t)
	}
	if m.dirty {
		n = min(n, m.now)
	}
	for _, p := range m.portList() {
		if c, ok := p.running(); ok {
			n = min(n, c+Doorbell)
		}
	}
	for _, w := range l.waits {
		if w.remote.flag { // a record may be known that does not end the wait yet: an earlier one may come
			if t, gen := w.remote.first(l.peers.Me()); gen != 0 {
				n = min(n, max(t, w.t))
			}
		}
	}
	return uint64(max(0, n))
}

// wake pokes the stalled processes that the time n, or a record, lets go on.
func (l *Link) wake(n uint64) {
	for _, q := range l.peers.Group() {
		c := l.peers.Clock(q)
		if c[clockSleeping].Load() == 0 {
			continue
		}
		if l.lowered || n == farthest || n+LinkLatency > c[clockWant].Load() {
			if c[clockSleeping].CompareAndSwap(1, 0) {
				c[clockPoked].Store(1)
				l.peers.Poke(q)
			}
		}
	}
	l.lowered = false
}

// stall leaves word of what this process waits for, and asks those who hold it back to drive: once, and only who is not
// stalled itself. The caller owns the devices and has found nothing to simulate.
func (l *Link) stall() {
	if !l.waiting() {
		return
	}
	want := farthest
	if len(l.m.pending) > 0 {
		want = min(want, uint64(l.m.pending[0].t))
	}
	for _, w := range l.waits {
		if w.remote.flag {
			want = min(want, uint64(w.t))
		}
	}
	mine := l.peers.Clock(l.peers.Me())
	mine[clockWant].Store(want)
	mine[clockSleeping].Store(1)
	for _, q := range l.peers.Group() {
		c := l.peers.Clock(q)
		n := c[clockTime].Load() >> 16
		if n != farthest && n+LinkLatency <= want && c[clockSleeping].Load() == 0 && c[clockPoked].CompareAndSwap(0, 1) {
			l.peers.Poke(q)
		}
	}
}

// Poked drives the devices for the sake of a peer, or because one has gone on. It may be called from any goroutine, one
// at a time.
func (l *Link) Poked() {
	l.peers.Clock(l.peers.Me())[clockPoked].Store(0)
	if l.m.tryOwn() {
		l.m.drive(nil)
		l.m.disown()
	}
}

// Check looks after open waits: whose recorder has died, fails. It may be called from any goroutine; call it every few
// milliseconds.
func (l *Link) Check() {
	if !l.waiting() || !l.m.tryOwn() {
		return
	}
	for _, q := range l.peers.Group() {
		l.peers.Alive(q, l.peers.Generation(q)) // a dead one holds nobody back any more
	}
	l.failDead()
	l.m.drive(nil)
	l.stall()
	l.judge()
	l.m.disown()
}
