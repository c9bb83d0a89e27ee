// Package flow finds the arrows of a timeline: from a host call to the task that it submitted, and from the record of an
// event to the waits that it released. It also orders tasks that start at one time in the way that viewers need.
package flow

import (
	"cmp"
	"slices"
	"sync"

	"npu/internal/trace"
)

// Arrows is who points at whom. No arrow points backwards in time.
type Arrows struct {
	Submits []int32 // by span: the row of the task that it submitted; -1 for none
	Callers []int32 // by task row: the span that submitted it; -1 for none
	Records []int32 // by task row: the row of the record that released it; -1 for none

	t        *trace.Trace
	releases []Release
}

// Release is an arrow from the row of a record to that of a wait.
type Release struct{ Record, Wait int32 }

// New finds the arrows of t: those of calls beside those of records.
func New(t *trace.Trace) *Arrows {
	a := &Arrows{t: t}
	var calls sync.WaitGroup
	calls.Go(a.calls)
	a.waits()
	calls.Wait()
	return a
}

// none is n rows without an arrow.
func none(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

func (a *Arrows) calls() {
	t := a.t
	a.Submits, a.Callers = t.Submissions(), none(t.Tasks.Len())
	for span, row := range a.Submits {
		// A task before its call happens where two clocks were joined; such an arrow would point backwards.
		if row >= 0 && (a.Callers[row] >= 0 || t.Tasks.End.At(int(row)) < t.Spans.At(span).Start) {
			a.Submits[span] = -1
		} else if row >= 0 {
			a.Callers[row] = int32(span)
		}
	}
}

func (a *Arrows) waits() {
	t := a.t
	a.Records = none(t.Tasks.Len())
	w := t.Waits()
	for i := range a.Records {
		if record, ok := w.Record(i); ok && t.Tasks.Start.At(record) <= t.Tasks.End.At(i) {
			a.Records[i] = int32(record)
			a.releases = append(a.releases, Release{int32(record), int32(i)})
		}
	}
	slices.SortFunc(a.releases, func(x, y Release) int {
		return cmp.Or(cmp.Compare(x.Record, y.Record), cmp.Compare(x.Wait, y.Wait))
	})
}

// Released is the waits that the record in row released.
func (a *Arrows) Released(row int) []Release {
	from, _ := slices.BinarySearchFunc(a.releases, int32(row), func(r Release, row int32) int { return cmp.Compare(r.Record, row) })
	to := from
	for to < len(a.releases) && a.releases[to].Record == int32(row) {
		to++
	}
	return a.releases[from:to]
}

// Sequence gives the order in which tasks that start at one time are written. Viewers attach an arrow to the slice that
// was opened last on the lane. So a lane keeps its order, a record comes before the waits that it releases, and a wait's
// arrow comes before the next slice of its lane.
type Sequence struct {
	a        *Arrows
	from, to int
	lane     func(row int) int
	before   []int32 // by row - from: the row before it on its lane; -1 for none
	last     []int32 // by lane: its last row so far; -1 for none
	state    []bool  // by row - from: taken
	order    []int32
}

// NewSequence makes the order of a layout with so many lanes, where lane gives the lane of a row.
func NewSequence(a *Arrows, lanes int, lane func(row int) int) *Sequence {
	s := &Sequence{a: a, lane: lane, last: make([]int32, lanes)}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// Next is the order of the rows from up to to, which start at one time. Groups come by time. The slice is good until the
// next call.
func (s *Sequence) Next(from, to int) []int32 {
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

func (s *Sequence) take(row, depth int) {
	if row < s.from || row >= s.to || s.state[row-s.from] || depth > deepest {
		return
	}
	s.state[row-s.from] = true
	if before := int(s.before[row-s.from]); before >= 0 {
		s.take(before, depth+1)
		if r := s.a.Records[before]; r >= 0 {
			s.take(int(r), depth+1)
		}
	}
	if r := s.a.Records[row]; r >= 0 {
		s.take(int(r), depth+1)
	}
	s.order = append(s.order, int32(row))
}
