package chrome

import (
	"cmp"
	"slices"

	"npu/internal/trace"
)

// arrows is who points at whom. An arrow starts in the slice of its origin and ends in that of its target; viewers
// want the start first, in time and, at one time, in the file.
type arrows struct {
	t        *trace.Trace
	submits  []int32 // by span: the row of the task; -1 for none
	callers  []int32 // by task row: the span; -1 for none
	releases []release
	records  []int32 // by task row: the row of the record that released it; -1 for none
}

type release struct{ record, wait int32 }

func newArrows(t *trace.Trace) *arrows {
	a := &arrows{t: t, submits: t.Submissions()}
	n := t.Tasks.Len()
	a.callers, a.records = make([]int32, n), make([]int32, n)
	for i := range n {
		a.callers[i], a.records[i] = -1, -1
	}
	for span, row := range a.submits {
		// A task before its call happens where two clocks were joined; such an arrow would point backwards.
		if row >= 0 && (a.callers[row] >= 0 || t.Tasks.End.At(int(row)) < t.Spans.At(span).Start) {
			a.submits[span] = -1
		} else if row >= 0 {
			a.callers[row] = int32(span)
		}
	}
	w := t.Waits()
	for i := range n {
		if record, ok := w.Record(i); ok && t.Tasks.Start.At(record) <= t.Tasks.End.At(i) {
			a.records[i] = int32(record)
			a.releases = append(a.releases, release{int32(record), int32(i)})
		}
	}
	slices.SortFunc(a.releases, func(x, y release) int {
		return cmp.Or(cmp.Compare(x.record, y.record), cmp.Compare(x.wait, y.wait))
	})
	return a
}

// released is the waits that the record in row released.
func (a *arrows) released(row int) []release {
	from, _ := slices.BinarySearchFunc(a.releases, int32(row), func(r release, row int32) int { return cmp.Compare(r.record, row) })
	to := from
	for to < len(a.releases) && a.releases[to].record == int32(row) {
		to++
	}
	return a.releases[from:to]
}

// sequence gives the order in which the tasks from row from up to row to, which start at one time, are written. Viewers
// attach an arrow to the slice that was opened last on the lane. So a lane keeps its order, a record comes before the
// waits that it releases, and a wait's arrow comes before the next slice of its lane.
type sequence struct {
	a        *arrows
	from, to int
	lane     func(row int) int
	before   []int32 // by row - from: the row before it on its lane; -1 for none
	last     []int32 // by lane: its last row so far; -1 for none
	state    []bool  // by row - from: taken
	order    []int32
}

func newSequence(a *arrows, lanes int, lane func(row int) int) *sequence {
	s := &sequence{a: a, lane: lane, last: make([]int32, lanes)}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// next is the order of the rows from up to to.
func (s *sequence) next(from, to int) []int32 {
	s.from, s.to = from, to
	s.before, s.state, s.order = s.before[:0], s.state[:0], s.order[:0]
	for row := from; row < to; row++ {
		lane := s.lane(row)
		s.before, s.state = append(s.before, s.last[lane]), append(s.state, false)
		s.last[lane] = int32(row)
	}
	if to-from == 1 {
		return append(s.order, int32(from))
	}
	for row := from; row < to; row++ {
		s.take(row, 0)
	}
	return s.order
}

// deepest bounds the recursion: past it an arrow may attach to a neighbour.
const deepest = 10_000

func (s *sequence) take(row, depth int) {
	if row < s.from || row >= s.to || s.state[row-s.from] || depth > deepest {
		return
	}
	s.state[row-s.from] = true
	if before := int(s.before[row-s.from]); before >= 0 {
		s.take(before, depth+1)
		if r := s.a.records[before]; r >= 0 {
			s.take(int(r), depth+1)
		}
	}
	if r := s.a.records[row]; r >= 0 {
		s.take(int(r), depth+1)
	}
	s.order = append(s.order, int32(row))
}
