package runtime

import (
	"errors"
	"strings"
	"testing"
	"time"

	"npu/internal/sim"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// compiled is an operator of two equal inputs and one output, compiled for n elements.
func compiled(t testing.TB, th *Thread, op string, dt tensor.DType, n int) *Kernel {
	t.Helper()
	d := kernels.Desc{DType: dt, Shape: tensor.Shape{n}}
	k, err := kernels.Compile(&kernels.Spec{Op: op, Opset: 14, In: []kernels.Desc{d, d}, Out: []kernels.Desc{d}})
	if err != nil {
		t.Fatal(err)
	}
	size := n * int(dt.Size())
	return must[*Kernel](t)(th.LoadKernel(KernelConfig{Name: op, Run: k, In: []int{size, size}, Out: []int{size}, InDesc: []kernels.Desc{d, d}, OutDesc: []kernels.Desc{d}}))
}

// Kernels that reach outside their memory or divide by zero really fault, and later ones run.
func TestFault_ofOperators(t *testing.T) {
	r := newRig(t, Config{})
	div := compiled(t, r.Thread, "Div", tensor.Int32, 64)
	add := compiled(t, r.Thread, "Add", tensor.Float32, 1<<20) // 4 MiB an operand
	x := must[Ptr](t)(r.Malloc(256))
	zero := must[Ptr](t)(r.Malloc(256))
	r.ok(r.Memset(x, 1, 256), r.Memset(zero, 0, 256))
	base, size := r.rt.devices[0].hw.Memory()
	end := uint64(base) + uint64(size)
	for _, c := range []struct {
		name string
		k    *Kernel
		args []uint64
		say  string
	}{
		{"division by zero", div, []uint64{uint64(x), uint64(zero), uint64(x)}, "zero"},
		{"input that was never allocated", div, []uint64{base + 32<<30, uint64(x), uint64(x)}, "input 0"},
		{"output beyond its pages", add, []uint64{uint64(x), uint64(x), uint64(x)}, "input 0"},
		{"beyond the end of the memory", div, []uint64{uint64(x), uint64(x), end - 4}, "output 0"},
		{"null pointer", div, []uint64{uint64(x), 0, uint64(x)}, "input 1"},
	} {
		r.ok(r.LaunchKernel(c.k, c.args, nil), r.inc(nil))
		err := r.SynchronizeStream(nil)
		r.code(c.name, err, VectorException)
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: message %v does not say %q", c.name, err, c.say)
		}
	}
	if v := r.value(); v != 5 {
		t.Errorf("%d of 5 later kernels ran", v)
	}
}

// A launch into a full ring whose stream never goes on is told of the deadlock, instead of hanging.
func TestSubmit_deadlockInAFullRing(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	e := r.event(flagEvent, EventSync)
	r.ok(r.WaitEvent(s, e))
	var err error
	for i := 0; i < 3000 && err == nil; i++ {
		err = r.inc(s)
	}
	var dead *sim.Deadlock
	if !errors.As(err, &dead) || !strings.Contains(err.Error(), "room in the ring") || !strings.Contains(err.Error(), "EVENT_WAIT") {
		t.Fatalf("error %v", err)
	}
	r.ok(r.RecordEvent(e, nil), r.SynchronizeStream(s))
	if v := r.value(); v < 2000 {
		t.Errorf("%d kernels ran after the record", v)
	}
	r.ok(r.DestroyEvent(e), r.DestroyStream(s))
	r.clean()
}

// An interrupt ends waits and the runtime's own threads, also those for a device that is in an endless loop.
func TestInterrupt_withServices(t *testing.T) {
	r := newRig(t, Config{TimingOnly: true})
	s := r.stream()
	r.ok(r.LaunchHostFunc(s, func(*Thread) {}), r.SetExceptionCallback(func(*Thread, *Exception) {}), r.SynchronizeStream(s))
	b := must[*ModelBuilder](t)(r.BuildModel())
	loop, ms := b.Label(), b.Stream(true)
	ms.Place(loop)
	ms.WriteValue(r.counter, 1)
	ms.Goto(loop)
	ms.End()
	m := must[*Model](t)(b.Build("endless"))
	r.ok(r.ExecuteModel(m, s))
	child := must[*Child](t)(r.Go(func(th *Thread) error { return th.SynchronizeStream(s) }))
	time.AfterFunc(10*time.Millisecond, r.rt.Interrupt)
	if err := r.Wait(child); !errors.Is(err, sim.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	<-child.done
	if err := r.rt.Close(r.Thread); !errors.Is(err, sim.ErrInterrupted) {
		t.Errorf("close: %v", err)
	}
	r.Thread.rt = nil
}

// What a program does thousands of times a second allocates nothing.
func TestSubmission_allocatesNothing(t *testing.T) {
	r := newRig(t, Config{TimingOnly: true})
	s, shared := r.stream(), r.stream()
	shared.Share()
	e := []*Event{r.event(plainEvent, 0), r.event(softEvent, EventSync), r.event(flagEvent, EventSync)}
	n := must[*Notify](t)(r.CreateNotify(0))
	l := must[*Launch](t)(r.Prepare(r.tiny, []uint64{1, 2}, s))
	round := func() {
		for range 40 {
			r.ok(r.Submit(l), r.LaunchKernel(r.tiny, nil, shared), r.MemsetAsync(r.counter, 0, 8, s))
			for _, x := range e {
				r.ok(r.RecordEvent(x, s), r.WaitEvent(shared, x))
			}
			r.ok(r.RecordNotify(n, s), r.WaitNotify(n, shared, 0), r.ValueWrite(r.counter, 1, s))
		}
		r.ok(r.SynchronizeStream(s), r.SynchronizeStream(shared), r.SynchronizeEvent(e[0]))
	}
	for range 100 {
		round()
	}
	// The recorder takes a chunk every few thousand rows.
	if a := testing.AllocsPerRun(10, round); a > 2 {
		t.Errorf("40 rounds of submissions allocate %v times", a)
	}
}

// Under policy preempt an urgent kernel starts within one block of the running one, under reference behind it.
func TestPolicy_urgentKernel(t *testing.T) {
	for _, c := range []struct {
		policy   sim.Policy
		min, max int64
	}{{sim.Preempt, 0, 10_000}, {sim.Reference, 70_000, 100_000}} {
		r := newRig(t, Config{Policy: c.policy})
		units := uint32(r.rt.devices[0].hw.Units(trace.EngineCube))
		big := must[*Kernel](t)(r.NewKernel("big", trace.KernelAICore, 10*units, 10_000, nil)) // ten waves
		urgent := must[*Kernel](t)(r.NewKernel("urgent", trace.KernelAICore, units, 1000, nil))
		low, high := r.stream(StreamConfig{Priority: 7}), r.stream()
		r.ok(r.LaunchKernel(big, nil, low))
		r.Work(12_000)
		r.ok(r.LaunchKernel(urgent, nil, high), r.SynchronizeDevice())
		x := rowsOf(r.trace(), "urgent")[0]
		if late := x.Start - x.Ready; late < c.min || late > c.max {
			t.Errorf("%v: the urgent kernel started %d ns after it was ready, want %d to %d", c.policy, late, c.min, c.max)
		}
	}
}

// compiledSquare is a product of two square matrices, for the cube pipe.
func compiledSquare(t testing.TB, th *Thread, n int) *Kernel {
	t.Helper()
	d := kernels.Desc{DType: tensor.Float16, Shape: tensor.Shape{n, n}}
	k, err := kernels.Compile(&kernels.Spec{Op: "MatMul", Opset: 14, In: []kernels.Desc{d, d}, Out: []kernels.Desc{d}})
	if err != nil {
		t.Fatal(err)
	}
	return must[*Kernel](t)(th.LoadKernel(KernelConfig{Name: "MatMul", Run: k, In: []int{2 * n * n, 2 * n * n}, Out: []int{2 * n * n}, InDesc: []kernels.Desc{d, d}, OutDesc: []kernels.Desc{d}}))
}
