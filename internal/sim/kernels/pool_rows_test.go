package kernels

import (
	"math/rand/v2"
	"testing"
)

// TestPoolRows_paths compares the bits of the machine's path with those of the plain Go, and that nothing is written
// beside the results. Run it with GODEBUG=cpu.avx512f=off for the path of AVX2.
func TestPoolRows_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 13))
	for n := 1; n < 70; n++ {
		for stride := 1; stride <= 2; stride++ {
			for _, average := range []bool{false, true} {
				const rows, dstStep, srcStep, reach = 3, 71, 160, 90
				taps := make([]int, 1+r.IntN(9))
				for i := range taps {
					taps[i] = r.IntN(reach)
				}
				src := hardNumbers(r, (rows-1)*srcStep+n*stride+reach+rowSlack)
				var div []float32
				if average {
					div = make([]float32, rows*n)
					for i := range div {
						div[i] = float32(1 + r.IntN(9))
					}
				}
				got, want := make([]float32, rows*dstStep), make([]float32, rows*dstStep)
				poolRows(got, dstStep, src, srcStep, stride, rows, n, taps, div, n)
				poolRowsPlain(want, dstStep, src, srcStep, stride, rows, n, taps, div, n)
				if i := sameBits(got, want); i >= 0 {
					t.Fatalf("%d results, stride %d, average %v, taps %v: element %d is %v, want %v", n, stride, average, taps, i, got[i], want[i])
				}
			}
		}
	}
}
