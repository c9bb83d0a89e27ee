package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// quantProductOps multiply quantised matrices. Products are summed in int32, which wraps as the hardware's does; the
// QLinear forms scale the sum and quantise it again.
func quantProductOps() map[string]*Op {
	return map[string]*Op{
		"MatMulInteger": define(inferQuantMatMul, buildQuantMatMul),
		"QLinearMatMul": define(inferQuantMatMul, buildQuantMatMul),
		"ConvInteger":   define(inferQuantConv, buildQuantConv),
		"QLinearConv":   define(inferQuantConv, buildQuantConv),
	}
}

// quantPlaces are the operands of a quantised product: a and b with their zero points, and for the QLinear forms the
// scales and what the result is quantised with. -1 where there is none.
type quantPlaces struct {
	a, aZero, b, bZero              int
	aScale, bScale, yScale, y, bias int
}

func (s *Spec) quantPlaces() quantPlaces {
	switch s.Op {
	case "MatMulInteger", "ConvInteger":
		return quantPlaces{a: 0, b: 1, aZero: 2, bZero: 3, aScale: -1, bScale: -1, yScale: -1, y: -1, bias: -1}
	}
	p := quantPlaces{a: 0, aScale: 1, aZero: 2, b: 3, bScale: 4, bZero: 5, yScale: 6, y: 7, bias: -1}
	if s.Op == "QLinearConv" {
		p.bias = 8
	}
	return p
}

// quantOperands checks types and the operands that hold single values.
func quantOperands(s *Spec) (p quantPlaces, out tensor.DType, err error) {
	p = s.quantPlaces()
	least, most := 2, 4
	if p.y > 0 {
		least, most = 8, 8
		if p.bias > 0 {
			most = 9
		}
	}
	if err = s.operands(least, most); err != nil {
		return
	}
	byteType := func(t tensor.DType) bool { return t == tensor.Int8 || t == tensor.Uint8 }
	for _, i := range []int{p.a, p.b} {
		if err = wantType(s.In[i].DType, byteType); err != nil {
			return p, out, fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i, of := range map[int]int{p.aZero: p.a, p.bZero: p.b} {
		if d := s.Input(i); !d.Absent() && d.DType != s.In[of].DType {
			return p, out, fmt.Errorf("zero point of %v for %v", d.DType, s.In[of].DType)
		}
	}
	out = tensor.Int32
	if p.y > 0 {
		if out = s.In[p.y].DType; !byteType(out) {
			return p, out, fmt.Errorf("result of %v: %w", out, ErrUnsupported)
		}
		for _, i := range []int{p.aScale, p.bScale, p.yScale} {
			if !floating(s.In[i].DType) {
				return p, out, errWant(fmt.Sprintf("input %d", i), "a floating type", s.In[i].DType)
			}
		}
	}
	if d := s.Input(p.bias); p.bias > 0 && !d.Absent() && d.DType != tensor.Int32 {
		return p, out, errWant("bias", "int32", d.DType)
	}
	return p, out, nil
}

// single is the only element of operand i as float; absent counts as def.
func (s *Spec) single(x *Exec, i int, def float32) float32 {
	if i < 0 || s.Input(i).Absent() {
		return def
	}
	v := [1]float32{}
	loadAny(v[:], s.In[i].DType, x.In[i], 0)
	return v[0]
}

// element is element k of operand i, or its only one; 0 for an absent operand.
func (s *Spec) element(x *Exec, i, k int) float32 {
	if i < 0 || s.Input(i).Absent() {
		return 0
	}
	if s.In[i].Shape.Count() == 1 {
		k = 0
	}
	v := [1]float32{}
	loadAny(v[:], s.In[i].DType, x.In[i], k)
	return v[0]
}

// requant turns a sum into the result's type.
type requant struct {
	t      tensor.DType
	lo, hi float32
}

func (r requant) store(dst []byte, at int, sum int32, scale, zero float32) {
	q := min(max(float32(math.RoundToEven(float64(float32(sum)*scale)))+zero, r.lo), r.hi)
	dst[at] = byte(int32(q))
}

func inferQuantMatMul(s *Spec) error {
	p, t, err := quantOperands(s)
	if err != nil {
		return err
	}
	plain := &Spec{Op: "MatMul", In: []Desc{{DType: t, Shape: s.In[p.a].Shape}, {DType: t, Shape: s.In[p.b].Shape}}, Out: make([]Desc, 1)}
	if err := inferMatMul(plain); err != nil {
		return err
	}
	return s.results(plain.Out[0])
}

func buildQuantMatMul(s *Spec) (*Kernel, error) {
	p, t, err := quantOperands(s)
	if err != nil {
		return nil, err
	}
	a, b := s.In[p.a].Shape, s.In[p.b].Shape
	if len(a) == 1 {
		a = tensor.Shape{1, a[0]}
	}
	if len(b) == 1 {
		b = tensor.Shape{b[0], 1}
	}
	m, depth := ends(a, false)
	_, n := ends(b, false)
	batch, err := tensor.Broadcast(a[:len(a)-2], b[:len(b)-2])
	if err != nil {
		return nil, err
	}
	if c, err := batch.Elements(); err != nil || c > maxBatch {
		return nil, fmt.Errorf("batch %v of more than %d products: %w", batch, maxBatch, ErrUnsupported)
	}
	aBase, bBase := offsets(a[:len(a)-2], batch, m*depth), offsets(b[:len(b)-2], batch, depth*n)
	for i, c := range map[int][2]int{p.aZero: {m, m * batch.Count()}, p.bZero: {n, n * batch.Count()}, p.aScale: {m, m * batch.Count()}, p.bScale: {n, n * batch.Count()}} {
		if i < 0 || s.Input(i).Absent() {
			continue
		}
		if got := s.In[i].Shape.Count(); got != 1 && got != c[0] {
			return nil, fmt.Errorf("input %d of shape %v, must have 1 or %d elements: %w", i, s.In[i].Shape, c[0], ErrUnsupported)
		}
	}
	lo, hi := bounds(t)
	r := requant{t, lo, hi}
	rows := m * batch.Count()
	row := func(x *Exec, u int, acc []int32) {
		at, i := u/m, u%m
		clear(acc)
		az := int32(s.element(x, p.aZero, i))
		var sum int32
		for k := range depth {
			v := int32(x.In[p.a][aBase[at]+i*depth+k])
			if s.In[p.a].DType == tensor.Int8 {
				v = int32(int8(v))
			}
			v -= az
			sum += v
			if v != 0 {
				line := x.In[p.b][bBase[at]+k*n:][:n]
				if s.In[p.b].DType == tensor.Int8 {
					axpyInt(acc, tensor.View[int8](line), v)
				} else {
					axpyInt(acc, line, v)
				}
			}
		}
		for j := range acc {
			acc[j] -= sum * int32(s.element(x, p.bZero, j))
		}
		if p.y < 0 {
			copy(tensor.View[int32](x.Out[0])[u*n:], acc)
			return
		}
		ay := s.element(x, p.aScale, i) / s.single(x, p.yScale, 1)
		zero := s.single(x, p.y, 0)
		for j, v := range acc {
			r.store(x.Out[0], u*n+j, v, ay*s.element(x, p.bScale, j), zero)
		}
	}
	k := s.kernel("QuantBatchMatmulV3", cost.AIC, 0, all(len(s.In)), nil)
	quantCost(k, batch.Count(), m, depth, n)
	k.Workspace = 4 * maxParts * n
	k.Run = quantRun(s, k, rows, n*depth, n, row)
	return k, nil
}

// quantRun makes the loop over rows, each with an accumulator of n sums in the workspace of its thread.
func quantRun(s *Spec, k *Kernel, rows, weight, n int, row func(x *Exec, u int, acc []int32)) func(x *Exec) error {
	part := func(x *Exec, part, lo, hi int) {
		acc := tensor.View[int32](x.Workspace)[part*n : (part+1)*n]
		for u := lo; u < hi; u++ {
			row(x, u, acc)
		}
	}
	k.Work.ReadBytes, k.Work.WriteBytes = 0, 0 // guard counts them
	grain := ceilDiv(grainElements, max(1, weight))
	return s.guard(k, func(x *Exec) error { x.each(rows, grain, part); return nil }).Run
}

// quantCost charges an int8 product on the cube, and the vector work of bringing the sums back.
func quantCost(k *Kernel, batch, m, depth, n int) {
	k.Work.M, k.Work.K, k.Work.N, k.Work.Batch = int64(m), int64(depth), int64(n), int64(batch)
	k.Work.MacType, k.Work.VectorOps = tensor.Int8, 4*int64(batch)*int64(m)*int64(n)
	k.Blocks = cubeBlocks(batch, m, n)
}

// axpyInt adds v times a line to the sums.
func axpyInt[T int8 | uint8](acc []int32, line []T, v int32) {
	line = line[:len(acc)]
	for j, w := range line {
		acc[j] += v * int32(w)
	}
}
