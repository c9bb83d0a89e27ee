package bench

import (
	"encoding/binary"

	"npu/internal/runtime"
	"npu/internal/sim"
)

const (
	iterations = 200
	bodyNodes  = 10
	hostLoop   = "Loop/host-iteration"
)

// loopSpecs run a body of kernels again and again, and look at a counter after each iteration: the device by itself,
// or the host.
func loopSpecs() []Spec {
	return []Spec{
		{Name: "Loop/sunk-iteration", About: "an iteration of a loop that the device counts: 10 kernels, add, compare; 200 on one submission", Goal: Goal{Partner: hostLoop}, open: with(nil, sunkLoop)},
		{Name: hostLoop, About: "an iteration of a loop that the host drives: 10 launches, synchronise, decide", open: with(nil, hostDriven)},
	}
}

func sunkLoop(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, err
	}
	words, err := r.th.Malloc(16) // the counter and its limit
	if err != nil {
		return nil, err
	}
	var init [16]byte
	binary.LittleEndian.PutUint64(init[8:], iterations)
	if err := r.th.MemcpyFromHost(words, init[:]); err != nil {
		return nil, err
	}
	g, err := r.buildLoop(words)
	f := func() error {
		if err := r.th.ExecuteModel(g, s); err != nil {
			return err
		}
		return r.th.SynchronizeStream(s)
	}
	return func(m *meter) error { return r.clock(m, iterations, f, nil) }, err
}

// buildLoop is a stream that starts the loop, one that runs the body while counter < limit, and one that starts that
// one again: a stream cannot activate itself.
func (r *rig) buildLoop(counter runtime.Ptr) (*runtime.Model, error) {
	b, err := r.th.BuildModel()
	if err != nil {
		return nil, err
	}
	head, body, again := b.Stream(true), b.Stream(false), b.Stream(false)
	head.WriteValue(counter, 0)
	head.Active(body)
	for range bodyNodes {
		body.Launch(r.tiny, nil)
	}
	body.AddValue(counter, 1)
	body.Switch(counter, sim.Less, counter+8, again)
	body.End()
	again.Active(body)
	return b.Build("loop")
}

func hostDriven(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	th, k := r.th, r.tiny
	f := func() error {
		for range iterations {
			for range bodyNodes {
				if err := th.LaunchKernel(k, nil, s); err != nil {
					return err
				}
			}
			if err := th.SynchronizeStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, iterations, f, nil) }, err
}
