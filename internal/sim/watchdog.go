package sim

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"npu/internal/trace"
)

// The watchdog looks while some port is parked: if the thread that holds the others back blocks outside the runtime
// without saying so, nothing would ever move again.
const (
	watchEvery    = time.Millisecond
	watchIdle     = 20 * time.Millisecond // while only services wait
	watchPatience = 5 * time.Second
)

// watch arms the timer; a port is about to park.
func (m *Machine) watch() {
	m.parkMu.Lock()
	if !m.armed && !m.closed {
		m.armed = true
		if m.timer == nil {
			m.timer = time.AfterFunc(watchEvery, m.look)
		} else {
			m.timer.Reset(watchEvery)
		}
	}
	m.parkMu.Unlock()
}

// look is the timer's function.
func (m *Machine) look() {
	if m.hungry.Load() != 0 {
		if m.cfg.Pace {
			m.kick()
		}
		if m.looks++; m.looks%10 == 0 {
			m.link.Check()
		}
		m.checkHolder(watchPatience)
	} else {
		m.checkServices()
	}
	m.parkMu.Lock()
	switch {
	case m.closed:
		m.armed = false
	case len(m.parkedPorts) > 0:
		m.timer.Reset(watchEvery)
	case len(m.services) > 0:
		m.timer.Reset(watchIdle)
	default:
		m.armed = false
	}
	m.parkMu.Unlock()
}

// checkServices looks when only services wait: work that was submitted for them must not wait for ever because its
// thread blocks on its outcome outside the runtime.
func (m *Machine) checkServices() {
	if m.canGo() {
		m.kickService()
	} else if m.nextT.Load() != never {
		m.checkHolder(math.MaxInt64)
	}
}

// checkHolder declares the thread at the horizon to be outside if it has not moved between two looks and every other
// goroutine of the process waits for a goroutine too, or its own goroutine is gone, or patience has run out. A sleeping
// thread is not blocked: it will go on by itself.
func (m *Machine) checkHolder(patience time.Duration) {
	if !m.tryOwn() {
		return
	}
	defer m.disown()
	m.refresh()
	b, p := m.horizon()
	if p == nil || len(m.pending) > 0 && m.pending[0].t < b {
		return
	}
	w := p.word.Load()
	if p.stall.word != w || p.stall.since.IsZero() {
		p.stall = stall{word: w, since: time.Now()}
		return
	}
	p.stall.looks++
	if p.stall.looks < 2 {
		return
	}
	stacks := goroutines()
	if time.Since(p.stall.since) < patience && !blockedForEver(stacks, p.gid.Load()) {
		return
	}
	p.expired.Store(1)
	if p.word.CompareAndSwap(w, uint64(infOut)<<tailBits|w&logMask) {
		m.wallOrdered.Store(true)
		where := "its goroutine is gone"
		if g, ok := stacks[p.gid.Load()]; ok {
			where = "it stands in " + g.top()
		}
		m.warnings = append(m.warnings, fmt.Sprintf(
			"host thread %d blocked outside the runtime without Outside(): %s; from here on the trace is ordered by wall time", p.ID(), where))
	} else {
		p.expired.Store(0)
	}
}

// blockedForEver: the holder's goroutine is gone, or nobody in the process but this function can move.
func blockedForEver(all map[uint64]goroutine, holder uint64) bool {
	if _, alive := all[holder]; holder != 0 && !alive {
		return true
	}
	self := goroutineID()
	for id, g := range all {
		if id != self && !g.waits() {
			return false
		}
	}
	return true
}

// goroutine is one entry of a stack dump.
type goroutine struct {
	state string
	stack string
}

// waits says whether only another goroutine can end this state. A semaphore counts if it is one of package sync: the
// Go runtime has some of its own, for instance where an allocation begins a garbage collection while stacks are dumped.
func (g goroutine) waits() bool {
	for _, s := range []string{"chan ", "select", "sync."} {
		if strings.HasPrefix(g.state, s) {
			return true
		}
	}
	if !strings.HasPrefix(g.state, "semacquire") {
		return false
	}
	_, frames, _ := strings.Cut(g.stack, "\n")
	return strings.HasPrefix(frames, "sync.") || strings.HasPrefix(frames, "internal/sync.")
}

// top is the innermost frame outside the Go runtime.
func (g goroutine) top() string {
	lines := strings.Split(g.stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if f := lines[i]; !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "sync.") && !strings.HasPrefix(f, "internal/") {
			if k := strings.LastIndexByte(f, '('); k > 0 {
				f = f[:k]
			}
			return f
		}
	}
	return "an unknown function"
}

func goroutines() map[uint64]goroutine {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := map[uint64]goroutine{}
	for _, b := range bytes.Split(buf, []byte("\n\n")) {
		s, ok := strings.CutPrefix(string(b), "goroutine ")
		if !ok {
			continue
		}
		num, rest, _ := strings.Cut(s, " ")
		id, err := strconv.ParseUint(num, 10, 64)
		_, state, ok := strings.Cut(rest, "[")
		if err != nil || !ok {
			continue
		}
		if i := strings.IndexAny(state, ",]"); i >= 0 {
			state = state[:i]
		}
		all[id] = goroutine{state: state, stack: s}
	}
	return all
}

// goroutineID reads the number of the calling goroutine from its stack header; Go offers no other way.
func goroutineID() uint64 {
	var b [64]byte
	s, _ := strings.CutPrefix(string(b[:runtime.Stack(b[:], false)]), "goroutine ")
	num, _, _ := strings.Cut(s, " ")
	id, _ := strconv.ParseUint(num, 10, 64)
	return id
}

// Deadlock is returned by a wait that nothing can ever satisfy: every host thread waits for the device, and the
// device has nothing to do.
type Deadlock struct {
	Graph     []string // who waits for what
	Processes []int    // the pids of processes that wait for each other, this one first; nil if this one is alone
}

func (d *Deadlock) Error() string {
	if len(d.Processes) > 1 {
		return fmt.Sprintf("deadlock of the processes %v: every host thread waits and no device has anything to do: %s", d.Processes, strings.Join(d.Graph, "; "))
	}
	return "deadlock: every host thread waits and the device has nothing to do: " + strings.Join(d.Graph, "; ")
}

// deadlock ends the waits of all ports if no event, no thread and no doorbell can ever come. The caller owns the
// devices and has found nothing to simulate.
func (m *Machine) deadlock() {
	if !m.link.waiting() && m.frozen() { // else Link.judge decides
		m.endWaits(&Deadlock{Graph: m.waitGraph()})
	}
}

// frozen says that nothing can happen here by itself: some thread waits, none will go on, and the devices have nothing to
// do.
func (m *Machine) frozen() bool {
	if len(m.pending) > 0 || m.dirty || m.outside.Load() != 0 {
		return false
	}
	// In this order: a thread that begins to wait between the two looks is found by the second one.
	if m.running() || m.unseen() {
		return false
	}
	waits := false
	for _, p := range m.portList() {
		if p.expired.Load() != 0 {
			return false
		}
		waits = waits || p.waits()
	}
	return waits
}

// waits says that p is a thread of the program that only the devices can let go on.
func (p *Port) waits() bool {
	return !p.gone && !p.service && p.done.Load() == 0 && int64(p.word.Load()>>tailBits) >= infDev
}

// endWaits releases every port that waits for the devices with an error.
func (m *Machine) endWaits(err error) {
	m.link.unstick()
	for _, p := range m.portList() {
		if p.waits() {
			m.unwait(p)
			p.result.err = err
			m.release(p, m.now)
		}
	}
}

// waitGraph says in words who waits for what.
func (m *Machine) waitGraph() []string {
	var g []string
	for _, p := range m.portList() {
		if p.gone || p.service || int64(p.word.Load()>>tailBits) < infDev {
			continue
		}
		switch r := &p.dev; r.kind {
		case waitQueue:
			g = append(g, fmt.Sprintf("thread %d waits for stream %d to pass task %d", p.ID(), r.queue.name, (r.pos-1)%65535))
		case waitRoom:
			g = append(g, fmt.Sprintf("thread %d waits for room in the ring of stream %d", p.ID(), r.queue.name))
		case waitEvent:
			g = append(g, fmt.Sprintf("thread %d waits for event %d, record %d%s", p.ID(), r.event.id, r.pos, m.link.source(nil, p)))
		case waitNotify:
			g = append(g, fmt.Sprintf("thread %d waits for notify %d", p.ID(), r.notify.id))
		case waitCond:
			g = append(g, fmt.Sprintf("thread %d waits for another host thread", p.ID()))
		}
	}
	for _, q := range m.queues {
		switch q.state {
		case qBlocked:
			d := q.desc()
			what := fmt.Sprintf("%v %d", d.kind(), d[5])
			if d.kind() == trace.EventWait && d[6] != 0 {
				what += fmt.Sprintf(", record %d", d[6])
			}
			what += m.link.source(q, nil)
			if d.kind().Kernel() {
				what = "whose fault is being reported"
			}
			g = append(g, fmt.Sprintf("stream %d stands at task %d, %s", q.name, q.cur%65535, what))
		case qStopped:
			g = append(g, fmt.Sprintf("stream %d is stopped at task %d", q.name, q.cur%65535))
		}
	}
	return g
}
