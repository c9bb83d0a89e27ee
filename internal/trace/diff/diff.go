// Package diff says what differs between two traces of the same work: counts and times by operator type, by operator and by
// host call.
package diff

import (
	"cmp"
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// Side is the sums of one trace.
type Side struct {
	Tasks        int64 `json:"tasks"`
	DeviceTimeNs int64 `json:"device_time_ns"`
	SpanNs       int64 `json:"span_ns"`
	UnionNs      int64 `json:"union_ns"`
	IdleNs       int64 `json:"idle_ns"`
}

// Op is one operator type or operator on both sides.
type Op struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`
	CountA int64  `json:"count_a"`
	CountB int64  `json:"count_b"`
	TotalA int64  `json:"total_a_ns"`
	TotalB int64  `json:"total_b_ns"`
	Delta  int64  `json:"delta_ns"` // B - A
}

// Diff is what differs, what changed most first.
type Diff struct {
	A       Side `json:"a"`
	B       Side `json:"b"`
	OpTypes []Op `json:"op_types"`
	Ops     []Op `json:"ops"`
	Calls   []Op `json:"calls"` // of the host
}

// Sums is what is compared of a trace: it takes its tasks and calls whole, or piece by piece.
type Sums struct {
	stats *stats.Collector
	info  *stats.InfoCollector
}

// NewSums makes sums of nothing.
func NewSums() Sums { return Sums{stats.NewCollector(), stats.NewInfoCollector()} }

// Tasks takes the next tasks in canonical order, which refer to these accounts.
func (s Sums) Tasks(t *trace.Tasks, accounts []trace.Account) {
	s.stats.Tasks(t, accounts)
	s.info.Tasks(t, accounts)
}

// Calls takes host calls.
func (s Sums) Calls(rows []trace.Span) {
	s.stats.Calls(rows)
	s.info.Calls(rows)
}

// Whole takes all of t.
func (s Sums) Whole(t *trace.Trace) {
	s.stats.Whole(t)
	s.info.Whole(t)
}

// New compares two traces.
func New(a, b *trace.Trace) Diff {
	x, y := NewSums(), NewSums()
	x.Whole(a)
	y.Whole(b)
	return Of(a, b, x, y)
}

// Of compares two traces by their sums. Their tasks and calls are not looked at.
func Of(a, b *trace.Trace, x, y Sums) Diff {
	sa, sb := x.stats.Stats(a), y.stats.Stats(b)
	return Diff{A: x.side(a, &sa), B: y.side(b, &sb), OpTypes: ops(sa.OpTypes, sb.OpTypes), Ops: ops(sa.Ops, sb.Ops), Calls: ops(sa.APIs, sb.APIs)}
}

func (s Sums) side(t *trace.Trace, st *stats.Stats) Side {
	in := s.info.Info(t)
	return Side{in.Tasks, in.DeviceTimeNs, in.SpanNs, st.UnionNs, st.Idle.Total()}
}

func ops(a, b []stats.Op) []Op {
	type key struct{ name, kind string }
	all := map[key]*Op{}
	at := func(o *stats.Op) *Op {
		k := key{o.Name, o.Type}
		if all[k] == nil {
			all[k] = &Op{Name: o.Name, Type: o.Type}
		}
		return all[k]
	}
	for i := range a {
		o := at(&a[i])
		o.CountA, o.TotalA = o.CountA+a[i].Count, o.TotalA+a[i].TotalNs
	}
	for i := range b {
		o := at(&b[i])
		o.CountB, o.TotalB = o.CountB+b[i].Count, o.TotalB+b[i].TotalNs
	}
	out := make([]Op, 0, len(all))
	for _, o := range all {
		o.Delta = o.TotalB - o.TotalA
		out = append(out, *o)
	}
	slices.SortFunc(out, func(x, y Op) int {
		return cmp.Or(cmp.Compare(abs(y.Delta), abs(x.Delta)), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Type, y.Type))
	})
	return out
}

func abs(v int64) int64 { return max(v, -v) }
