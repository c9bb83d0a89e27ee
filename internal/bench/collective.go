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
	return append(list, Spec{
		Name:  "Collective/all-reduce-ring-4-computed",
		About: "all-reduce of 4 MiB of float32 over a ring of 4 devices, with its additions", Bytes: collectiveBytes,
		open: allReduce(4, runtime.Ring, false),
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
