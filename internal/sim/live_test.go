package sim

import (
	"testing"
	"time"

	"npu/internal/trace"
)

// Busy time is that of the rows of the trace, at any instant, also of a task that is under way.
func TestUse(t *testing.T) {
	r := newRig(t, Config{})
	k := r.kernel(trace.KernelAICore, 30, 1000, nil) // two waves on 20 cores
	v := r.kernel(trace.KernelAIVector, 10, 5000, nil)
	p := r.Attach(0)
	a, b, c := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	for range 5 {
		submit(t, p, a, Task{Kind: trace.KernelAICore, Func: k})
		submit(t, p, b, Task{Kind: trace.KernelAIVector, Func: v})
	}
	base, _ := r.Devices()[0].Memory()
	for range 3 {
		submit(t, p, b, Task{Kind: trace.Memset, A: base, C: 1 << 20})
		submit(t, p, c, Task{Kind: trace.Memset, A: base, C: 1 << 20})
	}
	for _, q := range []*Queue{a, b, c} {
		if _, err := p.WaitQueue(q, Everything, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	use := map[string]int64{}
	var moved uint64
	var fs []FunctionUse
	if err := p.Call(func() {
		for _, u := range r.Devices()[0].Use() {
			use[u.Name] = u.Busy
		}
		moved, fs = r.Devices()[0].Moved(), r.Functions(1)
	}); err != nil {
		t.Fatal(err)
	}
	r.Flush()
	want := map[string]int64{"cube": 5 * 30 * 1000, "vector": 5 * 10 * 5000, "aicpu": 0}
	var dma int64
	for _, x := range r.rec.tasks {
		if x.Kind == trace.Memset {
			dma += x.End - x.Start
		}
	}
	for n, w := range want {
		if use[n] != w {
			t.Errorf("%s was busy for %d ns, want %d", n, use[n], w)
		}
	}
	if got := use["dma0"] + use["dma1"] + use["dma2"]; got != dma || use["dma0"] < use["dma1"] || use["dma2"] != 0 {
		t.Errorf("DMA %d %d %d, together want %d", use["dma0"], use["dma1"], use["dma2"], dma)
	}
	if moved != 6<<20 {
		t.Errorf("%d bytes moved, want %d", moved, 6<<20)
	}
	if len(fs) != 1 || fs[0].Count != 5 || fs[0].Function.Kind != trace.KernelAIVector {
		t.Errorf("functions %+v, want the vector kernel first", fs)
	}
}

// A sample is taken by whoever drives, and by the caller when nobody does; it moves no clock.
func TestWantSample(t *testing.T) {
	r := newRig(t, Config{})
	n := 0
	r.OnSample(func() { n++ })
	r.WantSample()
	if n != 1 {
		t.Fatalf("%d samples of an idle machine", n)
	}
	k := r.kernel(trace.KernelAICore, 1, 1000, func(*Call) *Fault { r.WantSample(); return nil })
	p := r.Attach(0)
	q := r.queue(t, QueueConfig{})
	for range 10 {
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	if _, err := p.WaitQueue(q, Everything, 0, 0); err != nil {
		t.Fatal(err)
	}
	if n != 11 {
		t.Errorf("%d samples, want 11", n)
	}
}

// With a pace, device time never runs ahead of wall time, and a deadlock is still found.
func TestPace(t *testing.T) {
	r := newRig(t, Config{Pace: true})
	start := time.Now()
	k := r.kernel(trace.KernelAICore, 1, 10_000_000, nil)
	p := r.Attach(0)
	q := r.queue(t, QueueConfig{})
	for range 3 {
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	if _, err := p.WaitQueue(q, Everything, 0, 0); err != nil {
		t.Fatal(err)
	}
	if wall := time.Since(start); wall < 30*time.Millisecond {
		t.Errorf("30 ms of device time passed in %v", wall)
	}
	n := r.Devices()[0].NewNotify()
	if _, err := p.WaitNotify(n, 0, 0); err == nil {
		t.Error("a wait for nothing has ended without an error")
	}
}
