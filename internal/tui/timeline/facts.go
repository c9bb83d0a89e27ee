package timeline

import (
	"fmt"
	"strings"

	"npu/internal/trace"
)

// fact is one thing that is known of a task.
type fact struct{ name, value string }

// headline is the selection in one line: what it is, how long, and why it was late.
func (m *model) headline() string {
	l := m.at.lane
	switch {
	case l == nil:
		return m.groupLine()
	case l.series != nil:
		v, known := l.series.At(m.cur)
		if !known {
			return l.Name + ": no value yet"
		}
		return fmt.Sprintf("%s: %s (highest of all %s)", l.Name, number(l.Name, v), number(l.Name, l.series.Max))
	case !m.at.ok():
		g, _ := m.gapHere()
		w := m.whyGap(l, g)
		return strings.Join(w, " ")
	}
	ix := l.index
	text := fmt.Sprintf("%s, %s at %s", m.title(m.at), dur(ix.End(m.at.at)-ix.Start(m.at.at)), m.when(ix.Start(m.at.at)))
	if l.Kind != Host {
		if why := m.whyLate(m.at); len(why) > 0 {
			text += ". " + why[0]
		}
	}
	return text
}

func (m *model) groupLine() string {
	g := m.d.Groups[m.group]
	n := 0
	for _, l := range g.Lanes {
		if l.index != nil && l.Kind != Engine {
			n += l.index.Len()
		}
	}
	what := "tasks"
	if len(g.Lanes) > 0 && g.Lanes[0].Kind == Host {
		what = "calls"
	}
	return fmt.Sprintf("%s: %d lanes, %d %s. Space folds it.", g.Name, len(g.Lanes), n, what)
}

// title is the name of a row with its type.
func (m *model) title(r ref) string {
	name := m.d.label(r)
	if r.lane.Kind == Host {
		return name
	}
	row := r.lane.index.Row(r.at)
	if op := m.d.T.String(m.d.T.Tasks.Op.At(row)); op != "" && op != name {
		return name + " " + op
	}
	return name
}

// facts is all that is known of the selected row.
func (m *model) facts() []fact {
	if m.at.lane.Kind == Host {
		return m.callFacts()
	}
	if q := m.d.onPlain(m.at); q.ok() { // what was recorded, not where it stands beside others
		aligned, at := m.d, m.at
		m.d, m.at = aligned.plain, q
		defer func() { m.d, m.at = aligned, at }()
	}
	d, row := m.d, m.at.lane.index.Row(m.at.at)
	k := d.T.Tasks.At(row)
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	add("lasts", dur(k.End-k.Start))
	add("against", d.against(m.at))
	add("from", m.exact(k.Start))
	add("to", m.exact(k.End))
	add("kind", k.Kind.String())
	add("runs on", k.Engine.String())
	if s := d.task(row, false); s.ok() {
		add("stream", d.where(s.lane))
	}
	if k.Flags&trace.FlagNoSubmit == 0 {
		add("waited", fmt.Sprintf("%s from submission, %s when ready", dur(k.Ready-k.Submit), dur(k.Start-k.Ready)))
	}
	if k.Blocks > 0 {
		add("blocks", fmt.Sprint(k.Blocks))
	}
	if k.Bytes > 0 {
		text := size(float64(k.Bytes))
		if k.End > k.Start {
			text += fmt.Sprintf(", %.4g GB/s", float64(k.Bytes)/float64(k.End-k.Start))
		}
		if k.Kind == trace.Memcpy {
			text += " " + k.Dir.String()
		}
		add("moves", text)
	}
	if k.Event != 0 {
		add("event", fmt.Sprintf("%d, generation %d", k.Event, k.Gen))
	}
	if k.Model != 0 {
		add("model", fmt.Sprintf("%d, execution %d", k.Model, k.Iter))
	}
	add("task", fmt.Sprintf("id %d, row %d", k.Task, row))
	if k.Code != 0 {
		add("failed", fmt.Sprintf("! error %d (npu errcode %d)", k.Code, k.Code))
	}
	add("pipes", pipes(d.T.Account(k.Acct)))
	if c := d.caller(row); c >= 0 {
		call := d.T.Spans.At(c)
		add("called by", fmt.Sprintf("%s of %s at %s", d.T.String(call.Name), d.thread(call.Thread), m.when(call.Start)))
	}
	if n := len(d.released(row)); n > 0 {
		add("released", fmt.Sprintf("%d waits (] goes there)", n))
	}
	return out
}

func (m *model) callFacts() []fact {
	d, row := m.d, m.at.lane.index.Row(m.at.at)
	s := d.T.Spans.At(row)
	out := []fact{{"lasts", dur(s.End - s.Start)}, {"from", m.exact(s.Start)}, {"to", m.exact(s.End)}, {"thread", m.at.lane.Name}}
	if s.Code != 0 {
		out = append(out, fact{"returned", fmt.Sprintf("! error %d (npu errcode %d)", s.Code, s.Code)})
	}
	if task := d.submitted(row); task >= 0 {
		r := d.task(task, false)
		out = append(out, fact{"submitted", fmt.Sprintf("%s on %s, which started %s later (] goes there)", d.label(r), d.where(r.lane), dur(r.lane.index.Start(r.at)-s.End))})
	}
	return out
}

// pipes is the share of its cycles in which each pipe of a kernel was busy.
func pipes(a trace.Account) string {
	if a.Total <= 0 {
		return ""
	}
	var out []string
	for _, p := range []struct {
		name string
		n    int64
	}{{"cube", a.Cube}, {"vector", a.Vector}, {"scalar", a.Scalar}, {"MTE1", a.MTE1}, {"MTE2", a.MTE2}, {"MTE3", a.MTE3}, {"fixpipe", a.Fixpipe}} {
		if p.n > 0 {
			out = append(out, fmt.Sprintf("%s %.0f%%", p.name, share(p.n, a.Total)))
		}
	}
	return strings.Join(out, ", ")
}
