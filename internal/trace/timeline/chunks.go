package timeline

// chunks is a list that only grows and is then emptied from the front: growing copies nothing, and emptying frees.
type chunks[T any] struct{ list [][]T }

const chunkRows = 4096

func (c *chunks[T]) add(v T) {
	if n := len(c.list); n == 0 || len(c.list[n-1]) == chunkRows {
		c.list = append(c.list, make([]T, 0, chunkRows))
	}
	last := &c.list[len(c.list)-1]
	*last = append(*last, v)
}

// drain gives each element to take and forgets it.
func (c *chunks[T]) drain(take func(*T)) {
	for i := range c.list {
		for k := range c.list[i] {
			take(&c.list[i][k])
		}
		c.list[i] = nil
	}
	c.list = nil
}
