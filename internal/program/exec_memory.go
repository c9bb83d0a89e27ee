package program

import (
	"fmt"

	"npu/internal/runtime"
	"npu/internal/tensor"
)

// buffer is a typed array in some memory. It is immutable; what its memory holds is not.
type buffer struct {
	name  string
	kind  MemKind
	dtype tensor.DType
	count int
	addr  runtime.Ptr // of device and pinned memory
	host  runtime.HostMem
	mem   []byte             // of pinned and pageable memory
	cond  *runtime.Condition // a word that conditions read
}

// span is a range of a buffer's bytes.
type span struct {
	*buffer
	off, n int // bytes
}

func (s span) ptr() runtime.Ptr { return s.addr + runtime.Ptr(s.off) }
func (s span) bytes() []byte    { return s.mem[s.off : s.off+s.n] }

// span resolves a reference to a range of a buffer.
func (h *host) span(r Ref) (span, error) {
	b, err := get[*buffer](h, r.Name)
	if err != nil {
		return span{}, err
	}
	lo, err := h.value(r.Lo, 0)
	if err != nil {
		return span{}, err
	}
	hi, err := h.value(r.Hi, int64(b.count))
	switch {
	case err != nil:
		return span{}, err
	case lo < 0 || hi > int64(b.count) || lo >= hi:
		return span{}, fmt.Errorf("elements %d to %d of %s, which has %d", lo, hi, r.Name, b.count)
	}
	size := b.dtype.Size()
	return span{b, int(lo) * size, int(hi-lo) * size}, nil
}

func (h *host) buffer(st *BufferStmt) error {
	n, _ := st.Type.Shape.Elements()
	size, err := st.Type.Shape.Bytes(st.Type.DType)
	if err != nil {
		return err
	}
	b := &buffer{name: st.Name, kind: st.Kind, dtype: st.Type.DType, count: n}
	switch st.Kind {
	case OnDevice:
		if b.addr, err = h.th.Malloc(int64(size)); err != nil {
			return err
		}
	case Pinned:
		if b.host, err = h.th.MallocHost(int64(size)); err != nil {
			return err
		}
		b.addr, b.mem = b.host.Addr, b.host.Bytes[:size:size]
	case Pageable:
		b.mem = make([]byte, size)
	}
	h.env[st.Name] = b
	if st.Init == nil {
		return nil
	}
	data, err := st.Init.bytes(b.dtype, n)
	if err != nil {
		return err
	}
	if st.Kind == OnDevice {
		return h.th.MemcpyFromHost(b.addr, data)
	}
	return h.observe(func() error { copy(b.mem, data); return nil })
}

// set is the host writing its own memory.
func (h *host) set(st *SetStmt) error {
	s, err := h.span(st.Dst)
	if err != nil {
		return err
	}
	data, err := st.Init.bytes(s.dtype, s.n/s.dtype.Size())
	if err != nil {
		return err
	}
	return h.observe(func() error { copy(s.bytes(), data); return nil })
}

// read copies the elements of a range to the program, device memory with a synchronous copy.
func (h *host) read(s span) ([]byte, error) {
	b := make([]byte, s.n)
	if s.kind == OnDevice {
		return b, h.th.MemcpyToHost(b, s.ptr())
	}
	return b, h.observe(func() error { copy(b, s.bytes()); return nil })
}

func (h *host) copy(st *CopyStmt) error {
	dst, err := h.span(st.Dst)
	if err != nil {
		return err
	}
	src, err := h.span(st.Src)
	if err != nil {
		return err
	}
	n, err := h.value(st.Bytes, int64(src.n))
	if err != nil {
		return err
	}
	call := "aclrtMemcpyAsync"
	if st.On.Sync {
		call = "aclrtMemcpy"
	}
	if n < 0 || n > int64(dst.n) || n > int64(src.n) && src.kind == Pageable {
		return &runtime.Error{Code: runtime.InvalidParam, Call: call,
			Detail: fmt.Sprintf("%d bytes from %s to %s, which have %d and %d", n, src.name, dst.name, src.n, dst.n),
			Hint:   "the destination's size is an argument of the call: copy no more"}
	}
	s, err := h.on(st.On)
	switch {
	case err != nil:
		return err
	case src.kind != Pageable && dst.kind != Pageable && st.On.Sync:
		return h.th.Memcpy(dst.ptr(), src.ptr(), n)
	case src.kind != Pageable && dst.kind != Pageable:
		return h.th.MemcpyAsync(dst.ptr(), src.ptr(), n, s)
	case !st.On.Sync: // what DMA cannot reach is copied by the host, behind the stream
		if err := h.th.SynchronizeStream(s); err != nil {
			return err
		}
	}
	switch {
	case dst.kind == OnDevice:
		return h.th.MemcpyFromHost(dst.ptr(), src.bytes()[:n])
	case src.kind == OnDevice:
		return h.th.MemcpyToHost(dst.bytes()[:n], src.ptr())
	}
	return h.observe(func() error { copy(dst.bytes()[:n], src.bytes()); return nil })
}

func (h *host) memset(st *MemsetStmt) error {
	d, err := h.span(st.Dst)
	if err != nil {
		return err
	}
	v, err := h.value(st.Value, 0)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	switch {
	case err != nil:
		return err
	case st.On.Sync:
		return h.th.Memset(d.ptr(), byte(v), int64(d.n))
	}
	return h.th.MemsetAsync(d.ptr(), byte(v), int64(d.n), s)
}

func (h *host) free(name string) error {
	b, err := get[*buffer](h, name)
	switch {
	case err != nil:
		return err
	case b.kind == OnDevice:
		return h.th.Free(b.addr)
	case b.kind == Pinned:
		return h.th.FreeHost(b.host)
	}
	return nil
}
