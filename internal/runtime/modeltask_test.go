package runtime

import (
	"testing"

	"npu/internal/trace"
)

func TestModelTask_setAndDisable(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := r.word(0)
	r.begin(s)
	r.ok(r.addTo(p, 1, s), r.addTo(p, 10, s), r.MemcpyAsync(r.counter, p, 8, s))
	m := r.finish(s)
	list := must[[]ModelTask](t)(r.ModelTasks(m, 0))
	if len(list) != 4 || list[0].Kind != trace.KernelAICore || list[2].Kind != trace.Memcpy || list[1].Args()[1] != 10 {
		t.Fatalf("tasks %v", list)
	}
	r.execute(m, s)
	r.execute(m, s) // shifted
	r.ok(r.SetTask(list[1], r.add, []uint64{uint64(p), 100}, s))
	r.execute(m, s)
	if v := r.value(); v != 123 {
		t.Errorf("%d, want 123", v)
	}
	r.ok(r.DisableTask(list[0], s), r.ExecuteModel(m, s), r.DisableTask(list[2], s), r.ExecuteModel(m, s), r.SynchronizeStream(s))
	if v, w := r.value(), r.get(p); v != 223 || w != 323 {
		t.Errorf("%d and %d, want 223 and 323", v, w)
	}
	r.code("another number of arguments", r.SetTask(list[1], r.add, []uint64{1}, s), UpdateFailed)
	r.code("disable the end", r.DisableTask(list[3], s), UpdateFailed)
	_, err := r.ModelTasks(m, 1)
	r.code("a stream that is not there", err, InvalidParam)
}

// A context takes its models with it.
func TestModel_endOfContext(t *testing.T) {
	r := newRig(t, Config{})
	old := r.ctx
	before := must[int](t)(r.queues())
	for range 3 {
		c := must[*Context](t)(r.CreateContext(0))
		s := r.stream()
		k := must[*Kernel](t)(r.NewKernel("k", trace.KernelAICore, 1, 1000, nil))
		r.begin(s)
		r.ok(r.LaunchKernel(k, nil, s))
		m := r.finish(s)
		r.ok(r.ExecuteModel(m, s), r.DestroyContext(c), r.SetCurrentContext(old))
		r.code("a model of a context that is gone", r.ExecuteModel(m, nil), InvalidHandle)
	}
	if n := must[int](t)(r.queues()); n != before {
		t.Errorf("%d stream numbers in use, %d before", n, before)
	}
}

// queues counts the stream numbers of device 0 that are taken.
func (r *rig) queues() (n int, err error) {
	err = r.port.Call(func() { n = r.rt.devices[0].rings() })
	return n, err
}
