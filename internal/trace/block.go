package trace

const (
	// BlockRows is how many tasks a Block has room for.
	BlockRows = 2048
	// BlockOutlines is how many outlines they may have: most tasks are launches of a few kernels.
	BlockOutlines = BlockRows / 4
	// AheadRows is after how many rows Ahead is to be called: seldom enough to cost nothing, often enough that it asks for few
	// cache lines at a time, which are on their way together.
	AheadRows = 16
	// aheadOutlines is the same for outlines.
	aheadOutlines = 8
)

// Record is a task as a device reports it: what differs from launch to launch, in device ns. The rest is its outline, which it
// shares with others. It takes half a cache line, since what a record costs is the lines that go from the core that writes to the
// one that reads, and back.
//
// The three times before End are their lower halves: they are less than 4 s before it. The row of the trace is the sum of record
// and outline, field by field and modulo the width of the field. An outline that has times of its own is for one record.
type Record struct {
	End                  int64
	Start, Ready, Submit uint32
	Task                 uint32
	Iter                 uint32
	Outline              uint32 // place of its outline in the block
}

// Near says whether a task that was submitted and ended at these times fits into a Record.
func Near(submit, end int64) bool { return uint64(end-submit)>>32 == 0 }

// before is the time before r.End with that lower half.
func (r *Record) before(low uint32) int64 { return r.End - int64(uint32(r.End)-low) }

// Block is tasks on their way from the thread that simulates to who makes columns of them. It needs no other block to be
// understood. Rows are filled in place, up to BlockRows; the block was in use before, so that each field is to be set.
type Block struct {
	Filled   int      // rows
	Outlined int      // outlines
	_        [48]byte // to the end of the cache line
	Rows     [BlockRows]Record
	Outlines [BlockOutlines]Task
}

// Outline is the next outline, to be filled, and its place. There is room for one in a block that is not full.
func (b *Block) Outline() (o *Task, at uint32) {
	n := b.Outlined
	b.Outlined = n + 1
	if n%aheadOutlines == 0 {
		b.outlinesAhead(n + aheadOutlines)
	}
	return &b.Outlines[n], uint32(n)
}

// Add appends a row to a block that is not full.
func (b *Block) Add(t Task) {
	o, at := b.Outline()
	*o = t
	b.Rows[b.Filled] = Record{Outline: at}
	b.Filled++
}

// Full says whether there may be no room for another row.
func (b *Block) Full() bool { return b.Filled == BlockRows || b.Outlined == BlockOutlines }

// Reset empties it.
func (b *Block) Reset() { b.Filled, b.Outlined = 0, 0 }

// Task is row i.
func (b *Block) Task(i int) Task {
	r := &b.Rows[i]
	t := b.Outlines[r.Outline]
	t.Submit += r.before(r.Submit)
	t.Ready += r.before(r.Ready)
	t.Start += r.before(r.Start)
	t.End += r.End
	t.Task += r.Task
	t.Iter += r.Iter
	return t
}

// AppendTasks appends the rows to a list.
func (b *Block) AppendTasks(to []Task) []Task {
	for i := range b.Filled {
		to = append(to, b.Task(i))
	}
	return to
}
