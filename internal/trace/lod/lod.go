// Package lod is the level-of-detail index of a lane: what a timeline asks of it takes as long as the screen is wide, and
// not as long as the trace is.
//
// A lane is rows that do not overlap, by start. Sixteen neighbours make a block, sixteen blocks a block of the next level,
// and so on: a tree over rows, not over time, so that a burst of a million tasks within a microsecond is as cheap as a
// million tasks within an hour. Each block knows
//
//   - how long its rows are busy,
//   - the operator that takes most of that time, and its longest row, which stands for the block in any colouring,
//   - the longest row and the longest gap before a row,
//   - whether a row failed.
//
// The first three of a range of rows come from at most 30 blocks a level; Cells asks for the ranges of all columns of a
// line and clips the rows at their edges. Counts and longest are exact, and so is busy time in cells of up to a thousand
// rows; in fuller ones blocks are not cut at the edges, which moves at most 3 % of a cell, and what failed, to its neighbour.
// The operator is the best known: one that is second in every block can be missed.
//
// The index takes 4 bytes a row for its place, 3 for the blocks and half a byte for the search: 75 MB for ten million
// tasks, twice that when they show on a stream and on an engine. It is immutable once made.
package lod

import (
	"npu/internal/trace"
)

const fan = 16

// blockBytes is the size of a block.
const blockBytes = 56

// Lane is the index of one lane.
type Lane struct {
	t      *trace.Trace
	calls  bool
	rows   []int32   // of the trace's tasks or calls, by start
	starts []int64   // of the first row of each block of 16, for the search
	levels [][]block // complete blocks only
}

type block struct {
	busy, weight    int64 // of all rows; of those of the operator key
	longest, gap    int64 // durations of the rows below
	key             uint32
	row             int32 // the longest row of key, as place on the lane
	longRow, gapRow int32
	fault           bool
}

// Tasks indexes a lane of tasks: ascending rows of t.Tasks that do not overlap.
func Tasks(t *trace.Trace, rows []int32) *Lane { return build(&Lane{t: t, rows: rows}) }

// Calls indexes a lane of host calls: ascending rows of t.Spans that do not overlap.
func Calls(t *trace.Trace, rows []int32) *Lane { return build(&Lane{t: t, rows: rows, calls: true}) }

func build(l *Lane) *Lane {
	for i := 0; i < len(l.rows); i += fan {
		l.starts = append(l.starts, l.Start(i))
	}
	var a sum
	count := len(l.rows) / fan
	level := make([]block, count)
	for b := range level {
		a.reset()
		for i := b * fan; i < (b+1)*fan; i++ {
			l.add(&a, i)
		}
		level[b] = a.make()
	}
	for count > 0 {
		l.levels = append(l.levels, level)
		below := level
		count /= fan
		level = make([]block, count)
		for b := range level {
			a.reset()
			for i := b * fan; i < (b+1)*fan; i++ {
				a.merge(&below[i])
			}
			level[b] = a.make()
		}
	}
	return l
}

// Len is the number of rows.
func (l *Lane) Len() int { return len(l.rows) }

// Row is the row of the trace at place i.
func (l *Lane) Row(i int) int { return int(l.rows[i]) }

// Calls says whether the rows are host calls.
func (l *Lane) Calls() bool { return l.calls }

// Start is the start of the row at place i, in nanoseconds.
func (l *Lane) Start(i int) int64 {
	if l.calls {
		return l.t.Spans.At(int(l.rows[i])).Start
	}
	return l.t.Tasks.Start.At(int(l.rows[i]))
}

// End is its end.
func (l *Lane) End(i int) int64 {
	if l.calls {
		return l.t.Spans.At(int(l.rows[i])).End
	}
	return l.t.Tasks.End.At(int(l.rows[i]))
}

// Gap is the idle time before the row at place i; 0 for the first.
func (l *Lane) Gap(i int) int64 {
	if i == 0 {
		return 0
	}
	return max(l.Start(i)-l.End(i-1), 0)
}

// kindKey marks keys of tasks without an operator.
const kindKey = 1 << 31

// key is what rows are summed up by: the operator type, else the kind, and the name of a call.
func (l *Lane) key(i int) uint32 {
	row := int(l.rows[i])
	if l.calls {
		return uint32(l.t.Spans.At(row).Name)
	}
	if op := l.t.Tasks.Op.At(row); op != 0 {
		return uint32(op)
	}
	return kindKey | uint32(l.t.Tasks.Kind.At(row))
}

func (l *Lane) fault(i int) bool {
	row := int(l.rows[i])
	if l.calls {
		return l.t.Spans.At(row).Code != 0
	}
	return l.t.Tasks.Code.At(row) != 0
}

// add counts the row at place i.
func (l *Lane) add(a *sum, i int) {
	start, end := l.Start(i), l.End(i)
	d := end - start
	a.busy += d
	a.fault = a.fault || l.fault(i)
	a.note(l.key(i), d, d, int32(i))
	if d > a.longest || a.longRow < 0 {
		a.longest, a.longRow = d, int32(i)
	}
	if g := l.Gap(i); g > a.gap || a.gapRow < 0 {
		a.gap, a.gapRow = g, int32(i)
	}
}
