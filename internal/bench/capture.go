package bench

import (
	"cmp"
	"math"
	"time"

	"npu/internal/runtime"
	"npu/internal/trace"
)

const (
	plainRun     = "Capture/plain"
	wholeTasks   = 100_000
	captureEach  = 4 // thousand tasks of a turn, a hundred blocks of records
	captureTurns = 24
)

// captureSpecs are what a trace costs. The same program runs with records and without, in turns; the difference is the record of
// a task with its share of handing blocks over, while the goroutine that makes columns of them works beside.
func captureSpecs() []Spec {
	return []Spec{
		{Name: "Capture/task", About: "what the record of a task costs the thread that simulates: recorded less plain, in turns", Goal: Goal{MaxNs: 6}, open: captureTask},
		{Name: "Capture/recorded", About: "one of 1,000 launches on 8 streams and the synchronise behind them, with a record of each task", Goal: Goal{Partner: plainRun}, open: traced(eagerStreams)},
		{Name: plainRun, About: "the same without records", open: with(nil, eagerStreams)},
		{Name: "Capture/finished", About: "what a trace costs a run of 100,000 such tasks until it is closed and the trace stands in memory, in order: with it less without", open: captureWhole},
	}
}

// eagerStreams is eager on 8 streams.
func eagerStreams(r *rig) (func(m *meter) error, error) {
	f, err := r.eagerStreams()
	return func(m *meter) error { return r.clock(m, nodes, f, nil) }, err
}

func (r *rig) eagerStreams() (func() error, error) {
	s, err := r.streams(8)
	return func() error {
		for i := range nodes {
			if err := r.th.LaunchKernel(r.tiny, nil, s[i%len(s)]); err != nil {
				return err
			}
		}
		return r.sync(s...)
	}, err
}

// captureTask takes the two in turns, and of each the fastest turn, which other load on the machine disturbs least: the
// difference is a twentieth of what is measured.
func captureTask(o *Options) (*probe, error) {
	times := func(r *rig) (func(m *meter) error, error) {
		f, err := r.eagerStreams()
		return func(m *meter) error {
			m.ops += captureEach * nodes
			return m.run(func() error {
				for range captureEach {
					if err := f(); err != nil {
						return err
					}
				}
				return nil
			})
		}, err
	}
	without, err := with(nil, times)(o)
	if err != nil {
		return nil, err
	}
	recorded, err := traced(times)(o)
	if err != nil {
		return nil, cmp.Or(err, without.close())
	}
	burst := func(m *meter) error {
		if m.counts {
			return recorded.burst(m)
		}
		best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for range captureTurns {
			for i, p := range []*probe{without, recorded} {
				var x meter
				if err := p.burst(&x); err != nil {
					return err
				}
				best[i] = min(best[i], x.wall)
				m.ops = x.ops
			}
		}
		m.wall = best[1] - best[0]
		return nil
	}
	return &probe{burst, func() error { return cmp.Or(without.close(), recorded.close()) }}, nil
}

// captureWhole measures runs from their first submission to their end.
func captureWhole(o *Options) (*probe, error) {
	run := func(m *meter, rec *trace.Recorder) error {
		r, err := newRig(o.Chip, func(c *runtime.Config) { c.Recorder = rec })
		if err != nil {
			return err
		}
		f, err := r.eagerStreams()
		if err != nil {
			return cmp.Or(err, r.close())
		}
		return m.run(func() error {
			for range wholeTasks / nodes {
				if err := f(); err != nil {
					return cmp.Or(err, r.close())
				}
			}
			err := r.close()
			if rec != nil {
				rec.Finish()
			}
			return err
		})
	}
	burst := func(m *meter) error {
		m.ops = wholeTasks
		if m.counts {
			return run(m, trace.NewRecorder())
		}
		var a, b meter
		if err := cmp.Or(run(&a, nil), run(&b, trace.NewRecorder())); err != nil {
			return err
		}
		m.wall = b.wall - a.wall
		return nil
	}
	return &probe{burst: burst}, nil
}
