package runtime

import (
	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

// memory is what this process has taken of a device's memory. All methods run under Port.Call.
type memory struct {
	hw        *sim.Device
	pool      *mempool.Pool
	shared    *pageTable // of all contexts but isolated ones
	tables    []*pageTable
	users     []*Context // by the tag of their blocks; 0 is the runtime itself
	spareTags []uint32   // in users, of caches that have ended
	frees     pendingFrees
	uses      map[uint64][]recordedUse // by block, see RecordUse
	shares
	strict strictLog

	virtual   []*reservation // see ReserveAddress
	elsewhere *pageTable     // of physical memory: it is accounted for, but lies in files of its own
	pools     []*StreamPool
	standard  *StreamPool // the device's default pool, from its first use on
}

// pageTable is an address space on the device.
type pageTable struct {
	space *sim.Space
	id    uint32 // as the pool knows it; 0 is the shared one
}

func newMemory(hw *sim.Device) *memory {
	m := &memory{hw: hw}
	m.shared = &pageTable{space: hw.NewSpace()}
	m.tables = []*pageTable{m.shared}
	m.users = []*Context{nil}
	m.clear()
	return m
}

func (m *memory) clear() {
	base, size := m.hw.Memory()
	// The first page stays unmapped, so that small numbers are no pointers into it.
	m.pool = mempool.New(mempool.Config{Base: base + sim.Page, Size: uint64(size - sim.Page), Pages: m})
	m.frees = pendingFrees{}
	m.uses = map[uint64][]recordedUse{}
}

// newTable makes an address space of its own.
func (m *memory) newTable() *pageTable {
	t := &pageTable{space: m.hw.NewSpace(), id: uint32(len(m.tables))}
	m.tables = append(m.tables, t)
	return t
}

// Map is called by the pool.
func (m *memory) Map(addr, bytes uint64, table uint32) {
	m.tables[table].space.Map(addr, int64(bytes), sim.ReadWrite)
}

// Unmap is called by the pool.
func (m *memory) Unmap(addr, bytes uint64, table uint32) {
	m.tables[table].space.Map(addr, int64(bytes), sim.NoAccess)
}

// user is the tag of a context's blocks.
func (m *memory) user(ctx *Context) uint32 {
	if ctx == nil {
		return 0
	}
	if int(ctx.tag) >= len(m.users) || m.users[ctx.tag] != ctx {
		ctx.tag = uint32(len(m.users))
		m.users = append(m.users, ctx)
	}
	return ctx.tag
}

// alloc takes a block of n bytes.
func (m *memory) alloc(n uint64, ctx *Context, pages *pageTable) (uint64, bool) {
	return m.take(mempool.Request{Bytes: n, Table: pages.id}, ctx)
}

// take takes a block for ctx; nil is the runtime itself.
func (m *memory) take(r mempool.Request, ctx *Context) (uint64, bool) {
	r.Tag = m.user(ctx)
	if r.Table != 0 {
		r.Bytes = (r.Bytes + sim.Page - 1) &^ (sim.Page - 1) // an isolated table shares no page with another one
	}
	addr, ok := m.pool.Alloc(r)
	if ok && !m.claim() {
		m.pool.Free(addr)
		return 0, false
	}
	if ok && ctx != nil {
		ctx.bytes += int64(r.Bytes)
	}
	return addr, ok
}

// release gives a block back.
func (m *memory) release(addr uint64) {
	m.unshare(addr)
	if b, ok := m.pool.Free(addr); ok {
		m.settle(b)
	}
}

// drop gives a block back that is not leaving, and says whether addr was one.
func (m *memory) drop(addr uint64) bool {
	if len(m.exported) > 0 {
		if b, ok := m.pool.At(addr); !ok || b.Leaving {
			return false
		}
		m.unshare(addr)
	}
	b, ok := m.pool.FreeLive(addr)
	if ok {
		m.settle(b)
	}
	return ok
}

// settle brings the accounts in order for a block that is gone.
func (m *memory) settle(b mempool.Block) {
	m.claim()
	if ctx := m.users[b.Tag]; ctx != nil && !b.Cached { // its cache has not yet let go of it
		ctx.bytes -= int64(b.Bytes)
	}
	if len(m.uses) > 0 {
		delete(m.uses, b.Addr)
	}
}

// freeTable frees all blocks of a page table.
func (m *memory) freeTable(t *pageTable) {
	m.reclaim()
	var list []uint64
	m.pool.All(func(b mempool.Block) bool {
		if b.Table == t.id {
			list = append(list, b.Addr)
		}
		return true
	})
	for _, a := range list {
		m.release(a)
	}
}

// reset frees everything that the process has on the device.
func (m *memory) reset() {
	m.frees.drop()
	m.endVirtual()
	for _, p := range m.pools {
		p.destroyed = true
	}
	m.pools, m.standard = nil, nil
	var list []uint64
	m.pool.All(func(b mempool.Block) bool {
		list = append(list, b.Addr)
		return true
	})
	for _, a := range list {
		m.release(a)
	}
	m.pool.FreeStrays(m.settle)
	m.pool.SetThreshold(0)
	m.pool.Trim(0)
	m.clear()
}
