package lod

import "sort"

// Cell is what happens on a lane in one span of time.
type Cell struct {
	Busy  int64 // nanoseconds
	Count int   // rows that reach into it
	At    int   // place of the row that stands for it; -1 for none
	Fault bool
}

// Edge is the start of column x of n that divide the time from from to to. It does not overflow.
func Edge(from, to int64, x, n int) int64 {
	span := to - from
	return from + span/int64(n)*int64(x) + span%int64(n)*int64(x)/int64(n)
}

// Cells fills out with equal parts of the time from from to to.
func (l *Lane) Cells(from, to int64, out []Cell) {
	n := len(out)
	if n == 0 {
		return
	}
	lo := l.From(from)
	for x := range out {
		a, b := Edge(from, to, x, n), Edge(from, to, x+1, n)
		hi := l.after(lo, b)
		out[x] = l.cell(a, max(a, b), lo, hi)
		lo = hi
	}
}

// cell is the time from a to b, in which the rows from place lo up to hi start.
func (l *Lane) cell(a, b int64, lo, hi int) Cell {
	c := Cell{At: -1}
	if lo > 0 && l.End(lo-1) > a {
		lo--
	}
	if lo >= hi {
		return c
	}
	c.Count = hi - lo
	if c.Count == 1 {
		c.Busy, c.At, c.Fault = min(l.End(lo), b)-max(l.Start(lo), a), lo, l.fault(lo)
		return c
	}
	if c.Count >= fan*coarse && len(l.levels) > 0 {
		s := l.rough(lo, hi)
		c.Busy, c.At, c.Fault = min(s.busy, b-a), int(s.row), s.fault
		return c
	}
	s := l.total(lo, hi)
	over := max(a-l.Start(lo), 0) + max(l.End(hi-1)-b, 0)
	c.Busy, c.At, c.Fault = s.busy-over, int(s.row), s.fault
	return c
}

// coarse is how many blocks a cell must hold for those at its edges not to matter.
const coarse = 64

// rough sums whole blocks: each one counts in the cell in which its first row is, so that nothing is lost or counted twice
// over a line. Rows lie far apart in the trace, and looking at some thirty of them would take longer than all the rest.
func (l *Lane) rough(lo, hi int) block {
	k, size := 0, fan
	for k+1 < len(l.levels) && hi-lo >= size*fan*coarse {
		k, size = k+1, size*fan
	}
	var a sum
	a.reset()
	i, j := (lo+size-1)/size, (hi+size-1)/size
	if whole := len(l.levels[k]); j > whole {
		for row := whole * size; row < hi; { // the end of the lane, which fills no block of this level
			if row%fan == 0 && row/fan < len(l.levels[0]) {
				a.merge(&l.levels[0][row/fan])
				row += fan
				continue
			}
			l.add(&a, row)
			row++
		}
		j = whole
	}
	l.blocks(&a, k, i, j)
	return a.make()
}

// total sums the rows from place i up to j.
func (l *Lane) total(i, j int) block {
	var a sum
	a.reset()
	for ; i < j && i%fan != 0; i++ {
		l.add(&a, i)
	}
	for ; j > i && j%fan != 0; j-- {
		l.add(&a, j-1)
	}
	l.blocks(&a, 0, i/fan, j/fan)
	return a.make()
}

// blocks adds the blocks from i up to j of level k, by larger ones where they hold whole ones.
func (l *Lane) blocks(a *sum, k, i, j int) {
	for ; i < j; k++ {
		level, top := l.levels[k], k == len(l.levels)-1
		for ; i < j && (top || i%fan != 0); i++ {
			a.merge(&level[i])
		}
		for ; j > i && j%fan != 0; j-- {
			a.merge(&level[j-1])
		}
		i, j = i/fan, j/fan
	}
}

// From is the place of the first row that starts at or after a time; Len when there is none.
func (l *Lane) From(at int64) int { return l.after(0, at) }

// after is as From for an answer that is at least lo.
func (l *Lane) after(lo int, at int64) int {
	if lo >= len(l.rows) || l.Start(lo) >= at {
		return lo
	}
	first, step := lo/fan, 1 // of the blocks whose start is below at
	for first+step < len(l.starts) && l.starts[first+step] < at {
		first += step
		step *= 2
	}
	rest := l.starts[first+1 : min(first+step, len(l.starts))]
	first += sort.Search(len(rest), func(i int) bool { return rest[i] >= at })
	i := max(first*fan, lo)
	return i + sort.Search(min(fan, len(l.rows)-i), func(n int) bool { return l.Start(i+n) >= at })
}

// Within is the places of the rows that reach into the time from from up to to.
func (l *Lane) Within(from, to int64) (i, j int) {
	i = l.From(from)
	j = l.after(i, to)
	if i > 0 && l.End(i-1) > from {
		i--
	}
	return i, j
}

// Busy is how long the lane is busy from from up to to.
func (l *Lane) Busy(from, to int64) int64 {
	var c [1]Cell
	l.Cells(from, to, c[:])
	return c[0].Busy
}

// Longest is the place of the longest row that reaches into the time; -1 for none.
func (l *Lane) Longest(from, to int64) int {
	i, j := l.Within(from, to)
	return int(l.total(i, j).longRow)
}

// LongestGap is the place of the row after the longest gap that reaches into the time; -1 for none.
func (l *Lane) LongestGap(from, to int64) int {
	i := l.From(from)
	return int(l.total(i, min(l.after(i, to)+1, len(l.rows))).gapRow)
}

// Find is the place of a row of the trace; -1 when it is on another lane.
func (l *Lane) Find(row int) int {
	i := sort.Search(len(l.rows), func(i int) bool { return int(l.rows[i]) >= row })
	if i == len(l.rows) || int(l.rows[i]) != row {
		return -1
	}
	return i
}
