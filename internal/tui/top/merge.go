package top

import (
	"context"
	"sync"
	"time"
)

// Merge shows several sources as one. A list is known if one of them knows it.
func Merge(sources ...Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &merged{sources: sources, seqs: make([]int, len(sources))}
}

type merged struct {
	sources []Source

	mu   sync.Mutex // guards below
	seqs []int
	last *Frame
}

func (m *merged) Latest() *Frame {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := m.last == nil
	frames := make([]*Frame, len(m.sources))
	for i, s := range m.sources {
		frames[i] = s.Latest()
		if frames[i].Seq != m.seqs[i] {
			m.seqs[i], fresh = frames[i].Seq, true
		}
	}
	if fresh {
		seq := 1
		if m.last != nil {
			seq = m.last.Seq + 1
		}
		m.last = join(frames)
		m.last.Seq = seq
	}
	return m.last
}

func join(frames []*Frame) *Frame {
	out := &Frame{}
	procs, streams, memory, ops := make([]List[Process], 0, len(frames)), make([]List[Stream], 0, len(frames)), make([]List[Memory], 0, len(frames)), make([]List[Operator], 0, len(frames))
	for _, f := range frames {
		if f.Time.After(out.Time) {
			out.Time = f.Time
		}
		out.Sources = append(out.Sources, f.Sources...)
		out.Devices = append(out.Devices, f.Devices...)
		out.Notes = append(out.Notes, f.Notes...)
		procs, streams, memory, ops = append(procs, f.Processes), append(streams, f.Streams), append(memory, f.Memory), append(ops, f.Operators)
	}
	out.Processes, out.Streams, out.Memory, out.Operators = joinLists(procs), joinLists(streams), joinLists(memory), joinLists(ops)
	return out
}

func joinLists[T any](all []List[T]) List[T] {
	var out List[T]
	known := false
	for _, l := range all {
		if l.Why == "" {
			known = true
			out.Rows = append(out.Rows, l.Rows...)
		} else if out.Why == "" {
			out.Why = l.Why
		}
	}
	if known {
		out.Why = ""
	}
	return out
}

// Next waits until every source that can be waited for has a newer frame: a table of half the machine is none.
func (m *merged) Next(ctx context.Context, seq int) *Frame {
	if f := m.Latest(); f.Seq > seq && !f.Waiting() {
		return f
	}
	m.mu.Lock()
	seqs := append([]int(nil), m.seqs...)
	m.mu.Unlock()
	var wait sync.WaitGroup
	for i, s := range m.sources {
		if _, never := s.(None); !never {
			wait.Go(func() { s.Next(ctx, seqs[i]) })
		}
	}
	wait.Wait()
	return m.Latest()
}

func (m *merged) Interval(d time.Duration) {
	for _, s := range m.sources {
		s.Interval(d)
	}
}

func (m *merged) Watch(k *Key) {
	for _, s := range m.sources {
		s.Watch(k)
	}
}

func (m *merged) Close() {
	for _, s := range m.sources {
		s.Close()
	}
}
