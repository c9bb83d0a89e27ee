package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
)

// scanOps are the running sum and product along an axis.
func scanOps() map[string]*Op {
	return map[string]*Op{
		"CumSum":  define(inferScan, buildScan("Cumsum", false)),
		"CumProd": define(inferScan, buildScan("Cumprod", true)),
	}
}

func inferScan(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return err
	}
	if n, err := s.In[1].length(); !isIndex(s.In[1].DType) || err != nil || n >= 0 && n != 1 {
		return fmt.Errorf("axis is %v %v, must be one int64 or int32", s.In[1].DType, s.In[1].Shape)
	}
	if s.In[1].Const != nil {
		if _, err := scanAxis(s); err != nil {
			return err
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func scanAxis(s *Spec) (int, error) {
	v, err := s.values(1)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("axis has %d values", len(v))
	}
	return axis(v[0], len(s.In[0].Shape))
}

func buildScan(ge string, product bool) builder {
	return func(s *Spec) (*Kernel, error) {
		at, err := scanAxis(s)
		if err != nil {
			return nil, err
		}
		t, d := s.In[0].DType, s.In[0].Shape
		p := scanPlan{n: d[at], inner: d[at+1:].Count(), outer: d[:at].Count(), product: product,
			exclusive: s.Attrs.Int("exclusive", 0) != 0, reverse: s.Attrs.Int("reverse", 0) != 0}
		var run func(x *Exec) error
		if laneOf(t) == laneI64 {
			run = scanLoop(p, func(dst []int64, src []byte, off int) { loadI64(dst, t, src, off) },
				func(dst []byte, off int, v []int64) { storeI64(t, dst, off, v, false) })
		} else {
			run = scanLoop(p, func(dst []float64, src []byte, off int) { loadF64(dst, t, src, off) },
				func(dst []byte, off int, v []float64) { storeFloat(t, dst, off, v, false) })
		}
		return s.kernel(ge, cost.AIV, 1, []int{0}, run), nil
	}
}

type scanPlan struct {
	outer, n, inner             int
	product, exclusive, reverse bool
}

// scanLoop runs along the axis with up to a block of neighbours at a time, in the wide type; each element is
// rounded from the running value, not from the rounded one before it.
func scanLoop[A float64 | int64](p scanPlan, load func([]A, []byte, int), store func([]byte, int, []A)) func(x *Exec) error {
	type buffers struct{ acc, v [blockLen]A }
	pool := newScratch[buffers]()
	blocks := (p.inner + blockLen - 1) / blockLen
	return parallel(p.outer*blocks, p.n*min(blockLen, max(1, p.inner)), func(x *Exec, lo, hi int) {
		b := pool.get()
		for u := lo; u < hi; u++ {
			first := u % blocks * blockLen
			width := min(blockLen, p.inner-first)
			acc, v := b.acc[:width], b.v[:width]
			clear(acc)
			if p.product {
				fill(acc, 1)
			}
			for i := range p.n {
				if p.reverse {
					i = p.n - 1 - i
				}
				at := (u/blocks*p.n+i)*p.inner + first
				load(v, x.In[0], at)
				if p.exclusive {
					store(x.Out[0], at, acc)
				}
				for j, e := range v {
					if p.product {
						acc[j] *= e
					} else {
						acc[j] += e
					}
				}
				if !p.exclusive {
					store(x.Out[0], at, acc)
				}
			}
		}
		pool.put(b)
	})
}
