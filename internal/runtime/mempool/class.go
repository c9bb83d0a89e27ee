package mempool

import "math/bits"

// Slots of slabs: multiples of 64 bytes up to 512, then eight sizes for each doubling.
const (
	slotAlign = 64
	maxSlot   = 32 << 10
	tiny      = 512
	classes   = 8 + 8*6
)

// classOf is the smallest class whose slots hold n bytes, 1 ≤ n ≤ maxSlot.
func classOf(n uint64) int {
	if n <= tiny {
		return int((n - 1) / slotAlign)
	}
	b := bits.Len64(n - 1) // 10 for 513 … 1024
	return 8 + 8*(b-10) + int((n-1)>>(b-4)) - 8
}

// slotBytes is the size of the slots of a class.
func slotBytes(c int) uint64 {
	if c < 8 {
		return uint64(c+1) * slotAlign
	}
	return uint64(9+c%8) << (6 + (c-8)/8)
}

// slabBytes is the size of a slab of a class: small next to a segment, and many slots.
func slabBytes(c int) uint64 {
	n := slotBytes(c) * 32
	return min(max(uint64(1)<<bits.Len64(n-1), 16<<10), 256<<10)
}
