package kernels

// Workers runs the arithmetic of one kernel on several host threads. The zero value and nil compute on the
// caller's goroutine alone.
type Workers struct {
	n int
}

// NewWorkers makes a set of n host threads, the caller among them.
func NewWorkers(n int) *Workers { return &Workers{n: max(1, n)} }

// Close ends the helpers.
func (w *Workers) Close() {}

// Parallel calls f over [0, n) in chunks of at least grain, each index exactly once. The split may depend on the
// number of threads; results must not: f must not reduce across chunks.
func (w *Workers) Parallel(n, grain int, f func(lo, hi int)) {
	if n > 0 {
		f(0, n)
	}
}
