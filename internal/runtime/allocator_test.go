package runtime

import (
	"errors"
	"testing"
)

// arena is an allocator of a program over one block of device memory.
type arena struct {
	base          Ptr
	size, used    int64
	allocs, frees int
	odd           bool // gives addresses that are no multiples of 64
}

type arenaBlock struct{ at Ptr }

var errArenaFull = errors.New("the arena is full")

func (a *arena) Alloc(n int64) (any, error) {
	if a.used+n > a.size {
		return nil, errArenaFull
	}
	b := &arenaBlock{a.base + Ptr(a.used)}
	if a.odd {
		b.at++
	}
	a.used += (n + 63) &^ 63
	a.allocs++
	return b, nil
}

func (a *arena) AllocAt(n int64, _ Ptr) (any, error) { return a.Alloc(n) }

func (a *arena) Free(any) error {
	a.frees++
	return nil
}

func (a *arena) Address(b any) Ptr { return b.(*arenaBlock).at }

// A stream has one allocator at a time, and memory goes back to the one that it came from.
func TestAllocator_ofStream(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	space := must[Ptr](t)(r.Malloc(1 << 20))
	a, b := &arena{base: space, size: 1 << 19}, &arena{base: space + 1<<19, size: 1 << 19}
	if x := must[Allocator](t)(r.AllocatorOf(s)); x != nil {
		t.Errorf("a new stream has the allocator %v", x)
	}
	r.code("null", r.RegisterAllocator(s, nil), ACLInvalidParam)
	r.code("none yet", r.UnregisterAllocator(s), InvalidParam)
	plain := must[StreamBlock](t)(r.MallocFor(s, 100))
	r.ok(r.RegisterAllocator(s, a))
	of := must[StreamBlock](t)(r.MallocFor(s, 1000))
	r.ok(r.RegisterAllocator(s, b))
	if x := must[Allocator](t)(r.AllocatorOf(s)); x != Allocator(b) {
		t.Errorf("the stream has %v", x)
	}
	if of.Addr != a.base || plain.Addr == 0 {
		t.Errorf("the block lies at 0x%x, the plain one at 0x%x", uint64(of.Addr), uint64(plain.Addr))
	}
	r.ok(r.FreeFor(of), r.FreeFor(plain))
	if a.allocs != 1 || a.frees != 1 || b.allocs+b.frees != 0 {
		t.Errorf("calls: %+v, %+v", a, b)
	}
	if _, err := r.MallocFor(s, 1<<20); !errors.Is(err, errArenaFull) {
		t.Errorf("a full allocator: %v", err)
	}
	b.odd = true
	_, err := r.MallocFor(s, 64)
	r.code("an odd address", err, OutOfMemory)
	if b.allocs != b.frees {
		t.Error("the block with the odd address is lost")
	}
	r.ok(r.UnregisterAllocator(s), r.DestroyStream(s), r.Free(space))
	r.code("destroyed stream", r.RegisterAllocator(s, a), InvalidHandle)
	r.clean()
}
