package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// gatherOps read elements at places that an operand of indices names. An index outside of its dimension is a fault
// of the core; negative indices count from the end.
func gatherOps() map[string]*Op {
	return map[string]*Op{
		"Gather":         define(inferGather, buildGather),
		"GatherElements": define(inferGatherElements, buildGatherElements),
		"GatherND":       define(inferGatherND, buildGatherND),
	}
}

// indexed checks the two operands of a gather: data and indices.
func indexed(s *Spec, most int) (data, idx Desc, err error) {
	if err = s.operands(most, most); err != nil {
		return
	}
	data, idx = s.In[0], s.In[1]
	if !isIndex(idx.DType) {
		err = errWant("indices", "int64 or int32", idx.DType)
	}
	return
}

// badIndex describes an index outside of its dimension.
func badIndex(i, v, dim int) error {
	return fmt.Errorf("index %d is %d, outside of a dimension of %d", i, v, dim)
}

// checkIndices finds the first of n indices outside of [-dim, dim).
func checkIndices(t tensor.DType, src []byte, n, dim int) error {
	for i := range n {
		if v := readIndex(t, src, i); v < -dim || v >= dim {
			return badIndex(i, v, dim)
		}
	}
	return nil
}

// place makes a checked index non-negative.
func place(v, dim int) int {
	if v < 0 {
		return v + dim
	}
	return v
}

func inferGather(s *Spec) error {
	data, idx, err := indexed(s, 2)
	if err != nil {
		return err
	}
	at, err := axis(s.Attrs.Int("axis", 0), len(data.Shape))
	if err != nil {
		return err
	}
	out := append(data.Shape[:at].Clone(), idx.Shape...)
	return s.results(Desc{DType: data.DType, Shape: append(out, data.Shape[at+1:]...)})
}

func buildGather(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	data, t := s.In[0].Shape, s.In[1].DType
	at, _ := axis(s.Attrs.Int("axis", 0), len(data))
	dim, n := data[at], s.In[1].Shape.Count()
	outer, inner := data[:at].Count(), data[at+1:].Count()*size
	move := parallel(outer*n, inner/4, func(x *Exec, lo, hi int) {
		o, i := lo/n, lo%n
		for u := lo; u < hi; u++ {
			from := (o*dim + place(readIndex(t, x.In[1], i), dim)) * inner
			copy(x.Out[0][u*inner:(u+1)*inner], x.In[0][from:])
			if i++; i == n {
				o, i = o+1, 0
			}
		}
	})
	k := s.kernel("GatherV2", cost.AIV, 1, []int{0, 1}, func(x *Exec) error {
		if err := checkIndices(t, x.In[1], n, dim); err != nil {
			return err
		}
		return move(x)
	})
	return gathering(k, s, n), nil
}

// gathering corrects the account of a kernel that reads of operand 0 only what it writes.
func gathering(k *Kernel, s *Spec, indices int) *Kernel {
	k.Work.ReadBytes = int64(s.Out[0].bytes() + s.In[1].bytes())
	k.Work.ScalarOps = int64(indices)
	k.Blocks = int(max(1, (k.Work.ReadBytes+tileBytes-1)/tileBytes))
	return k
}

func inferGatherElements(s *Spec) error {
	data, idx, err := indexed(s, 2)
	if err != nil {
		return err
	}
	if _, err := elementAxis(s, data, idx); err != nil {
		return err
	}
	return s.results(Desc{DType: data.DType, Shape: idx.Shape})
}

// elementAxis is the axis of an element-wise gather or scatter; every other dimension of the indices must fit.
func elementAxis(s *Spec, data, idx Desc) (int, error) {
	at, err := axis(s.Attrs.Int("axis", 0), len(data.Shape))
	if err != nil {
		return 0, err
	}
	if len(idx.Shape) != len(data.Shape) {
		return 0, fmt.Errorf("indices %v for data %v, ranks must be equal", idx.Shape, data.Shape)
	}
	for i, n := range idx.Shape {
		if i != at && n > data.Shape[i] && data.Shape[i] >= 0 {
			return 0, fmt.Errorf("indices %v for data %v", idx.Shape, data.Shape)
		}
	}
	return at, nil
}

// elementWalk visits the elements of an index tensor in order with the offset of each in the data.
type elementWalk struct {
	n, own   []int
	zero     []int
	inner    int
	step     int // inner stride in the data
	dim      int
	stride   int // of the axis in the data
	elements int
}

func newElementWalk(data, idx tensor.Shape, at int) *elementWalk {
	own := data.Strides()
	w := &elementWalk{dim: data[at], stride: own[at], elements: idx.Count()}
	own[at] = 0
	last := len(idx) - 1
	w.n, w.own, w.inner, w.step = idx[:last], own[:last], idx[last], own[last]
	w.zero = make([]int, last)
	return w
}

// rows calls f for each inner row: the number of its first element and its offset in the data without the index.
func (w *elementWalk) rows(lo, hi int, f func(first, base int)) {
	o := odometer{n: w.n, a: w.own, b: w.zero}
	o.seek(lo)
	for r := lo; r < hi; r++ {
		f(r*w.inner, o.x)
		o.next()
	}
}

func buildGatherElements(s *Spec) (*Kernel, error) {
	data, idx := s.In[0], s.In[1]
	at, err := elementAxis(s, data, idx)
	if err != nil {
		return nil, err
	}
	w := newElementWalk(data.Shape, idx.Shape, at)
	var body func(x *Exec, lo, hi int)
	switch data.DType.Size() {
	case 1:
		body = gatherRows[uint8](w, idx.DType)
	case 2:
		body = gatherRows[uint16](w, idx.DType)
	case 4:
		body = gatherRows[uint32](w, idx.DType)
	case 8:
		body = gatherRows[uint64](w, idx.DType)
	default:
		return nil, wantType(data.DType, numeric)
	}
	rows := 0
	if w.inner > 0 {
		rows = w.elements / w.inner
	}
	move := parallel(rows, w.inner, body)
	k := s.kernel("GatherElements", cost.AIV, 1, []int{0, 1}, func(x *Exec) error {
		if err := checkIndices(idx.DType, x.In[1], w.elements, w.dim); err != nil {
			return err
		}
		return move(x)
	})
	return gathering(k, s, w.elements), nil
}

func gatherRows[T tensor.Number](w *elementWalk, t tensor.DType) func(x *Exec, lo, hi int) {
	return func(x *Exec, lo, hi int) {
		d, src := tensor.View[T](x.Out[0]), tensor.View[T](x.In[0])
		w.rows(lo, hi, func(first, base int) {
			for i := range w.inner {
				d[first+i] = src[base+i*w.step+place(readIndex(t, x.In[1], first+i), w.dim)*w.stride]
			}
		})
	}
}

// tuples checks the operands of the ND forms: the last dimension of the indices is a place in the data.
func tuples(data, idx Desc, batch int) (k int, err error) {
	if len(idx.Shape) == 0 || len(data.Shape) == 0 {
		return 0, fmt.Errorf("data %v with indices %v", data.Shape, idx.Shape)
	}
	k = idx.Shape[len(idx.Shape)-1]
	switch {
	case batch < 0 || batch >= len(idx.Shape) || batch >= len(data.Shape):
		err = fmt.Errorf("batch_dims %d with data %v and indices %v", batch, data.Shape, idx.Shape)
	case k < 0:
		err = fmt.Errorf("indices %v have an unknown last dimension: %w", idx.Shape, ErrNotKnown)
	case k < 1 || k > len(data.Shape)-batch:
		err = fmt.Errorf("indices of %d numbers for data %v", k, data.Shape)
	default:
		for i := range batch {
			if a, b := data.Shape[i], idx.Shape[i]; a >= 0 && b >= 0 && a != b {
				err = fmt.Errorf("batch dimensions of data %v and indices %v", data.Shape, idx.Shape)
			}
		}
	}
	return k, err
}

func inferGatherND(s *Spec) error {
	data, idx, err := indexed(s, 2)
	if err != nil {
		return err
	}
	batch := s.Attrs.Int("batch_dims", 0)
	k, err := tuples(data, idx, batch)
	if err != nil {
		return err
	}
	out := idx.Shape[:len(idx.Shape)-1].Clone()
	return s.results(Desc{DType: data.DType, Shape: append(out, data.Shape[batch+k:]...)})
}

// tuplePlaces turns tuples of indices into offsets.
type tuplePlaces struct {
	t          tensor.DType
	dims, step []int // of the indexed dimensions, in blocks
	block      int   // bytes that one tuple names
	perBatch   int   // tuples in a batch
	batchStep  int   // blocks of data in a batch
	n          int   // tuples
}

func newTuples(data, idx Desc, batch, k int) *tuplePlaces {
	p := &tuplePlaces{t: idx.DType, dims: data.Shape[batch : batch+k]}
	p.step = tensor.Shape(p.dims).Strides()
	p.block = data.Shape[batch+k:].Count() * data.DType.Size()
	p.perBatch = idx.Shape[batch : len(idx.Shape)-1].Count()
	p.batchStep = count(p.dims)
	p.n = idx.Shape[:len(idx.Shape)-1].Count()
	return p
}

// check finds the first index outside of its dimension.
func (p *tuplePlaces) check(src []byte) error {
	for i := range p.n {
		for j, d := range p.dims {
			if v := readIndex(p.t, src, i*len(p.dims)+j); v < -d || v >= d {
				return badIndex(i*len(p.dims)+j, v, d)
			}
		}
	}
	return nil
}

// offset is the place in bytes that checked tuple i names.
func (p *tuplePlaces) offset(src []byte, i int) int {
	at := i / max(1, p.perBatch) * p.batchStep
	for j, d := range p.dims {
		at += place(readIndex(p.t, src, i*len(p.dims)+j), d) * p.step[j]
	}
	return at * p.block
}

func buildGatherND(s *Spec) (*Kernel, error) {
	if _, err := wholeBytes(s.In[0].DType); err != nil {
		return nil, err
	}
	batch := s.Attrs.Int("batch_dims", 0)
	n, err := tuples(s.In[0], s.In[1], batch)
	if err != nil {
		return nil, err
	}
	p := newTuples(s.In[0], s.In[1], batch, n)
	move := parallel(p.n, p.block/4, func(x *Exec, lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(x.Out[0][i*p.block:(i+1)*p.block], x.In[0][p.offset(x.In[1], i):])
		}
	})
	k := s.kernel("GatherNd", cost.AIV, 1, []int{0, 1}, func(x *Exec) error {
		if err := p.check(x.In[1]); err != nil {
			return err
		}
		return move(x)
	})
	return gathering(k, s, p.n*n), nil
}
