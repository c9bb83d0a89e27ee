package stats

import (
	"cmp"
	"slices"

	"npu/internal/trace"
)

type opKey struct {
	op, name trace.StringID
	kind     trace.Kind
}

// ops sums by operator. Names are dense numbers and nearly always belong to one operator: the first of a name is found
// without a map.
type ops struct {
	first []entry // by name
	more  map[opKey]*Op
}

type entry struct {
	key opKey
	sum *Op
}

func newOps(names int) *ops { return &ops{first: make([]entry, names), more: map[opKey]*Op{}} }

func (o *ops) add(key opKey, k *trace.Task, cycles int64) {
	s := o.sum(key)
	d := k.End - k.Start
	s.Count++
	s.TotalNs += d
	s.MaxNs = max(s.MaxNs, d)
	s.Cycles += cycles
	s.Bytes += k.Bytes
}

func (o *ops) sum(key opKey) *Op {
	if int(key.name) < len(o.first) {
		e := &o.first[key.name]
		if e.sum == nil {
			e.key, e.sum = key, &Op{}
		}
		if e.key == key {
			return e.sum
		}
	}
	s := o.more[key]
	if s == nil {
		s = &Op{}
		o.more[key] = s
	}
	return s
}

// list orders by total time, the longest first, then by name.
func (o *ops) list(t *trace.Trace, single bool) []Op {
	out := []Op{}
	take := func(key opKey, s *Op) {
		s.Name = t.String(key.op)
		if key.op == 0 {
			s.Name = key.kind.String()
		}
		if single {
			s.Type = s.Name
			if key.name != 0 {
				s.Name = t.String(key.name)
			}
		}
		s.MeanNs = s.TotalNs / s.Count
		out = append(out, *s)
	}
	for i := range o.first {
		if e := &o.first[i]; e.sum != nil {
			take(e.key, e.sum)
		}
	}
	for key, s := range o.more {
		take(key, s)
	}
	order(out)
	return out
}

func order(list []Op) {
	slices.SortFunc(list, func(a, b Op) int {
		return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
}

// calls sums the host calls by name.
func calls(t *trace.Trace) []Op {
	sums := make([]Op, len(t.Strings))
	for _, s := range t.Spans.All() {
		if int(s.Name) >= len(sums) {
			continue
		}
		o, d := &sums[s.Name], s.End-s.Start
		o.Count++
		o.TotalNs += d
		o.MaxNs = max(o.MaxNs, d)
	}
	out := []Op{}
	for id, o := range sums {
		if o.Count > 0 {
			o.Name, o.MeanNs = t.Strings[id], o.TotalNs/o.Count
			out = append(out, o)
		}
	}
	order(out)
	return out
}

// totals takes the sums of a source that holds nothing else.
func totals(t *trace.Trace, out *Stats) {
	for _, s := range t.Source.Totals {
		o := Op{Name: s.Name, Count: s.Count, TotalNs: s.TotalNs, MaxNs: s.MaxNs}
		if s.Count > 0 {
			o.MeanNs = s.TotalNs / s.Count
		}
		if s.Call {
			out.APIs = append(out.APIs, o)
		} else {
			out.OpTypes = append(out.OpTypes, o)
		}
	}
	if len(t.Source.Totals) > 0 {
		order(out.APIs)
		order(out.OpTypes)
	}
}
