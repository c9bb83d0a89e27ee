package merge

import (
	"cmp"
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
	var counted []*trace.Trace
	for _, side := range sides {
		o := &side.Source
		again := len(o.Sheets) > 0 // says what t says
		for i := range o.Sheets {
			if !own[o.Sheets[i].Name] {
				s.AddSheet(&o.Sheets[i])
				again = false
			}
		}
		s.Missing = append(s.Missing, o.Missing...)
		s.Steps = attachSteps(s.Steps, o.Steps, s.Devices)
		s.BadRecords += o.BadRecords
		for k, n := range o.Records {
			if k != "rows" && k != "columns" {
				s.Records[k] += n
			}
		}
		if side.Counters.Len() > 0 && !again {
			counted = append(counted, side)
		}
	}
	if counted != nil {
		join(&out, counted)
	}
	return &out
}

// attachSteps adds more, of a side, to steps. A step that stands in both is one: what lasted how long in it goes to where only
// its length is known.
func attachSteps(steps, more []trace.Step, devices []trace.SourceDevice) []trace.Step {
	known := len(steps)
next:
	for _, m := range more {
		if len(devices) == 1 {
			m.Ranked(devices[0])
		}
		for i := range steps[:known] {
			k := &steps[i]
			if k.Name != m.Name || k.Type != m.Type || k.Index != m.Index {
				continue
			}
			total := cmp.Or(k.Total, m.Total)
			if *k == (trace.Step{Name: k.Name, Type: k.Type, Index: k.Index, Total: k.Total}) {
				*k = m
			}
			k.Total = total
			continue next
		}
		steps = append(steps, m)
	}
	return steps
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
