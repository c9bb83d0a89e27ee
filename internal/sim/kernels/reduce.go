package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// reduceOp describes a reduction over axes.
type reduceOp struct {
	ge     string
	instr  int // vector instructions an input element
	bools  bool
	real   *fold[float64]
	whole  *fold[int64] // for integers; nil: through float64
	shift  bool         // subtract the largest element before, add it after (log of a sum of exponentials)
	bottom bool         // max or min: unsigned 64-bit values need their order kept
}

// fold is a reduction in a wide type. An accumulator starts at init (or at the type's own end for max and min);
// finish gets the number of elements.
type fold[A float64 | int64] struct {
	init   A
	run    func(acc A, v []A) A
	vec    func(acc, v []A)
	finish func(acc A, n int) A
}

// reduceOps are the reductions. Sums of floating types are taken in float64, always in the same order, and rounded
// once; integers wrap around in 64 bits.
func reduceOps() map[string]*Op {
	sumSquare, l1 := fold2(square[float64]), fold2(magnitude[float64])
	l2, mean, logSum := fold2(square[float64]), foldSum[float64](), foldSum[float64]()
	l2.finish = func(acc float64, _ int) float64 { return math.Sqrt(acc) }
	mean.finish = func(acc float64, n int) float64 { return acc / float64(n) }
	logSum.finish = func(acc float64, _ int) float64 { return math.Log(acc) }
	logSumExp := fold2(math.Exp)
	logSumExp.finish = logSum.finish
	wholeMean := foldSum[int64]()
	wholeMean.finish = func(acc int64, n int) int64 { return acc / max(1, int64(n)) }
	table := map[string]reduceOp{
		"ReduceSum":       {ge: "ReduceSumD", instr: 1, real: foldSum[float64](), whole: foldSum[int64]()},
		"ReduceMean":      {ge: "ReduceMeanD", instr: 1, real: mean, whole: wholeMean},
		"ReduceProd":      {ge: "ReduceProdD", instr: 1, real: foldProd[float64](), whole: foldProd[int64]()},
		"ReduceMax":       {ge: "ReduceMaxD", instr: 1, bools: true, bottom: true, real: foldMax[float64](math.Inf(-1)), whole: foldMax[int64](math.MinInt64)},
		"ReduceMin":       {ge: "ReduceMinD", instr: 1, bools: true, bottom: true, real: foldMin[float64](math.Inf(1)), whole: foldMin[int64](math.MaxInt64)},
		"ReduceSumSquare": {ge: "SquareSumV1", instr: 2, real: sumSquare, whole: fold2(square[int64])},
		"ReduceL1":        {ge: "LpNormV2", instr: 2, real: l1, whole: fold2(magnitude[int64])},
		"ReduceL2":        {ge: "LpNormV2", instr: 2, real: l2},
		"ReduceLogSum":    {ge: "ReduceLogSum", instr: 1, real: logSum},
		"ReduceLogSumExp": {ge: "ReduceLogSumExp", instr: 7, real: logSumExp, shift: true},
	}
	ops := map[string]*Op{}
	for n, o := range table {
		ops[n] = define(o.infer, o.build)
	}
	return ops
}

func square[A float64 | int64](x A) A { return x * x }
func magnitude[A float64 | int64](x A) A {
	if x < 0 {
		return -x
	}
	return x
}

// fold2 sums a function of the elements, in four lanes.
func fold2[A float64 | int64](f func(A) A) *fold[A] {
	return &fold[A]{
		run: func(acc A, v []A) A {
			var a, b, c, d A
			for ; len(v) >= 4; v = v[4:] {
				a += f(v[0])
				b += f(v[1])
				c += f(v[2])
				d += f(v[3])
			}
			for _, x := range v {
				a += f(x)
			}
			return acc + ((a + b) + (c + d))
		},
		vec: func(acc, v []A) {
			v = v[:len(acc)]
			for i, x := range v {
				acc[i] += f(x)
			}
		},
		finish: func(acc A, _ int) A { return acc },
	}
}

func foldProd[A float64 | int64]() *fold[A] {
	return pairFold(1, func(a, b A) A { return a * b })
}

func foldMax[A float64 | int64](init A) *fold[A] {
	return &fold[A]{init, func(acc A, v []A) A {
		for _, x := range v {
			acc = max(acc, x)
		}
		return acc
	}, func(acc, v []A) {
		v = v[:len(acc)]
		for i, x := range v {
			acc[i] = max(acc[i], x)
		}
	}, func(acc A, _ int) A { return acc }}
}

func foldMin[A float64 | int64](init A) *fold[A] {
	return &fold[A]{init, func(acc A, v []A) A {
		for _, x := range v {
			acc = min(acc, x)
		}
		return acc
	}, func(acc, v []A) {
		v = v[:len(acc)]
		for i, x := range v {
			acc[i] = min(acc[i], x)
		}
	}, func(acc A, _ int) A { return acc }}
}

// foldSum is fold2 of the elements themselves.
func foldSum[A float64 | int64]() *fold[A] {
	return &fold[A]{0, func(acc A, v []A) A {
		var a, b, c, d A
		for ; len(v) >= 4; v = v[4:] {
			a += v[0]
			b += v[1]
			c += v[2]
			d += v[3]
		}
		for _, x := range v {
			a += x
		}
		return acc + ((a + b) + (c + d))
	}, func(acc, v []A) {
		v = v[:len(acc)]
		for i, x := range v {
			acc[i] += x
		}
	}, func(acc A, _ int) A { return acc }}
}

func pairFold[A float64 | int64](init A, f func(a, b A) A) *fold[A] {
	return &fold[A]{
		init: init,
		run: func(acc A, v []A) A {
			for _, x := range v {
				acc = f(acc, x)
			}
			return acc
		},
		vec: func(acc, v []A) {
			v = v[:len(acc)]
			for i, x := range v {
				acc[i] = f(acc[i], x)
			}
		},
		finish: func(acc A, _ int) A { return acc },
	}
}

// reducedAxes says which dimensions are reduced. known is false where they are not known.
func reducedAxes(s *Spec) (set []bool, known bool, err error) {
	rank := len(s.In[0].Shape)
	axes, _, known, err := s.listOrInput("axes", 1)
	if err != nil || !known {
		return nil, known, err
	}
	set = make([]bool, rank)
	if len(axes) == 0 {
		if s.Attrs.Int("noop_with_empty_axes", 0) == 0 {
			fill(set, true)
		}
		return set, true, nil
	}
	set, err = axisSet(axes, rank)
	return set, true, err
}

func (o reduceOp) infer(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	in := s.In[0]
	if err := wantType(in.DType, func(t tensor.DType) bool { return numeric(t) || o.bools && t == tensor.Bool }); err != nil {
		return err
	}
	set, known, err := reducedAxes(s)
	if err != nil {
		return err
	}
	keep := s.Attrs.Int("keepdims", 1) != 0
	out := tensor.Shape{}
	switch {
	case !known && keep:
		out = unknown(len(in.Shape))
	case !known:
		n, err := s.In[1].length()
		if err != nil || n < 1 || n > len(in.Shape) {
			return fmt.Errorf("axes: %w", ErrNotKnown)
		}
		out = unknown(len(in.Shape) - n)
	default:
		for i, d := range in.Shape {
			if !set[i] {
				out = append(out, d)
			} else if keep {
				out = append(out, 1)
			}
		}
	}
	return s.results(Desc{DType: in.DType, Shape: out})
}

func (o reduceOp) build(s *Spec) (*Kernel, error) {
	set, known, err := reducedAxes(s)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("axes are needed: %w", ErrNotKnown)
	}
	t := s.In[0].DType
	p := newReducePlan(s.In[0].Shape, set)
	var run func(x *Exec) error
	if laneOf(t) == laneI64 && o.whole != nil {
		flip := int64(0)
		if t == tensor.Uint64 && o.bottom {
			flip = math.MinInt64
		}
		load := func(dst []int64, src []byte, off int) {
			loadI64(dst, t, src, off)
			for i := range dst {
				dst[i] ^= flip
			}
		}
		store := func(dst []byte, off int, v []int64) {
			for i := range v {
				v[i] ^= flip
			}
			storeI64(t, dst, off, v, false)
		}
		f := *o.whole
		if o.bottom {
			f.init = wholeEnd(t, f.init) ^ flip
		}
		run = reduceLoop(p, &f, load, store, false)
	} else {
		load := func(dst []float64, src []byte, off int) { loadReal(dst, t, src, off) }
		store := func(dst []byte, off int, v []float64) { storeFloat(t, dst, off, v, false) }
		run = reduceLoop(p, o.real, load, store, o.shift)
	}
	k := s.kernel(o.ge, cost.AIV, 1, []int{0}, run)
	k.Work.VectorOps = int64(s.In[0].Shape.Count() * o.instr)
	return k, nil
}

// wholeEnd is the value of an empty max or min: the far end of the type.
func wholeEnd(t tensor.DType, init int64) int64 {
	bits := t.Bits()
	switch {
	case t == tensor.Bool:
		return min(max(init, 0), 1)
	case t == tensor.Uint64 && init < 0:
		return 0
	case t == tensor.Uint64:
		return -1
	case t == tensor.Uint8 || t == tensor.Uint16 || t == tensor.Uint32:
		return min(max(init, 0), 1<<bits-1)
	}
	return init >> (64 - bits)
}

// loadReal reads elements of any numeric type as float64.
func loadReal(dst []float64, t tensor.DType, src []byte, off int) {
	if laneOf(t) != laneI64 {
		loadF64(dst, t, src, off)
		return
	}
	for i := range dst {
		dst[i] = element(t, src, off+i)
	}
}
