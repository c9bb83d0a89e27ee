package kernels

import (
	"math"

	"npu/internal/tensor"
)

// pairWalk walks the broadcast of two dense operands in the order of the result. After joining loops the inner one
// has stride 0 or 1 in each operand, so that "same shape", "scalar", "per channel" and "row" all end in one of three
// tight loops.
type pairWalk struct {
	total  int
	inner  int
	a, b   int // inner strides
	n      []int
	sa, sb []int
}

// broadcastStrides are the strides of a dense operand inside the shape it broadcasts to; 0 where it repeats.
func broadcastStrides(in, out tensor.Shape) []int {
	st := make([]int, len(out))
	own := in.Strides()
	for i := range own {
		if in[i] != 1 {
			st[i+len(out)-len(in)] = own[i]
		}
	}
	return st
}

func newPairWalk(out, a, b tensor.Shape) *pairWalk {
	l := newLoops(out, broadcastStrides(a, out), broadcastStrides(b, out))
	w := &pairWalk{total: out.Count(), inner: 1, a: 1, b: 1}
	if last := len(l.n) - 1; last >= 0 {
		w.inner, w.a, w.b = l.n[last], l.st[0][last], l.st[1][last]
		w.n, w.sa, w.sb = l.n[:last], l.st[0][:last], l.st[1][:last]
	}
	return w
}

// rows calls f for each run of result elements [at, at+n) inside [lo, hi) with the offsets of the operands.
func (w *pairWalk) rows(lo, hi int, f func(at, a, b, n int)) {
	if lo >= hi {
		return
	}
	o := odometer{n: w.n, a: w.sa, b: w.sb}
	o.seek(lo / w.inner)
	col := lo % w.inner
	for at := lo; at < hi; {
		n := min(w.inner-col, hi-at)
		f(at, o.x+col*w.a, o.y+col*w.b, n)
		at += n
		col = 0
		o.next()
	}
}

// plainWalk computes in the element type itself.
func plainWalk[T, R tensor.Number](w *pairWalk, l binLoops[T, R]) func(x *Exec, lo, hi int) {
	return func(x *Exec, lo, hi int) {
		d, a, b := tensor.View[R](x.Out[0]), tensor.View[T](x.In[0]), tensor.View[T](x.In[1])
		switch {
		case w.a != 0 && w.b != 0:
			w.rows(lo, hi, func(at, i, j, n int) { l.vv(d[at:at+n], a[i:i+n], b[j:j+n]) })
		case w.a != 0:
			w.rows(lo, hi, func(at, i, j, n int) { l.vs(d[at:at+n], a[i:i+n], b[j]) })
		default:
			w.rows(lo, hi, func(at, i, j, n int) { l.sv(d[at:at+n], a[i], b[j:j+n]) })
		}
	}
}

// halfWalk computes 16-bit floating types in float32, rounding once. The result is of the same type, or bool.
func halfWalk[R float32 | byte](w *pairWalk, t tensor.DType, l binLoops[float32, R]) func(x *Exec, lo, hi int) {
	type buffers struct {
		a, b [blockLen]float32
		d    [blockLen]R
	}
	pool := newScratch[buffers]()
	store := func(dst []byte, at int, d []R) {
		switch d := any(d).(type) {
		case []float32:
			storeF32(t, dst, at, d, false)
		case []byte:
			copy(dst[at:], d)
		}
	}
	return func(x *Exec, lo, hi int) {
		buf := pool.get()
		w.rows(lo, hi, func(at, i, j, n int) {
			for n > 0 {
				m := min(n, blockLen)
				na, nb := max(1, m*w.a), max(1, m*w.b)
				loadF32(buf.a[:na], t, x.In[0], i)
				loadF32(buf.b[:nb], t, x.In[1], j)
				switch {
				case w.a != 0 && w.b != 0:
					l.vv(buf.d[:m], buf.a[:m], buf.b[:m])
				case w.a != 0:
					l.vs(buf.d[:m], buf.a[:m], buf.b[0])
				default:
					l.sv(buf.d[:m], buf.a[0], buf.b[:m])
				}
				store(x.Out[0], at, buf.d[:m])
				at, i, j, n = at+m, i+m*w.a, j+m*w.b, n-m
			}
		})
		pool.put(buf)
	}
}

// mixedPow raises operands of two different types: integers in 64 bits, anything else in float64. The result has
// the type of the base.
func mixedPow(w *pairWalk, base, exp tensor.DType) func(x *Exec, lo, hi int) {
	if integral(base) && integral(exp) {
		return func(x *Exec, lo, hi int) {
			w.rows(lo, hi, func(at, i, j, n int) {
				var v [3]int64
				for k := range n {
					loadI64(v[:1], base, x.In[0], i+k*w.a)
					loadI64(v[1:2], exp, x.In[1], j+k*w.b)
					v[2] = intPow(v[0], v[1])
					storeI64(base, x.Out[0], at+k, v[2:], false)
				}
			})
		}
	}
	return func(x *Exec, lo, hi int) {
		w.rows(lo, hi, func(at, i, j, n int) {
			var v [1]float64
			for k := range n {
				v[0] = math.Pow(element(base, x.In[0], i+k*w.a), element(exp, x.In[1], j+k*w.b))
				storeFloat(base, x.Out[0], at+k, v[:], false)
			}
		})
	}
}

// element reads one element of a numeric type as float64.
func element(t tensor.DType, src []byte, i int) float64 {
	if laneOf(t) == laneI64 {
		var v [1]int64
		loadI64(v[:], t, src, i)
		if t == tensor.Uint64 {
			return float64(uint64(v[0]))
		}
		return float64(v[0])
	}
	var v [1]float64
	loadF64(v[:], t, src, i)
	return v[0]
}
