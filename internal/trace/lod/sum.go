package lod

// sum collects rows and blocks.
type sum struct {
	block
	n    int
	some [candidates]candidate
}

// candidate is an operator that may take most of the time.
type candidate struct {
	key          uint32
	row          int32
	weight, best int64 // of all its rows; of row
}

const candidates = 6

func (a *sum) reset() {
	a.n = 0
	a.block = block{row: -1, longRow: -1, gapRow: -1}
}

// note adds time of an operator, of which row lasts best. When all places are taken the least one goes.
func (a *sum) note(key uint32, weight, best int64, row int32) {
	least := 0
	for i := range a.some[:a.n] {
		c := &a.some[i]
		if c.key == key {
			c.weight += weight
			if best > c.best {
				c.best, c.row = best, row
			}
			return
		}
		if c.weight < a.some[least].weight {
			least = i
		}
	}
	c := candidate{key, row, weight, best}
	switch {
	case a.n < candidates:
		a.some[a.n] = c
		a.n++
	case weight > a.some[least].weight:
		a.some[least] = c
	}
}

func (a *sum) merge(b *block) {
	a.busy += b.busy
	a.fault = a.fault || b.fault
	a.note(b.key, b.weight, b.weight, b.row)
	if b.longest > a.longest || a.longRow < 0 {
		a.longest, a.longRow = b.longest, b.longRow
	}
	if b.gap > a.gap || a.gapRow < 0 {
		a.gap, a.gapRow = b.gap, b.gapRow
	}
}

// make is what was collected, with the operator that took most.
func (a *sum) make() block {
	out := a.block
	for i, c := range a.some[:a.n] {
		if i == 0 || c.weight > out.weight {
			out.key, out.weight, out.row = c.key, c.weight, c.row
		}
	}
	return out
}
