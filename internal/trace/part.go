package trace

// Field names a field of Task, and with it a column of Tasks.
type Field uint8

// Fields of Task, in the order of the columns of Tasks.
const (
	FieldSubmit Field = iota
	FieldReady
	FieldStart
	FieldEnd
	FieldBytes
	FieldName
	FieldOp
	FieldStream
	FieldTask
	FieldBlocks
	FieldEvent
	FieldGen
	FieldModel
	FieldIter
	FieldCode
	FieldAcct
	FieldDevice
	FieldThread
	FieldKind
	FieldEngine
	FieldDir
	FieldFlags
	fieldCount
)

// Part is tasks on their way into a Recorder that somebody has column by column, as the reader of a capture does. Several
// goroutines may fill a part each; one after the other then goes into the recorder.
type Part struct{ tasks Tasks }

// Reset makes it a part of so many rows, of which the same fields are to be set as before; the others stay zero. What it has as
// memory is used again.
func (p *Part) Reset(rows int) {
	p.tasks.n = rows
	for _, c := range p.tasks.columns() {
		c.resize((rows + chunkRows - 1) / chunkRows)
	}
}

// Tasks is the rows, until the next Reset.
func (p *Part) Tasks() *Tasks { return &p.tasks }

// Set gives a field its values, one a row, which fit into it.
func (p *Part) Set(f Field, values []int64) { p.tasks.columns()[f].fill(values) }

// resize makes it a column of n chunks that are to be filled.
func (c *Column[T]) resize(n int) {
	if cap(c.chunks) < n {
		c.chunks = make([]*[chunkRows]T, n)
	}
	c.chunks = c.chunks[:n]
}

// fill sets all rows of a column.
func (c *Column[T]) fill(values []int64) {
	for k := range c.chunks {
		v := values[k*chunkRows:]
		v = v[:min(len(v), chunkRows)]
		all := int64(0)
		for _, x := range v {
			all |= x
		}
		if all == 0 {
			c.chunks[k] = nil
			continue
		}
		p := c.chunks[k]
		if p == nil {
			p = new([chunkRows]T)
			c.chunks[k] = p
		}
		for i, x := range v {
			p[i] = T(x)
		}
	}
}

// Part appends the rows of p, whose ids are those of this recorder. p stays the caller's.
func (r *Recorder) Part(p *Part) {
	var rows [transposed]Task
	for i := 0; i < p.tasks.n; i += len(rows) {
		n := min(len(rows), p.tasks.n-i)
		for k := range n {
			rows[k] = p.tasks.At(i + k)
		}
		r.Tasks(rows[:n])
	}
}

// TakePart is as Part for one that belongs to the recorder from now on: whole chunks are not copied.
func (r *Recorder) TakePart(p *Part) {
	if r.tap != nil || r.limit > 0 || r.tasks.n&chunkMask != 0 {
		r.Part(p)
		return
	}
	to, from := r.tasks.columns(), p.tasks.columns()
	for i := range to {
		to[i].take(from[i])
	}
	r.tasks.n += p.tasks.n
	r.taken += p.tasks.n
	r.parts = true
}

// take appends the chunks of another column of the same type.
func (c *Column[T]) take(from anyColumn) {
	c.chunks = append(c.chunks, from.(*Column[T]).chunks...)
}

// TakeSpans is as Spans for rows that belong to the recorder from now on. A slice with room for ChunkRows is not copied.
func (r *Recorder) TakeSpans(rows []Span) {
	if r.limit > 0 || r.spans.n&chunkMask != 0 || cap(rows) != chunkRows {
		r.Spans(rows)
		return
	}
	if len(rows) > 0 {
		r.spans.chunks = append(r.spans.chunks, (*[chunkRows]Span)(rows[:chunkRows]))
		r.spans.n += len(rows)
		r.called += len(rows)
	}
}
