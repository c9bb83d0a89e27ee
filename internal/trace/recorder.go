package trace

// Recorder collects rows in memory and makes a Trace of them. It is a Sink, has one owner at a time and no lock.
// Recording a row allocates nothing but a chunk every few thousand rows.
type Recorder struct {
	Tables
	source   Source
	tasks    Tasks
	spans    Rows[Span]
	counters Rows[Counter]
	limit    int // rows of each table that are kept; 0 for all
	lost     int64
	tap      func(rows []Task)
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
	r.tasks.append(rows[:r.room(r.tasks.n, len(rows))])
}

// Spans appends host calls.
func (r *Recorder) Spans(rows []Span) { r.spans.append(rows[:r.room(r.spans.n, len(rows))]) }

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
	t := &Trace{Meta: r.meta, Source: r.source, Tasks: r.tasks, Spans: r.spans, Counters: r.counters}
	t.Meta.Lost += r.lost
	t.Tasks.finish()
	t.Tasks.order()
	orderSpans(&t.Spans)
	orderCounters(&t.Counters, r.strings)
	t.Streams, t.Threads = r.StreamTable(), r.ThreadTable()
	renumber(t, r.strings, r.accounts)
	*r = Recorder{}
	return t
}

// renumber numbers strings and accounts by their first use in the ordered rows, and drops those without use. Ids that
// name nothing become the first id past the end, which Check reports.
func renumber(t *Trace, strings []string, accounts []Account) {
	t.Strings, t.Accounts = []string{""}, []Account{{}}
	names := numbering{old: make([]uint32, len(strings))}
	rows := numbering{old: make([]uint32, len(accounts))}
	str := func(id StringID) StringID {
		n, first := names.of(uint32(id))
		if first {
			t.Strings = append(t.Strings, strings[id])
		}
		return StringID(n)
	}
	for i := range t.Tasks.n {
		t.Tasks.Name.set(i, str(t.Tasks.Name.At(i)))
		t.Tasks.Op.set(i, str(t.Tasks.Op.At(i)))
		acct := t.Tasks.Acct.At(i)
		n, first := rows.of(acct)
		if first {
			t.Accounts = append(t.Accounts, accounts[acct])
		}
		t.Tasks.Acct.set(i, n)
	}
	for _, s := range t.Spans.All() {
		s.Name = str(s.Name)
	}
	for _, c := range t.Counters.All() {
		c.Name = str(c.Name)
	}
}

// numbering gives new numbers from 1 in the order of first use. 0 stays 0.
type numbering struct {
	old  []uint32 // new number by old one, 0 for none yet
	next uint32
}

func (n *numbering) of(old uint32) (id uint32, first bool) {
	switch {
	case old == 0:
		return 0, false
	case int(old) >= len(n.old):
		return ^uint32(0), false
	case n.old[old] == 0:
		n.next++
		n.old[old] = n.next
		return n.next, true
	}
	return n.old[old], false
}
