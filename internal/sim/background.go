package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// background lets the devices compute while no thread waits for them. Where only time is simulated a thread that waits
// drives faster than anybody could be woken; where kernels really compute, host work and kernels overlap. It is a
// goroutine that comes with every 64th launch and with a thread that leaves the runtime, and ends when there is nothing
// to do up to the horizon, or somebody else wants to drive. What it does is what the next waiter would have done:
// outcomes do not depend on it. For that, a thread outside the runtime holds it back as if it were inside: what happens
// beyond is nobody's to decide until it returns. Linked processes do without it.
type background struct {
	heavy   atomic.Bool // kernels compute for so long that it pays
	running atomic.Bool
	ended   sync.WaitGroup

	// The owner's.
	drives bool          // it is the background that drives: threads outside the runtime hold it back too
	runs   uint32        // of kernels
	mean   time.Duration // what one takes
}

const (
	callEvery = 64                   // launches, a power of two
	heavyRun  = 5 * time.Microsecond // of computing a kernel: 64 of them are several times what waking a goroutine takes
)

// compute runs the kernel at the head of a queue, and keeps an eye on how long kernels take.
func (m *Machine) compute(f *Function, c *Call) *Fault {
	b := &m.background
	if b.runs++; b.runs%8 != 1 {
		return f.Run(c)
	}
	begin := time.Now()
	fault := f.Run(c)
	if ns := time.Since(begin); b.runs == 1 {
		b.mean = ns
	} else {
		b.mean += (ns - b.mean) / 8
	}
	if heavy := b.mean >= heavyRun; heavy != b.heavy.Load() {
		b.heavy.Store(heavy && !m.cfg.Foreground)
	}
	return fault
}

// callBackground has the devices go on beside the caller, if that pays.
func (m *Machine) callBackground() {
	b := &m.background
	if !b.heavy.Load() || m.owner.Load() != 0 || !b.running.CompareAndSwap(false, true) {
		return
	}
	b.ended.Add(1)
	go m.driveBehind()
}

func (m *Machine) driveBehind() {
	b := &m.background
	if m.tryOwn() {
		m.parkMu.Lock()
		closed := m.closed
		m.parkMu.Unlock()
		if !closed && !m.link.on() {
			b.drives = true
			m.drive(nil)
			b.drives = false
		}
		m.disown()
	}
	b.running.Store(false)
	b.ended.Done()
}
