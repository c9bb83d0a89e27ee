package model

import (
	"bytes"
	"fmt"
	"testing"

	"npu/internal/runtime"
)

// slices of one block of device memory, as a framework's allocator hands them out.
type arena struct {
	base          runtime.Ptr
	size, used    int64
	allocs, frees int
}

func (a *arena) Alloc(n int64) (any, error) {
	if a.used+n > a.size {
		return nil, fmt.Errorf("%d bytes of %d are used", a.used, a.size)
	}
	p := a.base + runtime.Ptr(a.used)
	a.used += (n + 32 + 511) &^ 511
	a.allocs++
	return p, nil
}

func (a *arena) AllocAt(n int64, _ runtime.Ptr) (any, error) { return a.Alloc(n) }

func (a *arena) Free(any) error {
	a.frees++
	return nil
}

func (a *arena) Address(b any) runtime.Ptr { return b.(runtime.Ptr) }

// A model that is loaded for a stream of the program takes its memory from the allocator of that stream.
func TestLoad_streamAllocator(t *testing.T) {
	th, done := onDevice(t)
	m := openSmall(t)
	s, err := th.CreateStream(runtime.StreamConfig{})
	okAll(t, err)
	a := &arena{size: 8 << 20}
	a.base, err = th.Malloc(a.size)
	okAll(t, err, th.RegisterAllocator(s, a))
	for _, mode := range []Mode{Eager, Sunk} {
		a.used = 0
		x := load(t, m, th, LoadOptions{Mode: mode, Stream: s})
		if w, f := x.Memory(); w < a.base || f < a.base || w >= a.base+runtime.Ptr(a.size) || f >= a.base+runtime.Ptr(a.size) {
			t.Errorf("%v: the model lies at 0x%x and 0x%x, the arena at 0x%x", mode, uint64(w), uint64(f), uint64(a.base))
		}
		var want []byte
		for _, o := range runSmall(t, RunOptions{Mode: Eager}, true).Outputs {
			want = append(want, o.Data...)
		}
		if got := result(t, x, smallInputs(true)); !bytes.Equal(got, want) {
			t.Errorf("%v: the results differ", mode)
		}
		okAll(t, x.Unload())
	}
	if a.allocs == 0 || a.allocs != a.frees {
		t.Errorf("%d blocks taken, %d given back", a.allocs, a.frees)
	}
	okAll(t, th.UnregisterAllocator(s), th.DestroyStream(s), th.Free(a.base))
	done()
}
