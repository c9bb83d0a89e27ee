package runtime

import (
	"encoding/binary"
	"fmt"
	"math"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// OverflowMode is what kernels of a device do with results beyond the range of their type.
type OverflowMode int

// Modes, numbered as aclrtFloatOverflowMode.
const (
	Saturate OverflowMode = iota // the greatest finite value; NaN becomes 0
	InfNaN                       // infinity and NaN, the default
)

// overflow is the overflow detection of a device. Under Port.Call and the driver.
type overflow struct {
	saturate bool
	watched  map[uint32]bool // streams whose overflows are noted
	checked  map[uint32]bool // streams that return them
	status   uint64          // device address of the status, 0: none yet
	values   []float64
}

// greatest are the greatest finite values of the types that saturate.
var greatest = map[tensor.DType]float64{
	tensor.Float64: math.MaxFloat64, tensor.Float32: math.MaxFloat32, tensor.Float16: 65504, tensor.BFloat16: 0x1.fep127,
}

// overflowBytes is the size of the status.
const overflowBytes = 64

// SetOverflowMode sets the mode of the current device for every later kernel (aclrtSetDeviceSatMode).
func (th *Thread) SetOverflowMode(m OverflowMode) error {
	c := call{name: "aclrtSetDeviceSatMode"}
	if m != Saturate && m != InfNaN {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("mode %d", int(m)), "give 0 (saturation) or 1 (infinity and NaN)")
	}
	ctx, err := th.context(c)
	if err != nil {
		return err
	}
	ok := true
	err = th.port.Call(func() {
		d := ctx.dev
		if m == Saturate && d.overflow.status == 0 {
			d.overflow.status, ok = d.memory.alloc(mempool.Padded(overflowBytes, 0), nil, d.memory.shared)
			clear(d.hw.Bytes(d.overflow.status, overflowBytes))
		}
		d.overflow.saturate = m == Saturate && ok
	})
	if err == nil && !ok {
		return th.outOfMemory(ctx.dev, overflowBytes, c)
	}
	return th.blocked(c.name, nil, err)
}

// OverflowMode is the mode of the current device (aclrtGetDeviceSatMode).
func (th *Thread) OverflowMode() (OverflowMode, error) {
	ctx, err := th.context(call{name: "aclrtGetDeviceSatMode"})
	if err != nil {
		return 0, err
	}
	m := InfNaN
	err = th.port.Call(func() {
		if ctx.dev.overflow.saturate {
			m = Saturate
		}
	})
	return m, th.blocked("aclrtGetDeviceSatMode", nil, err)
}

// SetStreamOverflowSwitch has overflows of kernels of the stream noted, in saturation mode
// (aclrtSetStreamOverflowSwitch).
func (th *Thread) SetStreamOverflowSwitch(s *Stream, on bool) error {
	c := call{name: "aclrtSetStreamOverflowSwitch"}
	s, err := th.use(s, c)
	if err != nil {
		return err
	}
	err = th.port.Call(func() { change(&s.dev.overflow.watched, s.id, on) })
	return th.blocked(c.name, nil, err)
}

// change puts a stream into a set, or takes it out.
func change(set *map[uint32]bool, stream uint32, on bool) {
	if delete(*set, stream); on {
		if *set == nil {
			*set = map[uint32]bool{}
		}
		(*set)[stream] = true
	}
}

// forget drops what was said of a stream: its number will be another's.
func (o *overflow) forget(stream uint32) {
	delete(o.watched, stream)
	delete(o.checked, stream)
}

// OverflowStatus copies the status of the device to dst, 64 bytes of which the first word is 1 after an overflow, in the
// order of the stream (aclrtGetOverflowStatus).
func (th *Thread) OverflowStatus(dst Ptr, n int64, s *Stream) error {
	c := call{name: "aclrtGetOverflowStatus"}
	if n != overflowBytes {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes", n), "give 64")
	}
	at, err := th.overflowStatus(c)
	if err != nil {
		return err
	}
	return th.MemcpyAsync(dst, at, n, s)
}

// ResetOverflowStatus clears the status in the order of the stream (aclrtResetOverflowStatus).
func (th *Thread) ResetOverflowStatus(s *Stream) error {
	at, err := th.overflowStatus(call{name: "aclrtResetOverflowStatus"})
	if err != nil {
		return err
	}
	return th.MemsetAsync(at, 0, overflowBytes, s)
}

func (th *Thread) overflowStatus(c call) (p Ptr, err error) {
	ctx, err := th.context(c)
	if err != nil {
		return 0, err
	}
	on := false
	err = th.port.Call(func() { on, p = ctx.dev.overflow.saturate, Ptr(ctx.dev.overflow.status) })
	if err == nil && !on {
		return 0, th.fail(NotSupported, c.name, "the device is in the mode of infinity and NaN", "set saturation mode first: aclrtSetDeviceSatMode")
	}
	return p, th.blocked(c.name, nil, err)
}

// saturated bounds the results of a kernel, and notes the overflow if the stream is watched. If the stream checks for
// overflow, it is the error code of the task. On the driver.
func (o *overflow) saturated(d *sim.Device, stream uint32, vector bool, out [][]byte, descs []kernels.Desc) *sim.Fault {
	if o.values == nil {
		o.values = make([]float64, 1024)
	}
	over := false
	for i, x := range descs {
		limit := greatest[x.DType]
		if i >= len(out) || limit == 0 {
			continue
		}
		n := len(out[i]) * 8 / x.DType.Bits()
		for at := 0; at < n; at += len(o.values) {
			v := o.values[:min(len(o.values), n-at)]
			if err := tensor.DecodeFloats(v, x.DType, out[i], at); err != nil {
				return &sim.Fault{Code: sim.CodeScheduler, Detail: err.Error()}
			}
			found := false
			for k, f := range v {
				switch {
				case math.IsInf(f, 0):
					v[k], found = math.Copysign(limit, f), true
				case f != f:
					v[k], found = 0, true
				}
			}
			if !found {
				continue
			}
			over = true
			if err := tensor.EncodeFloats(out[i], x.DType, at, v); err != nil {
				return &sim.Fault{Code: sim.CodeScheduler, Detail: err.Error()}
			}
		}
	}
	if over && o.watched[stream] {
		if b := d.Bytes(o.status, 4); b != nil {
			binary.LittleEndian.PutUint32(b, 1)
		}
	}
	if !over || !o.checked[stream] {
		return nil
	}
	f := &sim.Fault{Code: sim.CodeAICoreOverflow, Detail: "a result is beyond the range of its type and was bounded"}
	if vector {
		f.Code = sim.CodeVectorOverflow
	}
	return f
}
