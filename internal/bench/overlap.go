package bench

import (
	"cmp"
	"sync/atomic"
	"time"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/trace"
)

// spinner keeps a core busy for a time that does not depend on what else the machine does.
type spinner struct {
	turns int
	sum   atomic.Uint64
}

func (s *spinner) spin() {
	x := uint64(s.turns)
	for range s.turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	s.sum.Store(x)
}

// newSpinner finds how many turns the shortest of some tries needs for us microseconds.
func newSpinner(us int) *spinner {
	s := &spinner{turns: 10_000}
	best := time.Hour
	for range 50 {
		t := time.Now()
		s.spin()
		best = min(best, time.Since(t))
	}
	s.turns = max(1, int(int64(us)*1000*int64(s.turns)/max(1, best.Nanoseconds())))
	return s
}

// overlap launches kernels that compute for us microseconds and works as long itself after each launch.
func overlap(us int, foreground bool) func(o *Options) (*probe, error) {
	const launches = 512
	return func(o *Options) (*probe, error) {
		r, err := newRig(o.Chip, func(c *runtime.Config) { c.TimingOnly, c.Foreground = false, foreground })
		if err != nil {
			return nil, err
		}
		host, core := newSpinner(us), newSpinner(us)
		k, err := r.th.NewKernel("compute", trace.KernelAICore, 1, 1000, func(*sim.Call) *sim.Fault {
			core.spin()
			return nil
		})
		if err != nil {
			return nil, cmp.Or(err, r.close())
		}
		s, err := r.stream(false)
		if err != nil {
			return nil, cmp.Or(err, r.close())
		}
		f := func() error {
			for range launches {
				if err := r.th.LaunchKernel(k, nil, s); err != nil {
					return err
				}
				host.spin()
			}
			return r.th.SynchronizeStream(s)
		}
		return &probe{func(m *meter) error { return r.clock(m, launches, f, nil) }, r.close}, nil
	}
}
