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

func takeTasks(c *columnReader, rows []trace.Task) {
	take(c, rows, 0, func(k *trace.Task, v int64) { k.Start = v })
	take(c, rows, 0, func(k *trace.Task, v int64) { k.End = k.Start + v })
	take(c, rows, 0, func(k *trace.Task, v int64) { k.Ready = k.Start - v })
	take(c, rows, 0, func(k *trace.Task, v int64) { k.Submit = k.Ready - v })
	take(c, rows, 0, func(k *trace.Task, v int64) { k.Bytes = v })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Name = trace.StringID(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Op = trace.StringID(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Stream = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Task = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Blocks = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Event = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Gen = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Model = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Iter = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Code = uint32(v) })
	take(c, rows, math.MaxUint32, func(k *trace.Task, v int64) { k.Acct = uint32(v) })
	take(c, rows, math.MaxUint16, func(k *trace.Task, v int64) { k.Device = uint16(v) })
	take(c, rows, math.MaxUint16, func(k *trace.Task, v int64) { k.Thread = uint16(v) })
	take(c, rows, math.MaxUint8, func(k *trace.Task, v int64) { k.Kind = trace.Kind(v) })
	take(c, rows, math.MaxUint8, func(k *trace.Task, v int64) { k.Engine = trace.Engine(v) })
	take(c, rows, math.MaxUint8, func(k *trace.Task, v int64) { k.Dir = trace.Dir(v) })
	take(c, rows, math.MaxUint8, func(k *trace.Task, v int64) { k.Flags = uint8(v) })
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
