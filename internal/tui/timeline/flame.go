package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"npu/internal/trace"
)

// flame is time by what it was spent in: below a device its streams, their operator types and their tasks; below a host
// thread its calls and the calls within them.
type flame struct {
	Name  string
	Ns    int64
	Count int
	Kids  []*flame // the longest first

	index map[uint64]*flame
}

// widestFlame is how many parts of a node are kept apart; the shortest beyond are one.
const widestFlame = 100

// kid is the part of f that key stands for; name gives its name the first time.
func (f *flame) kid(key uint64, name func() string) *flame {
	k := f.index[key]
	if k == nil {
		k = &flame{Name: name()}
		if f.index == nil {
			f.index = map[uint64]*flame{}
		}
		f.index[key] = k
		f.Kids = append(f.Kids, k)
	}
	return k
}

func (f *flame) add(ns int64) { f.Ns, f.Count = f.Ns+ns, f.Count+1 }

// finish orders the parts.
func (f *flame) finish() {
	f.index = nil
	slices.SortStableFunc(f.Kids, func(a, b *flame) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name)) })
	if len(f.Kids) > widestFlame {
		rest := &flame{Name: fmt.Sprintf("%d others", len(f.Kids)-widestFlame+1)}
		for _, k := range f.Kids[widestFlame-1:] {
			rest.Ns, rest.Count = rest.Ns+k.Ns, rest.Count+k.Count
		}
		f.Kids = append(f.Kids[:widestFlame-1:widestFlame-1], rest)
	}
	for _, k := range f.Kids {
		k.finish()
	}
}

// flames sums up all lanes between From and To; false when stop says so.
func (c *counts) flames(d *Data, stop func() bool) bool {
	root := &flame{Name: "all"}
	for n, calls := range d.calls {
		if len(calls) == 0 {
			continue
		}
		host := root.kid(1<<32, func() string { return "Host" })
		w := stackWalk{c: c, d: d, lanes: calls, next: make([]int, len(calls)), stop: stop}
		for i, l := range calls {
			w.next[i], _ = l.index.Within(c.From, c.To)
		}
		thread := host.kid(uint64(n), func() string { return calls[0].Name })
		thread.Ns += w.level(0, c.To, thread)
		host.Ns, host.Count, thread.Count = host.Ns+thread.Ns, host.Count+1, len(thread.Kids)
		if w.stopped {
			return false
		}
	}
	for n, l := range d.Lanes {
		if l.Kind != Stream {
			continue
		}
		device := root.kid(uint64(l.Device), func() string { return d.Groups[l.Group].Name })
		if !c.streamFlame(d, l, device.kid(uint64(n), func() string { return l.Name }), stop) {
			return false
		}
		s := device.Kids[len(device.Kids)-1]
		device.Ns, device.Count = device.Ns+s.Ns, device.Count+s.Count
	}
	root.Kids = slices.DeleteFunc(root.Kids, func(f *flame) bool { return f.Ns == 0 })
	for _, k := range root.Kids {
		root.Ns, root.Count = root.Ns+k.Ns, root.Count+k.Count
	}
	root.finish()
	c.Flame = root
	return true
}

// streamFlame sums up the tasks of a stream by type and name.
func (c *counts) streamFlame(d *Data, l *Lane, s *flame, stop func() bool) bool {
	t := &d.T.Tasks
	i, j := l.index.Within(c.From, c.To)
	for ; i < j; i++ {
		if i%often == 0 && stop != nil && stop() {
			return false
		}
		row := l.index.Row(i)
		kind := t.Kind.At(row)
		ns := min(t.End.At(row), c.To) - max(t.Start.At(row), c.From)
		if ns <= 0 || kind.Envelope() || t.Flags.At(row)&trace.FlagPart != 0 {
			continue
		}
		op, name := t.Op.At(row), t.Name.At(row)
		key := uint64(op)
		if op == 0 {
			key = 1<<40 | uint64(kind)
		}
		typ := s.kid(key, func() string {
			if op == 0 {
				return kind.String()
			}
			return d.T.String(op)
		})
		typ.add(ns)
		s.add(ns)
		if name != 0 && name != op && d.T.String(name) != typ.Name {
			typ.kid(uint64(name), func() string { return d.T.String(name) }).add(ns)
		}
	}
	return true
}

// stackWalk goes along the calls of a thread, with those within each.
type stackWalk struct {
	c       *counts
	d       *Data
	lanes   []*Lane // by depth
	next    []int   // place on each
	rows    int
	stop    func() bool
	stopped bool
}

// level takes the calls of a depth that start before a time, and returns their time.
func (w *stackWalk) level(depth int, before int64, into *flame) int64 {
	if depth == len(w.lanes) {
		return 0
	}
	ix, sum := w.lanes[depth].index, int64(0)
	for !w.stopped && w.next[depth] < ix.Len() {
		i := w.next[depth]
		start, end := ix.Start(i), ix.End(i)
		if start >= before {
			break
		}
		if w.rows++; w.rows%often == 0 && w.stop != nil {
			w.stopped = w.stop()
		}
		w.next[depth]++
		name := w.d.T.Spans.At(ix.Row(i)).Name
		f := into.kid(uint64(name), func() string { return w.d.T.String(name) })
		ns := max(min(end, w.c.To)-max(start, w.c.From), 0)
		f.add(ns)
		sum += ns
		w.level(depth+1, min(end, w.c.To), f)
	}
	return sum
}
