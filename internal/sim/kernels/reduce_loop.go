package kernels

import (
	"math"

	"npu/internal/tensor"
)

// reducePlan walks an input whose dimensions are kept or reduced. After joining loops the innermost one is either
// reduced (a run that becomes one element) or kept (a vector that is accumulated row by row).
type reducePlan struct {
	keptN, keptS []int // outer kept loops: counts, input strides
	redN, redS   []int // outer reduced loops
	inner        int
	vector       bool // the innermost loop is kept
	n            int  // elements that become one
	out          int  // elements of the result
}

func newReducePlan(in tensor.Shape, set []bool) *reducePlan {
	p := &reducePlan{inner: 1, n: 1, out: 1}
	outStride := make([]int, len(in))
	for i := len(in) - 1; i >= 0; i-- {
		if set[i] {
			p.n *= in[i]
			continue
		}
		outStride[i] = p.out
		p.out *= in[i]
	}
	if p.n == 0 || p.out == 0 {
		return p
	}
	l := newLoops(in, in.Strides(), outStride)
	last := len(l.n) - 1
	if last < 0 {
		return p
	}
	p.inner, p.vector = l.n[last], l.st[1][last] != 0
	for i := range last {
		if l.st[1][i] != 0 {
			p.keptN, p.keptS = append(p.keptN, l.n[i]), append(p.keptS, l.st[0][i])
		} else {
			p.redN, p.redS = append(p.redN, l.n[i]), append(p.redS, l.st[0][i])
		}
	}
	return p
}

// reduceLoop makes the run of a reduction. One result, or one block of a vector of results, is made by one thread
// from first to last, so the sum does not depend on their number.
func reduceLoop[A float64 | int64](p *reducePlan, f *fold[A], load func([]A, []byte, int), store func([]byte, int, []A), shift bool) func(x *Exec) error {
	if p.n == 0 || p.out == 0 {
		return func(x *Exec) error {
			for i := range p.out {
				v := [1]A{f.finish(f.init, 0)}
				store(x.Out[0], i, v[:])
			}
			return nil
		}
	}
	type buffers struct{ acc, v, top [blockLen]A }
	pool := newScratch[buffers]()
	blocks := 1
	if p.vector {
		blocks = (p.inner + blockLen - 1) / blockLen
	}
	units := count(p.keptN) * blocks
	passes := count(p.redN)
	least := math.Inf(-1)
	top := foldMax(A(least)) // used for floating types only
	return parallel(units, p.n*max(1, p.out/units), func(x *Exec, lo, hi int) {
		b := pool.get()
		kept := odometer{n: p.keptN, a: p.keptS, b: p.keptS}
		red := odometer{n: p.redN, a: p.redS, b: p.redS}
		for u := lo; u < hi; u++ {
			kept.seek(u / blocks)
			first := u % blocks * blockLen
			width := 1
			if p.vector {
				width = min(blockLen, p.inner-first)
			}
			acc, tops := b.acc[:width], b.top[:width]
			// one pass over all elements of the unit with a fold
			pass := func(acc []A, f *fold[A], tops []A) {
				fill(acc, f.init)
				red.seek(0)
				for range passes {
					at := kept.x + red.x
					if p.vector {
						v := b.v[:width]
						load(v, x.In[0], at+first)
						for i := range tops {
							v[i] -= tops[i]
						}
						f.vec(acc, v)
					} else {
						for i := 0; i < p.inner; i += blockLen {
							v := b.v[:min(blockLen, p.inner-i)]
							load(v, x.In[0], at+i)
							if len(tops) > 0 {
								for j := range v {
									v[j] -= tops[0]
								}
							}
							acc[0] = f.run(acc[0], v)
						}
					}
					red.next()
				}
			}
			if shift {
				pass(tops, top, nil)
				for i, t := range tops {
					if t-t != 0 { // infinite
						tops[i] = 0
					}
				}
				pass(acc, f, tops)
			} else {
				pass(acc, f, nil)
			}
			for i := range acc {
				acc[i] = f.finish(acc[i], p.n)
				if shift {
					acc[i] += tops[i]
				}
			}
			if p.vector {
				store(x.Out[0], u/blocks*p.inner+first, acc)
			} else {
				store(x.Out[0], u, acc)
			}
		}
		pool.put(b)
	})
}
