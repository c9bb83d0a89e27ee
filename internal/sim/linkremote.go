package sim

import "sync/atomic"

// A Remote is an event or a notify in memory that several processes share: how many records there are, and a ring of
// the latest ones: which process is to make it, when it was made, and its number, which is stored last.
const (
	remoteRing  = 8192
	entryWords  = 3
	entryMaker  = 0 // generation of the record << 32 | generation of the process << 8 | process
	entryTime   = 1
	entryNumber = 2
	remoteHead  = 8
)

// RemoteBytes is the size of the memory of a Remote.
const RemoteBytes = (remoteHead + remoteRing*entryWords) * 8

// Remote is described above. Sharers is for one that this process has exported as a notify; nil for others.
type Remote struct {
	Sharers Sharers

	words []atomic.Uint64
	flag  bool   // a notify: a wait takes the record
	taken uint64 // by waits of a notify; the owner's
	had   bool   // it had importers
}

// NewRemote is an event (flag false) or a notify in shared memory of RemoteBytes.
func NewRemote(mem []byte, flag bool) *Remote { return &Remote{words: atomicWords(mem), flag: flag} }

func (r *Remote) what() string {
	if r.flag {
		return "the notify"
	}
	return "the event"
}

func (r *Remote) entry(gen uint64) []atomic.Uint64 {
	at := remoteHead + gen%remoteRing*entryWords
	return r.words[at : at+entryWords]
}

// Next takes the number of a record that this process is about to make. It may be called from any goroutine.
func (r *Remote) Next(p Peers) uint64 {
	gen := r.words[0].Add(1)
	me := p.Me()
	r.entry(gen)[entryMaker].Store(gen<<32 | p.Generation(me)<<8 | uint64(me))
	return gen
}

// Newest is the number of the latest record that was asked for, 0 without one.
func (r *Remote) Newest() uint64 { return r.words[0].Load() }

// record states that record gen was made at time t.
func (r *Remote) record(gen uint64, t int64) {
	e := r.entry(gen)
	e[entryTime].Store(uint64(t))
	e[entryNumber].Store(gen)
}

// at is when record gen was made. One that is so old that its entry was used again was made long ago.
func (r *Remote) at(gen uint64) (t int64, ok bool) {
	e := r.entry(gen)
	switch n := e[entryNumber].Load(); {
	case n == gen:
		t = int64(e[entryTime].Load())
		if e[entryNumber].Load() != gen {
			t = 0
		}
		return t, true
	case n > gen:
		return 0, true
	}
	return 0, false
}

// Reached says whether record gen is known here at time now.
func (r *Remote) Reached(gen uint64, now int64, me int) bool {
	t, ok := r.arrival(gen, me)
	return gen == 0 || ok && t <= now
}

// arrival is when record gen takes effect in process me.
func (r *Remote) arrival(gen uint64, me int) (int64, bool) {
	t, ok := r.at(gen)
	if ok && int(r.entry(gen)[entryMaker].Load()&0xff) != me {
		t += LinkLatency
	}
	return t, ok
}

// passes says when a wait ends, if that is known already: everything that arrives before bound is.
func (r *Remote) passes(w linkWait, bound int64, me int) (int64, bool) {
	if !r.flag {
		return r.arrival(w.gen, me)
	}
	// A notify is a flag: all records that arrived before the wait began count as one; else the first that arrives. It is
	// known which when nothing earlier can come.
	first, which := r.first(me)
	if which == 0 || max(first, w.t) >= bound {
		return 0, false
	}
	r.take(which, max(first, w.t), me)
	return first, true
}

// first is the earliest arrival of a record of a notify that no wait has taken; record 0 is none.
func (r *Remote) first(me int) (t int64, gen uint64) {
	t = never
	newest := r.Newest()
	from := r.taken
	if newest > remoteRing {
		from = max(from, newest-remoteRing)
	}
	for g := from + 1; g <= newest; g++ {
		if at, ok := r.arrival(g, me); ok && r.entry(g)[entryTime].Load()&takenBit == 0 && at < t {
			t, gen = at, g
		}
	}
	return t, gen
}

// takenBit marks the time of a record that a wait has taken.
const takenBit = uint64(1) << 63

// take marks the record that a wait ends with, and those that arrived no later than it.
func (r *Remote) take(which uint64, until int64, me int) {
	newest := r.Newest()
	mark := func(g uint64) {
		t := &r.entry(g)[entryTime]
		t.Store(t.Load() | takenBit)
	}
	for g := r.taken + 1; g <= newest; g++ {
		t, ok := r.arrival(g, me)
		if ok && r.entry(g)[entryTime].Load()&takenBit == 0 && (g == which || t <= until) {
			mark(g)
		}
	}
	for r.taken < newest {
		if _, ok := r.at(r.taken + 1); !ok || r.entry(r.taken + 1)[entryTime].Load()&takenBit == 0 {
			break
		}
		r.taken++
	}
}

// hopeless says whether record gen will never come.
func (r *Remote) hopeless(gen uint64, p Peers) bool {
	if r.flag {
		n := 0
		if r.Sharers != nil {
			n = r.Sharers.Users()
		}
		r.had = r.had || n > 0
		return r.had && n == 0
	}
	maker := r.entry(gen)[entryMaker].Load()
	if maker>>32 != gen&0xffffffff {
		return false
	}
	_, ok := r.at(gen)
	return !ok && !p.Alive(int(maker&0xff), maker>>8&0xffffff)
}
