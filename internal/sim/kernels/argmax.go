package kernels

import (
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// argOps find the place of the largest or smallest element along an axis. NaN counts as the extreme.
func argOps() map[string]*Op {
	return map[string]*Op{
		"ArgMax": define(inferArg, buildArg("ArgMaxV2", false)),
		"ArgMin": define(inferArg, buildArg("ArgMin", true)),
	}
}

func inferArg(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return err
	}
	in := s.In[0].Shape
	at, err := axis(s.Attrs.Int("axis", 0), len(in))
	if err != nil {
		return err
	}
	out := in[:at].Clone()
	if s.Attrs.Int("keepdims", 1) != 0 {
		out = append(out, 1)
	}
	return s.results(Desc{DType: tensor.Int64, Shape: append(out, in[at+1:]...)})
}

func buildArg(ge string, least bool) builder {
	return func(s *Spec) (*Kernel, error) {
		in, t := s.In[0].Shape, s.In[0].DType
		at, _ := axis(s.Attrs.Int("axis", 0), len(in))
		last := s.Attrs.Int("select_last_index", 0) != 0
		n, inner := in[at], in[at+1:].Count()
		outer := in[:at].Count()
		if n == 0 && outer*inner > 0 {
			return nil, errEmpty(at)
		}
		// only a strictly better key, or an equal one when the last is wanted, replaces the one that stands
		k := s.kernel(ge, cost.AIV, 1, []int{0}, parallel(outer*inner, n, func(x *Exec, lo, hi int) {
			out := tensor.View[int64](x.Out[0])
			for u := lo; u < hi; u++ {
				base := u/inner*n*inner + u%inner
				best, where := uint64(0), 0
				for i := range n {
					k := orderKey(t, x.In[0], base+i*inner, least)
					if i == 0 || k > best || last && k == best {
						best, where = k, i
					}
				}
				out[u] = int64(where)
			}
		}))
		k.Work.VectorOps = int64(in.Count()) * 2
		return k, nil
	}
}

// orderKey maps element i to an integer that orders as the values do, NaN above all. inverse turns the order of
// numbers round, NaN stays above.
func orderKey(t tensor.DType, src []byte, i int, inverse bool) uint64 {
	const sign = 1 << 63
	var k uint64
	switch laneOf(t) {
	case laneI64:
		var v [1]int64
		loadI64(v[:], t, src, i)
		if k = uint64(v[0]); t != tensor.Uint64 {
			k ^= sign
		}
	default:
		var f float64
		if t == tensor.Float32 {
			f = float64(tensor.View[float32](src)[i])
		} else {
			f = element(t, src, i)
		}
		if f != f {
			return math.MaxUint64
		}
		if k = math.Float64bits(f + 0); k&sign != 0 { // adding 0 makes both zeros one
			k = ^k
		} else {
			k |= sign
		}
	}
	if inverse {
		k = ^k
	}
	return k
}
