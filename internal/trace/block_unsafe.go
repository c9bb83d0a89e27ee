package trace

import "unsafe"

const (
	cacheLine   = 64
	recordBytes = int(unsafe.Sizeof(Record{}))
	taskBytes   = int(unsafe.Sizeof(Task{}))
)

// Ahead asks for the memory of records that will be written soon, after each AheadRows of them. Another core has read that memory
// when the block was in use before. A store would wait until it gives it up, a quarter of a microsecond where the two do not
// share a cache, and the stores behind it with it.
func (b *Block) Ahead() {
	if n := b.Filled + AheadRows; n+AheadRows <= BlockRows {
		prefetch(unsafe.Pointer(&b.Rows[n]), AheadRows*recordBytes/cacheLine)
	}
}

// outlinesAhead is the same for the outlines from n on.
func (b *Block) outlinesAhead(n int) {
	if n+aheadOutlines <= BlockOutlines {
		prefetch(unsafe.Pointer(&b.Outlines[n]), aheadOutlines*taskBytes/cacheLine)
	}
}

// soon is the same for the begin of a block that will be filled next.
func (b *Block) soon() {
	prefetch(unsafe.Pointer(b), 1+2*AheadRows*recordBytes/cacheLine)
	b.outlinesAhead(0)
}
