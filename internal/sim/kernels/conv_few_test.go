package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// TestConv_fewPixels compares the form for few pixels, which takes constant weights, with the ordinary one, bit for bit.
func TestConv_fewPixels(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 4))
	few := 0
	for range 120 {
		v := drawConv(r)
		if v.g > 1 {
			v.g = 2
		}
		v.c, v.m = v.g*(1+r.IntN(90)), v.g*(spill+r.IntN(70))
		for e := range v.in {
			v.in[e] = min(v.in[e], max(1, v.k[e])+r.IntN(2))
			v.in[e] = max(v.in[e], (v.k[e]-1)*v.d[e]+1-v.lo[e]-v.hi[e])
		}
		if r.IntN(4) == 0 { // a signal
			v.rank, v.c, v.g, v.m = 1, 1, 1, spill+r.IntN(300)
			v.in, v.k, v.s, v.d, v.lo, v.hi = [3]int{1, 1, 640}, [3]int{1, 1, 256}, [3]int{1, 1, 128}, [3]int{1, 1, 1}, [3]int{}, [3]int{}
		}
		out := v.out()
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16}[r.IntN(3)]
		c := trial{op: "FusedConv", attrs: v.attrs(), in: []*tensor.Tensor{
			random(r, dt, append([]int{v.n, v.c}, v.spatial(v.in)...)...),
			random(r, dt, append([]int{v.m, v.c / v.g}, v.spatial(v.k)...)...)}}
		someActivation(r, c.attrs)
		if r.IntN(2) == 0 {
			c.in = append(c.in, random(r, dt, v.m))
		} else {
			c.in = append(c.in, nil)
		}
		if r.IntN(2) == 0 {
			c.in = append(c.in, random(r, dt, append([]int{v.n, v.m}, v.spatial(out)...)...))
		}
		want := c.run(t)[0]
		c.konst = []bool{false, true}
		if k, err := Compile(c.spec()); err != nil {
			t.Fatal(err)
		} else if dt == tensor.Float32 && len(k.Weights) == 1 {
			few++
		}
		if got := c.run(t)[0]; !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%v: differs from the ordinary form", c)
		}
	}
	if few < 40 {
		t.Errorf("only %d cases took the form for few pixels", few)
	}
}
