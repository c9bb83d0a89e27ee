package msprof

// noContext is the context of a task that is not a part of another.
const noContext = ^uint32(0)

// task is a start and an end of the device's log that belong together, in counts.
type task struct {
	start, end uint64
	stream     uint32
	id         uint32 // 16 bits as the device counts
	context    uint32
	batch      uint32 // how often the id has wrapped; see flips
	sqe        uint8
	part       uint8 // core kind of a part (FFTS+ subtask type), else 0
}

type pairKey struct {
	stream, id, context uint32
	thread              uint16
}

// pairs joins starts and ends. Parts of a task pair first in first out for each key. Of a task itself no two executions
// are under way at once: a second start says that the end of the first was lost.
type pairs struct {
	tasks []task
	open  map[pairKey]int32 // the oldest start in waiting, -1 ended
	slots []start
	free  int32
	held  held  // the start of the record before: its end mostly follows
	alone int64 // ends without a start
	left  int64 // starts that wait for an end
	cut   int64 // starts whose end was lost
}

// held is a start that is not among the open ones yet.
type held struct {
	key   pairKey
	start start
	some  bool
}

type start struct {
	count      uint64
	next, last int32 // of the same key; last is kept by the first
	sqe, part  uint8
}

func newPairs() *pairs { return &pairs{open: map[pairKey]int32{}, free: -1} }

// expect makes room for so many tasks.
func (p *pairs) expect(tasks int) { p.tasks = make([]task, 0, tasks) }

func (p *pairs) begin(key pairKey, count uint64, sqe, part uint8) {
	p.settle()
	p.held = held{key, start{count: count, sqe: sqe, part: part}, true}
}

// settle puts the start that is held among the open ones.
func (p *pairs) settle() {
	if h := p.held; h.some {
		p.held.some = false
		p.put(h.key, h.start.count, h.start.sqe, h.start.part)
	}
}

func (p *pairs) put(key pairKey, count uint64, sqe, part uint8) {
	if first, ok := p.open[key]; ok && key.context == noContext {
		p.slots[first].count, p.slots[first].sqe = count, sqe
		p.cut++
		return
	}
	at := p.free
	if at >= 0 {
		p.free = p.slots[at].next
	} else {
		at = int32(len(p.slots))
		p.slots = append(p.slots, start{})
	}
	p.slots[at] = start{count: count, next: -1, last: at, sqe: sqe, part: part}
	p.left++
	if first, ok := p.open[key]; ok {
		p.slots[p.slots[first].last].next = at
		p.slots[first].last = at
		return
	}
	p.open[key] = at
}

func (p *pairs) finish(key pairKey, count uint64) {
	if h := &p.held; h.some && h.key == key && h.start.count <= count {
		if _, older := p.open[key]; !older || key.context == noContext {
			if older {
				p.drop(key)
			}
			h.some = false
			p.tasks = append(p.tasks, task{start: h.start.count, end: count, stream: key.stream, id: key.id, context: key.context, sqe: h.start.sqe, part: h.start.part})
			return
		}
	}
	p.settle()
	first, ok := p.open[key]
	if !ok || p.slots[first].count > count {
		p.alone++
		return
	}
	s := p.slots[first]
	p.tasks = append(p.tasks, task{start: s.count, end: count, stream: key.stream, id: key.id, context: key.context, sqe: s.sqe, part: s.part})
	p.remove(key, first)
}

// drop forgets the start of a task whose end was lost: another start of the same task came.
func (p *pairs) drop(key pairKey) {
	p.remove(key, p.open[key])
	p.cut++
}

// remove takes the oldest start of key away.
func (p *pairs) remove(key pairKey, first int32) {
	s := p.slots[first]
	p.left--
	if s.next >= 0 {
		p.slots[s.next].last = s.last
		p.open[key] = s.next
	} else {
		delete(p.open, key)
	}
	p.slots[first].next = p.free
	p.free = first
}

// gaps finds lost records by their 4-bit counter.
type gaps struct {
	last uint8
	some bool
	lost int64
}

func (g *gaps) see(counter uint8) {
	if g.some {
		g.lost += int64((counter - g.last - 1) & 15)
	}
	g.last, g.some = counter, true
}
