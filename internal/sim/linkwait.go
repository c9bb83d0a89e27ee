package sim

import (
	"fmt"
	"slices"
	"time"
)

// linkWait is an open wait for a record of another process: by a queue, or by a host thread.
type linkWait struct {
	q      *Queue
	p      *Port
	remote *Remote
	gen    uint64
	t      int64 // when it began
}

// CodePeerLost is the code of a wait whose record can never come, since its process has died.
const CodePeerLost = 0x1F0

// SetRemote makes e an event that several processes record and wait for. Call it from Port.Call.
func (e *Event) SetRemote(r *Remote) { e.remote = r }

// SetRemote makes n a notify that other processes record. What is recorded already and what waits already stays. Call it
// from Port.Call.
func (n *Notify) SetRemote(r *Remote) {
	l := n.dev.m.link
	n.remote = r
	if n.set {
		n.set = false
		r.record(r.Next(l.peers), n.dev.m.now)
	}
	for _, q := range n.queues {
		l.open(linkWait{q: q, remote: r, t: n.dev.m.now})
	}
	n.queues = nil
}

// record makes a record of generation gen known to all processes, at the present instant.
func (l *Link) record(r *Remote, gen uint64) {
	m := l.m
	r.record(gen, m.now)
	at := uint64(m.now + LinkLatency)
	for _, q := range l.peers.Group() {
		c := l.peers.Clock(q)
		if c[clockWaiting].Load() == 0 {
			continue
		}
		for { // on its behalf, before our own time moves on
			w := c[clockTime].Load()
			if c[clockTime].CompareAndSwap(w, min(w>>16, at)<<16|(w+1)&0xffff) {
				break
			}
		}
		l.peers.Epoch().Add(1)
		l.lowered = true
	}
	if l.blocked.Load() > 0 {
		l.arrivals(m.bound)
		m.bound = min(m.bound, m.now+2*LinkLatency) // whoever was waiting may answer
	}
}

// await says whether the wait at the head of q passes; if not, q is held.
func (l *Link) await(q *Queue, r *Remote, gen, limit uint64) bool {
	if l.granted[q] {
		delete(l.granted, q)
		return true
	}
	l.m.hold(q, limit)
	l.open(linkWait{q: q, remote: r, gen: gen, t: l.m.now})
	return false
}

// open adds a wait. The times are read before the records.
func (l *Link) open(w linkWait) {
	if len(l.waits) == 0 {
		l.base.Store(l.m.now - time.Now().UnixNano())
		l.peers.Clock(l.peers.Me())[clockWaiting].Store(1)
	}
	l.waits = append(l.waits, w)
	l.blocked.Store(int32(len(l.waits)))
	b := l.bound()
	l.arrivals(b)
	l.m.bound = min(l.m.bound, l.bound(), b)
}

// arrivals lets go the waits whose record is known. bound was read before. It says whether one was let go.
func (l *Link) arrivals(bound int64) bool {
	if l == nil || len(l.waits) == 0 {
		return false
	}
	m, moved := l.m, false
	l.waits = slices.DeleteFunc(l.waits, func(w linkWait) bool {
		t, ok := w.remote.passes(w, bound, l.peers.Me())
		if !ok {
			return false
		}
		moved = true
		l.unstick()
		if w.p != nil {
			m.release(w.p, max(t, w.t))
			return true
		}
		if max(t, w.t) < m.now {
			m.stats.Late++
		}
		l.granted[w.q] = true
		m.stepLater(w.q, max(t, m.now))
		return true
	})
	l.count()
	return moved
}

func (l *Link) count() {
	l.blocked.Store(int32(len(l.waits)))
	if len(l.waits) == 0 {
		mine := l.peers.Clock(l.peers.Me())
		mine[clockWaiting].Store(0)
		mine[clockSleeping].Store(0)
	}
}

// forget drops the waits of a queue or a port that is called off.
func (l *Link) forget(q *Queue, p *Port) {
	if l == nil || len(l.waits) == 0 && len(l.granted) == 0 {
		return
	}
	delete(l.granted, q)
	l.waits = slices.DeleteFunc(l.waits, func(w linkWait) bool { return q != nil && w.q == q || p != nil && w.p == p })
	l.count()
}

// failDead ends the waits for records of processes that are gone. The caller owns the devices.
func (l *Link) failDead() {
	l.arrivals(l.bound())
	var lost []linkWait
	for _, w := range l.waits {
		if w.remote.hopeless(w.gen, l.peers) {
			lost = append(lost, w)
		}
	}
	for _, w := range lost {
		f := &Fault{Code: CodePeerLost, Detail: fmt.Sprintf("the process that would record %s has died", w.remote.what())}
		if w.p != nil {
			l.forget(nil, w.p)
			w.p.result.Fault = f
			l.m.release(w.p, l.m.now)
			continue
		}
		l.m.unschedule(w.q)
		l.m.fail(w.q, f)
		l.m.faulted(w.q, l.m.now)
	}
}
