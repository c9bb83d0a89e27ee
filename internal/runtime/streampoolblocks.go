package runtime

import (
	"cmp"
	"slices"
	"sync/atomic"

	"npu/internal/sim"
)

// block is the one that begins at addr.
func (p *StreamPool) block(addr uint64) *poolBlock {
	i, ok := slices.BinarySearchFunc(p.blocks, addr, func(b *poolBlock, a uint64) int { return cmp.Compare(b.addr, a) })
	if !ok {
		return nil
	}
	return p.blocks[i]
}

// idle is the best block that stream s can use as it is, or nil.
func (p *StreamPool) idle(size uint64, s *Stream, rt *Runtime) *poolBlock {
	same := func(b *poolBlock) bool { return b.freed == nil || b.freed == s }
	if b := p.best(size, same); b != nil {
		return b
	}
	if p.switches[ReuseFollowEvents] {
		if b := p.best(size, func(b *poolBlock) bool { return rt.hostMem.order.known(s, b.freed) >= b.at }); b != nil {
			return b
		}
	}
	if p.switches[ReuseOpportunistic] {
		return p.best(size, (*poolBlock).passed)
	}
	return nil
}

// best is the smallest idle block of at least size bytes that may be used, the lowest of several.
func (p *StreamPool) best(size uint64, may func(*poolBlock) bool) (found *poolBlock) {
	for _, b := range p.blocks {
		if !b.busy && b.bytes >= size && (found == nil || b.bytes < found.bytes) && may(b) {
			found = b
		}
	}
	return found
}

// grow takes size bytes from the device.
func (p *StreamPool) grow(size uint64, s *Stream) *poolBlock {
	if p.reserved+size > p.size {
		p.trim(p.used)
	}
	if size > p.size-min(p.size, p.reserved) {
		return nil
	}
	m := p.d.memory
	m.reclaim()
	a, ok := p.takeSegments(size, s)
	if !ok {
		m.trimPools()
		if a, ok = p.takeSegments(size, s); !ok {
			return nil
		}
	}
	b := p.insert(poolBlock{addr: a, bytes: size})
	p.reserved += size
	p.reservedH = max(p.reservedH, p.reserved)
	return b
}

func (p *StreamPool) insert(b poolBlock) *poolBlock {
	i, _ := slices.BinarySearchFunc(p.blocks, b.addr, func(x *poolBlock, a uint64) int { return cmp.Compare(x.addr, a) })
	var x *poolBlock
	if n := len(p.spare); n > 0 {
		x = p.spare[n-1]
		p.spare = p.spare[:n-1]
	} else {
		x = new(poolBlock)
	}
	*x = b
	p.blocks = slices.Insert(p.blocks, i, x)
	return x
}

// remove forgets block i.
func (p *StreamPool) remove(i int) {
	p.spare = append(p.spare, p.blocks[i])
	p.blocks = slices.Delete(p.blocks, i, i+1)
}

// split leaves size bytes in b; the rest becomes an idle block of the same past.
func (p *StreamPool) split(b *poolBlock, size uint64) {
	if b.bytes == size || !p.d.memory.pool.Split(b.addr, size) {
		return
	}
	rest := *b
	rest.addr, rest.bytes = b.addr+size, b.bytes-size
	b.bytes = size
	p.insert(rest)
}

// release makes b idle behind a position of stream s, and joins it with neighbours that were freed at the same point.
func (p *StreamPool) release(b *poolBlock, s *Stream, at uint64, by *Thread) {
	p.used -= b.bytes
	b.busy, b.freed, b.at, b.by = false, s, at, by
	i := slices.Index(p.blocks, b)
	join := func(a, b *poolBlock) bool {
		return !a.busy && !b.busy && a.freed == b.freed && a.at == b.at && a.addr+a.bytes == b.addr && p.d.memory.pool.Join(a.addr, b.addr)
	}
	if i+1 < len(p.blocks) && join(b, p.blocks[i+1]) {
		b.bytes += p.blocks[i+1].bytes
		p.remove(i + 1)
	}
	if i > 0 && join(p.blocks[i-1], b) {
		p.blocks[i-1].bytes += b.bytes
		p.remove(i)
	}
}

// trim gives idle blocks whose free is over back, the smallest first and the last one in part, until no more than keep
// bytes are reserved.
func (p *StreamPool) trim(keep uint64) {
	keep = (keep + sim.Page - 1) &^ (sim.Page - 1)
	for p.reserved > keep {
		b := p.best(1, (*poolBlock).passed)
		if b == nil {
			return
		}
		if excess := p.reserved - keep; b.bytes > excess {
			p.split(b, excess)
		}
		p.drop(b)
	}
}

// drop gives a block back to the device.
func (p *StreamPool) drop(b *poolBlock) {
	p.reserved -= b.bytes
	addr := b.addr
	p.remove(slices.Index(p.blocks, b))
	p.d.memory.release(addr)
}

// trimPools gives back what the device's pools have idle, since memory is short.
func (m *memory) trimPools() {
	for _, p := range m.pools {
		p.trim(0)
	}
}

// settlePools gives back what the pools have idle above their thresholds: a stream or the device was synchronised.
func (m *memory) settlePools() {
	for _, p := range m.pools {
		p.trim(p.threshold)
	}
}

// freePooled frees a block of a pool by force. It says whether addr was one.
func (m *memory) freePooled(addr uint64) bool {
	for _, p := range m.pools {
		if b := p.block(addr); b != nil && b.busy {
			p.used -= b.bytes
			p.reserved -= b.bytes
			p.remove(slices.Index(p.blocks, b))
			return m.freeLater(addr, p.d)
		}
	}
	return false
}

// streamOrder is what streams have waited for, so that a pool knows who may use what was freed: for each pair of streams
// how far the one is known to be by the other. It is kept from the first pool on.
type streamOrder struct {
	on     atomic.Bool
	ahead  map[*Stream]map[*Stream]uint64
	events map[*Event]map[*Stream]uint64
}

// known is the position of stream o that s has waited for.
func (w *streamOrder) known(s, o *Stream) uint64 { return w.ahead[s][o] }

// recorded notes a record of e on s, which had tasks up to pos before it.
func (w *streamOrder) recorded(e *Event, s *Stream, pos uint64) {
	if w.events == nil {
		w.events, w.ahead = map[*Event]map[*Stream]uint64{}, map[*Stream]map[*Stream]uint64{}
	}
	m := w.events[e]
	if m == nil {
		m = map[*Stream]uint64{}
		w.events[e] = m
	}
	clear(m)
	m[s] = pos
	for o, p := range w.ahead[s] {
		m[o] = p
	}
}

// waited notes that s waits for e.
func (w *streamOrder) waited(e *Event, s *Stream) {
	m := w.events[e]
	if m == nil {
		return
	}
	k := w.ahead[s]
	if k == nil {
		k = map[*Stream]uint64{}
		w.ahead[s] = k
	}
	for o, p := range m {
		if o != s {
			k[o] = max(k[o], p)
		}
	}
}

// dropEvent and dropStream forget what is known of an object that ends.
func (w *streamOrder) dropEvent(e *Event) { delete(w.events, e) }

func (w *streamOrder) dropStream(s *Stream) {
	delete(w.ahead, s)
	for _, m := range w.ahead {
		delete(m, s)
	}
	for _, m := range w.events {
		delete(m, s)
	}
}
