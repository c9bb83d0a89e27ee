package trace

import (
	"cmp"
	"math"
	"slices"
)

// Flags of Task.Flags.
const (
	FlagForeign  uint8 = 1 << iota // the wait was released by another process: its record is not in this trace
	FlagPart                       // shows again what other rows hold, as the contexts of a MIX kernel: counts and sums leave it out
	FlagNoSubmit                   // the source does not say when the task was submitted and ready: both are its start
)

// Carrier says whether a task of this kind, operator type and flags is one that carries a collective operation on the device, and lasts
// a little longer than it: vendors list the operation as a whole as well, of the same name, with a type or as a part.
func Carrier(kind Kind, op StringID, flags uint8) bool {
	return kind == Communication && op == 0 && flags&FlagPart == 0
}

// Waits finds the record that released a wait.
type Waits struct {
	t       *Trace
	records []record // by class, event, generation, device and end
}

type record struct {
	waitKey
	device uint16
	end    int64
	row    int
}

type waitKey struct {
	class      Kind // the record's kind: events, notifies and values count apart
	event, gen uint32
}

func (k waitKey) compare(o waitKey) int {
	switch {
	case k.class != o.class:
		return cmp.Compare(k.class, o.class)
	case k.event != o.event:
		return cmp.Compare(k.event, o.event)
	}
	return cmp.Compare(k.gen, o.gen)
}

// recordOf is the kind of record that a wait of kind k waits for; KindNone when k is no wait.
func recordOf(k Kind) Kind {
	switch k {
	case EventWait:
		return EventRecord
	case NotifyWait:
		return NotifyRecord
	case ValueWait:
		return ValueWrite
	}
	return KindNone
}

// Waits indexes the records of t.
func (t *Trace) Waits() *Waits {
	w := &Waits{t: t}
	for i := range t.Tasks.Len() {
		kind := t.Tasks.Kind.At(i)
		if event := t.Tasks.Event.At(i); event != 0 && (kind == EventRecord || kind == NotifyRecord || kind == ValueWrite) {
			key := waitKey{kind, event, t.Tasks.Gen.At(i)}
			w.records = append(w.records, record{key, t.Tasks.Device.At(i), t.Tasks.End.At(i), i})
		}
	}
	slices.SortFunc(w.records, func(a, b record) int {
		if c := a.compare(b.waitKey); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.end, b.end), cmp.Compare(a.row, b.row))
	})
	return w
}

// Record is the row of the record that released the wait in row i: same event and generation, on the wait's device if
// there is one, and of several the last that ended before the wait. ok is false for rows that are no wait and for
// records that are not in the trace.
func (w *Waits) Record(i int) (row int, ok bool) {
	k := &w.t.Tasks
	key := waitKey{recordOf(k.Kind.At(i)), k.Event.At(i), k.Gen.At(i)}
	if key.class == KindNone || key.event == 0 {
		return 0, false
	}
	end := k.End.At(i)
	if at := w.before(key, k.Device.At(i), end); at >= 0 {
		return w.records[at].row, true
	}
	best := -1
	for at := w.search(key, 0, math.MinInt64); at < len(w.records) && w.records[at].waitKey == key; {
		device := w.records[at].device
		if r := w.before(key, device, end); r >= 0 && (best < 0 || w.records[r].end > w.records[best].end) {
			best = r
		}
		at = w.search(key, device, math.MaxInt64)
	}
	if best < 0 {
		return 0, false
	}
	return w.records[best].row, true
}

// before is the last record of key on device that ended by end; -1 for none.
func (w *Waits) before(key waitKey, device uint16, end int64) int {
	at := w.search(key, device, end) - 1
	if at >= 0 && w.records[at].waitKey == key && w.records[at].device == device {
		return at
	}
	return -1
}

// search is the place after all records of key and device that ended by end.
func (w *Waits) search(key waitKey, device uint16, end int64) int {
	lo, hi := 0, len(w.records)
	for lo < hi {
		at := int(uint(lo+hi) / 2)
		r := &w.records[at]
		c := r.compare(key)
		if c == 0 {
			c = cmp.Compare(r.device, device)
		}
		if c < 0 || c == 0 && r.end <= end {
			lo = at + 1
		} else {
			hi = at
		}
	}
	return lo
}
