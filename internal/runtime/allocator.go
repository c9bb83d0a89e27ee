package runtime

import "fmt"

var callAllocator = call{"aclrtAllocatorRegister", 1000}

// Allocator is a program's own source of device memory for a stream (aclrtAllocatorDesc). Its blocks are what it likes;
// their addresses are multiples of 64. Its methods are called on the thread that needs the memory, outside all locks of
// the runtime, so that they may allocate from it.
type Allocator interface {
	// Alloc takes at least n bytes.
	Alloc(n int64) (block any, err error)
	// AllocAt is Alloc, at that address if it can be.
	AllocAt(n int64, wish Ptr) (block any, err error)
	Free(block any) error
	Address(block any) Ptr
}

// RegisterAllocator makes a the source of what the graph engine allocates for work on stream s; the latest one counts
// (aclrtAllocatorRegister). It ends with UnregisterAllocator or with the stream.
func (th *Thread) RegisterAllocator(s *Stream, a Allocator) error {
	if a == nil {
		return th.fail(ACLInvalidParam, callAllocator.name, "allocator is null", "")
	}
	s, err := th.use(s, callAllocator)
	if err == nil {
		s.allocator.Store(&a)
	}
	return err
}

// UnregisterAllocator takes the allocator of a stream away; memory that it gave is still freed by it
// (aclrtAllocatorUnregister).
func (th *Thread) UnregisterAllocator(s *Stream) error {
	c := call{"aclrtAllocatorUnregister", callAllocator.ns}
	s, err := th.use(s, c)
	if err == nil && s.allocator.Swap(nil) == nil {
		err = th.fail(InvalidParam, c.name, fmt.Sprintf("stream %d has no allocator", s.id), "register one first")
	}
	return err
}

// AllocatorOf is the allocator of a stream, nil if it has none (aclrtAllocatorGetByStream).
func (th *Thread) AllocatorOf(s *Stream) (Allocator, error) {
	s, err := th.use(s, call{"aclrtAllocatorGetByStream", callAllocator.ns})
	if err != nil {
		return nil, err
	}
	if a := s.allocator.Load(); a != nil {
		return *a, nil
	}
	return nil, nil
}

// StreamBlock is memory for work on a stream.
type StreamBlock struct {
	Addr  Ptr
	by    Allocator // nil: the runtime
	block any
}

// MallocFor takes n bytes for work on stream s: from the stream's allocator if it has one, else as Malloc does.
func (th *Thread) MallocFor(s *Stream, n int64) (b StreamBlock, err error) {
	if b.by, err = th.AllocatorOf(s); err != nil {
		return b, err
	}
	if b.by == nil {
		b.Addr, err = th.Malloc(n)
		return b, err
	}
	if b.block, err = b.by.Alloc(n); err != nil {
		return b, fmt.Errorf("%d bytes from the allocator of a stream: %w", n, err)
	}
	if b.Addr = b.by.Address(b.block); b.Addr == 0 || b.Addr%64 != 0 {
		_ = b.by.Free(b.block) // its address is the error
		return b, th.fail(OutOfMemory, callAllocator.name, fmt.Sprintf("the allocator of a stream gave address 0x%x for %d bytes", uint64(b.Addr), n), "give a multiple of 64")
	}
	return b, nil
}

// FreeFor gives a block of MallocFor back.
func (th *Thread) FreeFor(b StreamBlock) error {
	if b.by != nil {
		return b.by.Free(b.block)
	}
	return th.Free(b.Addr)
}
