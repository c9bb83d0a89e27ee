package timeline

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// aligning is what the sides are lined up by.
type aligning int

const (
	alignOff aligning = iota
	alignByTask
	alignByOperators
)

// alignedNow brings an aligned picture; nil when nothing lines up.
type alignedNow struct {
	of      *Data // what it was made of
	d       *Data
	matches *counterparts
	how     aligning
	count   int
	row     int
}

// plainData is what the source gave.
func (m *model) plainData() *Data {
	if m.d.plain != nil {
		return m.d.plain
	}
	return m.d
}

// align lines the sides up beside the screen, or ends that.
func (m *model) align(how aligning) tea.Cmd {
	d := m.plainData()
	switch {
	case how == alignOff && m.d.plain == nil:
		m.say("the sides are not aligned")
		return nil
	case how == alignOff:
		m.swap(d)
		m.say("times are as recorded")
		return nil
	case len(d.compared()) < 2:
		m.say("there is one device only; npu trace view BEFORE AFTER compares two traces")
		return nil
	case d.coarse > 0 || d.live:
		m.say("the trace is not complete yet")
		return nil
	}
	row := -1
	if how == alignByTask {
		r := m.at
		if m.d.plain != nil {
			r = m.d.onPlain(r)
		}
		if !r.ok() || r.lane.Kind == Host {
			m.say("go to a task on a stream: the other sides are shifted to begin theirs with it")
			return nil
		}
		row = r.lane.index.Row(r.at)
	}
	m.say("comparing" + more)
	c := d.matches
	compare := func() tea.Msg {
		if c == nil {
			c = newCounterparts(d)
		}
		msg := alignedNow{of: d, matches: c, how: how, row: row}
		if how == alignByTask {
			msg.d, msg.count = d.alignTask(c, row)
		} else {
			msg.d, msg.count = d.alignOperators(c)
		}
		return msg
	}
	if m.inline {
		m.Update(compare())
		return nil
	}
	return compare
}

// aligned shows what align made.
func (m *model) aligned(msg alignedNow) {
	if m.plainData() != msg.of {
		return // the source has given something else meanwhile
	}
	msg.of.matches = msg.matches
	switch {
	case msg.d == nil && msg.how == alignByTask:
		m.say("no other side has this task as often: it cannot be aligned")
		return
	case msg.d == nil:
		m.say("the sides have no operator in common: nothing lines up")
		return
	case msg.how == alignByTask:
		t := msg.of.T.Tasks.At(msg.row)
		m.say(fmt.Sprintf("%s begins at one time on all sides; :align off ends it", msg.of.T.Label(&t)))
	default:
		m.say(fmt.Sprintf("%d operators line up; gaps are room for the side that takes longer; B ends it", msg.count))
	}
	m.swap(msg.d)
}

// swap shows another picture of the same trace: the task of the cursor stays where it is on the screen.
func (m *model) swap(d *Data) {
	old := m.d
	before := m.at
	left := m.cur - m.from
	if before.ok() {
		left = before.lane.index.Start(before.at) - m.from
	}
	whole := m.from <= old.From && m.to >= old.To
	place := map[*Lane]int{}
	for i, l := range old.Lanes {
		place[l] = i
	}
	m.d = d
	m.carry(old)
	m.undone, m.redone = nil, nil
	m.showPipes(m.piped)
	if m.find != nil {
		_ = m.search(m.said)
	}
	if before.ok() && len(old.Lanes) == len(d.Lanes) {
		if l := d.Lanes[place[before.lane]]; l.index != nil && l.index.Len() == before.lane.index.Len() {
			m.group, m.at = l.Group, ref{l, before.at}
			m.cur = l.index.Start(before.at)
		}
	}
	span := m.to - m.from
	if whole {
		m.show(d.From, d.To)
	} else {
		m.show(m.cur-left, m.cur-left+span)
	}
	if !m.at.ok() {
		m.resolve()
	}
	m.marks, m.ranged, m.open = map[rune]int64{}, false, false
	m.seq++
}

// toggleAlign lines operators up, or ends it.
func (m *model) toggleAlign() tea.Cmd {
	if m.d.plain != nil {
		return m.align(alignOff)
	}
	return m.align(alignByOperators)
}
