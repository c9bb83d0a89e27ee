package bench

import (
	"runtime"
	"sync/atomic"
)

// gate lets several threads begin at one instant and sees when the last one is done. The wait spins, so that no wake-up
// of a sleeping thread is measured.
type gate struct {
	waiting, running atomic.Int32
	open             atomic.Bool
}

// pass is called by each thread, with its work.
func (g *gate) pass(work func()) {
	g.waiting.Add(1)
	g.wait()
	work()
	g.running.Add(-1)
}

// wait waits until the gate is open.
func (g *gate) wait() {
	for !g.open.Load() {
		runtime.Gosched()
	}
}

// ready waits until n threads stand at the gate.
func (g *gate) ready(n int32) {
	for g.waiting.Load() < n {
		runtime.Gosched()
	}
	g.running.Store(n)
}

// run opens the gate and waits until all are through.
func (g *gate) run() error {
	g.open.Store(true)
	for g.running.Load() > 0 {
		runtime.Gosched()
	}
	return nil
}
