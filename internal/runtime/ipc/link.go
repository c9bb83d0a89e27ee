package ipc

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"npu/internal/runtime/telemetry"
)

// links is what a slot knows of the processes that it shares events and notifies with.
type links struct {
	mu    sync.Mutex // guards below
	pokes [Slots]*os.File
	mine  *os.File
	done  sync.WaitGroup

	group atomic.Pointer[group]
}

// group is the processes that are linked with this one, directly or through others, as of some state of the table.
type group struct {
	state uint64
	list  []int
}

// Link makes this process and slot o peers.
func (s *Slot) Link(o int) {
	if o == s.index {
		return
	}
	t := s.dir.table
	t.slot(s.index)[slotPeerLow+o/64].Or(1 << (o % 64))
	t.slot(o)[slotPeerLow+s.index/64].Or(1 << (s.index % 64))
	t[headLinks].Add(1)
}

// Me is the number of this process.
func (s *Slot) Me() int { return s.index }

// PID is the process of place i, 0 if there is none.
func (s *Slot) PID(i int) int { return int(s.dir.table.slot(i)[slotPID].Load()) }

// Waits says in words what the process of place i waits for, as its telemetry page has it: what it is, then a line for
// each stream that waits.
func (s *Slot) Waits(i int) []string {
	d := s.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	who := fmt.Sprintf("process %d", s.PID(i))
	f := d.file(i)
	if f == nil {
		return []string{who + " is gone"}
	}
	page, err := telemetry.Read(f)
	if err != nil {
		return []string{who + " cannot be looked at: " + err.Error()}
	}
	if page.Program != "" {
		who += " (" + page.Program + ")"
	}
	var out []string
	for _, st := range page.Streams {
		if st.Waits != "" {
			out = append(out, fmt.Sprintf("%s: stream %d waits for %s", who, st.ID, st.Waits))
		}
	}
	if out == nil {
		out = []string{who + " waits in a host thread"}
	}
	return out
}

// Epoch is a word that all processes share.
func (s *Slot) Epoch() *atomic.Uint64 { return &s.dir.table[headEpoch] }

// Generation counts the processes that have had place i, in 24 bits.
func (s *Slot) Generation(i int) uint64 { return s.dir.table.slot(i)[slotGeneration].Load() & 0xffffff }

// Alive says whether the process that had place i in that generation lives. What a dead one has left is removed.
func (s *Slot) Alive(i int, generation uint64) bool {
	switch {
	case i == s.index:
		return true
	case s.Generation(i) != generation:
		return false
	case s.dir.Alive(i):
		return true
	}
	s.dir.reap()
	return false
}

// Group is the processes that are linked with this one, directly or through others.
func (s *Slot) Group() []int {
	t := s.dir.table
	state := t[headLinks].Load()
	if g := s.links.group.Load(); g != nil && g.state == state {
		return g.list
	}
	var seen [2]uint64
	seen[s.index/64] |= 1 << (s.index % 64)
	g := &group{state: state}
	todo := []int{s.index}
	for len(todo) > 0 {
		row := t.slot(todo[0])
		todo = todo[1:]
		for i := range Slots {
			if bit := uint64(1) << (i % 64); row[slotPeerLow+i/64].Load()&bit != 0 && seen[i/64]&bit == 0 {
				seen[i/64] |= bit
				todo = append(todo, i)
				g.list = append(g.list, i)
			}
		}
	}
	s.links.group.Store(g)
	return g.list
}

// OnPoke calls f, one call at a time, when another process pokes this one. Close ends it.
func (s *Slot) OnPoke(f func()) error {
	l := &s.links
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine != nil {
		return nil
	}
	var err error
	if l.mine, err = makePipe(s.dir.name(s.index, "poke")); err != nil {
		return err
	}
	mine := l.mine
	l.done.Go(func() {
		var b [64]byte // several pokes are one
		for {
			if _, err := mine.Read(b[:]); err != nil {
				return
			}
			f()
		}
	})
	return nil
}

// Poke wakes process i. A poke that cannot be delivered is lost: its process is gone, or has pokes enough.
func (s *Slot) Poke(i int) {
	l := &s.links
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 2 {
		if l.pokes[i] == nil {
			f, err := openPipe(s.dir.name(i, "poke"))
			if err != nil {
				return
			}
			l.pokes[i] = f
		}
		if pokePipe(l.pokes[i]) == nil {
			return
		}
		l.pokes[i].Close() // of a process before this one
		l.pokes[i] = nil
	}
}

func (l *links) close() {
	l.mu.Lock()
	for i, f := range l.pokes {
		if f != nil {
			f.Close()
			l.pokes[i] = nil
		}
	}
	mine := l.mine
	l.mu.Unlock()
	if mine != nil {
		mine.Close()
		l.done.Wait()
	}
}
