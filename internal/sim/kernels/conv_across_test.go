package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// TestConv_across compares the form whose columns are channels with the ordinary one, bit for bit: with several blocks,
// panels and slices, weights that are packed at load or on the way, and shares of several threads.
func TestConv_across(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 12))
	taken := 0
	for i := range 60 {
		v := convCase{rank: 2, n: 1 + r.IntN(2), g: 1 + i%2, k: [3]int{1, 1, 1}, s: [3]int{1, 1, 1}, d: [3]int{1, 1, 1}}
		size := []int{5, 7, 13, 14, 27, 33}[r.IntN(6)]
		v.in = [3]int{1, size, size + r.IntN(3)}
		v.c, v.m = v.g*(1+r.IntN(200)), v.g*[]int{16, 29, 32, 61, 96, 128}[r.IntN(6)]
		if r.IntN(3) > 0 {
			k := 2 + r.IntN(4)
			v.k, v.s = [3]int{1, k, k}, [3]int{1, 1 + r.IntN(2), 1 + r.IntN(2)}
			v.lo, v.hi = [3]int{0, r.IntN(3), r.IntN(3)}, [3]int{0, r.IntN(3), r.IntN(3)}
			v.c = v.g * (1 + r.IntN(40))
		}
		c := trial{op: "FusedConv", attrs: v.attrs(), konst: []bool{false, i%4 < 2}, in: []*tensor.Tensor{
			random(r, tensor.Float32, append([]int{v.n, v.c}, v.spatial(v.in)...)...),
			random(r, tensor.Float32, append([]int{v.m, v.c / v.g}, v.spatial(v.k)...)...), nil, nil}}
		someActivation(r, c.attrs)
		if r.IntN(2) == 0 {
			c.in[2] = random(r, tensor.Float32, v.m)
		}
		if r.IntN(2) == 0 {
			c.in[3] = random(r, tensor.Float32, append([]int{v.n, v.m}, v.spatial(v.out())...)...)
		}
		conv := func(across bool) (*Kernel, *Spec) {
			s := c.spec()
			if err := Infer(s); err != nil {
				t.Fatal(err)
			}
			cv, err := readConv(s, false)
			if err == nil {
				err = cv.conv(s.Attrs, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			fin, err := cv.finish(s)
			if err != nil {
				t.Fatal(err)
			}
			k := cv.account(s, "Conv2D", "Conv3D")
			if across {
				return cv.across(s, k, fin), s
			}
			return cv.compile(s, k, fin, []phase{cv.wholePhase()}), s
		}
		run := func(k *Kernel, s *Spec, threads int) []byte {
			x := &Exec{Workspace: bytes.Repeat([]byte{0xff}, k.Workspace), Out: [][]byte{bytes.Repeat([]byte{0xff}, s.Out[0].bytes())}}
			for _, in := range c.in {
				if in == nil {
					x.In = append(x.In, nil)
				} else {
					x.In = append(x.In, in.Data)
				}
			}
			for _, w := range k.Weights {
				packed := bytes.Repeat([]byte{0xff}, w.Bytes)
				w.Pack(packed, x.In[w.Input])
				x.In[w.Input] = packed
			}
			x.Workers = NewWorkers(threads)
			defer x.Workers.Close()
			if err := k.Run(x); err != nil {
				t.Fatal(err)
			}
			return x.Out[0]
		}
		k, s := conv(true)
		if k == nil {
			continue
		}
		taken++
		ordinary, _ := conv(false)
		want := run(ordinary, s, 1)
		for threads := 1; threads <= 3; threads++ {
			if !bytes.Equal(run(k, s, threads), want) {
				t.Fatalf("%v: differs from the ordinary form with %d threads", c, threads)
			}
		}
	}
	if taken < 30 {
		t.Errorf("only %d cases took the form", taken)
	}
}

// TestAcross_paths compares the bits of each machine path with the plain one, for every size of a tile, and that nothing
// is written beside the results.
func TestAcross_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 12))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	plain := plainAcross()
	same := func(t *testing.T, what string, got, want []float32) {
		t.Helper()
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
			}
		}
	}
	for _, fast := range fastAcross() {
		t.Run(fmt.Sprintf("tile %dx%d", fast.rows, fast.cols), func(t *testing.T) {
			for rows := 1; rows <= fast.rows; rows++ {
				for _, k := range []int{1, 3, 4, 5, 8, 11} {
					for cols := 1; cols <= fast.cols; cols += 3 {
						at := make([]int, k)
						for i := range at {
							at[i] = r.IntN(40)
						}
						ldb := cols + r.IntN(3)
						a, b, c, add := draw(40+rows), draw((k-1)*ldb+cols), draw(rows*fast.cols), r.IntN(2) == 0
						got := append([]float32{}, c...)
						fast.tile(rows, cols, k, a, at, b, ldb, got, add, b)
						for i := range rows { // element by element
							for j := range cols {
								one := make([]float32, plain.cols)
								one[0] = c[i*fast.cols+j]
								plain.tile(1, 1, k, a[i:], at, b[j:], ldb, one, add, nil)
								same(t, fmt.Sprintf("%d×%d×%d at %d,%d", rows, cols, k, i, j), got[i*fast.cols+j:][:1], one[:1])
							}
						}
					}
				}
			}
			for n := 1; n < 40; n++ {
				for rows := 1; rows <= fast.cols; rows++ {
					const step = 43
					src, dst := draw(roundUp(n, spill)*fast.cols), draw(rows*step)
					how := r.IntN(8)
					e := ending{limits: how&4 > 0, lo: -1, hi: 1}
					if how&1 > 0 {
						e.bias = draw(rows)
					}
					if how&2 > 0 {
						e.z = draw(rows * step)
					}
					got, want := append([]float32{}, dst...), dst
					fast.turn(got, step, src, rows, n, e)
					for j := range rows {
						for i := range n {
							one := ending{limits: e.limits, lo: e.lo, hi: e.hi}
							if e.bias != nil {
								one.bias = e.bias[j:]
							}
							if e.z != nil {
								one.z = e.z[j*step+i:]
							}
							plain.turn(want[j*step+i:], step, src[i*fast.cols+j:], 1, 1, one)
						}
					}
					same(t, fmt.Sprintf("%d rows of %d turned, ending %d", rows, n, how), got, want)
				}
			}
		})
	}
}

func BenchmarkAcross(b *testing.B) {
	for _, m := range append(fastAcross(), plainAcross()) {
		b.Run(fmt.Sprintf("%dx%d", m.rows, m.cols), func(b *testing.B) {
			const k = 128
			x, y, c, at := make([]float32, k*m.rows), make([]float32, k*m.cols), make([]float32, m.rows*m.cols), make([]int, k)
			for i := range at {
				at[i] = i * m.rows
			}
			for b.Loop() {
				m.tile(m.rows, m.cols, k, x, at, y, m.cols, c, true, y)
			}
			b.ReportMetric(2*float64(m.rows*m.cols*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
