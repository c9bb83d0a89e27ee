package program

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"npu/internal/trace"
)

// Mark is what a cell of the timeline shows, by rising precedence where several things happen in one cell.
type Mark uint8

// Marks of the timeline.
const (
	Nothing    Mark = iota
	HostCall        // a host thread is in a call
	HostWaits       // a host thread waits
	Record          // a record of an event or notify
	ForEngine       // the task at the head of the stream is ready, and no core or channel is free
	ForOther        // the stream is held by an event, a notify or a word
	HostWorks       // a host function or callback
	CopyRuns        // a copy or fill
	KernelRuns      // a kernel
	Failed          // a task that failed
	marks
)

// Legend says in words what a mark means.
func (m Mark) Legend() string {
	return [marks]string{"", "host call", "host waits", "record", "waits for a core or channel", "waits for another stream",
		"host function", "copy", "kernel", "failed task"}[m]
}

// Cells are the characters of the marks; the Unicode set is for terminals.
func Cells(unicode bool) []rune {
	if unicode {
		return []rune(" -~'┄·h▒█✗")
	}
	return []rune(" -~':.h=#!")
}

// Row is the lane of a host thread or a stream.
type Row struct {
	Name  string
	Cells []Mark
	Label []rune // text over the cells; 0: none
}

// Timeline shows what the streams and host threads did over device time.
type Timeline struct {
	From, To int64 // ns
	Column   int64 // ns of a cell
	Rows     []Row
}

// bar is one interval of a row.
type bar struct {
	from, to int64
	mark     Mark
	label    string
}

// lane is a row before it is drawn.
type lane struct {
	name string
	bars []bar
}

// quietStream says whether a stream is the runtime's own. Of those, the timeline shows only the copies.
func quietStream(name string) bool { return name == "runtime" || name == copiesStream }

const copiesStream = "synchronous copies"

// NewTimeline draws t in so many cells. The time before the first task that the program submitted is left out.
func NewTimeline(t *trace.Trace, width int) *Timeline {
	width = max(10, width)
	streams := streamLanes(t)
	tl := &Timeline{}
	tl.From, tl.To = extent(t)
	span := max(1, tl.To-tl.From)
	tl.Column = (span + int64(width) - 1) / int64(width)
	for _, l := range append(threadLanes(t), streams...) {
		if row, any := tl.draw(l, width); any {
			tl.Rows = append(tl.Rows, row)
		}
	}
	return tl
}

// extent is from the first submission to a stream of the program to the last end.
func extent(t *trace.Trace) (from, to int64) {
	names := streamNames(t)
	from = -1
	for _, k := range t.Tasks.All() {
		to = max(to, k.End)
		if !quietStream(names[streamKey{k.Device, k.Stream}]) && (from < 0 || k.Submit < from) {
			from = k.Submit
		}
	}
	return max(0, from), to
}

type streamKey struct {
	device uint16
	stream uint32
}

func streamNames(t *trace.Trace) map[streamKey]string {
	m := map[streamKey]string{}
	for _, s := range t.Streams {
		m[streamKey{s.Device, s.ID}] = s.Name
	}
	return m
}

// longCall is how long a call may last before it must have waited, in ns: the dearest ones cost 20 µs.
const longCall = 50_000

// threadLanes are the host threads with their calls.
func threadLanes(t *trace.Trace) []lane {
	byThread := map[uint16]*lane{}
	names := map[uint16]string{}
	for _, th := range t.Threads {
		names[th.ID] = th.Name
	}
	for _, s := range t.Spans.All() {
		l := byThread[s.Thread]
		if l == nil {
			l = &lane{name: "host " + cmp.Or(names[s.Thread], fmt.Sprint(s.Thread))}
			byThread[s.Thread] = l
		}
		name := strings.TrimPrefix(t.String(s.Name), "aclrt")
		b := bar{s.Start, s.End, HostCall, name}
		if strings.HasPrefix(name, "Synchronize") || name == "Memcpy" || s.End-s.Start > longCall {
			b.mark = HostWaits
		}
		l.bars = append(l.bars, b)
	}
	var all []lane
	for _, id := range sorted(byThread) {
		all = append(all, *byThread[id])
	}
	return all
}

// streamLanes are the streams with their tasks and what held them.
func streamLanes(t *trace.Trace) []lane {
	names := streamNames(t)
	m := map[streamKey]*lane{}
	for _, k := range t.Tasks.All() {
		key := streamKey{k.Device, k.Stream}
		name := cmp.Or(names[key], fmt.Sprintf("stream %d", k.Stream))
		if quietStream(name) {
			if name != copiesStream {
				continue
			}
			name, key.stream = "(sync copies)", math.MaxUint32 // one row for those of all threads
		}
		l := m[key]
		if l == nil {
			l = &lane{name: name}
			if t.Meta.Devices > 1 {
				l.name = fmt.Sprintf("%d:%s", k.Device, l.name)
			}
			m[key] = l
		}
		l.task(t, k)
	}
	var keys []streamKey
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b streamKey) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
	})
	var all []lane
	for _, k := range keys {
		all = append(all, *m[k])
	}
	return all
}

// task adds a task's bars.
func (l *lane) task(t *trace.Trace, k trace.Task) {
	b := bar{k.Start, k.End, Nothing, taskLabel(t, k)}
	held := ForEngine
	switch {
	case k.Kind.Kernel():
		b.mark = KernelRuns
	case k.Kind == trace.Memcpy || k.Kind == trace.Memset || k.Kind == trace.Reduce || k.Kind == trace.CacheOp:
		b.mark = CopyRuns
	case k.Kind == trace.HostFunc:
		b.mark, held = HostWorks, ForOther // a wait for the thread that runs it
	case k.Kind == trace.EventRecord || k.Kind == trace.NotifyRecord:
		b.mark = Record
	case k.Kind == trace.EventWait || k.Kind == trace.NotifyWait || k.Kind == trace.ValueWait:
		b.mark, b.label = ForOther, "" // the task itself is the wait
	}
	if k.Ready < k.Start {
		l.bars = append(l.bars, bar{k.Ready, k.Start, held, ""})
	}
	if k.Code != 0 {
		b.mark = Failed
	}
	if b.mark != Nothing {
		l.bars = append(l.bars, b)
	}
}

// taskLabel is what a reader calls the task: a copy goes by its direction.
func taskLabel(t *trace.Trace, k trace.Task) string {
	if k.Kind == trace.Memcpy && k.Name == 0 {
		return map[trace.Dir]string{trace.HostToDevice: "h2d", trace.DeviceToHost: "d2h", trace.DeviceToDevice: "d2d"}[k.Dir]
	}
	return t.Label(&k)
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	var l []K
	for k := range m {
		l = append(l, k)
	}
	slices.Sort(l)
	return l
}

// draw fills the cells of a row: each shows what takes most of its time, where a failed task comes before all and
// something before nothing.
func (tl *Timeline) draw(l lane, width int) (row Row, any bool) {
	row = Row{Name: l.name, Cells: make([]Mark, width), Label: make([]rune, width)}
	most := make([]int64, width)
	owner := make([]int, width)
	for i, b := range l.bars {
		from, to := max(b.from, tl.From), min(b.to, tl.To)
		if from > to || b.from < tl.From && b.to <= tl.From {
			continue
		}
		any = true
		first := int((from - tl.From) / tl.Column)
		last := int((max(to, from+1) - 1 - tl.From) / tl.Column)
		for c := max(0, first); c <= min(last, width-1); c++ {
			start := tl.From + int64(c)*tl.Column
			part := 1 + min(to, start+tl.Column) - max(from, start)
			if b.mark == Failed && row.Cells[c] != Failed || part > most[c] && row.Cells[c] != Failed || part == most[c] && b.mark > row.Cells[c] {
				row.Cells[c], most[c], owner[c] = b.mark, part, i+1
			}
		}
	}
	l.labels(&row, owner)
	return row, any
}

// labels writes the name of a bar into its cells where there is room.
func (l *lane) labels(row *Row, owner []int) {
	for c := 0; c < len(owner); {
		end := c + 1
		for end < len(owner) && owner[end] == owner[c] {
			end++
		}
		if owner[c] > 0 {
			text := []rune(l.bars[owner[c]-1].label)
			if room := end - c - 2; room >= len(text) && room > 0 {
				copy(row.Label[c+1:], text)
			}
		}
		c = end
	}
}

// Text is the row in the characters of cells. paint, which may be nil, colours a run of cells with the same mark.
func (r *Row) Text(cells []rune, paint func(Mark, string) string) string {
	end := len(r.Cells)
	for end > 0 && r.Cells[end-1] == Nothing {
		end--
	}
	var out strings.Builder
	for at := 0; at < end; {
		m := r.Cells[at]
		var run []rune
		for ; at < end && r.Cells[at] == m; at++ {
			if r.Label[at] != 0 {
				run = append(run, r.Label[at])
			} else {
				run = append(run, cells[m])
			}
		}
		if paint == nil {
			out.WriteString(string(run))
		} else {
			out.WriteString(paint(m, string(run)))
		}
	}
	return out.String()
}

// Marks are the marks that the timeline shows, in the order of the legend.
func (tl *Timeline) Marks() []Mark {
	var seen [marks]bool
	for _, r := range tl.Rows {
		for _, m := range r.Cells {
			seen[m] = true
		}
	}
	var l []Mark
	for m := Failed; m > Nothing; m-- {
		if seen[m] {
			l = append(l, m)
		}
	}
	return l
}
