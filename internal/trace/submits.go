package trace

import (
	"cmp"
	"slices"
)

type taskKey struct {
	device       uint16
	stream, task uint32
	thread       uint16
}

// Submissions gives for each host span the row of the task that it submitted, -1 for none. Task ids come again after
// a wrap and in each replay of a graph, so the task is the first one of its id that the span's thread handed over at
// or after the start of the span.
func (t *Trace) Submissions() []int32 {
	type submit struct {
		key  taskKey
		at   int64
		task int32
	}
	compare := func(a, b submit) int {
		return cmp.Or(cmp.Compare(a.key.device, b.key.device), cmp.Compare(a.key.stream, b.key.stream),
			cmp.Compare(a.key.task, b.key.task), cmp.Compare(a.key.thread, b.key.thread), cmp.Compare(a.at, b.at))
	}
	out := make([]int32, t.Spans.Len())
	if len(out) == 0 {
		return out
	}
	var list []submit
	for i := range t.Tasks.Len() {
		if thread := t.Tasks.Thread.At(i); thread != 0 {
			k := taskKey{t.Tasks.Device.At(i), t.Tasks.Stream.At(i), t.Tasks.Task.At(i), thread}
			list = append(list, submit{k, t.Tasks.Submit.At(i), int32(i)})
		}
	}
	slices.SortFunc(list, compare)
	for i, s := range t.Spans.All() {
		out[i] = -1
		if s.Task == NoTask {
			continue
		}
		want := submit{key: taskKey{s.Device, s.Stream, s.Task, s.Thread}, at: s.Start}
		if at, _ := slices.BinarySearchFunc(list, want, compare); at < len(list) && list[at].key == want.key {
			out[i] = list[at].task
		}
	}
	return out
}
