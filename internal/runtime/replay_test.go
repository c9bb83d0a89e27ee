package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"npu/internal/sim"
	"npu/internal/trace"
	"npu/internal/trace/npt"
)

// replayProgram captures a model with forks, copies, value tasks and kernels of several sizes, and executes it among
// other work in ways that do and do not let its schedule be shifted. It returns the trace and the counter.
func replayProgram(t *testing.T, stepped bool, policy sim.Policy) (traceBytes []byte, value, shifted uint64, c Counters) {
	r := newRig(t, Config{Stepped: stepped, Policy: policy})
	s, s2, s3 := r.stream(), r.stream(StreamConfig{Priority: 3}), r.stream()
	wide := must[*Kernel](t)(r.NewKernel("wide", trace.KernelAICore, 50, 700, nil))
	vec := must[*Kernel](t)(r.NewKernel("vec", trace.KernelAIVector, 13, 900, nil))
	fork, join, a, b := r.soft(), r.soft(), r.word(0), r.word(0)
	r.begin(s)
	r.ok(r.inc(s), r.RecordEvent(fork, s), r.WaitEvent(s2, fork))
	r.ok(r.LaunchKernel(wide, nil, s), r.LaunchKernel(vec, nil, s2), r.LaunchKernel(wide, nil, s2), r.ValueWrite(a, 7, s2))
	r.ok(r.MemcpyAsync(b, a, 8, s2), r.RecordEvent(join, s2), r.LaunchKernel(vec, nil, s), r.MemsetAsync(a, 0, 8, s), r.WaitEvent(s, join), r.inc(s))
	m := r.finish(s)
	for range 5 { // undisturbed
		r.ok(r.ExecuteModel(m, s))
	}
	r.ok(r.SynchronizeStream(s))
	for range 3 { // one by one
		r.execute(m, s)
	}
	for i := range 6 { // beside another stream
		r.ok(r.LaunchKernel(wide, nil, s3), r.ExecuteModel(m, s), r.inc(s3))
		if i%2 == 0 {
			r.ok(r.SynchronizeStream(s3))
		}
	}
	r.ok(r.SynchronizeStream(s), r.SynchronizeStream(s3))
	r.ok(r.ExecuteModel(m, s), r.ExecuteModel(m, s3), r.inc(s)) // two streams want it
	done, err := r.QueryStream(s)                               // a look in between
	r.ok(err)
	if done {
		t.Error("the stream is done already")
	}
	r.ok(r.SynchronizeStream(s), r.SynchronizeStream(s3))
	r.ok(r.port.Call(func() { shifted = r.rt.machine.Stats().Shifted }))
	value = r.value()
	c = must[Counters](t)(r.Counters())
	var out bytes.Buffer
	r.ok(npt.Write(&out, r.trace()))
	return out.Bytes(), value, shifted, c
}

// A shifted schedule leaves the same trace, counters and memory as its tasks one by one.
func TestReplay_likeStepped(t *testing.T) {
	for _, policy := range []sim.Policy{sim.Preempt, sim.Reference} {
		a, va, n, ca := replayProgram(t, false, policy)
		b, vb, none, cb := replayProgram(t, true, policy)
		if n < 7 || none != 0 {
			t.Errorf("%v: %d executions were shifted, %d when it is off", policy, n, none)
		}
		if va != vb || ca != cb {
			t.Errorf("%v: counter %d and %d, counters %+v and %+v", policy, va, vb, ca, cb)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%v: the traces differ (%d and %d bytes)", policy, len(a), len(b))
		}
	}
}

// A fault in a shifted execution is reported as one that was met step by step.
func TestReplay_fault(t *testing.T) {
	for _, stepped := range []bool{false, true} {
		r := newRig(t, Config{Stepped: stepped})
		s := r.stream()
		at := r.word(uint64(r.counter))
		// load adds 1 to the word that the word at args[0] points to: a bad pointer is a fault.
		load := must[*Kernel](t)(r.NewKernel("indirect", trace.KernelAIVector, 1, 2000, func(c *sim.Call) *sim.Fault {
			p := c.Args
			for range 2 {
				b, f := c.Space.Resolve(p, 8, sim.Read)
				if f != nil {
					return f
				}
				p = binary.LittleEndian.Uint64(b)
			}
			b, f := c.Space.Resolve(p, 8, sim.ReadWrite)
			if f != nil {
				f.Code = sim.CodeVectorException
				return f
			}
			b[0]++
			return nil
		}))
		r.begin(s)
		r.ok(r.LaunchKernel(load, []uint64{uint64(at)}, s), r.inc(s))
		m := r.finish(s)
		r.execute(m, s)
		r.execute(m, s)
		r.put(at, 64)
		r.ok(r.ExecuteModel(m, s))
		r.code(fmt.Sprintf("stepped %v", stepped), r.SynchronizeStream(s), VectorException)
		r.put(at, uint64(r.counter))
		r.execute(m, s)
		if v := r.value(); v != 7 {
			t.Errorf("stepped %v: counter %d, want 7", stepped, v)
		}
	}
}
