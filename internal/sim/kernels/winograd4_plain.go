package kernels

import "math"

// F(4×4, 3×3) has tiles of 4×4 results from 6×6 inputs, with 36 multiplications in place of 144. Its points are 0, ±√½,
// ±√2 and ∞, which round far less than the usual 0, ±1, ±2 and ∞. With a = √½ and b = √2
//
//	     1  0 -5/2  0   1  0       1     0     0
//	     0 -b -2    a   1  0      -2/3 -2a/3 -1/3        1 1   1  1   1  0
//	Bᵀ = 0  b -2   -a   1  0   G = -2/3  2a/3 -1/3   Aᵀ = 0 a  -a  b  -b  0
//	     0 -a -1/2  b   1  0       1/6  b/6   1/3        0 1/2 1/2 2   2  0
//	     0  a -1/2 -b   1  0       1/6 -b/6   1/3        0 a/2 -a/2 2b -2b 1
//	     0  1  0  -5/2  0  1       0     0     1
//
// Each transform goes down the columns first and then along the rows. What is fused here is fused in assembly.

const (
	wideTile  = 4
	wideSpan  = 6
	wideTerms = wideSpan * wideSpan
)

// half and twice are the points, a and b.
const half, twice = float32(math.Sqrt2 / 2), float32(math.Sqrt2)

// wideFilter is G.
func wideFilter() [][3]float64 {
	const b = math.Sqrt2
	return [][3]float64{{1, 0, 0}, {-2. / 3, -b / 3, -1. / 3}, {-2. / 3, b / 3, -1. / 3}, {1. / 6, b / 6, 1. / 3}, {1. / 6, -b / 6, 1. / 3}, {0, 0, 1}}
}

func sixTerms(x [wideSpan]float32) (v [wideSpan]float32) {
	v[0] = fma32(-2.5, x[2], x[0]+x[4])
	v[5] = fma32(-2.5, x[3], x[1]+x[5])
	even, odd := fma32(-2, x[2], x[4]), fma32(-2, x[1], x[3])
	v[1], v[2] = fma32(half, odd, even), fma32(-half, odd, even)
	even, odd = fma32(-0.5, x[2], x[4]), fma32(-0.5, x[1], x[3])
	v[3], v[4] = fma32(twice, odd, even), fma32(-twice, odd, even)
	return v
}

func fourResults(m [wideSpan]float32) (y [wideTile]float32) {
	s, d, t, e := m[1]+m[2], m[1]-m[2], m[3]+m[4], m[3]-m[4]
	y[0] = m[0] + s + t
	y[1] = fma32(twice, e, float32(half*d))
	y[2] = fma32(2, t, float32(0.5*s))
	y[3] = fma32(2*twice, e, fma32(half/2, d, m[5]))
	return y
}

// winogradInDownPlain transforms the columns of rows of tiles: six rows of n elements, the first of each tile four below
// that of the tile above, become six, and those of the next row of tiles follow.
func winogradInDownPlain(dst []float32, dstStep int, src []float32, srcStep, rows, n int) {
	for r := range rows {
		for i := range n {
			var x [wideSpan]float32
			for y := range x {
				x[y] = src[(wideTile*r+y)*srcStep+i]
			}
			for y, v := range sixTerms(x) {
				dst[(wideSpan*r+y)*dstStep+i] = v
			}
		}
	}
}

// winogradInAlongPlain transforms the rows that winogradInDown made, of n tiles: term p of tile i of row r goes to
// dst[p·dstPlane+r·n+i].
func winogradInAlongPlain(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	for r := range rows {
		for y := range wideSpan {
			row := src[(wideSpan*r+y)*srcStep:]
			for i := range n {
				for x, v := range sixTerms([wideSpan]float32(row[wideTile*i:])) {
					dst[(wideSpan*y+x)*dstPlane+r*n+i] = v
				}
			}
		}
	}
}

// winogradOutDownPlain transforms the six columns of the products of n tiles: row y of column x goes to
// dst[(6y+x)·dstStep].
func winogradOutDownPlain(dst []float32, dstStep int, src []float32, srcPlane, n int) {
	for x := range wideSpan {
		for i := range n {
			var m [wideSpan]float32
			for y := range m {
				m[y] = src[(wideSpan*y+x)*srcPlane+i]
			}
			for y, v := range fourResults(m) {
				dst[(wideSpan*y+x)*dstStep+i] = v
			}
		}
	}
}

// winogradOutAlongPlain transforms the rows that winogradOutDown made, of tiles in rows of n: rows of width results,
// dstStep apart, which may end within a tile, each min(max(result+bias, lo), hi).
func winogradOutAlongPlain(dst []float32, dstStep int, src []float32, srcStep, rows, n, width int, bias, lo, hi float32) {
	for y := range rows {
		for i := 0; i < width; i += wideTile {
			var m [wideSpan]float32
			for x := range m {
				m[x] = src[(wideSpan*(y%wideTile)+x)*srcStep+y/wideTile*n+i/wideTile]
			}
			results := fourResults(m)
			for x, v := range results[:min(wideTile, width-i)] {
				dst[y*dstStep+i+x] = atMost(hi, atLeast(lo, v+bias))
			}
		}
	}
}
