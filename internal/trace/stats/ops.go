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

// opSums sums tasks by operator type, by operator and, those that communicate, by operation. Its carriers are
// held apart: databases list it as a whole as well.
type opSums struct{ types, ops, comm, held *ops }

func newOpSums() opSums { return opSums{newOps(), newOps(), newOps(), newOps()} }

func (s *opSums) add(v *view, accounts []trace.Account) {
	var k trace.Task
	for i := range v.n {
		k.Start, k.End, k.Bytes = v.start[i], v.end[i], v.bytes[i]
		key := opKey{op: v.op[i]}
		kind, name := v.kind[i], v.name[i]
		if key.op == 0 {
			key.kind = kind
		}
		if kind == trace.Communication {
			comm := s.comm
			if trace.Carrier(kind, key.op, v.flags[i]) {
				comm = s.held
			}
			comm.add(uint32(name), opKey{key.op, name, kind}, &k, 0)
		}
		if v.flags[i]&trace.FlagPart != 0 || kind.Envelope() {
			continue
		}
		cycles := int64(0)
		if acct := v.acct[i]; int(acct) < len(accounts) {
			cycles = accounts[acct].Total
		}
		place := uint32(key.kind)
		if key.op != 0 {
			place = kinds + uint32(key.op)
		}
		s.types.add(place, key, &k, cycles)
		key.name = name
		s.ops.add(uint32(name), key, &k, cycles)
	}
}

// ops sums by operator. Names are dense numbers and nearly always belong to one operator: the first of a place is found
// without a map.
type ops struct {
	first []entry // by place
	more  map[opKey]*Op
}

type entry struct {
	key opKey
	sum *Op
}

func newOps() *ops { return &ops{more: map[opKey]*Op{}} }

// add adds a task to the sum of key, which nearly always has the place for itself.
func (o *ops) add(place uint32, key opKey, k *trace.Task, cycles int64) {
	s := o.sum(place, key)
	d := k.End - k.Start
	s.Count++
	s.TotalNs += d
	s.MaxNs = max(s.MaxNs, d)
	s.Cycles += cycles
	s.Bytes += k.Bytes
}

const (
	places = 1 << 20 // how many sums are found without a map
	kinds  = 1 << 8  // how many places come before those of operator types
)

func (o *ops) sum(place uint32, key opKey) *Op {
	if int(place) >= len(o.first) && place < places {
		o.first = append(o.first, make([]entry, int(place)+1-len(o.first))...)
	}
	if int(place) < len(o.first) {
		e := &o.first[place]
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

// collectives lists the collective operations: as a whole where they are there as a whole, else by the tasks that carry them.
func (s *opSums) collectives(t *trace.Trace) []Op {
	out := s.comm.list(t, true)
	whole := make(map[string]bool, len(out))
	for i := range out {
		whole[out[i].Name] = true
	}
	for _, o := range s.held.list(t, true) {
		if !whole[o.Name] {
			out = append(out, o)
		}
	}
	order(out)
	return out
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

// callSums sums host calls by name.
type callSums struct{ sums []Op }

func (c *callSums) add(s *trace.Span) {
	if int(s.Name) >= len(c.sums) {
		c.sums = append(c.sums, make([]Op, int(s.Name)+1-len(c.sums))...)
	}
	o, d := &c.sums[s.Name], s.End-s.Start
	o.Count++
	o.TotalNs += d
	o.MaxNs = max(o.MaxNs, d)
}

func (c *callSums) list(t *trace.Trace) []Op {
	out := []Op{}
	for id, o := range c.sums {
		if o.Count > 0 {
			o.Name, o.MeanNs = t.String(trace.StringID(id)), o.TotalNs/o.Count
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
