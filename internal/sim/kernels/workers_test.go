package kernels

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"npu/internal/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWorkers_eachIndexOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 3, 5, 40} {
		w := NewWorkers(threads)
		for _, n := range []int{0, 1, 2, 7, 100, 1001} {
			for _, grain := range []int{-1, 1, 3, 1000} {
				hits := make([]int32, n)
				w.Parallel(n, grain, func(lo, hi int) {
					if hi-lo < min(n, grain) {
						t.Errorf("%d threads: chunk [%d,%d) is below the grain %d", threads, lo, hi, grain)
					}
					for i := lo; i < hi; i++ {
						atomic.AddInt32(&hits[i], 1)
					}
				})
				for i, h := range hits {
					if h != 1 {
						t.Fatalf("%d threads, n %d, grain %d: index %d computed %d times", threads, n, grain, i, h)
					}
				}
			}
		}
		w.Close()
	}
	var none *Workers
	ran := 0
	none.Parallel(3, 1, func(lo, hi int) { ran += hi - lo })
	new(Workers).Parallel(3, 1, func(lo, hi int) { ran += hi - lo })
	if ran != 6 {
		t.Errorf("nil and zero Workers computed %d indexes, want 6", ran)
	}
}

func TestWorkers_nestedRunsInline(t *testing.T) {
	w := NewWorkers(3)
	defer w.Close()
	var sum atomic.Int64
	w.Parallel(6, 1, func(lo, hi int) {
		for range hi - lo {
			w.Parallel(10, 1, func(lo, hi int) {
				if lo != 0 || hi != 10 {
					t.Errorf("nested loop was split: [%d,%d)", lo, hi)
				}
				sum.Add(int64(hi - lo))
			})
		}
	})
	if sum.Load() != 60 {
		t.Errorf("nested loops computed %d indexes, want 60", sum.Load())
	}
}

func TestWorkers_parkAndWake(t *testing.T) {
	w := NewWorkers(2)
	x := &Exec{Workers: w}
	var sum atomic.Int64
	body := func(x *Exec, part, lo, hi int) {
		if part == 1 {
			time.Sleep(2 * time.Millisecond) // a helper: the caller must park and be woken
		}
		sum.Add(int64(hi - lo))
	}
	for range 20 {
		x.each(10, 1, body)
		time.Sleep(time.Millisecond) // the helper must park and be woken
	}
	for range 2000 {
		x.each(4, 1, body)
	}
	if sum.Load() != 20*10+2000*4 {
		t.Errorf("computed %d indexes", sum.Load())
	}
	if n := allocations(100, func() { x.each(4, 1, body) }); n != 0 {
		t.Errorf("a loop allocates %v times", n)
	}
	w.Close()
	x.each(4, 1, body)
}

// TestWorkers_noMoreThreadsThanParts holds what kernels rely on that have scratch memory for as many threads as there are
// parts: helpers that a larger loop woke stay out of a smaller one.
func TestWorkers_noMoreThreadsThanParts(t *testing.T) {
	w := NewWorkers(8)
	defer w.Close()
	x := &Exec{Workers: w}
	var worst atomic.Int64
	rounds := 3000
	if testing.Short() { // a sleep may take milliseconds
		rounds = 300
	}
	for i := range rounds {
		n := 2 + i%5
		if i%50 == 0 {
			n = 100
		}
		x.each(n, 1, func(_ *Exec, part, lo, hi int) {
			if part >= n {
				worst.Store(int64(part))
			}
			time.Sleep(time.Microsecond)
		})
	}
	if worst.Load() != 0 {
		t.Errorf("thread %d computed a part of a loop that has fewer", worst.Load())
	}
}

// TestKernels_manyStreamsAndThreads runs one kernel of each family, large enough to be shared out, on several streams
// at once: all must give the bits that a single thread gives.
func TestKernels_manyStreamsAndThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	x := func(shape ...int) *tensor.Tensor { return random(r, tensor.Float32, shape...) }
	image := x(2, 16, 64, 64)
	for _, c := range []trial{
		{op: "Conv", in: []*tensor.Tensor{image, x(32, 16, 3, 3)}, konst: []bool{false, true}},
		{op: "Conv", in: []*tensor.Tensor{image, x(32, 16, 3, 3)}},
		{op: "Conv", attrs: Attrs{"group": int64(16)}, in: []*tensor.Tensor{image, x(16, 1, 3, 3)}},
		{op: "ConvTranspose", attrs: Attrs{"strides": i64(2, 2)}, in: []*tensor.Tensor{image, x(16, 32, 4, 4)}, konst: []bool{false, true}},
		{op: "MatMul", in: []*tensor.Tensor{x(300, 200), x(200, 300)}},
		{op: "MatMul", in: []*tensor.Tensor{random(r, tensor.Int32, 300, 200), random(r, tensor.Int32, 200, 300)}},
		{op: "MaxPool", attrs: Attrs{"kernel_shape": i64(3, 3)}, in: []*tensor.Tensor{image}, outs: 2},
		{op: "GlobalAveragePool", in: []*tensor.Tensor{image}},
		{op: "Softmax", in: []*tensor.Tensor{x(64, 1000)}},
		{op: "Softmax", attrs: Attrs{"axis": int64(1)}, in: []*tensor.Tensor{image}},
		{op: "BatchNormalization", in: []*tensor.Tensor{image, x(16), x(16), x(16), x(16)}},
		{op: "InstanceNormalization", in: []*tensor.Tensor{image, x(16), x(16)}},
		{op: "LayerNormalization", in: []*tensor.Tensor{x(128, 700), x(700)}},
		{op: "LRN", attrs: Attrs{"size": int64(5)}, in: []*tensor.Tensor{image}},
		{op: "LSTM", attrs: Attrs{"direction": "bidirectional"}, in: []*tensor.Tensor{x(40, 3, 64), x(2, 256, 64), x(2, 256, 64)}, outs: 3},
		{op: "Resize", attrs: Attrs{"mode": "linear"}, in: []*tensor.Tensor{image, nil, floats(1, 1, 2, 2)}, konst: []bool{false, true, true}},
		{op: "Resize", in: []*tensor.Tensor{image, nil, floats(1, 1, 2, 2)}, konst: []bool{false, true, true}},
	} {
		if c.op == "BatchNormalization" {
			setNumbers(c.in[4], slices.Repeat([]float64{0.5}, 16)) // a variance is not negative
		}
		k, one, outs, err := c.prepare()
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if err := k.Run(one); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		var streams sync.WaitGroup
		for _, threads := range []int{2, 3, 5} {
			streams.Go(func() {
				e := &Exec{In: one.In, Workspace: make([]byte, k.Workspace), Workers: NewWorkers(threads)}
				defer e.Workers.Close()
				for _, o := range outs {
					e.Out = append(e.Out, make([]byte, len(o.Data)))
				}
				if err := k.Run(e); err != nil {
					t.Errorf("%v: %v", c, err)
				}
				if len(e.Workers.helpers) == 0 {
					t.Errorf("%v: not shared out", c)
				}
				for i, o := range outs {
					if !bytes.Equal(e.Out[i], o.Data) {
						t.Errorf("%v: output %d differs with %d threads", c, i, threads)
					}
				}
			})
		}
		streams.Wait()
	}
}

func BenchmarkWorkers_forkJoin(b *testing.B) {
	w := NewWorkers(2)
	defer w.Close()
	x := &Exec{Workers: w}
	body := func(x *Exec, part, lo, hi int) {}
	for b.Loop() {
		x.each(2, 1, body)
	}
}
