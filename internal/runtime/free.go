package runtime

import "npu/internal/sim"

// pendingFrees are the blocks that were freed while tasks that may use them were under way. Frees that wait for the
// same tasks share a batch, and batches are used again, so that a free allocates nothing.
type pendingFrees struct {
	batches []*freeBatch
	spare   []*freeBatch
	turn    int // see reclaimSome
}

// freeBatch is blocks that wait for the same tasks.
type freeBatch struct {
	addrs []uint64
	after []ringPosition
	marks []eventMark
}

// ringPosition is a place in a queue that its head must have passed.
type ringPosition struct {
	q   *sim.Queue
	pos uint64
}

// eventMark is a record of an event that must have been reached.
type eventMark struct {
	hw  *sim.Event
	gen uint64
}

func (a ringPosition) passed() bool { return a.q.Gone() || a.q.Retired() >= a.pos }

func (a eventMark) passed() bool {
	gen, _ := a.hw.Reached()
	return gen >= a.gen
}

// busy appends where the streams stand that have tasks under way and can reach memory of table t on this device.
func (m *memory) busy(list []ringPosition, d *Device, t uint32) []ringPosition {
	for _, o := range d.rt.devices {
		if o != d && !o.peers[d.id].Load() {
			continue
		}
		for _, s := range o.streams {
			if o == d && s.ctx.pages.id != t {
				continue
			}
			if pos := s.q.Arrived(); pos > s.q.Retired() {
				list = append(list, ringPosition{s.q, pos})
			}
		}
	}
	return list
}

// restful says whether nothing is under way that can reach memory of device d.
func (m *memory) restful(d *Device) bool {
	for _, o := range d.rt.devices {
		if o != d && !o.peers[d.id].Load() {
			continue
		}
		for _, s := range o.streams {
			if s.q.Arrived() > s.q.Retired() {
				return false
			}
		}
	}
	return true
}

// freeLater frees a block as soon as the tasks that are under way have passed. Where uses of the block were recorded,
// those alone count. It says whether addr was a block in use.
func (m *memory) freeLater(addr uint64, d *Device) bool {
	if m.restful(d) {
		return m.drop(addr)
	}
	b, ok := m.pool.Leave(addr)
	if !ok {
		return false
	}
	f := m.frees.batch()
	if uses := m.uses[addr]; len(uses) > 0 {
		for _, u := range uses {
			if !u.stream.destroyed.Load() && u.stream.q.Arrived() > u.stream.q.Retired() {
				f.after = append(f.after, ringPosition{u.stream.q, u.stream.q.Arrived()})
			}
		}
	} else {
		f.after = m.busy(f.after, d, b.Table)
	}
	f.addrs = append(f.addrs, addr)
	m.frees.add(f)
	m.reclaimSome()
	return true
}

// freeAt frees a block as soon as an event's record is reached.
func (m *memory) freeAt(addr uint64, hw *sim.Event, gen uint64) bool {
	if _, ok := m.pool.Leave(addr); !ok {
		return false
	}
	f := m.frees.batch()
	f.addrs = append(f.addrs, addr)
	f.marks = append(f.marks, eventMark{hw, gen})
	m.frees.add(f)
	m.reclaim()
	return true
}

// batch is an empty batch.
func (p *pendingFrees) batch() *freeBatch {
	if n := len(p.spare); n > 0 {
		f := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return f
	}
	return new(freeBatch)
}

// add puts f at the end; if the last batch waits for the same, its blocks go there.
func (p *pendingFrees) add(f *freeBatch) {
	if n := len(p.batches); n > 0 && p.batches[n-1].same(f) {
		last := p.batches[n-1]
		last.addrs = append(last.addrs, f.addrs...)
		p.rest(f)
		return
	}
	p.batches = append(p.batches, f)
}

func (f *freeBatch) same(o *freeBatch) bool {
	if len(f.after) != len(o.after) || len(f.marks)+len(o.marks) > 0 {
		return false
	}
	for i, a := range f.after {
		if a != o.after[i] {
			return false
		}
	}
	return true
}

// rest keeps a batch for the next free.
func (p *pendingFrees) rest(f *freeBatch) {
	f.addrs, f.after, f.marks = f.addrs[:0], f.after[:0], f.marks[:0]
	p.spare = append(p.spare, f)
}

// drop forgets all batches: the blocks are freed by other means.
func (p *pendingFrees) drop() {
	for _, f := range p.batches {
		p.rest(f)
	}
	p.batches = p.batches[:0]
}

// passed says whether everything that f waits for is over. What has passed is not looked at again.
func (f *freeBatch) passed() bool {
	for len(f.after) > 0 {
		n := len(f.after) - 1
		if !f.after[n].passed() {
			return false
		}
		f.after = f.after[:n]
	}
	for len(f.marks) > 0 {
		n := len(f.marks) - 1
		if !f.marks[n].passed() {
			return false
		}
		f.marks = f.marks[:n]
	}
	return true
}

// reclaim frees the blocks whose last user has passed.
func (m *memory) reclaim() { m.sweep(len(m.frees.batches)) }

// reclaimSome is reclaim for calls that come often: it looks at the oldest batches until one has not passed, and at a few
// others in turn, since a batch behind a long task must not hold up those behind it for ever.
func (m *memory) reclaimSome() {
	list := m.frees.batches
	k := 0
	for k < len(list) && list[k].passed() {
		k++
	}
	if k > 0 {
		m.sweep(k)
		return
	}
	for range min(lookAt, len(list)-1) {
		f := &m.frees
		if f.turn++; f.turn >= len(f.batches) {
			f.turn = 1
		}
		if b := f.batches[f.turn]; b.passed() {
			f.batches = append(f.batches[:f.turn], f.batches[f.turn+1:]...)
			m.end(b)
			return
		}
	}
}

// lookAt is how many batches reclaimSome looks at besides the oldest.
const lookAt = 4

// sweep frees what has passed of the first n batches.
func (m *memory) sweep(n int) {
	list := m.frees.batches
	if n == 0 {
		return
	}
	k := 0
	for _, f := range list[:n] {
		if f.passed() {
			m.end(f)
			continue
		}
		list[k] = f
		k++
	}
	if k == n {
		return
	}
	kept := k + copy(list[k:], list[n:])
	clear(list[kept:])
	m.frees.batches = list[:kept]
}

// end frees the blocks of a batch that has passed.
func (m *memory) end(f *freeBatch) {
	for _, a := range f.addrs {
		m.release(a)
	}
	m.frees.rest(f)
}

// recordedUse is a stream that a block was said to be used on.
type recordedUse struct{ stream *Stream }

// recordUse notes that s uses a block.
func (m *memory) recordUse(addr uint64, s *Stream) {
	for _, u := range m.uses[addr] {
		if u.stream == s {
			return
		}
	}
	m.uses[addr] = append(m.uses[addr], recordedUse{s})
}

// free gives a block back as its user wants it: when its tasks have passed, or at once in strict mode. It says whether
// addr was a block in use.
func (m *memory) free(addr uint64, d *Device) bool {
	if len(m.pools) > 0 && m.freePooled(addr) {
		return true
	}
	if !m.strict.on.Load() {
		return m.freeLater(addr, d)
	}
	b, ok := m.pool.At(addr)
	if !ok || b.Leaving {
		return false
	}
	m.strict.check(b, d)
	m.release(addr)
	return true
}
