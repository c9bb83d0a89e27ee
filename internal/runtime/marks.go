package runtime

import (
	"fmt"
	"slices"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// DefaultDomain is what the lists of ProfOptions call marks that name no domain.
const DefaultDomain = "default"

// markExMax is the length of a message of MarkEx in bytes.
const markExMax = 127

// Domain groups marks, so that a configuration can take them or leave them (mstxDomainHandle_t). A nil one is the
// default domain.
type Domain struct {
	name      string
	destroyed atomic.Bool
}

// RangeID names an open range; 0 is a range that nobody wants to see.
type RangeID uint64

// openMark is a range that has begun: on which thread and when.
type openMark struct {
	label   string
	start   int64
	thread  uint16
	session uint64
	wanted  bool
}

// title is how the trace names a mark: the message, with the domain before it if it has one.
func (d *Domain) title(message string) string {
	if d == nil {
		return message
	}
	return d.name + ": " + message
}

// on says whether profiling runs.
func (p *profiling) on() bool { return len(p.running) > 0 }

// wants says whether some configuration that runs keeps marks of the domain.
func (p *profiling) wants(d *Domain) bool {
	name := DefaultDomain
	if d != nil {
		name = d.name
	}
	return slices.ContainsFunc(p.running, func(c *ProfConfig) bool {
		o := &c.opts
		return o.Mask&ProfTX != 0 && !slices.Contains(o.Exclude, name) && (len(o.Include) == 0 || slices.Contains(o.Include, name))
	})
}

// CreateDomain makes a domain of marks (mstxDomainCreateA).
func (th *Thread) CreateDomain(name string) (*Domain, error) {
	if name == "" || name == DefaultDomain {
		return nil, th.fail(ACLInvalidParam, "mstxDomainCreateA", fmt.Sprintf("a domain called %q", name), "give a name of its own")
	}
	return &Domain{name: name}, nil
}

// DestroyDomain ends it; its marks stay (mstxDomainDestroy).
func (th *Thread) DestroyDomain(d *Domain) error {
	if d == nil || d.destroyed.Swap(true) {
		return th.fail(ACLInvalidParam, "mstxDomainDestroy", "the domain is null or destroyed", "")
	}
	return nil
}

// marking opens a call about marks: m is the mark at the thread's clock. 100043 says that profiling does not run and the
// mark is ignored. f sees the state of profiling where it runs.
func (th *Thread) marking(c call, d *Domain, message string, f func(p *profiling, m *openMark)) (m openMark, err error) {
	m = openMark{start: th.begin(c), thread: th.port.ID(), label: d.title(message)}
	switch {
	case message == "":
		return m, th.fail(ACLInvalidParam, c.name, "the message is empty", "")
	case d != nil && d.destroyed.Load():
		return m, th.fail(ACLInvalidParam, c.name, fmt.Sprintf("domain %s is destroyed", d.name), "")
	}
	runs := false
	err = th.port.Call(func() {
		p := &th.rt.profiling
		if runs = p.on(); !runs {
			return
		}
		m.session, m.wanted = p.session, p.wants(d) && th.rt.watched != nil
		if f != nil {
			f(p, &m)
		}
	})
	if err != nil {
		return m, th.blocked(c.name, nil, err)
	}
	if !runs {
		return m, th.fail(ProfNotRun, c.name, "profiling does not run: the mark is ignored", "mark between aclprofStart and aclprofStop")
	}
	return m, nil
}

// marked writes what has come to its end as a span of the thread where it began; a call that failed as itself.
func (th *Thread) marked(c call, start int64, m openMark, err error) error {
	if err != nil {
		th.end(c, start, err)
		return err
	}
	if m.wanted {
		th.keepSpan(hostSpan{name: m.label, Span: trace.Span{Start: m.start, End: max(m.start+1, th.port.Clock()), Thread: m.thread, Task: trace.NoTask}})
	}
	return nil
}

// Mark marks an instant (aclprofMark, mstxMarkA). In the trace it is as long as the call.
func (th *Thread) Mark(d *Domain, message string) error {
	m, err := th.marking(callMark, d, message, nil)
	return th.marked(callMark, m.start, m, err)
}

// MarkEx marks an instant of the host and the place in the stream (aclprofMarkEx): the mark of the device is a task that
// does nothing and has the message, of 1 to 127 bytes, as its name; the host's names that task.
func (th *Thread) MarkEx(message string, s *Stream) error {
	c := callMarkEx
	if len(message) > markExMax {
		return th.fail(ACLInvalidParam, c.name, fmt.Sprintf("a message of %d bytes", len(message)), fmt.Sprintf("give 1 to %d", markExMax))
	}
	s, err := th.use(s, c)
	if err != nil {
		return err
	}
	task := sim.Task{Kind: trace.Nop}
	m, err := th.marking(c, nil, message, func(_ *profiling, m *openMark) {
		if m.wanted {
			task.Name = th.rt.strings.Intern(message)
		}
	})
	if err != nil || !m.wanted {
		return th.marked(c, m.start, m, err)
	}
	if s.lane.Load() != nil {
		if err = th.submit(s, &task, nil, c); err != nil {
			return err
		}
		return th.marked(c, m.start, m, nil)
	}
	pos, err := th.port.Submit(s.q, &task, nil, 1)
	if err != nil {
		return th.blocked(c.name, nil, err)
	}
	th.span(call{name: message}, m.start, s, pos, nil)
	return nil
}

// PushRange begins a range that PopRange ends on the same thread; the last one that began ends first (aclprofPush).
func (th *Thread) PushRange(message string) error {
	m, err := th.marking(callPush, nil, message, nil)
	if err != nil {
		return th.marked(callPush, m.start, m, err)
	}
	th.dropRanges(m.session)
	th.ranges = append(th.ranges, m)
	return nil
}

// PopRange ends the thread's last range (aclprofPop). 100000: none is open.
func (th *Thread) PopRange() error {
	c := callPop
	now, err := th.marking(c, nil, "pop", nil)
	if err == nil {
		th.dropRanges(now.session)
		if n := len(th.ranges); n > 0 {
			m := th.ranges[n-1]
			th.ranges = th.ranges[:n-1]
			return th.marked(c, now.start, m, nil)
		}
		err = th.fail(ACLInvalidParam, c.name, "no range is open on this thread", "each pop needs a push since aclprofStart")
	}
	return th.marked(c, now.start, now, err)
}

// dropRanges forgets what was pushed before profiling was stopped.
func (th *Thread) dropRanges(session uint64) {
	if len(th.ranges) > 0 && th.ranges[0].session != session {
		th.ranges = th.ranges[:0]
	}
}

// StartRange begins a range that any thread may end with StopRange (aclprofRangeStart, mstxRangeStartA). In the trace it
// belongs to the thread that began it.
func (th *Thread) StartRange(d *Domain, message string) (id RangeID, err error) {
	m, err := th.marking(callRangeStart, d, message, func(p *profiling, m *openMark) {
		if p.ranges == nil {
			p.ranges = map[RangeID]openMark{}
		}
		p.lastID++
		id = p.lastID
		p.ranges[id] = *m
	})
	if err != nil {
		return 0, th.marked(callRangeStart, m.start, m, err)
	}
	return id, nil
}

// StopRange ends a range (aclprofRangeStop, mstxRangeEnd). 100000: it is not open.
func (th *Thread) StopRange(id RangeID) error {
	c := callRangeStop
	var m openMark
	open := false
	now, err := th.marking(c, nil, "stop", func(p *profiling, _ *openMark) {
		m, open = p.ranges[id]
		delete(p.ranges, id)
	})
	if err == nil && !open {
		err = th.fail(ACLInvalidParam, c.name, fmt.Sprintf("range %d is not open", id), "each stop needs a start since aclprofStart")
	}
	return th.marked(c, now.start, m, err)
}
