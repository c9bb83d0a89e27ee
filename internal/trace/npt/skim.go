package npt

import (
	"bufio"
	"errors"
	"io"
	"math"

	"npu/internal/trace"
)

// Skimmer takes the rows of a capture as they come by, whose ids are those of the trace that Skim gives in the end.
type Skimmer interface {
	Tasks(t *trace.Tasks, accounts []trace.Account) // the next in canonical order, good until the call returns
	Calls(rows []trace.Span)
}

// ErrOrder is of a capture whose tasks do not stand in canonical order, as one that was written while the run went on.
var ErrOrder = errors.New("the tasks of the capture are not in order of time")

// Skim is as Read, but no task and no call is kept: to sees them once. It takes as much memory for ten million tasks as for ten
// thousand. Of tasks it sees these fields, start, end, device and stream; the others are zero.
func Skim(r io.Reader, fields []trace.Field, to Skimmer) (*trace.Trace, error) {
	d := reader{in: bufio.NewReaderSize(r, 1<<16), out: trace.NewRecorder(), strings: 1, accounts: 1, skim: &skim{to: to, last: trace.Task{Start: math.MinInt64, End: math.MinInt64}}}
	for _, f := range append([]trace.Field{trace.FieldStart, trace.FieldEnd, trace.FieldDevice, trace.FieldStream}, fields...) {
		d.skim.fields |= 1 << f
	}
	if err := d.header(); err != nil {
		return nil, err
	}
	err := d.all()
	if d.skim.disordered {
		return nil, ErrOrder
	}
	return d.out.FinishAsNumbered(), err
}

// skim is where the rows go of a capture that is read without keeping them.
type skim struct {
	to         Skimmer
	fields     uint32     // that it sees, a bit each
	last       trace.Task // before the chunk at hand
	disordered bool
}

// sees says whether somebody wants to know a field: everybody does when rows are kept.
func (s *skim) sees(f trace.Field) bool { return s == nil || s.fields>>f&1 != 0 }

// tasks passes on the tasks of a chunk, which are in order among themselves or not.
func (s *skim) tasks(t *trace.Tasks, ordered bool, accounts []trace.Account) error {
	if t.Len() == 0 {
		return nil
	}
	if !ordered || !t.Follows(&s.last) {
		s.disordered = true
		return ErrOrder
	}
	s.last = t.At(t.Len() - 1)
	s.to.Tasks(t, accounts)
	return nil
}
