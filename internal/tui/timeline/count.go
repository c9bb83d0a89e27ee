package timeline

import (
	"cmp"
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// counts is the statistics of a piece of time: what ran in it, cut to it, and why streams stood still.
type counts struct {
	From, To int64
	Ops      []opCount // by time, the longest first
	Tasks    int
	Busy     int64 // of all tasks that occupied an engine
	Idle     stats.Idle
	Engines  []engineCount
	Devices  []*deviceCount
	Flame    *flame
}

type opCount struct {
	Name       string
	Count      int
	Total, Top int64
	Row        int // the longest
}

type engineCount struct {
	Lane int // of Data.Lanes
	Busy int64
}

// all is the statistics of the whole trace.
func (d *Data) all() *counts {
	d.counting.Lock()
	defer d.counting.Unlock()
	if d.counted == nil {
		d.counted = count(d, d.From, d.To, nil)
	}
	return d.counted
}

// count is the statistics of a piece of time, which the trace has ready for the whole of it.
func (d *Data) count(from, to int64, stop func() bool) *counts {
	if from == d.From && to == d.To {
		return d.all()
	}
	return count(d, from, to, stop)
}

// count looks at every task between two times. It runs beside the screen. It gives nil when stop, which may be nil, says that
// nobody waits for it any more.
func count(d *Data, from, to int64, stop func() bool) *counts {
	c := &counts{From: from, To: to, Devices: devices(d, from, to), Flame: &flame{}}
	ops := make([]opCount, len(d.T.Strings))
	kinds := [256]opCount{}
	for n, l := range d.Lanes {
		if l.Kind == Engine {
			c.Engines = append(c.Engines, engineCount{n, l.index.Busy(from, to)})
		}
		if l.Kind == Stream && !c.stream(d, l, ops, kinds[:], stop) {
			return nil
		}
	}
	if !c.flames(d, stop) {
		return nil
	}
	for _, list := range [][]opCount{ops, kinds[:]} {
		for _, o := range list {
			if o.Count > 0 {
				c.Ops = append(c.Ops, o)
			}
		}
	}
	slices.SortStableFunc(c.Ops, func(a, b opCount) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name)) })
	return c
}

// often is after how many rows a count looks whether it is still wanted.
const often = 1 << 16

// stream counts the tasks of a stream.
func (c *counts) stream(d *Data, l *Lane, ops, kinds []opCount, stop func() bool) bool {
	i, j := l.index.Within(c.From, c.To)
	free, some := int64(0), i > 0
	if some {
		free = l.index.End(i - 1)
	}
	for ; i < j; i++ {
		if i%often == 0 && stop != nil && stop() {
			return false
		}
		row := l.index.Row(i)
		k := d.T.Tasks.At(row)
		if !some {
			free, some = k.Submit, true
		}
		if k.Flags&trace.FlagPart == 0 {
			c.add(&k, row, ops, kinds, d)
			c.Idle = sum(c.Idle, clip(stats.Waited(&k, free), max(free, c.From), min(k.End, c.To)))
		}
		free = max(free, k.End)
	}
	return true
}

func (c *counts) add(k *trace.Task, row int, ops, kinds []opCount, d *Data) {
	c.Tasks++
	if k.Kind.Envelope() {
		return
	}
	o := &kinds[k.Kind]
	if k.Op != 0 && int(k.Op) < len(ops) {
		o = &ops[k.Op]
	}
	if o.Count == 0 {
		if o.Name = d.T.String(k.Op); o.Name == "" {
			o.Name = k.Kind.String()
		}
		o.Row = row
	}
	ns := min(k.End, c.To) - max(k.Start, c.From)
	o.Count++
	o.Total += ns
	if ns > o.Top {
		o.Top, o.Row = ns, row
	}
	if k.Engine != trace.EngineNone {
		c.Busy += ns
	}
}

// clip scales idle time down to what lies between two times.
func clip(i stats.Idle, from, to int64) stats.Idle {
	all, in := i.Total(), max(to-from, 0)
	if all <= in {
		return i
	}
	cut := func(ns int64) int64 { return int64(float64(ns) * float64(in) / float64(all)) }
	return stats.Idle{HostNs: cut(i.HostNs), EventNs: cut(i.EventNs), EngineNs: cut(i.EngineNs), SchedulerNs: cut(i.SchedulerNs), UnknownNs: cut(i.UnknownNs)}
}

func sum(a, b stats.Idle) stats.Idle {
	return stats.Idle{HostNs: a.HostNs + b.HostNs, EventNs: a.EventNs + b.EventNs, EngineNs: a.EngineNs + b.EngineNs,
		SchedulerNs: a.SchedulerNs + b.SchedulerNs, UnknownNs: a.UnknownNs + b.UnknownNs}
}

// causeTime is how long streams stood still for one cause.
type causeTime struct {
	name string
	ns   int64
}

// causes is why streams stood still, the main cause first, those that were none left out.
func (c *counts) causes() []causeTime {
	i := c.Idle
	all := []causeTime{{"host", i.HostNs}, {"event", i.EventNs}, {"engine", i.EngineNs}, {"scheduler", i.SchedulerNs}, {"unknown", i.UnknownNs}}
	slices.SortStableFunc(all, func(a, b causeTime) int { return cmp.Compare(b.ns, a.ns) })
	return slices.DeleteFunc(all, func(p causeTime) bool { return p.ns == 0 })
}
