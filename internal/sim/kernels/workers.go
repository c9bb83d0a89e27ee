package kernels

import (
	"runtime"
	"sync/atomic"
)

// maxParts bounds the parts of one loop, and with it the scratch memory of kernels that need some for each part.
const maxParts = 16

// spins is how often a thread looks for work (or for the others' end) before it parks: about 50 µs. Waking a parked
// goroutine costs as much, and the next kernel usually follows sooner.
const spins = 20_000

// Workers runs the arithmetic of one kernel on several host threads. The zero value and nil compute on the
// caller's goroutine alone. One goroutine at a time may call; a call from within a loop runs inline.
//
// The n-1 helpers start at the first loop that is worth a second thread, stay parked between loops and end with Close.
type Workers struct {
	n       int
	spins   int
	helpers []*helper
	busy    atomic.Bool
	closed  bool

	// the loop that runs; written before the helpers' seq, which publishes it
	x     *Exec
	part  func(x *Exec, part, lo, hi int)
	plain func(lo, hi int)
	total int
	parts int

	pending atomic.Int32
	parked  atomic.Bool
	done    chan struct{}
}

// helper is one goroutine. seq counts its loops; the low end of the protocol is parked, which whoever swaps it to
// false owns: a helper that finds work by itself, or the caller, who then owes it a token.
type helper struct {
	seq    atomic.Uint32
	parked atomic.Bool
	quit   atomic.Bool
	wake   chan struct{}
	_      [64]byte // seq of two helpers on one cache line would slow both
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
// the execution, the number of its part (below maxParts, for scratch memory) and the chunk.
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

// split is the number of parts that a loop is worth.
func (w *Workers) split(n, grain int) int {
	if w == nil || w.n <= 1 || w.closed {
		return 1
	}
	return min(w.n, n/max(1, grain))
}

// run hands parts 1.. to the helpers, computes part 0, and returns when all are done.
func (w *Workers) run(n, parts int) {
	for len(w.helpers) < parts-1 {
		h := &helper{wake: make(chan struct{}, 1)}
		w.helpers = append(w.helpers, h)
		go w.help(h, len(w.helpers))
	}
	w.total, w.parts = n, parts
	w.pending.Store(int32(parts - 1))
	for _, h := range w.helpers[:parts-1] {
		h.seq.Add(1)
		w.signal(h)
	}
	w.compute(0)
	if w.await(func() bool { return w.pending.Load() == 0 }) {
		return
	}
	w.parked.Store(true)
	if w.pending.Load() == 0 && w.parked.CompareAndSwap(true, false) {
		return
	}
	<-w.done
}

// compute runs one part: a contiguous chunk, sizes differ by one at most.
func (w *Workers) compute(part int) {
	lo, hi := chunk(w.total, w.parts, part)
	if w.part != nil {
		w.part(w.x, part, lo, hi)
	} else {
		w.plain(lo, hi)
	}
}

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

// help is the life of a helper; it always computes the same part.
func (w *Workers) help(h *helper, part int) {
	for seen := uint32(0); ; seen++ {
		fresh := func() bool { return h.seq.Load() != seen || h.quit.Load() }
		if !w.await(fresh) {
			h.parked.Store(true)
			if !fresh() || !h.parked.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		if h.quit.Load() {
			return
		}
		w.compute(part)
		if w.pending.Add(-1) == 0 && w.parked.CompareAndSwap(true, false) {
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
