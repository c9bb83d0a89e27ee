package runtime

import (
	"fmt"
	"sort"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

var callManaged = call{"aclrtMemAllocManaged", 5000}

// Where managed memory gets its addresses.
const (
	managedBase   = uint64(0x0900_0000_0000)
	managedWindow = uint64(3) << 40
)

func isManaged(p Ptr) bool { return uint64(p)-managedBase < managedWindow }

// managedMem is the memory of the process that host and devices share. It lies in host memory, and devices reach it
// there; where its pages are said to be follows from the prefetches.
type managedMem struct {
	pool   *mempool.Pool
	blocks []*managedBlock // by address
}

type managedBlock struct {
	addr  uint64
	mem   []byte
	pages []managedPage // of 2 MiB
}

// managedPage is what is known and advised of a page. Places are device numbers, or those below.
type managedPage struct {
	at         int
	readMostly bool
	preferred  int
	accessedBy []int
	prefetched int
}

// Places besides devices.
const (
	AtHost  = -1
	Nowhere = -2 // not said
)

func newManagedMem() managedMem {
	return managedMem{pool: mempool.New(mempool.Config{Base: managedBase, Size: managedWindow, Granule: 32 << 10, NoSlabs: true})}
}

// AllocManaged allocates memory that host and devices share (aclrtMemAllocManaged): flag must be 1, the size is rounded
// to 2 MiB. 207000 on chips before the 910B.
func (th *Thread) AllocManaged(n int64, flag int) (m HostMem, err error) {
	t := th.begin(callManaged)
	defer func() { th.end(callManaged, t, err) }()
	ctx, err := th.context(callManaged)
	if err != nil {
		return m, err
	}
	switch chip := ctx.dev.hw.Chip(); {
	case n <= 0:
		return m, th.fail(ACLInvalidParam, callManaged.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	case !managesPages(chip.Short):
		return m, th.fail(NotSupported, callManaged.name, chip.Name+" has no managed memory", "")
	case flag != 1:
		return m, th.fail(InvalidParam, callManaged.name, fmt.Sprintf("flag %d", flag), "give 1 (global)")
	}
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	size := (uint64(min(n, int64(managedWindow)+1)) + sim.Page - 1) &^ (sim.Page - 1)
	addr, ok := h.managed.pool.Alloc(mempool.Request{Bytes: size, Whole: sim.Page})
	if !ok {
		return m, th.fail(OutOfMemory, callManaged.name, fmt.Sprintf("asked for %d bytes, a process has 3 TiB of addresses", n), "free managed memory")
	}
	mem, failed := sim.AllocHost(int64(size))
	if failed != nil || len(mem) < int(size) {
		h.managed.pool.Free(addr)
		return m, th.fail(OutOfMemory, callManaged.name, fmt.Sprintf("asked for %d bytes", n), "free managed memory")
	}
	b := &managedBlock{addr: addr, mem: mem, pages: make([]managedPage, size/sim.Page)}
	for i := range b.pages {
		b.pages[i] = managedPage{at: AtHost, preferred: Nowhere, prefetched: Nowhere}
	}
	list := &h.managed.blocks
	i := sort.Search(len(*list), func(i int) bool { return (*list)[i].addr > addr })
	*list = append(*list, nil)
	copy((*list)[i+1:], (*list)[i:])
	(*list)[i] = b
	h.m.AddHost(addr, mem)
	return HostMem{Addr: Ptr(addr), Bytes: mem[:n]}, nil
}

// FreeManaged gives managed memory back; no task may use it any more (aclrtFree).
func (th *Thread) FreeManaged(m HostMem) error {
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	i, b := h.managed.find(m.Addr)
	if b == nil || b.addr != uint64(m.Addr) {
		return th.fail(DriverError, callFree.name, fmt.Sprintf("0x%x is not the start of managed memory", uint64(m.Addr)), "")
	}
	h.managed.blocks = append(h.managed.blocks[:i], h.managed.blocks[i+1:]...)
	h.managed.pool.Free(b.addr)
	h.m.DropHost(b.addr)
	sim.FreeHost(b.mem)
	return nil
}

// find is the block that p lies in, and its number.
func (m *managedMem) find(p Ptr) (int, *managedBlock) {
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].addr > uint64(p) }) - 1
	if i < 0 || uint64(p)-m.blocks[i].addr >= uint64(len(m.blocks[i].mem)) {
		return 0, nil
	}
	return i, m.blocks[i]
}

// pagesOf are the pages that n bytes at p touch; nil if they do not lie in one block.
func (m *managedMem) pagesOf(p Ptr, n int64) []managedPage {
	_, b := m.find(p)
	if b == nil || n <= 0 {
		return nil
	}
	off := uint64(p) - b.addr
	if uint64(n) > uint64(len(b.mem))-off {
		return nil
	}
	return b.pages[off/sim.Page : (off+uint64(n)-1)/sim.Page+1]
}
