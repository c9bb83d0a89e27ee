package kernels

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
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
		if part == 1 && lo == 5 {
			time.Sleep(2 * time.Millisecond) // the caller must park and be woken
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
	if n := testing.AllocsPerRun(100, func() { x.each(4, 1, body) }); n != 0 {
		t.Errorf("a loop allocates %v times", n)
	}
	w.Close()
	x.each(4, 1, body)
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
