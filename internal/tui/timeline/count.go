package timeline

import (
	"cmp"
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// counts is the statistics of a piece of time: what ran in it, cut to it, and why streams stood still.
type counts struct {
	from, to int64
	ops      []opCount // by time, the longest first
	tasks    int
	busy     int64 // of all tasks that occupied an engine
	idle     stats.Idle
	engines  []engineCount
	devices  []*deviceCount
}

type opCount struct {
	name       string
	count      int
	total, top int64
	row        int // the longest
}

type engineCount struct {
	lane *Lane
	busy int64
}

// count looks at every task between two times. It runs beside the screen.
func count(d *Data, from, to int64) *counts {
	c := &counts{from: from, to: to, devices: devices(d, from, to)}
	ops := make([]opCount, len(d.T.Strings))
	kinds := [256]opCount{}
	for _, l := range d.Lanes {
		if l.Kind == Engine {
			c.engines = append(c.engines, engineCount{l, l.index.Busy(from, to)})
		}
		if l.Kind != Stream {
			continue
		}
		i, j := l.index.Within(from, to)
		free, some := int64(0), i > 0
		if some {
			free = l.index.End(i - 1)
		}
		for ; i < j; i++ {
			row := l.index.Row(i)
			k := d.T.Tasks.At(row)
			if !some {
				free, some = k.Submit, true
			}
			if k.Flags&trace.FlagPart == 0 {
				c.add(&k, row, ops, kinds[:], d)
				c.idle = sum(c.idle, clip(stats.Waited(&k, free), max(free, from), min(k.End, to)))
			}
			free = max(free, k.End)
		}
	}
	for _, list := range [][]opCount{ops, kinds[:]} {
		for _, o := range list {
			if o.count > 0 {
				c.ops = append(c.ops, o)
			}
		}
	}
	slices.SortStableFunc(c.ops, func(a, b opCount) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name)) })
	return c
}

func (c *counts) add(k *trace.Task, row int, ops, kinds []opCount, d *Data) {
	c.tasks++
	if k.Kind.Envelope() {
		return
	}
	o := &kinds[k.Kind]
	if k.Op != 0 && int(k.Op) < len(ops) {
		o = &ops[k.Op]
	}
	if o.count == 0 {
		if o.name = d.T.String(k.Op); o.name == "" {
			o.name = k.Kind.String()
		}
		o.row = row
	}
	ns := min(k.End, c.to) - max(k.Start, c.from)
	o.count++
	o.total += ns
	if ns > o.top {
		o.top, o.row = ns, row
	}
	if k.Engine != trace.EngineNone {
		c.busy += ns
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
