package step

import (
	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// Item is a value: a tensor in device memory, on the host or both, or a sequence or optional of such. It is counted:
// whoever keeps it retains it. Items do not change once they are made.
type Item struct {
	Kind  graph.Kind
	DType tensor.DType
	Shape tensor.Shape
	mem   *memory
	off   int64
	host  []byte         // the tensor's bytes where the host knows them
	fixed *tensor.Tensor // the model's constant that this is
	list  []*Item        // of a sequence
	held  *Item          // of an optional
	refs  int
}

// memory is a block of device memory that items share.
type memory struct {
	ptr  runtime.Ptr
	refs int
	own  bool // it is freed with its last item
}

func (it *Item) retain() *Item {
	if it != nil {
		it.refs++
	}
	return it
}

// Release gives up an item; the memory of the last one goes back to the device's pool. nil is allowed.
func (m *Machine) Release(it *Item) {
	if it == nil {
		return
	}
	if it.refs--; it.refs > 0 {
		return
	}
	for _, e := range it.list {
		m.Release(e)
	}
	m.Release(it.held)
	if b := it.mem; b != nil {
		if b.refs--; b.refs == 0 && b.own {
			_ = m.th.Free(b.ptr) // a block of our own; what could fail has been reported by the stream
		}
	}
}

func (m *Machine) releaseAll(list []*Item) {
	for _, it := range list {
		m.Release(it)
	}
}

// Borrow is an item for device memory of the caller.
func (m *Machine) Borrow(p runtime.Ptr, t tensor.DType, s tensor.Shape) *Item {
	return &Item{DType: t, Shape: s, mem: &memory{ptr: p, refs: 1}, refs: 1}
}

// FromHost makes an item of host data; tensors are uploaded when a kernel wants them.
func (m *Machine) FromHost(d *graph.Data) *Item {
	switch d.Kind {
	case graph.Sequence:
		it := &Item{Kind: graph.Sequence, refs: 1}
		for _, e := range d.List {
			it.list = append(it.list, m.FromHost(e))
		}
		return it
	case graph.Optional:
		it := &Item{Kind: graph.Optional, refs: 1}
		if d.Held != nil {
			it.held = m.FromHost(d.Held)
		}
		return it
	}
	return &Item{DType: d.Tensor.DType, Shape: d.Tensor.Shape, host: d.Tensor.Data, refs: 1}
}

// ToHost reads an item back.
func (m *Machine) ToHost(it *Item) (*graph.Data, error) {
	d := &graph.Data{Kind: it.Kind}
	var err error
	switch it.Kind {
	case graph.Sequence:
		for _, e := range it.list {
			x, err := m.ToHost(e)
			if err != nil {
				return nil, err
			}
			d.List = append(d.List, x)
		}
	case graph.Optional:
		if it.held != nil {
			d.Held, err = m.ToHost(it.held)
		}
	default:
		var b []byte
		b, err = m.read(it)
		d.Tensor = &tensor.Tensor{DType: it.DType, Shape: it.Shape.Clone(), Data: append([]byte(nil), b...)}
	}
	return d, err
}

// bytes is the size of a tensor.
func (it *Item) bytes() (int64, error) {
	n, err := it.Shape.Bytes(it.DType)
	return int64(n), err
}

// known is a small tensor that the host made.
func known(t tensor.DType, s tensor.Shape, b []byte) *Item {
	return &Item{DType: t, Shape: s, host: b, refs: 1}
}

func scalarInt(v int64) *Item {
	return known(tensor.Int64, tensor.Shape{}, tensor.Bytes([]int64{v}))
}

func scalarBool(v bool) *Item {
	b := byte(0)
	if v {
		b = 1
	}
	return known(tensor.Bool, tensor.Shape{}, []byte{b})
}

// read is the content of a tensor on the host; it waits for the stream where the host does not know it yet.
func (m *Machine) read(it *Item) ([]byte, error) {
	if it.Kind != graph.Tensor {
		return nil, problem.Failedf("a %v where a tensor is needed", it.Kind)
	}
	if it.host != nil {
		return it.host, nil
	}
	n, err := it.bytes()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if n > 0 {
		if err := m.th.SynchronizeStream(m.stream); err != nil {
			return nil, err
		}
		if err := m.th.MemcpyToHost(b, it.mem.ptr+runtime.Ptr(it.off)); err != nil {
			return nil, err
		}
	}
	it.host = b
	return b, nil
}

// device is the address of a tensor, which is uploaded if need be.
func (m *Machine) device(it *Item) (runtime.Ptr, error) {
	if it.mem == nil {
		b, err := m.allocate(int64(len(it.host)))
		if err != nil {
			return 0, err
		}
		it.mem = b
		if len(it.host) > 0 {
			if err := m.th.MemcpyFromHost(b.ptr, it.host); err != nil {
				return 0, err
			}
		}
	}
	return it.mem.ptr + runtime.Ptr(it.off), nil
}

func (m *Machine) allocate(n int64) (*memory, error) {
	p, err := m.th.Malloc(max(1, n))
	if err != nil {
		return nil, err
	}
	return &memory{ptr: p, refs: 1, own: true}, nil
}

// fresh allocates a tensor in device memory.
func (m *Machine) fresh(t tensor.DType, s tensor.Shape) (*Item, error) {
	n, err := s.Bytes(t)
	if err != nil {
		return nil, err
	}
	b, err := m.allocate(int64(n))
	if err != nil {
		return nil, err
	}
	return &Item{DType: t, Shape: s.Clone(), mem: b, refs: 1}, nil
}

// view is a part of a tensor's memory under another shape, from a byte on.
func (it *Item) view(s tensor.Shape, from int64) *Item {
	v := &Item{DType: it.DType, Shape: s, mem: it.mem, off: it.off + from, refs: 1}
	if it.mem != nil {
		it.mem.refs++
	}
	if it.host != nil {
		if n, err := v.bytes(); err == nil && from+n <= int64(len(it.host)) {
			v.host = it.host[from : from+n : from+n]
		}
	}
	return v
}

// number reads one integer.
func (m *Machine) number(it *Item) (int64, error) {
	b, err := m.read(it)
	if err != nil {
		return 0, err
	}
	switch {
	case it.DType == tensor.Int64 && len(b) == 8:
		return tensor.View[int64](b)[0], nil
	case it.DType == tensor.Int32 && len(b) == 4:
		return int64(tensor.View[int32](b)[0]), nil
	}
	return 0, problem.Failedf("%v[%v] where one int64 or int32 is needed", it.DType, it.Shape)
}

// truth reads one bool.
func (m *Machine) truth(it *Item) (bool, error) {
	b, err := m.read(it)
	if err != nil {
		return false, err
	}
	if it.DType != tensor.Bool || len(b) != 1 {
		return false, problem.Failedf("condition is %v[%v], not one bool", it.DType, it.Shape)
	}
	return b[0] != 0, nil
}
