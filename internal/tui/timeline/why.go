package timeline

import (
	"fmt"
	"math"

	"npu/internal/trace"
)

// gap is idle time on a lane, between two of its rows.
type gap struct {
	from, to int64
	next     ref // the row that ends it; not ok at the end of the lane
}

// gapHere is the gap under the cursor.
func (m *model) gapHere() (gap, bool) {
	l := m.at.lane
	if l == nil || l.index == nil || m.at.ok() {
		return gap{}, false
	}
	from, _ := m.cell()
	i := l.index.From(from)
	g := gap{from: m.d.From, to: m.d.To, next: ref{l, -1}}
	if i > 0 {
		g.from = l.index.End(i - 1)
	}
	if i < l.index.Len() {
		g.to, g.next.at = l.index.Start(i), i
	}
	return g, true
}

// whyGap explains a gap in sentences, the answer first. Of an aligned picture it tells the gap that was recorded from the room
// that the other sides need.
func (m *model) whyGap(l *Lane, g gap) []string {
	d := m.d
	if r := d.onPlain(g.next); r.ok() {
		real := r.lane.index.Gap(r.at)
		m.d = d.plain
		out := m.whyRecordedGap(r.lane, gap{d.plain.startOf(r) - real, d.plain.startOf(r), r})
		m.d = d
		if room := g.to - g.from - real; room > 0 && real == 0 {
			return []string{fmt.Sprintf("Aligned: %s of room for a side that takes longer; nothing was idle here.", dur(room))}
		} else if room > 0 {
			out = append(out, fmt.Sprintf("Aligned: %s more is room for a side that takes longer.", dur(room)))
		}
		return out
	}
	return m.whyRecordedGap(l, g)
}

// startOf is the start of a row.
func (d *Data) startOf(r ref) int64 { return r.lane.index.Start(r.at) }

func (m *model) whyRecordedGap(l *Lane, g gap) []string {
	d := m.d
	if !g.next.ok() {
		if l.Kind == Host {
			return []string{"No further call of this thread."}
		}
		return []string{"Nothing further runs here: no task is left."}
	}
	length := dur(g.to - g.from)
	if l.Kind == Host {
		return []string{fmt.Sprintf("No call for %s; then %s.", length, d.label(g.next))}
	}
	next := d.label(g.next)
	if g.next.at == 0 {
		return append([]string{fmt.Sprintf("Nothing ran here before %s at %s.", next, m.when(g.to))}, m.whyLate(g.next)...)
	}
	if l.Kind == Engine {
		out := []string{fmt.Sprintf("%s idle for %s: no task came. Next is %s.", l.Name, length, next)}
		return append(out, m.whyLate(g.next)...)
	}
	return append([]string{fmt.Sprintf("Idle for %s, before %s.", length, next)}, m.whyLate(g.next)...)
}

// whyLate explains why a task did not start when its stream was free.
func (m *model) whyLate(r ref) []string {
	d := m.d
	if q := d.onPlain(r); q.ok() { // waiting is that which was recorded
		aligned := d
		m.d = d.plain
		defer func() { m.d = aligned }()
		d, r = d.plain, q
	}
	row := r.lane.index.Row(r.at)
	idle := d.waited(r)
	s := d.task(row, false)
	if !s.ok() {
		return nil
	}
	k := d.T.Tasks.At(row)
	var out []string
	if idle.HostNs > 0 {
		out = append(out, fmt.Sprintf("Host: nothing was submitted for %s%s.", dur(idle.HostNs), m.whatHost(&k, row, s)))
	}
	if idle.EventNs > 0 {
		out = append(out, fmt.Sprintf("Event: held for %s%s.", dur(idle.EventNs), m.whoHeld(row)))
	}
	if idle.EngineNs > 0 {
		text := fmt.Sprintf("Engine: ready, and no %s was free for %s", k.Engine, dur(idle.EngineNs))
		if h := d.holder(row); h >= 0 {
			text += fmt.Sprintf("; %s of %s had it until then", d.label(d.task(h, true)), d.task(h, false).lane.Name)
		}
		out = append(out, text+".")
	}
	if idle.SchedulerNs > 0 {
		out = append(out, fmt.Sprintf("Scheduler: its own work between two tasks took %s.", dur(idle.SchedulerNs)))
	}
	if idle.UnknownNs > 0 {
		out = append(out, fmt.Sprintf("Unknown: %s; the source does not say when the task was submitted.", dur(idle.UnknownNs)))
	}
	if len(out) == 0 && s.at > 0 && k.Kind.Kernel() {
		if p := d.before(s); waitKind(d.T.Tasks.Kind.At(p.lane.index.Row(p.at))) {
			return []string{fmt.Sprintf("It came right after %s, held%s.", d.label(p), m.whoHeld(p.lane.index.Row(p.at)))}
		}
	}
	return out
}

func waitKind(k trace.Kind) bool {
	return k == trace.EventWait || k == trace.NotifyWait || k == trace.ValueWait
}

// whoHeld names the record that a wait was released by, and what ran before it.
func (m *model) whoHeld(row int) string {
	d := m.d
	rec := d.record(row)
	k := d.T.Tasks.At(row)
	if rec < 0 {
		if k.Flags&trace.FlagForeign != 0 {
			return " by another process"
		}
		if k.Event != 0 {
			return fmt.Sprintf(" by event %d, whose record the trace does not have", k.Event)
		}
		return ""
	}
	r := d.task(rec, false)
	text := fmt.Sprintf(" by event %d, recorded on %s at %s", k.Event, d.where(r.lane), m.when(r.lane.index.Start(r.at)))
	if b := d.before(r); b.ok() {
		text += " after " + d.label(b)
	}
	return text
}

// whatHost says what the thread that submits the task did while nothing was submitted.
func (m *model) whatHost(k *trace.Task, row int, s ref) string {
	d := m.d
	if k.Thread == 0 {
		return ""
	}
	from := k.Submit
	if s.at > 0 {
		from = s.lane.index.End(s.at - 1)
	}
	best, most := ref{}, int64(0)
	for _, l := range d.Lanes {
		if l.Kind != Host || l.ID != uint32(k.Thread) {
			continue
		}
		i, j := l.index.Within(from, k.Submit)
		if at := l.index.Longest(from, k.Submit); at >= i && at < j {
			if ns := min(l.index.End(at), k.Submit) - max(l.index.Start(at), from); ns > most {
				best, most = ref{l, at}, ns
			}
		}
		break // the outermost calls
	}
	name := d.thread(k.Thread)
	text := fmt.Sprintf("; %s submitted it at %s", name, m.when(k.Submit))
	if best.ok() && most > (k.Submit-from)/4 {
		return fmt.Sprintf("; %s was in %s for %s of it", name, d.label(best), dur(most))
	}
	if caller := d.caller(row); caller >= 0 {
		text += " with " + d.T.String(d.T.Spans.At(caller).Name)
	}
	return text
}

// thread is what a host thread is called.
func (d *Data) thread(id uint16) string {
	for _, l := range d.Lanes {
		if l.Kind == Host && l.ID == uint32(id) {
			return l.Name
		}
	}
	return fmt.Sprintf("Thread %d", id)
}

// share is a part of a whole in per cent.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return math.NaN()
	}
	return 100 * float64(part) / float64(whole)
}
