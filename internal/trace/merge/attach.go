package merge

import (
	"maps"
	"slices"

	"npu/internal/trace"
)

// Attach adds to t what other files of the same collection hold beside tasks: their tables, counters and records. Tables that
// t has already are not added again. Tasks and calls of sides are left out.
func Attach(t *trace.Trace, sides ...*trace.Trace) *trace.Trace {
	if len(sides) == 0 {
		return t
	}
	out := *t
	s := &out.Source
	s.Records = maps.Clone(s.Records)
	if s.Records == nil {
		s.Records = map[string]int64{}
	}
	s.Sheets, s.Missing, s.Steps = slices.Clone(s.Sheets), slices.Clone(s.Missing), slices.Clone(s.Steps)
	own := map[string]bool{}
	for i := range s.Sheets {
		own[s.Sheets[i].Name] = true
	}
	counters := false
	for _, side := range sides {
		o := &side.Source
		for i := range o.Sheets {
			if !own[o.Sheets[i].Name] {
				s.AddSheet(&o.Sheets[i])
			}
		}
		s.Missing = append(s.Missing, o.Missing...)
		s.Steps = append(s.Steps, o.Steps...)
		s.BadRecords += o.BadRecords
		for k, n := range o.Records {
			if k != "rows" && k != "columns" {
				s.Records[k] += n
			}
		}
		counters = counters || side.Counters.Len() > 0
	}
	if counters {
		join(&out, sides)
	}
	return &out
}

// join adds the counters of sides to those of t.
func join(t *trace.Trace, sides []*trace.Trace) {
	rec := trace.NewRecorder()
	for _, from := range append([]*trace.Trace{t}, sides...) {
		ids := map[trace.StringID]trace.StringID{}
		for _, c := range from.Counters.All() {
			v := *c
			id, ok := ids[c.Name]
			if !ok {
				id = rec.Intern(from.String(c.Name))
				ids[c.Name] = id
			}
			v.Name = id
			rec.Counters([]trace.Counter{v})
		}
	}
	all := rec.Finish()
	known := map[string]trace.StringID{}
	for i, s := range t.Strings {
		known[s] = trace.StringID(i)
	}
	t.Strings = slices.Clone(t.Strings)
	for _, c := range all.Counters.All() {
		name := all.String(c.Name)
		id, ok := known[name]
		if !ok {
			id = trace.StringID(len(t.Strings))
			t.Strings = append(t.Strings, name)
			known[name] = id
		}
		c.Name = id
	}
	t.Counters = all.Counters
}
