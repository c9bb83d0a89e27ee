package runtime

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/trace"
)

// CopyKind is the direction that a caller names, numbered as aclrtMemcpyKind.
type CopyKind int

// Copy kinds.
const (
	CopyHostToHost CopyKind = iota
	CopyHostToDevice
	CopyDeviceToHost
	CopyDeviceToDevice
	CopyDefault
	CopyBufferToDevice
	CopyInnerDevice
	CopyInterDevice
)

var (
	callMemcpy2D      = call{"aclrtMemcpy2d", 4000}
	callMemcpy2DAsync = call{"aclrtMemcpy2dAsync", 3000}
	callMemcpyBatch   = call{"aclrtMemcpyBatch", 4000}
)

// Mem is one end of a copy: an address on the bus, or memory of the program. The zero Mem is the null pointer.
type Mem struct {
	Addr Ptr
	Host []byte
}

// At is memory at an address on the bus.
func At(p Ptr) Mem { return Mem{Addr: p} }

// Pageable is memory of the program. Where it is pinned or registered it is used as such.
func Pageable(b []byte) Mem { return Mem{Host: b} }

func (m Mem) null() bool { return m.Addr == 0 && m.Host == nil }

// plus is the memory off bytes further on.
func (m Mem) plus(off int64) Mem {
	if m.Host != nil {
		return Mem{Host: m.Host[off:]}
	}
	return Mem{Addr: m.Addr + Ptr(off)}
}

// pinned turns memory of the program that has an address on the bus into that address.
func (th *Thread) pinned(m Mem) Mem {
	if m.Host != nil {
		if p, ok := th.rt.hostMem.pointer(m.Host); ok {
			return Mem{Addr: p}
		}
	}
	return m
}

// CopyMemory copies n bytes from src to dst, which has room for limit, and returns when it is done. It orders with no
// stream. The real direction replaces the one that kind names (aclrtMemcpy).
func (th *Thread) CopyMemory(dst Mem, limit int64, src Mem, n int64, kind CopyKind) error {
	if done, err := th.checkCopy(&dst, limit, &src, n, kind, callMemcpy); done || err != nil {
		return err
	}
	switch {
	case dst.Host != nil && src.Host != nil:
		if err := th.unsafeCall(callMemcpy); err != nil {
			return err
		}
		th.port.Spend(callMemcpy.ns)
		th.hostCopy(n)
		copy(dst.Host[:n], src.Host[:n])
		return nil
	case dst.Host != nil:
		return th.MemcpyToHost(dst.Host[:n], src.Addr)
	case src.Host != nil:
		return th.MemcpyFromHost(dst.Addr, src.Host[:n])
	}
	return th.Memcpy(dst.Addr, src.Addr, n)
}

// CopyMemoryAsync is CopyMemory in stream order (aclrtMemcpyAsync). With memory of the program that is neither pinned
// nor registered it is synchronous: it waits for the stream, and copies then.
func (th *Thread) CopyMemoryAsync(dst Mem, limit int64, src Mem, n int64, kind CopyKind, s *Stream) error {
	if done, err := th.checkCopy(&dst, limit, &src, n, kind, callMemcpyAsync); done || err != nil {
		return err
	}
	if dst.Host == nil && src.Host == nil {
		return th.MemcpyAsync(dst.Addr, src.Addr, n, s)
	}
	if u, err := th.use(s, callMemcpyAsync); err != nil {
		return err
	} else if u.lane.Load() != nil {
		return th.failAs(InvalidParam, "EE1016", callMemcpyAsync.name, "pageable host memory in a capture", "use pinned or registered memory")
	}
	if err := th.SynchronizeStream(s); err != nil {
		return err
	}
	return th.CopyMemory(dst, limit, src, n, kind)
}

// checkCopy checks the arguments of a copy. done: there is nothing to copy.
func (th *Thread) checkCopy(dst *Mem, limit int64, src *Mem, n int64, kind CopyKind, c call) (done bool, err error) {
	switch {
	case kind < 0 || kind > CopyBufferToDevice:
		return false, th.fail(ACLInvalidParam, c.name, fmt.Sprintf("kind %d", kind), "give 0 to 5")
	case n == 0:
		return true, nil
	case dst.null() || src.null():
		return false, th.fail(ACLInvalidParam, c.name, "pointer is null", "")
	case n < 0 || n > limit:
		return false, th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes into a destination of %d", n, limit), "")
	case dst.Host != nil && n > int64(len(dst.Host)) || src.Host != nil && n > int64(len(src.Host)):
		return false, th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes are more than the host memory holds", n), "")
	}
	*dst, *src = th.pinned(*dst), th.pinned(*src)
	switch {
	case dst.Host == nil && src.Host == nil:
		return dst.Addr == src.Addr, nil
	case dst.Host != nil && src.Host != nil && (kind != CopyHostToHost && kind != CopyDefault):
		// Nobody knows these pointers: the kind would have to be believed, and it names a device.
		return false, th.fail(InvalidParam, c.name, fmt.Sprintf("kind %d between two pieces of unregistered host memory", kind), "name the real direction, or register the memory")
	case dst.Host != nil && src.Host != nil:
		return addressOf(dst.Host) == addressOf(src.Host), nil
	}
	return false, nil
}

// hostCopy charges the thread with copying n bytes itself, between host memory: no task is set up for it.
func (th *Thread) hostCopy(n int64) {
	chip := th.rt.cfg.Chip
	th.port.Spend(cost.CopyNs(chip, cost.HostToHost, n) - cost.CopyNs(chip, cost.HostToHost, 0))
}

// Limits of one copy task in bytes; larger copies are several tasks.
const (
	busTask    = 64 << 20
	deviceTask = 4 << 30
)

func taskLimit(dir trace.Dir) int64 {
	if dir == trace.DeviceToDevice {
		return deviceTask
	}
	return busTask
}

// FillMemory sets n bytes of device or host memory, of which there are limit, and returns when it is done (aclrtMemset).
func (th *Thread) FillMemory(m Mem, limit int64, value byte, n int64) error {
	switch {
	case n == 0:
		return nil
	case m.null():
		return th.fail(ACLInvalidParam, callMemset.name, "pointer is null", "")
	case n < 0 || n > limit || m.Host != nil && n > int64(len(m.Host)):
		return th.fail(InvalidParam, callMemset.name, fmt.Sprintf("%d bytes of %d", n, limit), "")
	}
	if m = th.pinned(m); m.Host == nil {
		return th.Memset(m.Addr, value, n)
	}
	th.port.Spend(callMemset.ns)
	for i := range m.Host[:n] {
		m.Host[i] = value
	}
	return nil
}

// Limits of the asynchronous two-dimensional copy.
const (
	maxWidth2D  = 5_000_000
	maxHeight2D = 5 * 1024 * 1024
)

// Copy2D is a two-dimensional copy: height rows of width bytes, pitch bytes apart.
type Copy2D struct {
	Dst, Src           Mem
	DstPitch, SrcPitch int64
	Width, Height      int64
	Kind               CopyKind
}

// Memcpy2D copies rows between host and device and returns when it is done (aclrtMemcpy2d).
func (th *Thread) Memcpy2D(c Copy2D) error {
	if err := th.check2D(c, math.MaxInt64, math.MaxInt64, callMemcpy2D); err != nil {
		return err
	}
	return c.rows(func(dst, src Mem, n int64) error { return th.CopyMemory(dst, n, src, n, c.Kind) })
}

// Memcpy2DAsync is Memcpy2D in stream order (aclrtMemcpy2dAsync).
func (th *Thread) Memcpy2DAsync(c Copy2D, s *Stream) error {
	if err := th.check2D(c, maxWidth2D, maxHeight2D, callMemcpy2DAsync); err != nil {
		return err
	}
	return c.rows(func(dst, src Mem, n int64) error { return th.CopyMemoryAsync(dst, n, src, n, c.Kind, s) })
}

func (th *Thread) check2D(c Copy2D, width, height int64, in call) error {
	bad := ""
	switch {
	case c.Dst.null() || c.Src.null():
		return th.fail(ACLInvalidParam, in.name, "pointer is null", "")
	case c.Kind != CopyHostToDevice && c.Kind != CopyDeviceToHost:
		bad = fmt.Sprintf("kind %d: only host to device and back", c.Kind)
	case c.Width < 1 || c.Height < 1 || c.Width > c.DstPitch || c.Width > c.SrcPitch:
		bad = fmt.Sprintf("%d rows of %d bytes with pitches %d and %d", c.Height, c.Width, c.DstPitch, c.SrcPitch)
	case c.Width > width || c.Height > height:
		bad = fmt.Sprintf("%d rows of %d bytes: at most %d of %d", c.Height, c.Width, height, width)
	case c.Dst.Host != nil && c.short(c.Dst, c.DstPitch) || c.Src.Host != nil && c.short(c.Src, c.SrcPitch):
		bad = "the host memory ends before the last row does"
	}
	if bad == "" {
		return nil
	}
	return th.fail(InvalidParam, in.name, bad, "")
}

// short says whether host memory is too small for the rows.
func (c Copy2D) short(m Mem, pitch int64) bool {
	n := int64(len(m.Host))
	return n < c.Width || c.Height > 1 && (n-c.Width)/(c.Height-1) < pitch
}

// rows calls f for each row, or once where the rows lie side by side.
func (c Copy2D) rows(f func(dst, src Mem, n int64) error) error {
	if c.Width == c.DstPitch && c.Width == c.SrcPitch {
		return f(c.Dst, c.Src, c.Width*c.Height)
	}
	for i := range c.Height {
		if err := f(c.Dst.plus(i*c.DstPitch), c.Src.plus(i*c.SrcPitch), c.Width); err != nil {
			return err
		}
	}
	return nil
}

// BatchItem is one copy of a batch.
type BatchItem struct {
	Dst   Mem
	Limit int64
	Src   Mem
	N     int64
}

// NoItem is the failing index of an error that is not an item's (SIZE_MAX).
const NoItem = -1

// MemcpyBatch makes several copies in one direction, in no order (aclrtMemcpyBatch). attrs are the direction of the
// items from attrsIndexes on: the first index is 0, the others rise. It returns the index of the item that is wrong, or
// NoItem.
func (th *Thread) MemcpyBatch(items []BatchItem, attrs []CopyKind, attrsIndexes []int) (failed int, err error) {
	return th.batch(items, attrs, attrsIndexes, func(x BatchItem, k CopyKind) error {
		return th.CopyMemory(x.Dst, x.Limit, x.Src, x.N, k)
	})
}

// MemcpyBatchAsync is MemcpyBatch in stream order (aclrtMemcpyBatchAsync).
func (th *Thread) MemcpyBatchAsync(items []BatchItem, attrs []CopyKind, attrsIndexes []int, s *Stream) (failed int, err error) {
	return th.batch(items, attrs, attrsIndexes, func(x BatchItem, k CopyKind) error {
		return th.CopyMemoryAsync(x.Dst, x.Limit, x.Src, x.N, k, s)
	})
}

func (th *Thread) batch(items []BatchItem, attrs []CopyKind, at []int, f func(BatchItem, CopyKind) error) (int, error) {
	fail := func(detail string) (int, error) {
		return NoItem, th.fail(InvalidParam, callMemcpyBatch.name, detail, "")
	}
	switch {
	case len(items) == 0:
		return fail("no items")
	case len(attrs) == 0 || len(attrs) != len(at):
		return fail(fmt.Sprintf("%d attributes with %d indexes", len(attrs), len(at)))
	case at[0] != 0:
		return fail(fmt.Sprintf("the first attribute begins at item %d, not at 0", at[0]))
	}
	for i := 1; i < len(at); i++ {
		if at[i] <= at[i-1] || at[i] >= len(items) {
			return fail(fmt.Sprintf("attribute %d begins at item %d of %d", i, at[i], len(items)))
		}
		if attrs[i] != attrs[0] {
			return fail("the attributes name two directions")
		}
	}
	for i, x := range items {
		if err := f(x, attrs[0]); err != nil {
			return i, err
		}
	}
	return NoItem, nil
}
