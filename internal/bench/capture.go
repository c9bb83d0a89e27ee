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
	captureEach  = 4 // thousand tasks of a turn, two blocks of records
	captureTurns = 24
	capturePairs = 4
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

// captureTask runs with and without records in turns, and takes of each the fastest turn, which other load on the machine disturbs
// least: the difference is a twentieth of what is measured. Where the two lie in memory makes as much of a difference between any
// two runs, in either direction, so that it is the mean of several pairs, each opened anew, one or the other first.
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
	plain, recorded := with(nil, times), traced(times)
	burst := func(m *meter) error {
		if m.counts {
			return once(o, m, recorded)
		}
		for k := range capturePairs {
			first, second, sign := plain, recorded, time.Duration(1)
			if k%2 == 1 {
				first, second, sign = second, first, -1
			}
			a, b, err := fastest(o, captureTurns, first, second)
			if err != nil {
				return err
			}
			m.ops += captureEach * nodes
			m.wall += sign * (b - a)
		}
		return nil
	}
	return &probe{burst: burst}, nil
}

// fastest runs bursts of two benchmarks in turns, and says how long the fastest of each took.
func fastest(o *Options, turns int, first, second func(*Options) (*probe, error)) (a, b time.Duration, err error) {
	p, err := first(o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = cmp.Or(err, p.close()) }()
	q, err := second(o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = cmp.Or(err, q.close()) }()
	a, b = math.MaxInt64, math.MaxInt64
	for range turns {
		var x, y meter
		if err := cmp.Or(p.burst(&x), q.burst(&y)); err != nil {
			return 0, 0, err
		}
		a, b = min(a, x.wall), min(b, y.wall)
	}
	return a, b, nil
}

// once runs one burst of a benchmark.
func once(o *Options, m *meter, open func(*Options) (*probe, error)) error {
	p, err := open(o)
	if err != nil {
		return err
	}
	return cmp.Or(p.burst(m), p.close())
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
