package sim

import (
	"slices"
	"sync"
	"sync/atomic"
)

// The word of a shared queue: clock of the latest submission in the upper 46 bits (it stands still at its end, after 19
// hours of device time), then the lane that it is in, then its position, modulo positions.
const (
	posBits   = 12
	posMask   = 1<<posBits - 1
	laneBits  = 6
	laneMask  = 1<<laneBits - 1
	wordShift = posBits + laneBits
	wordClock = 1<<(64-wordShift) - 1
)

// short is a descriptor in a lane: half of a cache line, since that is what has to move from one core to another.
//
//	word 0  kind 8 | engine 8 | flags 16 | lane of the descriptor before 6 | inlineArgs, hasOperands | argument words 8 | host thread 16
//	word 1  arrival
//	word 2  function 32 | block dim 32
//	word 3  device address of the argument block; with inlineArgs where the arguments are in the lane
type short [4]uint64

const (
	inlineArgs  = 1 << 38
	hasOperands = 1 << 39 // of a task that is no kernel launch: word 3 of its descriptor, then A, B and C
)

// lanes is what makes a queue one that several ports fill. Each of them writes its descriptors into a lane of its own,
// at the slot that the ring has for the position, and takes the position with one compare-and-swap on the word, which
// publishes the descriptor too: no lock, and no slot that two write. The device finds its way back from the word, since
// a descriptor in a lane names the lane of the one before, and copies what is new into the ring.
type lanes struct {
	word   atomic.Uint64
	_      cacheLine
	passed atomic.Uint64 // everything before is retired, as far as the ports know
	_      cacheLine
	seen   atomic.Uint64 // the word as the driver last saw it
	q      *Queue
	list   atomic.Pointer[[]*lane]
	mu     sync.Mutex // list, lane.free, and lane 0
	closed bool       // the queue is gone; under Machine.parkMu
	who    []uint8    // scratch of the driver: lanes of the positions that are being taken
}

// lane is one port's part. Lane 0 is for those that found no other free, one at a time.
type lane struct {
	*lanes
	id       uint64 // its number, where it stands in a word
	room     uint64 // of the queue
	ring     []short
	operands []short  // made with the first task that has some
	args     []uint64 // arguments, made with the first ones; wraps as Queue.putArgs does
	argAt    int
	queue    uint16
	free     bool
}

func (s *lanes) newLane(id int) *lane {
	return &lane{lanes: s, id: uint64(id) << posBits, queue: s.q.id, room: s.q.room, ring: make([]short, len(s.q.ring))}
}

// Share lets several ports submit to q. It cannot be undone.
func (q *Queue) Share() {
	if q.lanes != nil {
		return
	}
	l := &lanes{q: q, who: make([]uint8, len(q.ring))}
	l.list.Store(&[]*lane{l.newLane(0)})
	w := q.tail & posMask
	if q.owner != nil {
		w |= uint64(min(q.owner.clock, wordClock)) << wordShift
	}
	l.word.Store(w)
	l.seen.Store(w)
	l.passed.Store(q.headSeen)
	q.lanes, q.owner = l, nil
}

// listen lets the driver look at a shared queue that is about to be used.
func (m *Machine) listen(s *lanes) {
	m.parkMu.Lock()
	if !s.closed {
		list := append(slices.Clone(*m.shared.Load()), s)
		m.shared.Store(&list)
	}
	m.parkMu.Unlock()
}

// unshare forgets a queue that is gone.
func (m *Machine) unshare(s *lanes) {
	m.parkMu.Lock()
	s.closed = true
	list := slices.DeleteFunc(slices.Clone(*m.shared.Load()), func(x *lanes) bool { return x == s })
	m.shared.Store(&list)
	m.parkMu.Unlock()
}

// lane is p's lane of q, nil if it has none yet.
func (p *Port) lane(q *Queue) *lane {
	if int(q.id) < len(p.lanes) {
		if l := p.lanes[q.id]; l != nil && l.q == q {
			return l
		}
	}
	return nil
}

// takeLane gives p a lane of q: one that a thread which has ended left behind, or a new one. There may be none.
func (p *Port) takeLane(q *Queue) *lane {
	s := q.lanes
	s.mu.Lock()
	defer s.mu.Unlock()
	list := *s.list.Load()
	if len(list) == 1 {
		p.m.listen(s)
	}
	i := slices.IndexFunc(list, func(l *lane) bool { return l.free })
	if i < 0 {
		if i = len(list); i > laneMask {
			return nil
		}
		list = append(slices.Clip(list), s.newLane(i))
		s.list.Store(&list)
	}
	l := list[i]
	l.free = false
	for len(p.lanes) <= int(q.id) {
		p.lanes = append(p.lanes, nil)
	}
	p.lanes[q.id] = l
	return l
}

// leaveLanes gives the lanes of a port that ends to others. What it has submitted may still stand there: positions do
// not meet.
func (p *Port) leaveLanes() {
	for _, l := range p.lanes {
		if l != nil {
			l.mu.Lock()
			l.free = true
			l.mu.Unlock()
		}
	}
	p.lanes = nil
}

// submitShared is Submit for shared queues. No lock is held across a wait.
func (p *Port) submitShared(q *Queue, t *Task, args []uint64, cost int64) (uint64, error) {
	l := p.lane(q)
	if l == nil {
		l = p.takeLane(q)
	}
	for {
		var pos uint64
		var ok bool
		if l != nil {
			pos, ok = p.commit(l, t, args, cost)
		} else {
			q.lanes.mu.Lock()
			pos, ok = p.commit((*q.lanes.list.Load())[0], t, args, cost)
			q.lanes.mu.Unlock()
		}
		if ok {
			return pos, nil
		}
		if err := p.waitRoom(q, pos); err != nil {
			return 0, err
		}
	}
}

// commit puts one task at the end of a shared queue: its clock lies behind that of the submission before it. It says at
// which position; ok is false if the ring is full.
func (p *Port) commit(l *lane, t *Task, args []uint64, cost int64) (pos uint64, ok bool) {
	words, block := uint64(t.Words), t.Args
	w0 := uint64(t.Kind) | uint64(t.Engine)<<8 | uint64(t.Flags)<<16 | uint64(p.id+1)<<48
	if len(args) > 0 {
		w0, words, block = w0|inlineArgs, uint64(len(args)), l.putArgs(args)
	}
	w0 |= words << 40
	if !t.Kind.Kernel() || t.Dir != 0 || t.Name != 0 || t.A|t.B|t.C != 0 {
		w0 |= hasOperands
		if l.operands == nil {
			l.operands = make([]short, len(l.ring))
		}
	}
	for {
		old := l.word.Load()
		passed := l.passed.Load()
		n := (old - passed) & posMask
		if n >= l.room {
			if l.word.Load() != old {
				continue // others have gone on since
			}
			return passed + n, false
		}
		clock, last := p.clock+cost, int64(old>>wordShift)
		if clock <= last && last < wordClock {
			clock = last + 1
			p.m.OrderedByWall() // a port that was ahead has come before
		}
		k := old & uint64(len(l.ring)-1)
		l.ring[k] = short{w0 | old>>posBits&laneMask<<32, uint64(clock + Doorbell), uint64(t.Func) | uint64(t.Blocks)<<32, block}
		if w0&hasOperands != 0 {
			l.operands[k] = short{uint64(t.Dir)<<16 | uint64(t.Name)<<32, t.A, t.B, t.C}
		}
		if l.word.CompareAndSwap(old, uint64(min(clock, wordClock))<<wordShift|l.id|(old+1)&posMask) {
			p.clock, pos = clock, passed+n
			break
		}
		p.giveWay(l)
	}
	if len(args) > 0 {
		l.argAt = int(block) + len(args)
	}
	p.last = submission{queue: l.queue, pos: pos, clock: p.clock}
	// The port's own word stays behind unless somebody is stalled and may wait for it: see Port.ahead.
	if p.word.Load() != p.pub || p.m.hungry.Load() != 0 {
		p.publish(uint64(p.clock)<<tailBits|p.pub&logMask, nil)
	}
	if pos%callEvery == 0 {
		p.m.callBackground()
	}
	return pos, true
}

// giveWay is for a port that has lost a position: the quicker one is likely to go on, and both are faster if it does so
// alone for a while. Looking costs the other one as much as a dozen submissions, so that it happens ever more rarely, and
// ends after some dozen microseconds at the latest.
func (p *Port) giveWay(l *lane) {
	for turns := 8000; turns <= 32_000; turns *= 2 {
		p.pause(turns)
		w := l.word.Load()
		p.pause(100)
		if l.word.Load() == w {
			return
		}
	}
}

// pause lets so many processor cycles pass, more or less.
func (p *Port) pause(turns int) {
	for range turns {
		_ = p.word.Load()
	}
}

// putArgs copies arguments into the lane and says where they are. A lane has room for those of a whole ring.
func (l *lane) putArgs(args []uint64) uint64 {
	if l.args == nil {
		l.args = make([]uint64, len(l.ring)*ArgWords)
	}
	at := l.argAt
	if at+len(args) > len(l.args) {
		at = 0
	}
	copy(l.args[at:], args)
	return uint64(at)
}

// takeIn moves what has been committed to a shared queue, whose word is w now, into its ring. The caller owns the
// devices.
func (m *Machine) takeIn(s *lanes, w uint64) {
	s.seen.Store(w)
	q := s.q
	list := *s.list.Load()
	n := (w - q.tail) & posMask
	last := q.tail + n
	for pos, k := last, w>>posBits&laneMask; pos > q.tail; {
		pos--
		s.who[pos&q.mask] = uint8(k)
		k = list[k].ring[pos&q.mask][0] >> 32 & laneMask
	}
	var p *Port
	var clock int64
	for ; q.tail < last; q.tail++ {
		k := q.tail & q.mask
		l, d := list[s.who[k]], &q.ring[k]
		w := l.ring[k]
		if q.tail-q.wrap == 65535 {
			q.wrap = q.tail
		}
		d[0] = w[0]&(1<<32-1) | uint64(q.id)<<32 | (q.tail-q.wrap)<<48
		d[1] = w[1]
		d[2] = w[2]
		d[3] = w[0]>>48 | w[0]>>40&0xff<<24
		d[4] = w[3]
		if w[0]&hasOperands != 0 {
			o := &l.operands[k]
			d[3] |= o[0]
			d[5], d[6], d[7] = o[1], o[2], o[3]
		}
		if w[0]&inlineArgs != 0 {
			d[4] = q.putArgs(l.args[w[3]:][:d.argWords()])
		}
		if x := m.portList()[d.thread()-1]; x != p {
			p.comesTo(clock)
			p = x
		}
		clock = d.arrival() - Doorbell
	}
	p.comesTo(clock)
	q.known += n
	if q.state == qIdle {
		m.fetch(q, q.freeT)
	}
}

// comesTo notes that p, which may be nil, has submitted something at that clock.
func (p *Port) comesTo(clock int64) {
	if p != nil {
		p.ahead.Store(max(clock, p.ahead.Load()))
	}
}

// running is the clock that holds the devices back: the one that the port has published, or that of a later submission
// to a shared queue, which the device has seen there. ok is false if the port holds nothing back.
func (p *Port) running() (clock int64, ok bool) {
	c := int64(p.word.Load() >> tailBits)
	return max(c, p.ahead.Load()), c < infOut
}
