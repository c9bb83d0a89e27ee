package kernels

import (
	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// variadicOps take any number of operands with NumPy broadcasting; Where takes three.
func variadicOps() map[string]*Op {
	return map[string]*Op{
		"Max":   define(inferMany(numeric), buildMany("Maximum")),
		"Min":   define(inferMany(numeric), buildMany("Minimum")),
		"Sum":   define(inferMany(floating), buildMany("AccumulateNV2")),
		"Mean":  define(inferMany(floating), buildMany("AccumulateNV2")),
		"Where": define(inferWhere, buildWhere),
	}
}

func inferMany(types func(tensor.DType) bool) rule {
	return func(s *Spec) error {
		if err := s.operands(max(1, len(s.In)), -1); err != nil {
			return err
		}
		if err := wantType(s.In[0].DType, types); err != nil {
			return err
		}
		if err := s.sameType(all(len(s.In))...); err != nil {
			return err
		}
		shapes := make([]tensor.Shape, len(s.In))
		for i, d := range s.In {
			shapes[i] = d.Shape
		}
		shape, err := broadcast(shapes...)
		if err != nil {
			return err
		}
		return s.results(Desc{DType: s.In[0].DType, Shape: shape})
	}
}

func buildMany(ge string) builder {
	return func(s *Spec) (*Kernel, error) {
		n, t := len(s.In), s.In[0].DType
		instr := n - 1
		var body func(x *Exec, lo, hi int)
		switch {
		case n == 1:
			return s.kernel(ge, cost.AIV, 1, []int{0}, copyAll(0, s.Out[0].bytes())), nil
		case n == 2 && s.Op != "Mean":
			if s.Op == "Sum" {
				ge = "Add"
			}
			body = pairBody(s.Op, newPairWalk(s.Out[0].Shape, s.In[0].Shape, s.In[1].Shape), t, t)
		default:
			if s.Op == "Mean" {
				instr++
			}
			body = manyBody(s)
		}
		return s.kernel(ge, cost.AIV, instr, all(n), parallel(s.Out[0].Shape.Count(), n-1, body)), nil
	}
}

func manyBody(s *Spec) func(x *Exec, lo, hi int) {
	t, mean := s.In[0].DType, s.Op == "Mean"
	key := s.Op
	if mean {
		key = "Sum"
	}
	switch t {
	case tensor.Float32, tensor.Float16, tensor.BFloat16:
		load := func(dst []float32, src []byte, off int) { loadF32(dst, t, src, off) }
		store := func(dst []byte, off int, src []float32) { storeF32(t, dst, off, src, false) }
		return manyWalk(s, floatLoops[float32](key), mean, load, store)
	case tensor.Float64:
		return manyWalk(s, floatLoops[float64](key), mean, plainLoad[float64], plainStore[float64])
	case tensor.Int8:
		return manyWalk(s, intLoops[int8](key), mean, plainLoad[int8], plainStore[int8])
	case tensor.Int16:
		return manyWalk(s, intLoops[int16](key), mean, plainLoad[int16], plainStore[int16])
	case tensor.Int32:
		return manyWalk(s, intLoops[int32](key), mean, plainLoad[int32], plainStore[int32])
	case tensor.Int64:
		return manyWalk(s, intLoops[int64](key), mean, plainLoad[int64], plainStore[int64])
	case tensor.Uint8:
		return manyWalk(s, intLoops[uint8](key), mean, plainLoad[uint8], plainStore[uint8])
	case tensor.Uint16:
		return manyWalk(s, intLoops[uint16](key), mean, plainLoad[uint16], plainStore[uint16])
	case tensor.Uint32:
		return manyWalk(s, intLoops[uint32](key), mean, plainLoad[uint32], plainStore[uint32])
	}
	return manyWalk(s, intLoops[uint64](key), mean, plainLoad[uint64], plainStore[uint64])
}

func plainLoad[T tensor.Number](dst []T, src []byte, off int) { copy(dst, tensor.View[T](src)[off:]) }

func plainStore[T tensor.Number](dst []byte, off int, src []T) { copy(tensor.View[T](dst)[off:], src) }

// manyWalk folds the operands block by block in a buffer, so that 16-bit types are rounded once.
func manyWalk[T tensor.Number](s *Spec, l binLoops[T, T], mean bool,
	load func([]T, []byte, int), store func([]byte, int, []T)) func(x *Exec, lo, hi int) {
	type buffers struct{ acc, in [blockLen]T }
	pool := newScratch[buffers]()
	walks := make([]*pairWalk, len(s.In))
	for i, d := range s.In {
		walks[i] = newPairWalk(s.Out[0].Shape, d.Shape, d.Shape)
	}
	return func(x *Exec, lo, hi int) {
		buf := pool.get()
		for at := lo; at < hi; at += blockLen {
			end := min(at+blockLen, hi)
			acc := buf.acc[:end-at]
			for k, w := range walks {
				w.rows(at, end, func(to, i, _, n int) {
					a := acc[to-at : to-at+n]
					in := buf.in[:max(1, n*w.a)]
					load(in, x.In[k], i)
					switch {
					case k == 0 && w.a != 0:
						copy(a, in)
					case k == 0:
						fill(a, in[0])
					case w.a != 0:
						l.vv(a, a, in)
					default:
						l.vs(a, a, in[0])
					}
				})
			}
			if mean {
				for i := range acc {
					acc[i] /= T(len(walks))
				}
			}
			store(x.Out[0], at, acc)
		}
		pool.put(buf)
	}
}

func inferWhere(s *Spec) error {
	if err := s.operands(3, 3); err != nil {
		return err
	}
	if s.In[0].DType != tensor.Bool {
		return errWant("condition", "bool", s.In[0].DType)
	}
	if err := s.sameType(1, 2); err != nil {
		return err
	}
	if _, err := wholeBytes(s.In[1].DType); err != nil {
		return err
	}
	shape, err := broadcast(s.In[0].Shape, s.In[1].Shape, s.In[2].Shape)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[1].DType, Shape: shape})
}

func buildWhere(s *Spec) (*Kernel, error) {
	var body func(x *Exec, lo, hi int)
	switch s.In[1].DType.Size() {
	case 1:
		body = selectWalk[uint8](s)
	case 2:
		body = selectWalk[uint16](s)
	case 4:
		body = selectWalk[uint32](s)
	case 8:
		body = selectWalk[uint64](s)
	default:
		return nil, wantType(s.In[1].DType, numeric)
	}
	return s.kernel("SelectV2", cost.AIV, 1, all(3), parallel(s.Out[0].Shape.Count(), 2, body)), nil
}

// selectWalk takes the third operand everywhere and puts the second over it where the condition holds.
func selectWalk[T tensor.Number](s *Spec) func(x *Exec, lo, hi int) {
	out := s.Out[0].Shape
	under := newPairWalk(out, s.In[2].Shape, s.In[2].Shape)
	over := newPairWalk(out, s.In[0].Shape, s.In[1].Shape)
	return func(x *Exec, lo, hi int) {
		d, a, b := tensor.View[T](x.Out[0]), tensor.View[T](x.In[1]), tensor.View[T](x.In[2])
		under.rows(lo, hi, func(at, i, _, n int) {
			if under.a != 0 {
				copy(d[at:at+n], b[i:i+n])
			} else {
				fill(d[at:at+n], b[i])
			}
		})
		over.rows(lo, hi, func(at, c, i, n int) {
			switch {
			case over.a == 0 && x.In[0][c] == 0:
			case over.a == 0 && over.b != 0:
				copy(d[at:at+n], a[i:i+n])
			case over.a == 0:
				fill(d[at:at+n], a[i])
			default:
				for k, yes := range x.In[0][c : c+n] {
					if yes != 0 {
						d[at+k] = a[i+k*over.b]
					}
				}
			}
		})
	}
}
