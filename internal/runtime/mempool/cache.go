package mempool

import "math/bits"

// Cache is the small blocks that one thread has at hand, in front of a pool that it shares with others: a magazine for
// each size, and a table that knows for each of its blocks whether the program has it. Alloc and Free work on these
// alone: no lock, no look at the pool. What was freed is not handed out again before its owner has said so by Restock,
// which it calls where it may use the pool; there it sees to the tasks that may still use the blocks.
//
// To the pool all blocks of a cache are in use. Another thread may free one of them by the pool; the cache finds that out
// when the block comes back to it, see Strange.
type Cache struct {
	magazines [cachedSizes]*magazine // by size in units of Round
	table     [cachedBlocks]cached   // open addressing, beginning at home
	none      magazine               // of the sizes that have no magazine yet
	active    []*magazine
	tag       uint32 // of its blocks
	plain     uint32 // of those that it gives away
	known     int    // entries of the table that are or were in use
	ready     uint64 // bytes that were ready after the latest Restocks, at most
	full      int    // how often there was no room
	strange   int
}

// magazine is the blocks of one size that the program does not have, by their places in the table.
type magazine struct {
	nReady uint
	nBack  uint
	ready  [magazineSize]uint16 // to hand out
	back   [magazineSize]uint16 // freed since the latest Restock, from first on
	first  uint                 // so that there is no room for more than the size allows
	batch  uint                 // how many are made ready at once: it doubles from 1 on
	units  uint64
	bytes  uint64 // this one's part of Cache.ready
}

const (
	magazineSize = 256
	cachedSizes  = 1024
	cachedBlocks = 1 << homeBits
	homeBits     = 13
	activeMost   = 128      // sizes at a time
	magazineMost = 64 << 10 // bytes of one size, or one block
	readyMost    = 1 << 20  // ready bytes of all sizes
	knownMost    = cachedBlocks * 5 / 8
	fullTurns    = 1024
	// CachedMost is the largest block in bytes that caches keep.
	CachedMost = (cachedSizes - 1) * Round
)

// cached is a block of a cache: its address, which is a multiple of 64, whether the program has it, and in the upper 16
// bits its size in units of Round.
type cached uint64

const (
	handedOut cached = 1
	dropped   cached = 2 // an entry that is not in use any more
	unitShift        = 48
	cutUnits         = 64 - unitShift
)

func (b cached) addr() uint64  { return uint64(b) << cutUnits >> cutUnits &^ (slotAlign - 1) }
func (b cached) units() uint64 { return uint64(b >> unitShift) }

// home is where the search for an address begins.
func home(addr uint64) uint64 { return addr * 0x9e3779b97f4a7c15 >> (64 - homeBits) }

// NewCache makes a cache. Its blocks have the tag, which no other cache of the pool has; those that it gives away while the
// program has them get the tag plain.
func NewCache(tag, plain uint32) *Cache {
	c := &Cache{tag: tag, plain: plain}
	for i := range c.magazines {
		c.magazines[i] = &c.none
	}
	return c
}

// Tag is the tag of its blocks.
func (c *Cache) Tag() uint32 { return c.tag }

// Alloc hands out a block of n bytes, a size as Padded makes them. 0: there is none, see Restock.
func (c *Cache) Alloc(n uint64) uint64 {
	i := bits.RotateLeft64(n, -5) // n/Round, and too large if that leaves a remainder
	if i >= cachedSizes {
		return 0
	}
	m := c.magazines[i]
	k := m.nReady - 1
	if k >= magazineSize {
		return 0
	}
	m.nReady = k
	b := &c.table[m.ready[k]%cachedBlocks]
	addr := uint64(*b) << cutUnits >> cutUnits
	*b |= handedOut
	return addr
}

// Free takes a block back that this cache handed out. false: it did not, or its place must be looked for, or so many
// are back that the pool is needed; see FreeWith.
func (c *Cache) Free(addr uint64) bool {
	h := home(addr)
	b := &c.table[h]
	x := *b ^ cached(addr)
	m := c.magazines[x>>unitShift%cachedSizes]
	if k := m.nBack; x<<cutUnits == handedOut<<cutUnits && k < magazineSize {
		m.back[k] = uint16(h)
		m.nBack = k + 1
		*b ^= handedOut
		return true
	}
	return false
}
