package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// produceOps make tensors out of shapes and scalars.
func produceOps() map[string]*Op {
	return map[string]*Op{
		"Constant":        define(inferConstant, buildConstant),
		"ConstantOfShape": define(inferFilled, buildFilled),
		"Shape":           define(inferShape, buildShape),
		"Size":            define(inferSize, buildShape),
		"Range":           define(inferRange, buildRange),
		"EyeLike":         define(inferEye, buildEye),
		"OneHot":          define(inferOneHot, buildOneHot),
	}
}

// constantValue reads whichever attribute of Constant holds the value.
func constantValue(s *Spec) (*tensor.Tensor, error) {
	if t := s.Attrs.Tensor("value"); t != nil {
		n, err := t.Shape.Bytes(t.DType)
		if err != nil || n != len(t.Data) {
			return nil, fmt.Errorf("value %v has %d bytes, want %d", t, len(t.Data), n)
		}
		return t, nil
	}
	switch {
	case s.Attrs.Has("value_int"):
		v, _ := s.Attrs["value_int"].(int64)
		return tensor.FromInt64s(tensor.Shape{}, []int64{v})
	case s.Attrs.Has("value_float"):
		return tensor.FromFloat32s(tensor.Shape{}, []float32{s.Attrs.Float("value_float", 0)})
	}
	if v, ok := s.Attrs["value_ints"].([]int64); ok {
		return tensor.FromInt64s(tensor.Shape{len(v)}, v)
	}
	if v, ok := s.Attrs["value_floats"].([]float32); ok {
		return tensor.FromFloat32s(tensor.Shape{len(v)}, v)
	}
	return nil, fmt.Errorf("no value, or of a kind that is %w", ErrUnsupported)
}

func inferConstant(s *Spec) error {
	if err := s.operands(0, 0); err != nil {
		return err
	}
	t, err := constantValue(s)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: t.DType, Shape: t.Shape})
}

func buildConstant(s *Spec) (*Kernel, error) {
	t, err := constantValue(s)
	if err != nil {
		return nil, err
	}
	return s.kernel("Const", cost.AIV, 1, nil, func(x *Exec) error {
		copy(x.Out[0], t.Data)
		return nil
	}), nil
}

// fillValue is the value attribute of ConstantOfShape: one element, by default a float32 zero.
func fillValue(s *Spec) (*tensor.Tensor, error) {
	t := s.Attrs.Tensor("value")
	if t == nil {
		return tensor.New(tensor.Float32, tensor.Shape{1})
	}
	size, err := wholeBytes(t.DType)
	if err == nil && len(t.Data) != size {
		err = fmt.Errorf("value %v, must be one element", t)
	}
	return t, err
}

func inferFilled(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	v, err := fillValue(s)
	if err != nil {
		return err
	}
	if s.In[0].Const == nil {
		n, err := s.In[0].length()
		if err != nil || n < 0 || n > maxRank {
			return fmt.Errorf("shape: %w", ErrNotKnown)
		}
		return s.results(Desc{DType: v.DType, Shape: unknown(n)})
	}
	shape, err := s.values(0)
	if err != nil {
		return err
	}
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("shape %v has dimension %d", shape, d)
		}
	}
	return s.results(Desc{DType: v.DType, Shape: shape})
}

func buildFilled(s *Spec) (*Kernel, error) {
	v, err := fillValue(s)
	if err != nil {
		return nil, err
	}
	n := s.Out[0].bytes()
	return s.kernel("Fill", cost.AIV, 1, nil, func(x *Exec) error {
		repeat(x.Out[0][:n], v.Data)
		return nil
	}), nil
}

// shapeRange is the part of the shape that Shape gives (start and end since opset 15).
func shapeRange(s *Spec) (lo, hi int) {
	rank := len(s.In[0].Shape)
	clip := func(v int) int {
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	lo, hi = clip(s.Attrs.Int("start", 0)), clip(s.Attrs.Int("end", rank))
	return lo, max(lo, hi)
}

func inferShape(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	lo, hi := shapeRange(s)
	return s.results(Desc{DType: tensor.Int64, Shape: tensor.Shape{hi - lo}})
}

func inferSize(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	return s.results(Desc{DType: tensor.Int64, Shape: tensor.Shape{}})
}

func buildShape(s *Spec) (*Kernel, error) {
	var v []int64
	if s.Op == "Size" {
		v = []int64{int64(s.In[0].Shape.Count())}
	} else {
		lo, hi := shapeRange(s)
		for _, d := range s.In[0].Shape[lo:hi] {
			v = append(v, int64(d))
		}
	}
	k := s.kernel(s.Op, cost.AICPU, 1, nil, func(x *Exec) error {
		copy(tensor.View[int64](x.Out[0]), v)
		return nil
	})
	return k, nil
}

// rangeLength is the number of elements of Range, -1 where it is not known.
func rangeLength(s *Spec) (int, error) {
	var v [3]float64
	for i := range v {
		d := s.In[i]
		if d.Const == nil {
			return -1, nil
		}
		if len(d.Const.Data) < d.DType.Size() {
			return 0, fmt.Errorf("input %d is empty", i)
		}
		v[i] = element(d.DType, d.Const.Data, 0)
	}
	if v[2] == 0 || v[0] != v[0] || v[1] != v[1] || v[2] != v[2] {
		return 0, fmt.Errorf("from %g to %g by %g", v[0], v[1], v[2])
	}
	n := math.Ceil((v[1] - v[0]) / v[2])
	if !(n <= maxDim) {
		return 0, fmt.Errorf("from %g to %g by %g is too long", v[0], v[1], v[2])
	}
	return int(max(n, 0)), nil
}

func inferRange(s *Spec) error {
	if err := s.operands(3, 3); err != nil {
		return err
	}
	if err := s.sameType(0, 1, 2); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return err
	}
	for i, d := range s.In {
		if n, err := d.length(); err != nil || n >= 0 && n != 1 {
			return fmt.Errorf("input %d has shape %v, must be a scalar", i, d.Shape)
		}
	}
	n, err := rangeLength(s)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: tensor.Shape{n}})
}

func buildRange(s *Spec) (*Kernel, error) {
	t, n := s.In[0].DType, s.Out[0].Shape[0]
	return s.kernel("Range", cost.AICPU, 1, []int{0, 2}, func(x *Exec) error {
		if laneOf(t) == laneI64 {
			var v [2]int64
			loadI64(v[:1], t, x.In[0], 0)
			loadI64(v[1:], t, x.In[2], 0)
			for i := range n {
				w := [1]int64{v[0] + int64(i)*v[1]}
				storeI64(t, x.Out[0], i, w[:], false)
			}
			return nil
		}
		start, delta := element(t, x.In[0], 0), element(t, x.In[2], 0)
		for i := range n {
			w := [1]float64{start + float64(i)*delta}
			storeFloat(t, x.Out[0], i, w[:], false)
		}
		return nil
	}), nil
}

func inferEye(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if len(s.In[0].Shape) != 2 {
		return fmt.Errorf("shape %v, must have two dimensions", s.In[0].Shape)
	}
	t := s.In[0].DType
	if s.Attrs.Has("dtype") {
		var err error
		if t, err = onnxType(s.Attrs.Int("dtype", 0)); err != nil {
			return err
		}
	}
	if err := wantType(t, func(t tensor.DType) bool { return numeric(t) || t == tensor.Bool }); err != nil {
		return err
	}
	return s.results(Desc{DType: t, Shape: s.In[0].Shape})
}

func buildEye(s *Spec) (*Kernel, error) {
	t, n, k := s.Out[0].DType, s.Out[0].bytes(), s.Attrs.Int("k", 0)
	rows, cols := s.Out[0].Shape[0], s.Out[0].Shape[1]
	k = min(max(k, -rows), cols)
	return s.kernel("EyeLike", cost.AIV, 1, nil, func(x *Exec) error {
		clear(x.Out[0][:n])
		one := [1]float64{1}
		for i := max(0, -k); i < rows && i+k < cols; i++ {
			storeFloat(t, x.Out[0], i*cols+i+k, one[:], false)
		}
		return nil
	}), nil
}

func oneHotAxis(s *Spec) (int, error) {
	return axis(s.Attrs.Int("axis", -1), len(s.In[0].Shape)+1)
}

func inferOneHot(s *Spec) error {
	if err := s.operands(3, 3); err != nil {
		return err
	}
	at, err := oneHotAxis(s)
	if err != nil {
		return err
	}
	idx, depth, values := s.In[0], s.In[1], s.In[2]
	if err := wantType(idx.DType, numeric); err != nil {
		return err
	}
	if err := wantType(depth.DType, numeric); err != nil {
		return err
	}
	if n, err := depth.length(); err != nil || n >= 0 && n != 1 {
		return fmt.Errorf("depth has shape %v, must be a scalar", depth.Shape)
	}
	if n, err := values.length(); err != nil || n >= 0 && n != 2 || len(values.Shape) != 1 {
		return fmt.Errorf("values have shape %v, must be two", values.Shape)
	}
	n := -1
	if depth.Const != nil && len(depth.Const.Data) >= depth.DType.Size() {
		v := element(depth.DType, depth.Const.Data, 0)
		if !(v >= 0 && v <= maxDim) {
			return fmt.Errorf("depth %g", v)
		}
		n = int(v)
	}
	out := append(idx.Shape[:at].Clone(), n)
	return s.results(Desc{DType: values.DType, Shape: append(out, idx.Shape[at:]...)})
}

func buildOneHot(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[2].DType)
	if err != nil {
		return nil, err
	}
	at, _ := oneHotAxis(s)
	t, idx, total := s.In[0].DType, s.In[0].Shape, s.Out[0].bytes()
	depth, n, inner := s.Out[0].Shape[at], idx.Count(), idx[at:].Count()
	k := s.kernel("OneHot", cost.AIV, 1, []int{0, 2}, func(x *Exec) error {
		repeat(x.Out[0][:total], x.In[2][:size])
		for i := range n {
			v := element(t, x.In[0], i)
			if v < 0 {
				v += float64(depth)
			}
			if !(v >= 0 && v < float64(depth)) {
				continue
			}
			o := (i/inner*depth+int(v))*inner + i%inner
			copy(x.Out[0][o*size:(o+1)*size], x.In[2][size:2*size])
		}
		return nil
	})
	k.Work.ScalarOps = int64(n)
	return k, nil
}
