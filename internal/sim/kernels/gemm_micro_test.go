package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// panel packs lanes×k numbers for a panel width, padded with NaN, which no result may show.
func panel(v []float32, lanes, k, width int) []float32 {
	p := make([]float32, k*width)
	for i := range p {
		p[i] = float32(math.NaN())
		if i%width < lanes {
			p[i] = v[i/width*lanes+i%width]
		}
	}
	return p
}

// TestMicro_paths compares the bits of each machine path with the plain one, for every size of a tile.
func TestMicro_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(20)-10)))
		}
		return v
	}
	for _, o := range []order{inSequence, inQuads, inLanes} {
		plain := plainMicro(o)
		for _, fast := range fastMicros(o) {
			t.Run(fmt.Sprintf("order %d tile %dx%d", o, fast.mr, fast.nr), func(t *testing.T) {
				for rows := 1; rows <= fast.mr; rows++ {
					for _, cols := range []int{1, fast.nr / 4, fast.nr/3 + 1, fast.nr/2 + 1, fast.nr - 1, fast.nr} {
						for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 64, 67} {
							for _, add := range []bool{false, true} {
								a, b, c := draw(rows*k), draw(cols*k), draw(rows*fast.nr)
								got, want := append([]float32{}, c...), append([]float32{}, c...)
								fast.tile(rows, cols, k, a, k, panel(b, cols, k, fast.nr), got, fast.nr, add)
								for i := range rows {
									for j := range cols {
										// one column at a time, in a panel of its own
										one := append(make([]float32, 0, 2*plain.nr), c[i*fast.nr+j])[:2*plain.nr]
										ak, bk := make([]float32, k), make([]float32, k)
										for e := range k {
											ak[e], bk[e] = a[i*k+e], b[e*cols+j]
										}
										plain.tile(1, 1, k, ak, k, panel(bk, 1, k, plain.nr), one, plain.nr, add)
										want[i*fast.nr+j] = one[0]
									}
								}
								for i := range rows {
									for j := range cols {
										g, w := got[i*fast.nr+j], want[i*fast.nr+j]
										if math.Float32bits(g) != math.Float32bits(w) {
											t.Fatalf("%d×%d×%d add %v: element %d,%d is %x, want %x", rows, cols, k, add, i, j, g, w)
										}
									}
								}
							}
						}
					}
				}
			})
		}
	}
}

func BenchmarkMicro(b *testing.B) {
	for _, m := range append(fastMicros(inSequence), plainMicro(inSequence)) {
		b.Run(fmt.Sprintf("%dx%d", m.mr, m.nr), func(b *testing.B) {
			const k = 256
			x, y, c := make([]float32, k*m.mr), make([]float32, k*m.nr), make([]float32, m.mr*m.nr)
			for b.Loop() {
				m.tile(m.mr, m.nr, k, x, k, y, c, m.nr, true)
			}
			b.ReportMetric(2*float64(m.mr*m.nr*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
