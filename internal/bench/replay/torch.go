package replay

import (
	"cmp"
	"slices"
)

// torch is a model of PyTorch's caching allocator: requests in multiples of 512 bytes; up to 1 MiB from segments of
// 2 MiB; larger ones below 10 MiB from segments of 20 MiB, above from segments of their own size in multiples of 2 MiB;
// best fit among the idle blocks of the same stream and kind; the rest of a block is split off if it is worth it; idle
// neighbours are joined; segments are kept.
type torch struct {
	padding  uint64
	idle     map[torchKind][]*torchBlock // by size, then address
	next     uint64
	reserved uint64
}

type torchKind struct {
	stream uint32
	small  bool
}

type torchBlock struct {
	addr, size uint64
	kind       torchKind
	busy       bool
	prev, next *torchBlock // neighbours in the segment
}

const (
	torchRound   = 512
	torchSmall   = 1 << 20
	torchSegment = 2 << 20
	torchLarge   = 20 << 20
	torchOwn     = 10 << 20
)

func newTorch(padding int) *torch {
	return &torch{padding: uint64(padding), idle: map[torchKind][]*torchBlock{}, next: 1 << 40}
}

func order(a, b *torchBlock) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.addr, b.addr))
}

func (p *torch) alloc(n uint64, stream uint32) *torchBlock {
	size := max(torchRound, (n+p.padding+torchRound-1)/torchRound*torchRound)
	k := torchKind{stream, size <= torchSmall}
	list := p.idle[k]
	i, _ := slices.BinarySearchFunc(list, &torchBlock{size: size}, order)
	var b *torchBlock
	if i < len(list) {
		b = list[i]
		p.idle[k] = slices.Delete(list, i, i+1)
	} else {
		segment := uint64(torchSegment)
		switch {
		case k.small:
		case size < torchOwn:
			segment = torchLarge
		default:
			segment = (size + torchSegment - 1) / torchSegment * torchSegment
		}
		b = &torchBlock{addr: p.next, size: segment, kind: k}
		p.next += segment + torchSegment
		p.reserved += segment
	}
	least := uint64(torchSmall + 1)
	if k.small {
		least = torchRound
	}
	if b.size-size >= least {
		rest := &torchBlock{addr: b.addr + size, size: b.size - size, kind: k, prev: b, next: b.next}
		if b.next != nil {
			b.next.prev = rest
		}
		b.next, b.size = rest, size
		p.put(rest)
	}
	b.busy = true
	return b
}

func (p *torch) put(b *torchBlock) {
	list := p.idle[b.kind]
	i, _ := slices.BinarySearchFunc(list, b, order)
	p.idle[b.kind] = slices.Insert(list, i, b)
}

func (p *torch) take(b *torchBlock) {
	list := p.idle[b.kind]
	if i, ok := slices.BinarySearchFunc(list, b, order); ok {
		p.idle[b.kind] = slices.Delete(list, i, i+1)
	}
}

func (p *torch) free(b *torchBlock) {
	b.busy = false
	if n := b.next; n != nil && !n.busy {
		p.take(n)
		b.size += n.size
		if b.next = n.next; b.next != nil {
			b.next.prev = b
		}
	}
	if o := b.prev; o != nil && !o.busy {
		p.take(o)
		o.size += b.size
		if o.next = b.next; o.next != nil {
			o.next.prev = o
		}
		b = o
	}
	p.put(b)
}
