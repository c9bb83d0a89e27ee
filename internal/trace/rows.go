package trace

import "iter"

// Rows is a table kept row by row in chunks, so that growing never copies.
type Rows[T any] struct {
	chunks []*[chunkRows]T
	n      int
}

// Len is the number of rows.
func (r *Rows[T]) Len() int { return r.n }

// At is row i; the pointer stays valid and the row must not be changed.
func (r *Rows[T]) At(i int) *T { return &r.chunks[i>>chunkBits][i&chunkMask] }

// All iterates over the rows without allocating.
func (r *Rows[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range r.n {
			if !yield(i, r.At(i)) {
				return
			}
		}
	}
}

func (r *Rows[T]) append(rows []T) {
	for len(rows) > 0 {
		off := r.n & chunkMask
		if off == 0 {
			r.chunks = append(r.chunks, new([chunkRows]T))
		}
		k := copy(r.chunks[len(r.chunks)-1][off:], rows)
		rows = rows[k:]
		r.n += k
	}
}

func (r *Rows[T]) permute(order []uint32) {
	old := *r
	*r = Rows[T]{}
	for _, row := range order {
		if r.n&chunkMask == 0 {
			r.chunks = append(r.chunks, new([chunkRows]T))
		}
		r.chunks[len(r.chunks)-1][r.n&chunkMask] = *old.At(int(row))
		r.n++
	}
}
