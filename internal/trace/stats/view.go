package stats

import (
	"iter"

	"npu/internal/trace"
)

const rows = trace.ChunkRows

// view is the rows of a chunk of tasks, a field beside the other.
type view struct {
	n                                int
	submit, ready, start, end, bytes *[rows]int64
	name, op                         *[rows]trace.StringID
	stream, acct                     *[rows]uint32
	device                           *[rows]uint16
	kind                             *[rows]trace.Kind
	engine                           *[rows]trace.Engine
	flags                            *[rows]uint8

	// What a column without values looks like.
	zeros *zeros
}

type zeros struct {
	i64    [rows]int64
	id     [rows]trace.StringID
	u32    [rows]uint32
	u16    [rows]uint16
	kind   [rows]trace.Kind
	engine [rows]trace.Engine
	u8     [rows]uint8
}

// Fields is the fields of tasks that the sums look at.
func Fields() []trace.Field {
	return []trace.Field{
		trace.FieldSubmit, trace.FieldReady, trace.FieldStart, trace.FieldEnd, trace.FieldBytes, trace.FieldName, trace.FieldOp, trace.FieldStream,
		trace.FieldAcct, trace.FieldDevice, trace.FieldKind, trace.FieldEngine, trace.FieldFlags,
	}
}

// chunks numbers the chunks of t.
func (v *view) chunks(t *trace.Tasks) iter.Seq[int] {
	if v.zeros == nil {
		v.zeros = &zeros{}
	}
	return func(yield func(int) bool) {
		for k := range (t.Len() + rows - 1) / rows {
			if !yield(k) {
				return
			}
		}
	}
}

// load shows chunk k of t.
func (v *view) load(t *trace.Tasks, k int) {
	z := v.zeros
	v.n = min(rows, t.Len()-k*rows)
	v.submit, v.ready = or(t.Submit.Chunk(k), &z.i64), or(t.Ready.Chunk(k), &z.i64)
	v.start, v.end, v.bytes = or(t.Start.Chunk(k), &z.i64), or(t.End.Chunk(k), &z.i64), or(t.Bytes.Chunk(k), &z.i64)
	v.name, v.op = or(t.Name.Chunk(k), &z.id), or(t.Op.Chunk(k), &z.id)
	v.stream, v.acct = or(t.Stream.Chunk(k), &z.u32), or(t.Acct.Chunk(k), &z.u32)
	v.device, v.kind = or(t.Device.Chunk(k), &z.u16), or(t.Kind.Chunk(k), &z.kind)
	v.engine, v.flags = or(t.Engine.Chunk(k), &z.engine), or(t.Flags.Chunk(k), &z.u8)
}

func or[T any](p, zero *[rows]T) *[rows]T {
	if p == nil {
		return zero
	}
	return p
}
