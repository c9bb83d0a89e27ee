package sim

import (
	"fmt"
	"slices"
	"time"
)

// A process is stuck when all its threads wait, its devices have nothing to do, and each record that they wait for is to
// be made by a process of its group. A group whose processes are all stuck is deadlocked: nothing can come from outside
// of it either. A stuck process says so with a token, which it takes back before anything happens in it; a record for it
// lowers its clock word first. So who finds all clocks at rest and all tokens in place, and finds the same again, has seen
// one state of the group. Whoever finds it passes the verdict on all, by their tokens.

// linkPatience is how long, in wall time, a group must stand still: a process that has just started may be about to import
// what the others wait for.
const linkPatience = time.Second

// verdict is the link's part in finding a deadlock; the owner's.
type verdict struct {
	token uint64   // 0: this process is not stuck
	turn  uint32   // of the next token
	seen  []uint64 // state of the group
	since time.Time
}

// Sharers says who may record a notify that this process has exported.
type Sharers interface {
	Users() int                 // imports that are alive
	Importers() []int           // the pids of their processes
	MayGrow(members []int) bool // a process that lives, but is not in one of these places, may import it
}

// unstick takes the token back: something is about to happen here.
func (l *Link) unstick() {
	if l != nil && l.verdict.token != 0 {
		l.verdict.token = 0
		l.peers.Clock(l.peers.Me())[clockStuck].Store(0)
	}
}

// judge looks whether the group is deadlocked, and ends the waits of this process if so. The caller owns the devices and
// has found nothing to simulate.
func (l *Link) judge() {
	v, me := &l.verdict, l.peers.Me()
	mine := l.peers.Clock(me)
	group := l.peers.Group()
	if !l.stuck(append([]int{me}, group...)) {
		l.unstick()
		return
	}
	if v.token == 0 {
		v.turn++
		v.token = l.peers.Generation(me)<<32 | uint64(v.turn)
		v.seen = nil
		mine[clockStuck].Store(v.token)
	}
	if mine[clockVerdict].Load() != v.token {
		state := l.standstill(group)
		switch {
		case state == nil:
			v.seen = nil
			return
		case !slices.Equal(state, v.seen):
			v.seen, v.since = state, time.Now()
			return
		case time.Since(v.since) < linkPatience || !slices.Equal(state, l.standstill(group)):
			return
		}
		for i, q := range group {
			l.peers.Clock(q)[clockVerdict].Store(state[2*i])
		}
	}
	d := &Deadlock{Processes: []int{l.peers.PID(me)}, Graph: l.m.waitGraph()}
	for _, q := range group {
		d.Processes = append(d.Processes, l.peers.PID(q))
		d.Graph = append(d.Graph, l.peers.Waits(q)...)
	}
	slices.Sort(d.Processes[1:])
	l.m.endWaits(d)
}

// stuck says whether this process is, members being the places of its group.
func (l *Link) stuck(members []int) bool {
	if !l.waiting() || !l.m.frozen() || len(l.m.valueWaits) > 0 {
		return false
	}
	for _, w := range l.waits {
		if w.remote.flag {
			s := w.remote.Sharers
			if s == nil || s.Users() == 0 || s.MayGrow(members) {
				return false
			}
			continue
		}
		maker := w.remote.entry(w.gen)[entryMaker].Load()
		if maker>>32 != w.gen&0xffffffff || !slices.Contains(members, int(maker&0xff)) {
			return false
		}
	}
	return true
}

// standstill is the state of the group, two words a process with the token first, or nil if somebody may act.
func (l *Link) standstill(group []int) []uint64 {
	state := make([]uint64, 0, 2*len(group)+1)
	for _, q := range group {
		c := l.peers.Clock(q)
		token, t := c[clockStuck].Load(), c[clockTime].Load()
		if token == 0 || t>>16 != farthest {
			return nil
		}
		state = append(state, token, t)
	}
	if t := l.peers.Clock(l.peers.Me())[clockTime].Load(); t>>16 == farthest {
		return append(state, t)
	}
	return nil
}

// by says which processes are to make record gen of r.
func (r *Remote) by(gen uint64, p Peers) string {
	var pids []int
	if !r.flag {
		maker := r.entry(gen)[entryMaker].Load()
		if maker>>32 != gen&0xffffffff {
			return ""
		}
		pids = append(pids, p.PID(int(maker&0xff)))
	} else if r.Sharers != nil {
		pids = r.Sharers.Importers()
	}
	switch len(pids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" of process %d", pids[0])
	}
	return fmt.Sprintf(" of one of the processes %v", pids)
}

// source says who is to end the wait of q or p, in words to follow what it waits for; empty if that is this process.
func (l *Link) source(q *Queue, p *Port) string {
	if l == nil {
		return ""
	}
	for _, w := range l.waits {
		if q != nil && w.q == q || p != nil && w.p == p {
			return w.remote.by(w.gen, l.peers)
		}
	}
	return ""
}
