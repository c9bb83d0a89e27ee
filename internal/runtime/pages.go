package runtime

import (
	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

// memory is what this process has taken of a device's memory. All methods run under Port.Call.
type memory struct {
	hw      *sim.Device
	pool    *mempool.Pool
	shared  *pageTable // of all contexts but isolated ones
	blocks  map[uint64]block
	pending []pendingFree
}

// block is an allocation: whose it is and who can reach it.
type block struct {
	ctx   *Context // nil: the runtime's own
	pages *pageTable
	bytes int64
}

// pageTable is an address space with the number of blocks on each of its pages.
type pageTable struct {
	space *sim.Space
	count []uint16
}

// pendingFree is a block that was freed while tasks that may use it were under way.
type pendingFree struct {
	addr  uint64
	after []position
}

type position struct {
	q   *sim.Queue
	pos uint64
}

func newMemory(hw *sim.Device) *memory {
	m := &memory{hw: hw, shared: newPageTable(hw)}
	m.clear()
	return m
}

func (m *memory) clear() {
	base, size := m.hw.Memory()
	// The first page stays unmapped, so that small numbers are no pointers into it.
	m.pool = mempool.New(base+sim.Page, uint64(size-sim.Page))
	m.blocks = map[uint64]block{}
	m.pending = nil
}

func newPageTable(hw *sim.Device) *pageTable {
	_, size := hw.Memory()
	return &pageTable{space: hw.NewSpace(), count: make([]uint16, size/sim.Page)}
}

// alloc takes a block and maps its pages. An isolated table shares no page with another one, so its blocks are whole
// pages.
func (m *memory) alloc(n uint64, ctx *Context, pages *pageTable) (uint64, bool) {
	var align uint64
	if pages != m.shared {
		n, align = (n+sim.Page-1)&^(sim.Page-1), sim.Page
	}
	addr, ok := m.pool.Alloc(n, align)
	if !ok {
		return 0, false
	}
	n, _ = m.pool.Size(addr)
	m.blocks[addr] = block{ctx: ctx, pages: pages, bytes: int64(n)}
	if ctx != nil {
		ctx.bytes += int64(n)
	}
	base, _ := m.hw.Memory()
	for pg := (addr - base) / sim.Page; pg <= (addr+n-1-base)/sim.Page; pg++ {
		if pages.count[pg]++; pages.count[pg] == 1 {
			pages.space.Map(base+pg*sim.Page, sim.Page, sim.ReadWrite)
		}
	}
	return addr, true
}

// release gives a block back and unmaps pages without blocks.
func (m *memory) release(addr uint64) {
	n, ok := m.pool.Free(addr)
	if !ok {
		return
	}
	b := m.blocks[addr]
	delete(m.blocks, addr)
	if b.ctx != nil {
		b.ctx.bytes -= b.bytes
	}
	base, _ := m.hw.Memory()
	for pg := (addr - base) / sim.Page; pg <= (addr+n-1-base)/sim.Page; pg++ {
		if b.pages.count[pg]--; b.pages.count[pg] == 0 {
			b.pages.space.Map(base+pg*sim.Page, sim.Page, sim.NoAccess)
		}
	}
}

// freeLater frees a block as soon as the tasks that are under way on the streams have passed.
func (m *memory) freeLater(addr uint64, streams []*Stream) bool {
	if _, ok := m.blocks[addr]; !ok {
		return false
	}
	for _, p := range m.pending {
		if p.addr == addr {
			return false
		}
	}
	f := pendingFree{addr: addr}
	for _, s := range streams {
		if pos := s.q.Arrived(); pos > s.q.Retired() {
			f.after = append(f.after, position{s.q, pos})
		}
	}
	m.pending = append(m.pending, f)
	m.reclaim()
	return true
}

// reclaim frees the blocks whose last user has passed.
func (m *memory) reclaim() {
	k := 0
	for _, f := range m.pending {
		busy := false
		for _, a := range f.after {
			busy = busy || !a.q.Gone() && a.q.Retired() < a.pos
		}
		if busy {
			m.pending[k] = f
			k++
			continue
		}
		m.release(f.addr)
	}
	m.pending = m.pending[:k]
}

// freeTable frees all blocks of a page table.
func (m *memory) freeTable(t *pageTable) {
	m.reclaim()
	for addr, b := range m.blocks {
		if b.pages == t {
			m.release(addr)
		}
	}
}

// reset frees everything that the process has on the device.
func (m *memory) reset() {
	for addr := range m.blocks {
		m.release(addr)
	}
	m.clear()
}
