package kernels

import (
	"fmt"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// scatterOps write a copy of the data with updates at places that an operand of indices names. Updates apply in
// order, so the last of several for one place wins, or they are combined.
func scatterOps() map[string]*Op {
	return map[string]*Op{
		"Scatter":         define(inferScatterElements, buildScatterElements), // opset 9 and 10
		"ScatterElements": define(inferScatterElements, buildScatterElements),
		"ScatterND":       define(inferScatterND, buildScatterND),
	}
}

// reduction is the reduction attribute: what happens to the value that stands where an update goes.
func reduction(s *Spec) (string, error) {
	r := s.Attrs.Str("reduction", "none")
	if !slices.Contains([]string{"none", "add", "mul", "max", "min"}, r) {
		return "", fmt.Errorf("reduction %q, must be none, add, mul, max or min", r)
	}
	if r != "none" {
		return r, wantType(s.In[0].DType, numeric)
	}
	return r, nil
}

func scattered(s *Spec) error {
	if _, _, err := indexed(s, 3); err != nil {
		return err
	}
	if err := s.sameType(0, 2); err != nil {
		return err
	}
	_, err := reduction(s)
	return err
}

func inferScatterElements(s *Spec) error {
	if err := scattered(s); err != nil {
		return err
	}
	if _, err := elementAxis(s, s.In[0], s.In[1]); err != nil {
		return err
	}
	if a, b := s.In[1].Shape, s.In[2].Shape; a.Static() && b.Static() && !a.Equal(b) {
		return fmt.Errorf("indices %v and updates %v must have one shape", a, b)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func inferScatterND(s *Spec) error {
	if err := scattered(s); err != nil {
		return err
	}
	data, idx, upd := s.In[0].Shape, s.In[1].Shape, s.In[2].Shape
	k, err := tuples(s.In[0], s.In[1], 0)
	if err != nil {
		return err
	}
	want := append(idx[:len(idx)-1].Clone(), data[k:]...)
	if len(want) != len(upd) || want.Static() && upd.Static() && !want.Equal(upd) {
		return fmt.Errorf("updates have shape %v, want %v", upd, want)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: data})
}

// combine folds n elements of upd, from element j on, into dst from element i on.
type combine func(dst []byte, i int, upd []byte, j, n int)

func combiner(t tensor.DType, op string) combine {
	switch t {
	case tensor.Float32:
		return combinePlain(floatLoops[float32](binaryKey(op)))
	case tensor.Float64:
		return combinePlain(floatLoops[float64](binaryKey(op)))
	case tensor.Float16, tensor.BFloat16:
		return combineHalf(t, floatLoops[float32](binaryKey(op)))
	case tensor.Int8:
		return combinePlain(intLoops[int8](binaryKey(op)))
	case tensor.Int16:
		return combinePlain(intLoops[int16](binaryKey(op)))
	case tensor.Int32:
		return combinePlain(intLoops[int32](binaryKey(op)))
	case tensor.Int64:
		return combinePlain(intLoops[int64](binaryKey(op)))
	case tensor.Uint8:
		return combinePlain(intLoops[uint8](binaryKey(op)))
	case tensor.Uint16:
		return combinePlain(intLoops[uint16](binaryKey(op)))
	case tensor.Uint32:
		return combinePlain(intLoops[uint32](binaryKey(op)))
	}
	return combinePlain(intLoops[uint64](binaryKey(op)))
}

func binaryKey(reduction string) string {
	return map[string]string{"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}[reduction]
}

func combinePlain[T tensor.Number](l binLoops[T, T]) combine {
	return func(dst []byte, i int, upd []byte, j, n int) {
		d := tensor.View[T](dst)[i : i+n]
		l.vv(d, d, tensor.View[T](upd)[j:j+n])
	}
}

func combineHalf(t tensor.DType, l binLoops[float32, float32]) combine {
	pool := newScratch[[2][blockLen]float32]()
	return func(dst []byte, i int, upd []byte, j, n int) {
		b := pool.get()
		for k := 0; k < n; k += blockLen {
			m := min(blockLen, n-k)
			old, new := b[0][:m], b[1][:m]
			loadF32(old, t, dst, i+k)
			loadF32(new, t, upd, j+k)
			l.vv(old, old, new)
			storeF32(t, dst, i+k, old, false)
		}
		pool.put(b)
	}
}

// scatterKernel copies operand 0 to the result and then applies the updates on one core.
func scatterKernel(s *Spec, ge string, indices int, apply func(x *Exec) error) *Kernel {
	copied := copyAll(0, s.Out[0].bytes())
	k := s.kernel(ge, cost.AIV, 1, all(3), func(x *Exec) error {
		if err := copied(x); err != nil {
			return err
		}
		return apply(x)
	})
	k.Work.VectorOps += int64(s.In[2].Shape.Count())
	k.Work.ScalarOps = int64(indices)
	return k
}

func buildScatterElements(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	op, err := reduction(s)
	if err != nil {
		return nil, err
	}
	at, err := elementAxis(s, s.In[0], s.In[1])
	if err != nil {
		return nil, err
	}
	w, t := newElementWalk(s.In[0].Shape, s.In[1].Shape, at), s.In[1].DType
	put := func(dst []byte, i int, upd []byte, j, n int) {
		copy(dst[i*size:(i+n)*size], upd[j*size:])
	}
	if op != "none" {
		put = combiner(s.In[0].DType, op)
	}
	rows := 0
	if w.inner > 0 {
		rows = w.elements / w.inner
	}
	return scatterKernel(s, "ScatterElements", w.elements, func(x *Exec) error {
		if err := checkIndices(t, x.In[1], w.elements, w.dim); err != nil {
			return err
		}
		w.rows(0, rows, func(first, base int) {
			for i := range w.inner {
				put(x.Out[0], base+i*w.step+place(readIndex(t, x.In[1], first+i), w.dim)*w.stride, x.In[2], first+i, 1)
			}
		})
		return nil
	}), nil
}

func buildScatterND(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	op, err := reduction(s)
	if err != nil {
		return nil, err
	}
	n, err := tuples(s.In[0], s.In[1], 0)
	if err != nil {
		return nil, err
	}
	p := newTuples(s.In[0], s.In[1], 0, n)
	var put combine
	ge := "TensorScatterUpdate"
	if op != "none" {
		put = combiner(s.In[0].DType, op)
		ge = map[string]string{"add": "ScatterNdAdd", "mul": "ScatterNdMul", "max": "ScatterNdMax", "min": "ScatterNdMin"}[op]
	}
	return scatterKernel(s, ge, p.n*n, func(x *Exec) error {
		if err := p.check(x.In[1]); err != nil {
			return err
		}
		for i := range p.n {
			at := p.offset(x.In[1], i)
			if put == nil {
				copy(x.Out[0][at:at+p.block], x.In[2][i*p.block:])
			} else {
				put(x.Out[0], at/size, x.In[2], i*p.block/size, p.block/size)
			}
		}
		return nil
	}), nil
}
