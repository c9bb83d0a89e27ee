package kernels

import "sync"

// grainElements is the least number of elements that is worth a second thread.
const grainElements = 16 << 10

// chunks is a loop over [0, n) that may run on several threads. It allocates nothing per run: the closure that
// Workers needs is bound once in a job, and jobs are pooled.
type chunks struct {
	n, grain int
	body     func(x *Exec, lo, hi int)
	jobs     sync.Pool
}

type job struct {
	x *Exec
	f func(lo, hi int)
}

// parallel makes the loop; weight is the number of elements that one index stands for. body must give the same
// result however [0, n) is split.
func parallel(n, weight int, body func(x *Exec, lo, hi int)) func(x *Exec) error {
	c := &chunks{n: n, grain: max(1, grainElements/max(1, weight)), body: body}
	c.jobs.New = func() any {
		j := new(job)
		j.f = func(lo, hi int) { c.body(j.x, lo, hi) }
		return j
	}
	return c.run
}

func (c *chunks) run(x *Exec) error {
	if c.n <= 2*c.grain || x.Workers == nil {
		if c.n > 0 {
			c.body(x, 0, c.n)
		}
		return nil
	}
	j := c.jobs.Get().(*job)
	j.x = x
	x.Workers.Parallel(c.n, c.grain, j.f)
	j.x = nil
	c.jobs.Put(j)
	return nil
}

// blockLen is the number of elements that a converting loop handles at a time.
const blockLen = 512

// scratch pools the buffers of converting loops.
type scratch[T any] struct{ pool sync.Pool }

func newScratch[T any]() *scratch[T] {
	s := new(scratch[T])
	s.pool.New = func() any { return new(T) }
	return s
}

func (s *scratch[T]) get() *T  { return s.pool.Get().(*T) }
func (s *scratch[T]) put(v *T) { s.pool.Put(v) }
