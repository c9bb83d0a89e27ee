package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// probe is an open benchmark.
type probe struct {
	burst func(m *meter) error // runs a burst of operations
	close func() error         // nil: nothing to close
}

// meter takes what one burst measures.
type meter struct {
	ops    int
	wall   time.Duration
	device int64 // simulated ns of the operations
	timed  bool  // a device takes part
	wanted int64 // what device should be, by a formula

	counts         bool // this burst counts allocations, its wall time means nothing
	allocs, bytes  uint64
	before, beyond *runtime.MemStats // of bursts that count
}

// run runs what is on the clock.
func (m *meter) run(f func() error) error {
	if m.counts {
		runtime.ReadMemStats(m.before)
		err := f()
		runtime.ReadMemStats(m.beyond)
		m.allocs += m.beyond.Mallocs - m.before.Mallocs
		m.bytes += m.beyond.TotalAlloc - m.before.TotalAlloc
		return err
	}
	t := time.Now()
	err := f()
	m.wall += time.Since(t)
	return err
}

// Run measures the benchmarks of a family. It ends early, with the context's error, when ctx is done.
func Run(ctx context.Context, f Family, o Options) (list []Series, err error) {
	probes := make([]*probe, 0, len(f.Specs))
	defer func() {
		for _, p := range probes {
			if p.close != nil {
				err = cmp.Or(err, p.close())
			}
		}
	}()
	for _, s := range f.Specs {
		p, err := s.open(&o)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w", s.Name, err)
		}
		probes = append(probes, p)
		list = append(list, Series{Spec: s})
	}
	var bursts []float64
	for round := -1; round < o.Count; round++ { // the first one warms up
		for i, p := range probes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if o.Progress != nil {
				o.Progress((round+1)*len(probes)+i, (o.Count+1)*len(probes), list[i].Name)
			}
			s, err := sample(ctx, p, list[i].Pages, o.Duration, &bursts)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, fmt.Errorf("benchmark %s: %w", list[i].Name, err)
			}
			if round >= 0 {
				list[i].Samples = append(list[i].Samples, s)
			}
		}
	}
	return list, nil
}

// sample runs bursts for about d, three at least, and one more that counts allocations; where pages is
// set, a few more that count new pages.
func sample(ctx context.Context, p *probe, pages bool, d time.Duration, bursts *[]float64) (Sample, error) {
	*bursts = (*bursts)[:0]
	s := Sample{DeviceNs: math.NaN()}
	var device, ops, wanted int64
	timed := false
	for begin := time.Now(); len(*bursts) < 3 || time.Since(begin) < d; {
		var m meter
		if err := p.burst(&m); err != nil {
			return s, err
		}
		*bursts = append(*bursts, float64(m.wall.Nanoseconds())/float64(m.ops))
		s.N += int64(m.ops)
		if m.timed {
			timed = true
			device += m.device
			wanted += m.wanted
			ops += int64(m.ops)
		}
		if err := ctx.Err(); err != nil {
			return s, err
		}
	}
	if timed {
		s.DeviceNs, s.Formula = float64(device)/float64(ops), float64(wanted)/float64(ops)
	}
	s.Ns = median(*bursts)
	m := meter{counts: true, before: new(runtime.MemStats), beyond: new(runtime.MemStats)}
	if err := p.burst(&m); err != nil {
		return s, err
	}
	s.Allocs, s.Bytes = float64(m.allocs)/float64(m.ops), float64(m.bytes)/float64(m.ops)
	var err error
	if pages {
		s.Pages, err = newPages(p)
	}
	return s, err
}

// median sorts v. It is NaN for none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
