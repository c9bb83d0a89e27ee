package timeline

import (
	"fmt"
	"slices"
	"sort"

	"npu/internal/trace"
)

// warp moves the times of a side: what lies between two anchors keeps its distance to the first.
type warp struct{ from, to []int64 } // anchors in time, and where they go

// at is where a time goes.
func (w *warp) at(t int64) int64 {
	i := sort.Search(len(w.from), func(i int) bool { return w.from[i] > t })
	if i == 0 {
		return t - w.from[0] + w.to[0] // before the first one as far as after it
	}
	return t - w.from[i-1] + w.to[i-1]
}

// alignTask shifts the other sides such that what corresponds to the task in row begins with it. The number is how many sides
// have such a task.
func (d *Data) alignTask(c *counterparts, row int) (*Data, int) {
	start := d.T.Tasks.Start.At(row)
	warps := make([]warp, c.sides)
	moved := 0
	for s := range warps {
		warps[s] = warp{[]int64{0}, []int64{0}}
		if other := c.of(row, s); other >= 0 {
			warps[s].to[0] = start - d.T.Tasks.Start.At(other)
			if other != row {
				moved++
			}
		}
	}
	if moved == 0 {
		return nil, 0
	}
	return d.warped(c, warps), moved
}

// alignOperators gives each operator that all sides have one place in time: where a side is done sooner than another, it waits.
// So the sides can be read below each other, and what takes longer stands out. The number is how many operators line up.
func (d *Data) alignOperators(c *counterparts) (*Data, int) {
	anchors := c.anchors()
	if len(anchors) == 0 {
		return nil, 0
	}
	warps := make([]warp, c.sides)
	for s := range warps {
		warps[s] = warp{make([]int64, len(anchors)), make([]int64, len(anchors))}
	}
	start := func(i, s int) int64 { return d.T.Tasks.Start.At(int(anchors[i][s])) }
	at := int64(0)
	for s := range warps {
		at = max(at, start(0, s)-d.From)
	}
	for i := range anchors {
		step := int64(0)
		for s := range warps {
			if i > 0 {
				step = max(step, start(i, s)-start(i-1, s))
			}
			warps[s].from[i] = start(i, s)
		}
		at += step
		for s := range warps {
			warps[s].to[i] = at
		}
	}
	return d.warped(c, warps), len(anchors)
}

// anchors is the tasks of one operator on all sides, in an order that is theirs on each.
func (c *counterparts) anchors() [][]int32 {
	var list [][]int32
	for row := range c.t.Tasks.Len() {
		if c.side(c.t.Tasks.Device.At(row)) != 0 {
			continue
		}
		one := make([]int32, c.sides)
		for s := range one {
			one[s] = int32(c.of(row, s))
		}
		if !slices.Contains(one, -1) {
			list = append(list, one)
		}
	}
	for s := 1; s < c.sides; s++ {
		list = rising(list, func(one []int32) int64 { return c.t.Tasks.Start.At(int(one[s])) })
	}
	return list
}

// rising is the longest part of a list whose values rise.
func rising(list [][]int32, value func([]int32) int64) [][]int32 {
	var ends []int // by length - 1: place of the least end of a part of that length
	before := make([]int, len(list))
	for i := range list {
		v := value(list[i])
		n := sort.Search(len(ends), func(n int) bool { return value(list[ends[n]]) >= v })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([][]int32, len(ends))
	if len(ends) > 0 {
		for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
			out[n] = list[i]
		}
	}
	return out
}

// warped lays the trace out with the times of its sides moved. Tasks keep how long they last.
func (d *Data) warped(c *counterparts, warps []warp) *Data {
	t := d.T
	rec := trace.NewRecorder()
	rec.SetMeta(t.Meta)
	rec.SetSource(t.Source)
	ids := make([]trace.StringID, len(t.Strings))
	for i, s := range t.Strings {
		ids[i] = rec.Intern(s)
	}
	id := func(old trace.StringID) trace.StringID {
		if int(old) < len(ids) {
			return ids[old]
		}
		return 0
	}
	move := func(device uint16, at int64) int64 {
		if s := c.side(device); s >= 0 {
			return warps[s].at(at)
		}
		return at
	}
	for _, k := range t.Tasks.All() {
		start := move(k.Device, k.Start)
		k.Submit, k.Ready = min(move(k.Device, k.Submit), start), min(move(k.Device, k.Ready), start)
		k.Start, k.End = start, start+k.End-k.Start
		k.Name, k.Op, k.Acct = id(k.Name), id(k.Op), rec.AddAccount(t.Account(k.Acct))
		rec.Tasks([]trace.Task{k})
	}
	for _, s := range t.Spans.All() {
		x := *s
		x.Start, x.End, x.Name = move(s.Device, s.Start), move(s.Device, s.End), id(s.Name)
		rec.Spans([]trace.Span{x})
	}
	for _, v := range t.Counters.All() {
		x := *v
		x.Time, x.Name = move(v.Device, v.Time), id(v.Name)
		rec.Counters([]trace.Counter{x})
	}
	for _, s := range t.Streams {
		rec.NameStream(s.Device, s.ID, s.Name, s.Priority)
	}
	for _, th := range t.Threads {
		rec.NameThread(th.ID, th.Name)
	}
	out := Finished(rec.Finish(), d.Name)
	out.plain, out.sides, out.matches = d, d.sides, c
	for i := range out.Groups {
		if i < len(d.Groups) {
			out.Groups[i].Name = d.Groups[i].Name
		}
	}
	out.widest = d.widest
	return out
}

// onPlain is a row of an aligned picture in the one that it was made of; not ok where that has no such lane.
func (d *Data) onPlain(r ref) ref {
	n := slices.Index(d.Lanes, r.lane)
	if d.plain == nil || !r.ok() || len(d.Lanes) != len(d.plain.Lanes) {
		return ref{at: -1}
	}
	l := d.plain.Lanes[n]
	if l.index == nil || l.index.Len() != r.lane.index.Len() {
		return ref{at: -1}
	}
	return ref{l, r.at}
}

// against says how long what corresponds to a task takes on the other sides.
func (d *Data) against(r ref) string {
	plain, c := d, d.matches
	if d.plain != nil {
		plain, r = d.plain, d.onPlain(r)
	}
	if c == nil || !r.ok() || r.lane.Kind == Host {
		return ""
	}
	row := r.lane.index.Row(r.at)
	own := plain.T.Tasks.End.At(row) - plain.T.Tasks.Start.At(row)
	text := ""
	for i, s := range plain.compared() {
		other := c.of(row, i)
		if other < 0 || other == row {
			continue
		}
		ns := plain.T.Tasks.End.At(other) - plain.T.Tasks.Start.At(other)
		if text != "" {
			text += ", "
		}
		text += s.Name + " " + dur(ns)
		if own > 0 {
			text += fmt.Sprintf(" (%+.1f %%)", 100*float64(ns-own)/float64(own))
		}
	}
	return text
}
