package kernels

import (
	"runtime"
	"sync/atomic"
)

// maxParts bounds the parts of one loop, and with it the scratch memory of kernels that need some for each part.
const maxParts = 16

// spins is how often a thread looks for work (or for the others' end) before it parks: about 500 µs. Waking a parked
// goroutine costs a fifth of that, and a model's kernels seldom leave a thread without work for longer; who asks for
// several threads has the processors for them.
const spins = 400_000

// partsEach is how many parts a loop has for each thread, if it is worth them.
const partsEach = 2

// Workers runs the arithmetic of one kernel on several host threads. The zero value and nil compute on the
// caller's goroutine alone. One goroutine at a time may call; a call from within a loop runs inline.
//
// A loop is cut into parts, which its threads take one after the other; the caller never waits for a part that nobody
// has begun, so that a helper that gets no processor costs nothing. The n-1 helpers start at the first loop that is worth
// a second thread, park when they find no work for a while, and end with Close.
type Workers struct {
	n       int
	spins   int
	helpers []*helper
	busy    atomic.Bool
	closed  bool

	// the loop that runs; written before the ticket, which publishes it
	x     *Exec
	part  func(x *Exec, part, lo, hi int)
	plain func(lo, hi int)
	total int

	ticket  atomic.Uint64 // see takeTicket
	loop    uint32        // number of the loop
	pending atomic.Int32  // parts that are not done
	parked  atomic.Bool
	done    chan struct{}
}

// helper is one goroutine. Whoever swaps parked to false owns it: a helper that finds work by itself, or the caller, who
// then owes it a token.
type helper struct {
	parked atomic.Bool
	quit   atomic.Bool
	wake   chan struct{}
}

// NewWorkers makes a set of n host threads, the caller among them. At most 16 are used.
func NewWorkers(n int) *Workers {
	w := &Workers{n: min(max(1, n), maxParts), spins: spins, done: make(chan struct{}, 1)}
	if runtime.GOMAXPROCS(0) == 1 {
		w.spins = 1 // whoever is waited for needs this processor
	}
	return w
}

// Close ends the helpers and waits for none of them; a later loop runs on the caller alone.
// It must not be called during a loop.
func (w *Workers) Close() {
	if w == nil || w.closed {
		return
	}
	w.closed = true
	for _, h := range w.helpers {
		h.quit.Store(true)
		w.signal(h)
	}
	w.helpers = nil
}

// Parallel calls f over [0, n) in chunks of at least grain, each index exactly once. The split may depend on the
// number of threads; results must not: f must not reduce across chunks.
func (w *Workers) Parallel(n, grain int, f func(lo, hi int)) {
	parts := w.split(n, grain)
	if parts <= 1 || !w.busy.CompareAndSwap(false, true) {
		if n > 0 {
			f(0, n)
		}
		return
	}
	w.plain = f
	w.run(n, parts)
	w.plain = nil
	w.busy.Store(false)
}

// each is Parallel for loops that are bound when the kernel is compiled, so that a run allocates nothing: f gets
// the execution, the number of its thread (below maxParts and the number of parts, for scratch memory) and the chunk.
func (x *Exec) each(n, grain int, f func(x *Exec, part, lo, hi int)) {
	w := x.Workers
	parts := w.split(n, grain)
	if parts <= 1 || !w.busy.CompareAndSwap(false, true) {
		if n > 0 {
			f(x, 0, 0, n)
		}
		return
	}
	w.x, w.part = x, f
	w.run(n, parts)
	w.x, w.part = nil, nil
	w.busy.Store(false)
}

// threads is how many host threads there are.
func (w *Workers) threads() int {
	if w == nil || w.n <= 1 || w.closed {
		return 1
	}
	return w.n
}

// split is the number of parts that a loop is worth.
func (w *Workers) split(n, grain int) int {
	if w == nil || w.n <= 1 || w.closed {
		return 1
	}
	return min(w.n*partsEach, n/max(1, grain))
}

// run computes the loop with the helpers and returns when all is done.
func (w *Workers) run(n, parts int) {
	for len(w.helpers) < min(w.n, parts)-1 {
		h := &helper{wake: make(chan struct{}, 1)}
		w.helpers = append(w.helpers, h)
		go w.help(h, len(w.helpers))
	}
	w.total = n
	w.loop++
	w.pending.Store(int32(parts))
	w.ticket.Store(uint64(w.loop)<<32 | uint64(parts)<<16)
	for _, h := range w.helpers[:min(w.n, parts)-1] {
		w.signal(h)
	}
	if w.work(0) || w.await(func() bool { return w.pending.Load() == 0 }) {
		return
	}
	w.parked.Store(true)
	if w.pending.Load() == 0 && w.parked.CompareAndSwap(true, false) {
		return
	}
	<-w.done
}

// work computes parts until none is left; it says whether it did the last one that was pending.
func (w *Workers) work(thread int) (last bool) {
	for {
		part, parts, ok := w.takeTicket(thread)
		if !ok {
			return last
		}
		lo, hi := chunk(w.total, parts, part)
		if w.part != nil {
			w.part(w.x, thread, lo, hi)
		} else {
			w.plain(lo, hi)
		}
		last = w.pending.Add(-1) == 0
	}
}

// takeTicket takes the next part of the loop that runs. The ticket holds the number of the loop, of its parts and of
// those that are taken; a thread that comes late cannot take a part of a loop that has ended meanwhile. A loop has no use
// for threads beyond the number of its parts, nor scratch memory.
func (w *Workers) takeTicket(thread int) (part, parts int, ok bool) {
	for {
		t := w.ticket.Load()
		part, parts = int(t&0xffff), int(t>>16&0xffff)
		if part >= parts || thread >= parts {
			return 0, 0, false
		}
		if w.ticket.CompareAndSwap(t, t+1) {
			return part, parts, true
		}
	}
}

// open says that a part waits for the thread.
func (w *Workers) open(thread int) bool {
	t := w.ticket.Load()
	return max(t&0xffff, uint64(thread)) < t>>16&0xffff
}

// chunk is part of n indices; sizes differ by one at most.
func chunk(n, parts, part int) (lo, hi int) {
	q, r := n/parts, n%parts
	lo = part*q + min(part, r)
	hi = lo + q
	if part < r {
		hi++
	}
	return lo, hi
}

func (w *Workers) signal(h *helper) {
	if h.parked.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
	}
}

// help is the life of a helper.
func (w *Workers) help(h *helper, thread int) {
	fresh := func() bool { return w.open(thread) || h.quit.Load() }
	for {
		if !w.await(fresh) {
			h.parked.Store(true)
			if !fresh() || !h.parked.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		if h.quit.Load() {
			return
		}
		if w.work(thread) && w.parked.CompareAndSwap(true, false) {
			w.done <- struct{}{}
		}
	}
}

// await spins until ok, for a while; it says whether ok came.
func (w *Workers) await(ok func() bool) bool {
	for range w.spins {
		if ok() {
			return true
		}
	}
	return false
}
