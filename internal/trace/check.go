package trace

import (
	"errors"
	"fmt"
)

// shown is how many findings Check spells out.
const shown = 16

// Check says what in t contradicts itself: tasks that end before they start, start before they are ready or run at
// the same time as another task of their stream, waits that end without a record, ids that name nothing. A trace that
// a recorder made from well-behaved rows passes; one that was read from a file may not. Nil when all is well.
func (t *Trace) Check() error {
	c := checker{t: t, last: map[streamKey]int{}}
	c.tables()
	w := t.Waits()
	for i, k := range t.Tasks.All() {
		c.times(i, &k)
		c.ids(i, &k)
		c.wait(i, &k, w)
	}
	for i, s := range t.Spans.All() {
		if s.End < s.Start {
			c.add("host span %d (%s): ends at %d ns, before it starts at %d ns", i, t.String(s.Name), s.End, s.Start)
		}
		if int(s.Name) >= len(t.Strings) {
			c.add("host span %d: name %d is not one of the %d strings", i, s.Name, len(t.Strings))
		}
	}
	for i, v := range t.Counters.All() {
		if int(v.Name) >= len(t.Strings) {
			c.add("counter value %d: name %d is not one of the %d strings", i, v.Name, len(t.Strings))
		}
	}
	if more := c.count - len(c.found); more > 0 {
		c.found = append(c.found, fmt.Errorf("and %d more", more))
	}
	return errors.Join(c.found...)
}

type checker struct {
	t     *Trace
	last  map[streamKey]int // row of the last task of a stream
	found []error
	count int
}

func (c *checker) add(format string, args ...any) {
	if c.count++; len(c.found) < shown {
		c.found = append(c.found, fmt.Errorf(format, args...))
	}
}

func (c *checker) task(i int, k *Task, format string, args ...any) {
	if c.count++; len(c.found) < shown {
		c.found = append(c.found, fmt.Errorf("row %d (%s, device %d stream %d task %d): %s",
			i, c.t.Label(k), k.Device, k.Stream, k.Task, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) tables() {
	if len(c.t.Strings) == 0 || c.t.Strings[0] != "" {
		c.add("string table: the first string is not empty")
	}
	if len(c.t.Accounts) == 0 || c.t.Accounts[0] != (Account{}) {
		c.add("account table: the first account is not empty")
	}
}

func (c *checker) times(i int, k *Task) {
	switch {
	case k.End < k.Start:
		c.task(i, k, "ends at %d ns, before it starts at %d ns", k.End, k.Start)
	case k.Start < k.Ready:
		c.task(i, k, "starts at %d ns, before it is ready at %d ns", k.Start, k.Ready)
	case k.Ready < k.Submit:
		c.task(i, k, "is ready at %d ns, before it was submitted at %d ns", k.Ready, k.Submit)
	}
	if i > 0 && c.t.Tasks.Start.At(i-1) > k.Start {
		c.task(i, k, "starts before the row above it")
	}
	if k.Flags&FlagPart != 0 {
		return // lies within another row
	}
	key := streamKey{k.Device, k.Stream}
	if row, ok := c.last[key]; ok {
		// Parts of one task, of which some sources list the parts alone, run at once.
		if end := c.t.Tasks.End.At(row); end > k.Start && c.t.Tasks.Task.At(row) != k.Task {
			c.task(i, k, "starts at %d ns, before row %d of the same stream ends at %d ns", k.Start, row, end)
		}
	}
	c.last[key] = i
}

func (c *checker) ids(i int, k *Task) {
	switch {
	case int(k.Name) >= len(c.t.Strings):
		c.task(i, k, "name %d is not one of the %d strings", k.Name, len(c.t.Strings))
	case int(k.Op) >= len(c.t.Strings):
		c.task(i, k, "operator type %d is not one of the %d strings", k.Op, len(c.t.Strings))
	case int(k.Acct) >= len(c.t.Accounts):
		c.task(i, k, "cycle account %d is not one of the %d accounts", k.Acct, len(c.t.Accounts))
	case k.Kind == KindNone || k.Kind >= kindCount:
		c.task(i, k, "kind %d is unknown", k.Kind)
	case k.Engine >= engineCount:
		c.task(i, k, "engine %d is unknown", k.Engine)
	case k.Dir > DeviceToDevice:
		c.task(i, k, "copy direction %d is unknown", k.Dir)
	}
}

// wait asks for the record of a wait. An event that nobody ever recorded lets its waits pass with generation 0, and
// records may have been lost or belong to another process.
func (c *checker) wait(i int, k *Task, w *Waits) {
	if recordOf(k.Kind) == KindNone || k.Event == 0 || k.Gen == 0 || k.Code != 0 || k.Flags&FlagForeign != 0 || c.t.Meta.Lost > 0 {
		return
	}
	if _, ok := w.Record(i); !ok {
		c.task(i, k, "waits for generation %d of event %d, which no record reached by %d ns", k.Gen, k.Event, k.End)
	}
}
