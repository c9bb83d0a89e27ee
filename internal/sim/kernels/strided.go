package kernels

import (
	"slices"

	"npu/internal/tensor"
)

// maxRank bounds the rank of an operand, loopRank that of a walk over it (operators that cut dimensions in two).
const (
	maxRank  = 16
	loopRank = 2 * maxRank
)

// loops is a nest of counted loops, outermost first, with one stride a loop for each operand.
type loops struct {
	n  []int
	st [][]int // st[operand][loop], in elements
}

// newLoops drops loops of one pass and joins neighbours that every operand crosses with one stride.
func newLoops(n []int, strides ...[]int) loops {
	l := loops{st: make([][]int, len(strides))}
	for i, c := range n {
		if c == 1 {
			continue
		}
		last := len(l.n) - 1
		joined := last >= 0
		for k, st := range strides {
			joined = joined && l.st[k][last] == st[i]*c
		}
		if joined {
			l.n[last] *= c
			for k, st := range strides {
				l.st[k][last] = st[i]
			}
			continue
		}
		l.n = append(l.n, c)
		for k, st := range strides {
			l.st[k] = append(l.st[k], st[i])
		}
	}
	return l
}

// count is the number of passes.
func count(n []int) int {
	c := 1
	for _, v := range n {
		c *= v
	}
	return c
}

// odometer walks the passes of a nest of loops and keeps the offset of two operands.
type odometer struct {
	n    []int
	a, b []int
	at   [loopRank]int
	x, y int
}

// seek places the odometer on pass i.
func (o *odometer) seek(i int) {
	o.x, o.y = 0, 0
	for k := len(o.n) - 1; k >= 0; k-- {
		o.at[k] = i % o.n[k]
		i /= o.n[k]
		o.x += o.at[k] * o.a[k]
		o.y += o.at[k] * o.b[k]
	}
}

// next goes to the next pass.
func (o *odometer) next() {
	for k := len(o.n) - 1; k >= 0; k-- {
		o.at[k]++
		o.x += o.a[k]
		o.y += o.b[k]
		if o.at[k] < o.n[k] {
			return
		}
		o.x -= o.n[k] * o.a[k]
		o.y -= o.n[k] * o.b[k]
		o.at[k] = 0
	}
}

// tileSide is the side of the square that a transposing copy moves at a time.
const tileSide = 16

// copyPlan moves elements between two strided arrangements: transpose, slice, concat, expand, tile and their kin.
// The last loop is the inner one; in a transposing plan the last two are.
type copyPlan struct {
	size         int // bytes of an element: 1, 2, 4, 8
	n, d, s      []int
	dBase, sBase int
	transposing  bool // the last loop is contiguous in dst, the one before it in src
}

// newCopy plans the copy of a nest of loops n with the destination strides d and source strides s, in elements of
// size bytes. Bases are the offsets of the first element.
func newCopy(size int, n, d, s []int, dBase, sBase int) *copyPlan {
	if size == 16 { // two halves
		n, d, s = slices.Clone(n), slices.Clone(d), slices.Clone(s)
		for i := range n {
			d[i] *= 2
			s[i] *= 2
		}
		n, d, s = append(n, 2), append(d, 1), append(s, 1)
		size, dBase, sBase = 8, dBase*2, sBase*2
	}
	l := newLoops(n, d, s)
	p := &copyPlan{size: size, n: l.n, d: l.st[0], s: l.st[1], dBase: dBase, sBase: sBase}
	last := len(p.n) - 1
	if last < 0 {
		p.n, p.d, p.s = []int{1}, []int{1}, []int{1}
		return p
	}
	if p.d[last] == 1 && p.s[last] != 1 && p.s[last] != 0 {
		if k := slices.Index(p.s, 1); k >= 0 && p.n[k] >= 4 && p.n[last] >= 4 {
			rotate := func(v []int) {
				x := v[k]
				copy(v[k:], v[k+1:last])
				v[last-1] = x
			}
			rotate(p.n)
			rotate(p.d)
			rotate(p.s)
			p.transposing = true
		}
	}
	return p
}

// units is the number of independent parts, weight the elements in one.
func (p *copyPlan) units() (units, weight int) {
	last := len(p.n) - 1
	if !p.transposing {
		return count(p.n[:last]), p.n[last]
	}
	rows := (p.n[last-1] + tileSide - 1) / tileSide
	return count(p.n[:last-1]) * rows, min(tileSide, p.n[last-1]) * p.n[last]
}

// run copies parts [lo, hi).
func (p *copyPlan) run(dst, src []byte, lo, hi int) {
	if count(p.n) == 0 {
		return
	}
	switch p.size {
	case 1:
		copyLoops(p, dst, src, lo, hi)
	case 2:
		copyLoops(p, tensor.View[uint16](dst), tensor.View[uint16](src), lo, hi)
	case 4:
		if p.transposing {
			p.strips(lo, hi, func(x, dStep, y, sStep, rows, cols int) {
				turn(tensor.View[float32](dst)[x:], dStep, tensor.View[float32](src)[y:], sStep, cols, rows)
			})
			return
		}
		copyLoops(p, tensor.View[uint32](dst), tensor.View[uint32](src), lo, hi)
	case 8:
		copyLoops(p, tensor.View[uint64](dst), tensor.View[uint64](src), lo, hi)
	}
}

func copyLoops[T tensor.Number](p *copyPlan, dst, src []T, lo, hi int) {
	if p.transposing {
		transposeLoops(p, dst, src, lo, hi)
		return
	}
	last := len(p.n) - 1
	n, d, s := p.n[last], p.d[last], p.s[last]
	o := odometer{n: p.n[:last], a: p.d[:last], b: p.s[:last]}
	o.seek(lo)
	for range hi - lo {
		x, y := p.dBase+o.x, p.sBase+o.y
		switch {
		case d == 1 && s == 1:
			copy(dst[x:x+n], src[y:y+n])
		case d == 1 && s == 0:
			fill(dst[x:x+n], src[y])
		case d == 1:
			for i := range dst[x : x+n] {
				dst[x+i] = src[y+i*s]
			}
		default:
			for i := range n {
				dst[x+i*d] = src[y+i*s]
			}
		}
		o.next()
	}
}

// transposeLoops moves squares, so that both sides use whole cache lines.
func transposeLoops[T tensor.Number](p *copyPlan, dst, src []T, lo, hi int) {
	p.strips(lo, hi, func(x, d, y, s, rows, cols int) {
		for c0 := 0; c0 < cols; c0 += tileSide {
			nc := min(tileSide, cols-c0)
			for r := range rows {
				out := dst[x+r*d+c0:][:nc]
				at := y + r + c0*s
				for c := range out {
					out[c] = src[at]
					at += s
				}
			}
		}
	})
}

// strips calls f for parts [lo,hi) of a transposing copy: rows of cols elements that are adjacent in dst from x on, d
// apart; in src, from y on, the columns are adjacent and s apart.
func (p *copyPlan) strips(lo, hi int, f func(x, d, y, s, rows, cols int)) {
	last := len(p.n) - 1
	rows, cols := p.n[last-1], p.n[last]
	d, s := p.d[last-1], p.s[last]
	strips := (rows + tileSide - 1) / tileSide
	o := odometer{n: p.n[:last-1], a: p.d[:last-1], b: p.s[:last-1]}
	o.seek(lo / strips)
	strip := lo % strips
	for range hi - lo {
		r0 := strip * tileSide
		f(p.dBase+o.x+r0*d, d, p.sBase+o.y+r0, s, min(tileSide, rows-r0), cols)
		if strip++; strip == strips {
			strip = 0
			o.next()
		}
	}
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// copying makes the run of one copy from operand i to result j.
func (p *copyPlan) copying(i, j int) func(x *Exec) error {
	units, weight := p.units()
	return parallel(units, weight, func(x *Exec, lo, hi int) { p.run(x.Out[j], x.In[i], lo, hi) })
}

// copyAll copies the first n bytes of operand i to result 0.
func copyAll(i, n int) func(x *Exec) error {
	const part = 64 << 10
	return parallel((n+part-1)/part, part/4, func(x *Exec, lo, hi int) {
		copy(x.Out[0][lo*part:min(n, hi*part)], x.In[i][lo*part:min(n, hi*part)])
	})
}

// wholeBytes is the size of an element that is moved as it is.
func wholeBytes(t tensor.DType) (int, error) {
	n := t.Size()
	return n, wantType(t, func(tensor.DType) bool { return n > 0 })
}
