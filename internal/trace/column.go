package trace

import "npu/internal/trace/image"

const (
	chunkBits = 12
	chunkRows = 1 << chunkBits
	chunkMask = chunkRows - 1
)

// ChunkRows is how many rows a chunk of a table holds.
const ChunkRows = chunkRows

// Column is one field of all rows, kept in chunks so that growing never copies. A chunk in which every value is zero
// is not stored: fields that a source does not know cost nothing.
type Column[T number] struct {
	chunks []*[chunkRows]T
	spare  *[chunkRows]T // an all-zero chunk that the next grow reuses
}

// number is what a column holds.
type number interface {
	~int64 | ~uint32 | ~uint16 | ~uint8
}

// At is the value of row i. It panics when i is not below the length of the table that the column belongs to.
func (c *Column[T]) At(i int) T {
	if p := c.chunks[i>>chunkBits]; p != nil {
		return p[i&chunkMask]
	}
	var zero T
	return zero
}

// Chunk is the values of the rows from k*ChunkRows on, up to the end of the table; nil when all of them are zero. They must not
// be changed.
func (c *Column[T]) Chunk(k int) *[ChunkRows]T { return c.chunks[k] }

// last is the chunk that takes new rows.
func (c *Column[T]) last() *[chunkRows]T { return c.chunks[len(c.chunks)-1] }

func (c *Column[T]) grow() {
	p := c.spare
	if c.spare = nil; p == nil {
		p = new([chunkRows]T)
	}
	c.chunks = append(c.chunks, p)
}

// seal ends the last chunk: nothing is written to it any more.
func (c *Column[T]) seal() {
	var zero T
	p := c.last()
	if p == nil {
		return
	}
	for i := range p {
		if p[i] != zero {
			return
		}
	}
	c.chunks[len(c.chunks)-1], c.spare = nil, p
}

// reopen lets the last chunk take rows again.
func (c *Column[T]) reopen() {
	if c.last() == nil {
		c.chunks = c.chunks[:len(c.chunks)-1]
		c.grow()
	}
}

// trim drops what only growing needs.
func (c *Column[T]) trim() { c.spare = nil }

// set writes row i, which exists.
func (c *Column[T]) set(i int, v T) {
	p := c.chunks[i>>chunkBits]
	if p == nil {
		var zero T
		if v == zero {
			return
		}
		p = new([chunkRows]T)
		c.chunks[i>>chunkBits] = p
	}
	p[i&chunkMask] = v
}

// permute puts row order[i] at place i. The old chunks are dropped column by column, so that a large table needs
// room for one more column only.
func (c *Column[T]) permute(order []uint32) {
	old := Column[T]{chunks: c.chunks}
	c.chunks = make([]*[chunkRows]T, 0, len(old.chunks))
	for i := 0; i < len(order); i += chunkRows {
		c.grow()
		p := c.last()
		for k, row := range order[i:min(i+chunkRows, len(order))] {
			p[k] = old.At(int(row))
		}
		c.seal()
	}
	c.trim()
}

// anyColumn is what a table does with all of its columns alike.
type anyColumn interface {
	grow()
	seal()
	reopen()
	trim()
	permute(order []uint32)
	resize(chunks int)
	fill(values []int64)
	take(from anyColumn)
	save(w *image.Writer) SavedChunks
	load(f *image.File, s SavedChunks, rows int) error
}
