package bench

import (
	"cmp"
	"fmt"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/tensor"
)

// collectiveBytes is the size of the buffers of each rank.
const collectiveBytes = 4 << 20

// collectiveSpecs are collectives over the links of simulated devices. Their device time is what the links need; their
// wall time is submission and simulation, and for the arithmetic ones the additions too.
func collectiveSpecs() []Spec {
	var list []Spec
	for _, alg := range []runtime.Algorithm{runtime.Ring, runtime.Mesh} {
		for _, n := range []int{2, 4, 8} {
			list = append(list, Spec{
				Name:  fmt.Sprintf("Collective/all-reduce-%v-%d", alg, n),
				About: fmt.Sprintf("all-reduce of 4 MiB over a %v of %d devices, timing only", alg, n),
				Bytes: collectiveBytes,
				open:  allReduce(n, alg, true),
			})
		}
	}
	list = append(list, Spec{
		Name:  "Collective/all-reduce-ring-4-computed",
		About: "all-reduce of 4 MiB of float32 over a ring of 4 devices, with its additions", Bytes: collectiveBytes,
		open: allReduce(4, runtime.Ring, false),
	})
	for _, alg := range []runtime.Algorithm{runtime.Ring, runtime.Mesh} {
		for _, n := range []int{2, 4} {
			list = append(list, Spec{
				Name:  fmt.Sprintf("Collective/sunk-all-reduce-%v-%d", alg, n),
				About: fmt.Sprintf("all-reduce of 64 MiB over a %v of %d devices, as one of 4 in models that are executed, timing only", alg, n),
				Bytes: sunkBytes, Goal: Goal{Formula: 0.05},
				open: sunkAllReduce(n, alg),
			})
		}
	}
	return list
}

const (
	sunkBytes = 64 << 20
	sunkTimes = 4 // in a model: the devices do not begin at one instant
)

// sunkAllReduce executes models of all devices that hold nothing but collectives.
func sunkAllReduce(n int, alg runtime.Algorithm) func(o *Options) (*probe, error) {
	change := func(c *runtime.Config) { c.Devices, c.TimingOnly, c.MemoryBytes = n, true, 2*sunkBytes }
	return with(change, func(r *rig) (func(m *meter) error, error) {
		var streams []*runtime.Stream
		var buf []runtime.Ptr
		var builders []*runtime.ModelBuilder
		var heads []*runtime.SunkStream
		var contexts []*runtime.Context
		for d := range n {
			if err := r.th.SetDevice(d); err != nil {
				return nil, err
			}
			s, err := r.stream(false)
			if err != nil {
				return nil, err
			}
			p, err := r.th.Malloc(sunkBytes)
			if err != nil {
				return nil, err
			}
			ctx, err := r.th.CurrentContext()
			if err != nil {
				return nil, err
			}
			contexts = append(contexts, ctx)
			b, err := r.th.BuildModel()
			if err != nil {
				return nil, err
			}
			streams, buf, builders, heads = append(streams, s), append(buf, p), append(builders, b), append(heads, b.Stream(true))
		}
		c, err := r.th.NewModelComm(alg, builders...)
		if err != nil {
			return nil, err
		}
		for i, h := range heads {
			c.Place(i, h)
			for _, p := range c.Peers(i) {
				h.Active(p)
			}
		}
		for range sunkTimes {
			if err := r.th.AllReduce(c, buf, buf, sunkBytes/4, tensor.Float32, sim.ReduceSum); err != nil {
				return nil, err
			}
		}
		models := make([]*runtime.Model, n)
		for i, b := range builders {
			if err := r.th.SetDevice(i); err != nil {
				return nil, err
			}
			heads[i].End()
			if models[i], err = b.Build("collectives"); err != nil {
				return nil, err
			}
		}
		f := func() error {
			for i, m := range models {
				if err := cmp.Or(r.th.SetCurrentContext(contexts[i]), r.th.ExecuteModel(m, streams[i])); err != nil {
					return err
				}
			}
			return r.sync(streams...)
		}
		want := runtime.AllReduceNs(r.th.Runtime().Chip(), alg, n, sunkBytes)
		return func(m *meter) error {
			m.wanted += sunkTimes * want
			return r.clock(m, sunkTimes, f, nil)
		}, nil
	})
}

func allReduce(n int, alg runtime.Algorithm, timing bool) func(o *Options) (*probe, error) {
	change := func(c *runtime.Config) { c.Devices, c.TimingOnly, c.MemoryBytes = n, timing, 64<<20 }
	return with(change, func(r *rig) (func(m *meter) error, error) {
		var streams []*runtime.Stream
		var buf []runtime.Ptr
		for d := range n {
			if err := r.th.SetDevice(d); err != nil {
				return nil, err
			}
			s, err := r.stream(false)
			if err != nil {
				return nil, err
			}
			p, err := r.th.Malloc(collectiveBytes)
			if err != nil {
				return nil, err
			}
			streams, buf = append(streams, s), append(buf, p)
		}
		if err := r.th.SetDevice(0); err != nil {
			return nil, err
		}
		c, err := r.th.NewComm(alg, streams...)
		f := func() error {
			return cmp.Or(r.th.AllReduce(c, buf, buf, collectiveBytes/4, tensor.Float32, sim.ReduceSum), r.sync(streams...))
		}
		return func(m *meter) error { return r.clock(m, 1, f, nil) }, err
	})
}
