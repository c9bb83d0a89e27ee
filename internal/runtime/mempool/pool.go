// Package mempool does the bookkeeping of a range of device addresses: which parts are free. It never touches the
// memory. A Pool is not safe for concurrent use; its owner serialises.
package mempool

import "slices"

// Align is the alignment and granularity of blocks in bytes: what the driver is asked for on the real device.
const Align = 512

// Pool hands out blocks of a range of addresses, lowest fitting address first, and joins neighbours when they are
// freed.
type Pool struct {
	base, size uint64
	free       []span            // sorted by address, never adjacent
	used       map[uint64]uint64 // address → bytes
	inUse      uint64
	peak       uint64
}

type span struct{ addr, bytes uint64 }

// New makes a pool over [base, base+size).
func New(base, size uint64) *Pool {
	return &Pool{base: base, size: size, free: []span{{base, size}}, used: map[uint64]uint64{}}
}

// Alloc finds n bytes whose address is a multiple of align (a power of two of at least Align). It says whether there
// was room.
func (p *Pool) Alloc(n, align uint64) (uint64, bool) {
	n = (max(n, 1) + Align - 1) &^ (Align - 1)
	align = max(align, Align)
	for i, s := range p.free {
		addr := (s.addr + align - 1) &^ (align - 1)
		pad := addr - s.addr
		if s.bytes < pad || s.bytes-pad < n {
			continue
		}
		rest := span{addr + n, s.bytes - pad - n}
		switch {
		case pad > 0 && rest.bytes > 0:
			p.free[i].bytes = pad
			p.free = slices.Insert(p.free, i+1, rest)
		case pad > 0:
			p.free[i].bytes = pad
		case rest.bytes > 0:
			p.free[i] = rest
		default:
			p.free = slices.Delete(p.free, i, i+1)
		}
		p.used[addr] = n
		p.inUse += n
		p.peak = max(p.peak, p.inUse)
		return addr, true
	}
	return 0, false
}

// Free gives a block back and returns its size; false for an address that is not the start of a block.
func (p *Pool) Free(addr uint64) (uint64, bool) {
	n, ok := p.used[addr]
	if !ok {
		return 0, false
	}
	delete(p.used, addr)
	p.inUse -= n
	i, _ := slices.BinarySearchFunc(p.free, addr, func(s span, a uint64) int {
		if s.addr < a {
			return -1
		}
		return 1
	})
	p.free = slices.Insert(p.free, i, span{addr, n})
	if i+1 < len(p.free) && p.free[i].addr+p.free[i].bytes == p.free[i+1].addr {
		p.free[i].bytes += p.free[i+1].bytes
		p.free = slices.Delete(p.free, i+1, i+2)
	}
	if i > 0 && p.free[i-1].addr+p.free[i-1].bytes == p.free[i].addr {
		p.free[i-1].bytes += p.free[i].bytes
		p.free = slices.Delete(p.free, i, i+1)
	}
	return n, true
}

// Size is the length of a block in bytes; false for an address that is not the start of one.
func (p *Pool) Size(addr uint64) (uint64, bool) {
	n, ok := p.used[addr]
	return n, ok
}

// Stats are bytes: the whole range, what is in use, the most that ever was, and the largest free block.
type Stats struct{ Total, InUse, Peak, LargestFree uint64 }

// Stats counts.
func (p *Pool) Stats() Stats {
	s := Stats{Total: p.size, InUse: p.inUse, Peak: p.peak}
	for _, f := range p.free {
		s.LargestFree = max(s.LargestFree, f.bytes)
	}
	return s
}
