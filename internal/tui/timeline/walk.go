package timeline

import (
	"npu/internal/trace"
)

// alongLane goes to the next task of the lane, or the one before.
func (m *model) alongLane(n int) {
	l := m.at.lane
	if l == nil || l.index == nil {
		m.say("this line has no tasks; go to a lane with j and k")
		return
	}
	at := m.at.at + n
	if m.at.at < 0 {
		from, to := m.cell()
		if at = l.index.From(to); n < 0 {
			at = l.index.From(from) - 1
		}
	}
	if at < 0 || at >= l.index.Len() {
		m.say("no further task on " + m.d.where(l))
		return
	}
	m.goTo(ref{l, at})
}

// toLongest goes to the longest task in sight on the lane, or into the gap that is the longest.
func (m *model) toLongest(gap bool) {
	l := m.at.lane
	if l == nil || l.index == nil {
		m.say("this line has no tasks; go to a lane with j and k")
		return
	}
	if !gap {
		if at := l.index.Longest(m.from, m.to); at >= 0 {
			m.goTo(ref{l, at})
			return
		}
		m.say("no task of this lane is in sight")
		return
	}
	at := l.index.LongestGap(m.from, m.to)
	if at < 0 || l.index.Gap(at) == 0 {
		m.say("no gap of this lane is in sight")
		return
	}
	end := l.index.Start(at)
	from := end - l.index.Gap(at)
	m.remember()
	m.follow = false
	m.cur = from + (end-from)/2
	if span := m.to - m.from; from < m.from || end > m.to || end-from < 3*span/int64(m.columns()) {
		margin := (end - from) * 2
		m.show(from-margin, end+margin)
	}
	m.moved()
	m.at.at = -1
	m.resolve()
}

// waitedFor goes to what the task waited for: the record of its event, the task that had the engine, or the call that
// submitted it.
func (m *model) waitedFor() {
	if m.unlinked() {
		return
	}
	r := m.at
	if !r.ok() {
		if g, ok := m.gapHere(); ok && g.next.ok() {
			r = g.next
		}
	}
	if !r.ok() {
		m.say("no task under the cursor")
		return
	}
	if r.lane.Kind == Host {
		m.say("a host call waits for nothing that the trace knows of; ] goes to its task")
		return
	}
	row := r.lane.index.Row(r.at)
	cause, _ := mainCause(m.d.waited(r))
	switch {
	case m.d.record(row) >= 0:
		m.goTo(m.d.task(m.d.record(row), false))
	case cause == causeEngine && m.d.holder(row) >= 0:
		m.goTo(m.d.task(m.d.holder(row), r.lane.Kind == Engine))
	case cause == causeEvent && m.d.before(r).ok():
		m.goTo(m.d.before(r))
	case m.d.caller(row) >= 0:
		m.goTo(m.d.call(m.d.caller(row)))
	case m.d.before(r).ok():
		m.goTo(m.d.before(r))
	default:
		m.say("the trace does not say what this task waited for")
	}
}

// released goes to what the task released: the wait of its event, the task of a call, or the next of its stream.
func (m *model) released() {
	if m.unlinked() {
		return
	}
	r := m.at
	if !r.ok() {
		m.say("no task under the cursor")
		return
	}
	row := r.lane.index.Row(r.at)
	if r.lane.Kind == Host {
		if task := m.d.submitted(row); task >= 0 {
			m.goTo(m.d.task(task, false))
			return
		}
		m.say("this call submitted no task")
		return
	}
	if w := m.d.released(row); len(w) > 0 {
		m.goTo(m.d.task(int(w[0].Wait), false))
		return
	}
	s := m.d.task(row, false)
	if !s.ok() || s.at+1 >= s.lane.index.Len() {
		m.say("nothing waited for this task")
		return
	}
	m.goTo(ref{s.lane, s.at + 1})
}

// unlinked says so while the arrows are not known.
func (m *model) unlinked() bool {
	if !m.d.linked() {
		m.say("who waited for whom is still being found; try again in a moment")
		return true
	}
	return false
}

// before is the task before r on its stream.
func (d *Data) before(r ref) ref {
	s := d.task(r.lane.index.Row(r.at), false)
	if !s.ok() || s.at == 0 {
		return ref{}
	}
	return ref{s.lane, s.at - 1}
}

// holder is the task that had the engine when the one in row was ready: of those on the same engine the one that ended
// last at or before its start; -1 for none.
func (d *Data) holder(row int) int {
	n := d.layout.Engine(row)
	if n < 0 {
		return -1
	}
	start, best, end := d.T.Tasks.Start.At(row), -1, d.T.Tasks.Ready.At(row)
	for _, l := range d.streams {
		if l == nil || l.Kind != Engine || l.Device != d.streams[n].Device || l.ID != d.streams[n].ID {
			continue
		}
		for i := l.index.From(start + 1); i > 0 && i > l.index.From(start+1)-3; i-- {
			other := l.index.Row(i - 1)
			if e := l.index.End(i - 1); other != row && e <= start && e > end {
				best, end = other, e
			}
		}
	}
	return best
}

// toHit goes to the next task or call, by time, whose name fits the search; before looks backwards.
func (m *model) toHit(before bool) {
	if m.find == nil {
		m.say("nothing is searched for: / opens the search")
		return
	}
	best, when := ref{}, int64(0)
	here, _ := m.cell()
	if m.at.ok() {
		here = m.at.lane.index.Start(m.at.at)
	}
	order := map[*Lane]int{}
	for i, l := range m.d.Lanes {
		order[l] = i
	}
	for _, l := range m.d.Lanes {
		if l.index == nil || l.Kind == Engine || m.hidden[l] {
			continue
		}
		r := m.d.hitOn(l, m.hits, here, before, order[l] <= order[m.at.lane] || m.at.lane == nil)
		if r.at < 0 {
			continue
		}
		s := l.index.Start(r.at)
		if best.lane == nil || !before && s < when || before && s > when {
			best, when = r, s
		}
	}
	if best.lane == nil {
		m.say("no further hit for " + m.said)
		return
	}
	m.goTo(best)
}

// hitOn is the first hit on a lane behind a time, or the last before it. strict leaves out what starts at the time.
func (d *Data) hitOn(l *Lane, hits []bool, at int64, before, strict bool) ref {
	if before {
		for i := l.index.From(at) - 1; i >= 0; i-- {
			if d.fits(l, i, hits) {
				return ref{l, i}
			}
		}
		return ref{l, -1}
	}
	from := at
	if strict {
		from++
	}
	for i := l.index.From(from); i < l.index.Len(); i++ {
		if d.fits(l, i, hits) {
			return ref{l, i}
		}
	}
	return ref{l, -1}
}

// fits says whether the name or the type of a row is one of the hits.
func (d *Data) fits(l *Lane, at int, hits []bool) bool {
	row := l.index.Row(at)
	is := func(id trace.StringID) bool { return int(id) < len(hits) && hits[id] }
	if l.Kind == Host {
		return is(d.T.Spans.At(row).Name)
	}
	return is(d.T.Tasks.Name.At(row)) || is(d.T.Tasks.Op.At(row))
}
