package npt

import (
	"errors"
	"math"
	"math/bits"

	"npu/internal/trace"
)

// The order of the columns below is the file format. Times are stored as the distances that stay small, and floating
// numbers with their bytes reversed, since most of them end in zeros.

func putTasks(c *columnWriter, rows []trace.Task) {
	put(c, rows, func(k *trace.Task) int64 { return k.Start })
	put(c, rows, func(k *trace.Task) int64 { return k.End - k.Start })
	put(c, rows, func(k *trace.Task) int64 { return k.Start - k.Ready })
	put(c, rows, func(k *trace.Task) int64 { return k.Ready - k.Submit })
	put(c, rows, func(k *trace.Task) int64 { return k.Bytes })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Name) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Op) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Stream) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Task) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Blocks) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Event) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Gen) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Model) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Iter) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Code) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Acct) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Device) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Thread) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Kind) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Engine) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Dir) })
	put(c, rows, func(k *trace.Task) int64 { return int64(k.Flags) })
}

// fields are those of a task behind its times.
var fields = [...]struct {
	field trace.Field
	limit uint64
}{
	{trace.FieldBytes, 0},
	{trace.FieldName, math.MaxUint32}, {trace.FieldOp, math.MaxUint32}, {trace.FieldStream, math.MaxUint32}, {trace.FieldTask, math.MaxUint32},
	{trace.FieldBlocks, math.MaxUint32}, {trace.FieldEvent, math.MaxUint32}, {trace.FieldGen, math.MaxUint32}, {trace.FieldModel, math.MaxUint32},
	{trace.FieldIter, math.MaxUint32}, {trace.FieldCode, math.MaxUint32}, {trace.FieldAcct, math.MaxUint32},
	{trace.FieldDevice, math.MaxUint16}, {trace.FieldThread, math.MaxUint16},
	{trace.FieldKind, math.MaxUint8}, {trace.FieldEngine, math.MaxUint8}, {trace.FieldDir, math.MaxUint8}, {trace.FieldFlags, math.MaxUint8},
}

// takeTasks fills the fields of p that are to be seen, and gives the largest ids of names and accounts.
func takeTasks(c *columnReader, p *trace.Part, s *skim) (name, acct int64) {
	if !c.read(0) {
		return 0, 0
	}
	at := append(c.at[:0], c.v...)
	c.at = at
	p.Set(trace.FieldStart, c.v)
	c.times(p, trace.FieldEnd, 1, s)
	c.times(p, trace.FieldReady, -1, s)
	copy(at, c.v) // the submission is told as a distance from it
	c.times(p, trace.FieldSubmit, -1, s)
	for _, f := range &fields {
		if !c.read(f.limit) && c.err != nil {
			return 0, 0
		}
		if s.sees(f.field) {
			p.Set(f.field, c.v)
		}
		switch f.field {
		case trace.FieldName, trace.FieldOp:
			name = max(name, c.largest())
		case trace.FieldAcct:
			acct = c.largest()
		}
	}
	return name, acct
}

// times reads a column of distances behind (1) or before (-1) the times in c.at.
func (c *columnReader) times(p *trace.Part, f trace.Field, sign int64, s *skim) {
	if !c.read(0) {
		return
	}
	at := c.at[:len(c.v)]
	for i, v := range c.v {
		c.v[i] = at[i] + sign*v
	}
	if s.sees(f) {
		p.Set(f, c.v)
	}
}

func putSpans(c *columnWriter, rows []trace.Span) {
	put(c, rows, func(s *trace.Span) int64 { return s.Start })
	put(c, rows, func(s *trace.Span) int64 { return s.End - s.Start })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Name) })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Thread) })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Device) })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Stream) })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Task) })
	put(c, rows, func(s *trace.Span) int64 { return int64(s.Code) })
}

func takeSpans(c *columnReader, rows []trace.Span) {
	take(c, rows, 0, func(s *trace.Span, v int64) { s.Start = v })
	take(c, rows, 0, func(s *trace.Span, v int64) { s.End = s.Start + v })
	take(c, rows, math.MaxUint32, func(s *trace.Span, v int64) { s.Name = trace.StringID(v) })
	take(c, rows, math.MaxUint16, func(s *trace.Span, v int64) { s.Thread = uint16(v) })
	take(c, rows, math.MaxUint16, func(s *trace.Span, v int64) { s.Device = uint16(v) })
	take(c, rows, math.MaxUint32, func(s *trace.Span, v int64) { s.Stream = uint32(v) })
	take(c, rows, math.MaxUint32, func(s *trace.Span, v int64) { s.Task = uint32(v) })
	take(c, rows, math.MaxUint32, func(s *trace.Span, v int64) { s.Code = uint32(v) })
}

func putCounters(c *columnWriter, rows []trace.Counter) {
	put(c, rows, func(v *trace.Counter) int64 { return v.Time })
	put(c, rows, func(v *trace.Counter) int64 { return int64(v.Name) })
	put(c, rows, func(v *trace.Counter) int64 { return int64(v.Device) })
	put(c, rows, func(v *trace.Counter) int64 { return int64(bits.ReverseBytes64(math.Float64bits(v.Value))) })
}

func takeCounters(c *columnReader, rows []trace.Counter) {
	take(c, rows, 0, func(v *trace.Counter, n int64) { v.Time = n })
	take(c, rows, math.MaxUint32, func(v *trace.Counter, n int64) { v.Name = trace.StringID(n) })
	take(c, rows, math.MaxUint16, func(v *trace.Counter, n int64) { v.Device = uint16(n) })
	take(c, rows, 0, func(v *trace.Counter, n int64) { v.Value = math.Float64frombits(bits.ReverseBytes64(uint64(n))) })
}

func putAccounts(c *columnWriter, rows []trace.Account) {
	put(c, rows, func(a *trace.Account) int64 { return a.Total })
	put(c, rows, func(a *trace.Account) int64 { return a.Cube })
	put(c, rows, func(a *trace.Account) int64 { return a.Vector })
	put(c, rows, func(a *trace.Account) int64 { return a.Scalar })
	put(c, rows, func(a *trace.Account) int64 { return a.MTE1 })
	put(c, rows, func(a *trace.Account) int64 { return a.MTE2 })
	put(c, rows, func(a *trace.Account) int64 { return a.MTE3 })
	put(c, rows, func(a *trace.Account) int64 { return a.Fixpipe })
	put(c, rows, func(a *trace.Account) int64 { return a.ICache })
	put(c, rows, func(a *trace.Account) int64 { return a.ReadBytes })
	put(c, rows, func(a *trace.Account) int64 { return a.WriteBytes })
	put(c, rows, func(a *trace.Account) int64 { return a.L2Hits })
	put(c, rows, func(a *trace.Account) int64 { return a.L2Misses })
}

func takeAccounts(c *columnReader, rows []trace.Account) {
	take(c, rows, 0, func(a *trace.Account, v int64) { a.Total = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.Cube = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.Vector = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.Scalar = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.MTE1 = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.MTE2 = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.MTE3 = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.Fixpipe = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.ICache = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.ReadBytes = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.WriteBytes = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.L2Hits = v })
	take(c, rows, 0, func(a *trace.Account, v int64) { a.L2Misses = v })
}

// done reports what was wrong with the columns of a chunk.
func (c *columnReader) done() error {
	if c.err == nil && len(c.b) > 0 {
		return errors.New("bytes are left after the last column")
	}
	return c.err
}
