package trace

import (
	"cmp"
	"slices"
	"sort"
)

// Submissions gives for each host span the row of the task that it submitted, -1 for none. Task ids come again after
// a wrap and in each replay of a graph, so the task is the first one of its id that the span's thread handed over at
// or after the start of the span.
//
// The calls of a stream come nearly in the order of its tasks. So each stream keeps its tasks in a list of their own, and where
// the task behind the last one found is not the one that is looked for, a search in it finds it.
func (t *Trace) Submissions() []int32 {
	out := make([]int32, t.Spans.Len())
	if len(out) == 0 {
		return out
	}
	streams := t.submitted()
	for i, c := range t.Spans.All() {
		out[i] = -1
		if c.Task == NoTask {
			continue
		}
		if s := streams.of(streamKey{c.Device, c.Stream}, false); s != nil {
			out[i] = s.find(&t.Tasks, c)
		}
	}
	return out
}

// submittedTasks is the tasks of a stream that a thread of the trace submitted, by id, thread and time of submission.
type submittedTasks struct {
	rows []int32
	next int // behind the last one that was found
}

// submittedStreams is the tasks of all streams. A trace has few, and they come again and again.
type submittedStreams struct {
	all    map[streamKey]*submittedTasks
	recent [64]struct {
		key streamKey
		s   *submittedTasks
	}
}

// of is the tasks of a stream; nil when there are none yet and it is not to be made.
func (u *submittedStreams) of(k streamKey, make bool) *submittedTasks {
	r := &u.recent[(k.stream+uint32(k.device)*7)%uint32(len(u.recent))]
	if r.s != nil && r.key == k {
		return r.s
	}
	s := u.all[k]
	if s == nil {
		if !make {
			return nil
		}
		s = &submittedTasks{}
		u.all[k] = s
	}
	r.key, r.s = k, s
	return s
}

// submitted lists the tasks of each stream.
func (t *Trace) submitted() *submittedStreams {
	streams := &submittedStreams{all: map[streamKey]*submittedTasks{}}
	for i := range t.Tasks.Len() {
		if t.Tasks.Thread.At(i) == 0 {
			continue
		}
		s := streams.of(streamKey{t.Tasks.Device.At(i), t.Tasks.Stream.At(i)}, true)
		s.rows = append(s.rows, int32(i))
	}
	for _, s := range streams.all {
		compare := func(a, b int32) int { return t.compareSubmits(int(a), int(b)) }
		if !slices.IsSortedFunc(s.rows, compare) {
			slices.SortStableFunc(s.rows, compare)
		}
	}
	return streams
}

func (t *Trace) compareSubmits(i, j int) int {
	k := &t.Tasks
	if c := cmp.Compare(k.Task.At(i), k.Task.At(j)); c != 0 {
		return c // nearly all of them
	}
	return cmp.Or(cmp.Compare(k.Thread.At(i), k.Thread.At(j)), cmp.Compare(k.Submit.At(i), k.Submit.At(j)))
}

// find gives the task that a call submitted; -1 for none.
func (s *submittedTasks) find(k *Tasks, c *Span) int32 {
	if i := s.next; i < len(s.rows) { // it is the next one, and the one before has another id
		row := int(s.rows[i])
		if k.Task.At(row) == c.Task && k.Thread.At(row) == c.Thread && k.Submit.At(row) >= c.Start && (i == 0 || k.Task.At(int(s.rows[i-1])) < c.Task) {
			s.next = i + 1
			return s.rows[i]
		}
	}
	// place is the order of a row to the first that the call may have submitted.
	place := func(row int32) int {
		return cmp.Or(cmp.Compare(k.Task.At(int(row)), c.Task), cmp.Compare(k.Thread.At(int(row)), c.Thread), cmp.Compare(k.Submit.At(int(row)), c.Start))
	}
	i := s.next
	if i >= len(s.rows) || place(s.rows[i]) < 0 || i > 0 && place(s.rows[i-1]) >= 0 {
		i = sort.Search(len(s.rows), func(i int) bool { return place(s.rows[i]) >= 0 })
	}
	if i == len(s.rows) || k.Task.At(int(s.rows[i])) != c.Task || k.Thread.At(int(s.rows[i])) != c.Thread {
		return -1
	}
	s.next = i + 1
	return s.rows[i]
}
