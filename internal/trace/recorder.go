package trace

// Recorder collects rows in memory and makes a Trace of them. It is a Sink, has one owner at a time and no lock.
// Recording a row allocates nothing but a chunk every few thousand rows.
type Recorder struct {
	Tables
	source   Source
	tasks    Tasks
	spans    Rows[Span]
	counters Rows[Counter]
	taken    int // tasks that were kept
	called   int // host calls that were kept
	limit    int // rows of each table that are kept; 0 for all
	lost     int64
	tap      func(rows []Task)
	parts    bool // the last tasks came as a Part: their chunk may take no rows
}

// Capture is what a run records into: a Recorder, or the writer of a capture file. It has one owner at a time.
type Capture interface {
	Sink
	Counters(rows []Counter)
	Intern(s string) StringID
	AddAccount(a Account) uint32
	NameStream(device uint16, stream uint32, name string, priority int)
	NameThread(thread uint16, name string)
	SetMeta(m Meta)
}

var _ Capture = (*Recorder)(nil)

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder { return &Recorder{Tables: NewTables(), source: Source{Format: "run"}} }

// Tasks appends rows; their ids come from Intern and AddAccount of this recorder.
func (r *Recorder) Tasks(rows []Task) {
	if r.tap != nil {
		r.tap(rows)
	}
	if rows = rows[:r.room(r.taken, len(rows))]; r.parts && len(rows) > 0 {
		r.parts = false
		r.tasks.reopen()
	}
	r.taken += len(rows)
	r.tasks.append(rows)
}

// Spans appends host calls.
func (r *Recorder) Spans(rows []Span) {
	rows = rows[:r.room(r.called, len(rows))]
	r.called += len(rows)
	r.spans.append(rows)
}

// Limit keeps at most so many tasks and as many host calls, so that a long run does not fill the memory. Those that come
// later are dropped and counted in Meta.Lost. 0 keeps all.
func (r *Recorder) Limit(rows int) { r.limit = rows }

// Tap lets f see all tasks before they are stored, also those that Limit drops. The rows are the recorder's caller's.
func (r *Recorder) Tap(f func(rows []Task)) { r.tap = f }

// room is how many of n more rows may be kept beside have; the others are lost.
func (r *Recorder) room(have, n int) int {
	if r.limit <= 0 {
		return n
	}
	keep := min(n, max(r.limit-have, 0))
	r.lost += int64(n - keep)
	return keep
}

// Counters appends counter values.
func (r *Recorder) Counters(rows []Counter) { r.counters.append(rows) }

// SetSource says how the rows came here; the default is the format "run".
func (r *Recorder) SetSource(s Source) { r.source = s }

// Finish makes the trace. Its rows stand in canonical order and its strings and accounts are numbered by first use,
// so that it does not depend on the order in which streams reported or names were interned; ids given out before
// are void. The recorder must not be used again.
func (r *Recorder) Finish() *Trace {
	strings, accounts := r.strings, r.accounts
	t := r.FinishAsNumbered()
	renumber(t, strings, accounts)
	return t
}

// FinishAsNumbered is as Finish, but ids given out before stay what they are.
func (r *Recorder) FinishAsNumbered() *Trace {
	t := &Trace{Meta: r.meta, Source: r.source, Strings: r.strings, Accounts: r.accounts, Tasks: r.tasks, Spans: r.spans, Counters: r.counters}
	t.Meta.Lost += r.lost
	t.Tasks.finish()
	t.Tasks.order()
	orderSpans(&t.Spans)
	orderCounters(&t.Counters, r.strings)
	t.Streams, t.Threads = r.StreamTable(), r.ThreadTable()
	*r = Recorder{}
	return t
}
