package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// TestDepthRows_paths compares the bits of the machine's path with those of the plain Go, and that nothing is written
// beside the results. Run it with GODEBUG=cpu.avx512f=off for the path of AVX2.
func TestDepthRows_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 13))
	for n := 1; n < 80; n++ {
		for stride := 1; stride <= 2; stride++ {
			for count := 1; count <= 11; count++ {
				const rows, dstStep, srcStep, reach = 2, 81, 170, 60
				taps := make([]int, count)
				for i := range taps {
					taps[i] = r.IntN(reach)
				}
				src, weights := hardNumbers(r, (rows-1)*srcStep+n*stride+reach+rowSlack), hardNumbers(r, count)
				got, want := make([]float32, rows*dstStep), make([]float32, rows*dstStep)
				depthRows(got, dstStep, src, srcStep, stride, rows, n, taps, weights, 0.5, -100, 200)
				depthRowsPlain(want, dstStep, src, srcStep, stride, rows, n, taps, weights, 0.5, -100, 200)
				if i := sameBits(got, want); i >= 0 {
					t.Fatalf("%d results, stride %d, %d taps: element %d is %v, want %v", n, stride, count, i, got[i], want[i])
				}
			}
		}
	}
}

// TestDepthwise_rows compares the form that sums row by row with the one over a band, which a residual takes: one that
// adds nothing leaves every bit.
func TestDepthwise_rows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 13))
	for range 60 {
		v := convCase{rank: 2, n: 1 + r.IntN(2), c: 1 + r.IntN(8), k: [3]int{1, 1 + r.IntN(5), 1 + r.IntN(5)},
			s: [3]int{1, 1 + r.IntN(3), 1 + r.IntN(2)}, d: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(2)}, in: [3]int{1, 9 + r.IntN(60), 9 + r.IntN(200)},
			lo: [3]int{0, r.IntN(3), r.IntN(3)}, hi: [3]int{0, r.IntN(3), r.IntN(3)}}
		v.g, v.m = v.c, v.c*(1+r.IntN(2))
		if v.g == 1 {
			continue
		}
		c := trial{op: "FusedConv", attrs: v.attrs(), in: []*tensor.Tensor{random(r, tensor.Float32, append([]int{v.n, v.c}, v.spatial(v.in)...)...),
			random(r, tensor.Float32, append([]int{v.m, 1}, v.spatial(v.k)...)...), nil}}
		someActivation(r, c.attrs)
		if r.IntN(2) == 0 {
			c.in[2] = random(r, tensor.Float32, v.m)
		}
		got := c.run(t)[0]
		nothing := random(r, tensor.Float32, append([]int{v.n, v.m}, v.spatial(v.out())...)...)
		for i := range tensor.View[float32](nothing.Data) {
			tensor.View[float32](nothing.Data)[i] = negativeZero()
		}
		c.in = append(c.in, nothing)
		if want := c.run(t)[0]; !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%v: differs from the form over a band", c)
		}
	}
}
