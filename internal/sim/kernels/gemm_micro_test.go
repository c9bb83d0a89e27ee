package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// spreadRows puts k rows of lanes numbers at offsets of their own, with NaN around them, which no result may show.
func spreadRows(r *rand.Rand, v []float32, lanes, k int) (b []float32, offsets []int) {
	for i := range k {
		for range r.IntN(9) {
			b = append(b, float32(math.NaN()))
		}
		offsets = append(offsets, len(b))
		b = append(b, v[i*lanes:][:lanes]...)
		for range spill {
			b = append(b, float32(math.NaN()))
		}
	}
	return b, offsets
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
				nr := 2*fast.nr + 5 // more than one tile
				for rows := 1; rows <= fast.mr; rows++ {
					for _, cols := range []int{1, nr / 4, nr/3 + 1, nr/2 + 1, nr - 1, nr} {
						for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 64, 67} {
							for _, add := range []bool{false, true} {
								a, v, c := draw(rows*k), draw(cols*k), draw(rows*(nr+spill))
								b, offsets := spreadRows(r, v, cols, k)
								got := append([]float32{}, c...)
								fast.tile(rows, cols, k, a, k, b, offsets, fast.nr, got, nr+spill, add)
								for i := range rows {
									for j := range cols {
										// one element at a time
										want := make([]float32, plain.nr)
										want[0] = c[i*(nr+spill)+j]
										col := make([]float32, k+plain.nr)
										at := make([]int, k)
										for e := range k {
											col[e], at[e] = v[e*cols+j], e
										}
										plain.tile(1, 1, k, a[i*k:], k, col, at, 0, want, plain.nr, add)
										if g, w := got[i*(nr+spill)+j], want[0]; math.Float32bits(g) != math.Float32bits(w) {
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

// TestMicro_rows compares the bits of a single row with those of tiles.
func TestMicro_rows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for _, fast := range fastMicros(inSequence) {
		if fast.row == nil {
			continue
		}
		for _, k := range []int{1, 3, 4, 5, 64, 131} {
			for _, add := range []bool{false, true} {
				cols := rowPanels * fast.nr
				a, b, want := hardNumbers(r, k), hardNumbers(r, cols*k), hardNumbers(r, cols)
				at := make([]int, k)
				for i := range at {
					at[i] = i * fast.nr
				}
				got := append([]float32{}, want...)
				fast.row(k, a, b, at, k*fast.nr, got, add)
				fast.tile(1, cols, k, a, k, b, at, k*fast.nr, want, cols, add)
				if i := sameBits(got, want); i >= 0 {
					t.Errorf("row of %d, k %d, add %v: element %d is %x, want %x", cols, k, add, i, got[i], want[i])
				}
			}
		}
	}
}

// TestMicro_endings compares the bits of each machine path with the plain one, for every size of a tile and ending, and
// that nothing is written beside the tile.
func TestMicro_endings(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	plain := plainMicro(inSequence)
	for _, fast := range fastMicros(inSequence) {
		if fast.end == nil {
			continue
		}
		t.Run(fmt.Sprintf("tile %dx%d", fast.mr, fast.nr), func(t *testing.T) {
			const k, ldc = 9, 128
			for rows := 1; rows <= fast.mr; rows++ {
				for cols := 1; cols <= 2*fast.nr+5; cols++ {
					how := r.IntN(32)
					e := ending{add: how&1 > 0, across: how&4 > 0, limits: how&16 > 0, lo: -1, hi: 2}
					if how&6 > 0 {
						e.bias = draw(ldc)
					}
					if how&8 > 0 {
						e.z = draw(rows * ldc)
					}
					a, b, c := draw(rows*k), draw(3*fast.nr*k), draw(rows*ldc)
					if r.IntN(4) == 0 {
						a[r.IntN(len(a))] = float32(math.NaN())
					}
					at := make([]int, k)
					for i := range at {
						at[i] = i * fast.nr
					}
					got, want := append([]float32{}, c...), append([]float32{}, c...)
					fast.end(rows, cols, k, a, k, b, at, k*fast.nr, got, ldc, e)
					for i := range rows { // element by element
						for j := range cols {
							one := e
							if e.bias != nil {
								one.bias = e.bias[i:]
								if e.across {
									one.bias = e.bias[j:]
								}
							}
							if e.z != nil {
								one.z = e.z[i*ldc+j:]
							}
							col := b[j/fast.nr*k*fast.nr+j%fast.nr:]
							col = append(append([]float32{}, col...), 0, 0, 0)
							plain.end(1, 1, k, a[i*k:], k, col, at, 0, want[i*ldc+j:], ldc, one)
						}
					}
					for i := range got {
						if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
							t.Fatalf("%d×%d, ending %d: element %d,%d is %v, want %v", rows, cols, how, i/ldc, i%ldc, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

func BenchmarkMicro(b *testing.B) {
	for _, m := range append(fastMicros(inSequence), plainMicro(inSequence)) {
		b.Run(fmt.Sprintf("%dx%d", m.mr, m.nr), func(b *testing.B) {
			const k = 256
			x, y, c, at := make([]float32, k*m.mr), make([]float32, k*m.nr), make([]float32, m.mr*m.nr), make([]int, k)
			for i := range at {
				at[i] = i * m.nr
			}
			for b.Loop() {
				m.tile(m.mr, m.nr, k, x, k, y, at, 0, c, m.nr, true)
			}
			b.ReportMetric(2*float64(m.mr*m.nr*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
