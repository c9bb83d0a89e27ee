package trace

import "iter"

// Tasks is the table of tasks, one column a field. After Recorder.Finish it is immutable and its rows stand in
// canonical order: by start, end, device and stream, and within a stream in the order in which they ran.
type Tasks struct {
	n int

	Submit, Ready, Start, End, Bytes Column[int64]
	Name, Op                         Column[StringID]
	Stream, Task, Blocks, Event, Gen Column[uint32]
	Model, Iter, Code, Acct          Column[uint32]
	Device, Thread                   Column[uint16]
	Kind                             Column[Kind]
	Engine                           Column[Engine]
	Dir                              Column[Dir]
	Flags                            Column[uint8]
}

// Len is the number of rows.
func (t *Tasks) Len() int { return t.n }

// At assembles row i.
func (t *Tasks) At(i int) Task {
	return Task{
		Submit: t.Submit.At(i), Ready: t.Ready.At(i), Start: t.Start.At(i), End: t.End.At(i), Bytes: t.Bytes.At(i),
		Name: t.Name.At(i), Op: t.Op.At(i), Stream: t.Stream.At(i), Task: t.Task.At(i), Blocks: t.Blocks.At(i),
		Event: t.Event.At(i), Gen: t.Gen.At(i), Model: t.Model.At(i), Iter: t.Iter.At(i), Code: t.Code.At(i),
		Acct: t.Acct.At(i), Device: t.Device.At(i), Thread: t.Thread.At(i), Kind: t.Kind.At(i),
		Engine: t.Engine.At(i), Dir: t.Dir.At(i), Flags: t.Flags.At(i),
	}
}

// All iterates over the rows without allocating.
func (t *Tasks) All() iter.Seq2[int, Task] {
	return func(yield func(int, Task) bool) {
		for i := range t.n {
			if !yield(i, t.At(i)) {
				return
			}
		}
	}
}

func (t *Tasks) columns() [fieldCount]anyColumn {
	return [...]anyColumn{
		&t.Submit, &t.Ready, &t.Start, &t.End, &t.Bytes, &t.Name, &t.Op, &t.Stream, &t.Task, &t.Blocks, &t.Event,
		&t.Gen, &t.Model, &t.Iter, &t.Code, &t.Acct, &t.Device, &t.Thread, &t.Kind, &t.Engine, &t.Dir, &t.Flags,
	}
}

// transposed rows at a time stay in the first-level cache while the columns are filled one after the other.
const transposed = 64

func (t *Tasks) append(rows []Task) {
	for len(rows) > 0 {
		off := t.n & chunkMask
		if off == 0 {
			for _, c := range t.columns() {
				c.grow()
			}
		}
		k := min(len(rows), transposed, chunkRows-off)
		t.put(off, rows[:k])
		rows = rows[k:]
		if t.n += k; t.n&chunkMask == 0 {
			for _, c := range t.columns() {
				c.seal()
			}
		}
	}
}

// appendBlock appends the rows of a block.
func (t *Tasks) appendBlock(b *Block) {
	var rows [transposed]Task
	for i := 0; i < b.Filled; i += len(rows) {
		n := min(len(rows), b.Filled-i)
		for k := range n {
			rows[k] = b.Task(i + k)
		}
		t.append(rows[:n])
	}
}

// reopen lets the last chunk take rows again.
func (t *Tasks) reopen() {
	if t.n&chunkMask != 0 {
		for _, c := range t.columns() {
			c.reopen()
		}
	}
}

// finish seals the chunk that is being filled; no row is appended any more.
func (t *Tasks) finish() {
	for _, c := range t.columns() {
		if t.n&chunkMask != 0 {
			c.seal()
		}
		c.trim()
	}
}

// put writes rows from place off of the last chunk on. The closures are inlined.
func (t *Tasks) put(off int, rows []Task) {
	fill(t.Submit.last()[off:], rows, func(r *Task) int64 { return r.Submit })
	fill(t.Ready.last()[off:], rows, func(r *Task) int64 { return r.Ready })
	fill(t.Start.last()[off:], rows, func(r *Task) int64 { return r.Start })
	fill(t.End.last()[off:], rows, func(r *Task) int64 { return r.End })
	fill(t.Bytes.last()[off:], rows, func(r *Task) int64 { return r.Bytes })
	fill(t.Name.last()[off:], rows, func(r *Task) StringID { return r.Name })
	fill(t.Op.last()[off:], rows, func(r *Task) StringID { return r.Op })
	fill(t.Stream.last()[off:], rows, func(r *Task) uint32 { return r.Stream })
	fill(t.Task.last()[off:], rows, func(r *Task) uint32 { return r.Task })
	fill(t.Blocks.last()[off:], rows, func(r *Task) uint32 { return r.Blocks })
	fill(t.Event.last()[off:], rows, func(r *Task) uint32 { return r.Event })
	fill(t.Gen.last()[off:], rows, func(r *Task) uint32 { return r.Gen })
	fill(t.Model.last()[off:], rows, func(r *Task) uint32 { return r.Model })
	fill(t.Iter.last()[off:], rows, func(r *Task) uint32 { return r.Iter })
	fill(t.Code.last()[off:], rows, func(r *Task) uint32 { return r.Code })
	fill(t.Acct.last()[off:], rows, func(r *Task) uint32 { return r.Acct })
	fill(t.Device.last()[off:], rows, func(r *Task) uint16 { return r.Device })
	fill(t.Thread.last()[off:], rows, func(r *Task) uint16 { return r.Thread })
	fill(t.Kind.last()[off:], rows, func(r *Task) Kind { return r.Kind })
	fill(t.Engine.last()[off:], rows, func(r *Task) Engine { return r.Engine })
	fill(t.Dir.last()[off:], rows, func(r *Task) Dir { return r.Dir })
	fill(t.Flags.last()[off:], rows, func(r *Task) uint8 { return r.Flags })
}

func fill[T any](dst []T, rows []Task, field func(*Task) T) {
	dst = dst[:len(rows)]
	for i := range rows {
		dst[i] = field(&rows[i])
	}
}
