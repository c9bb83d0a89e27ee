package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// winogradLayer is a layer of 3×3 windows that its attribute lets go by Winograd's way.
func winogradLayer(r *rand.Rand, n, ci, co, h, w int, pads ...int) trial {
	return trial{op: "Conv", attrs: Attrs{"winograd": int64(1), "pads": i64(pads...)}, konst: []bool{false, true},
		in: []*tensor.Tensor{random(r, tensor.Float32, n, ci, h, w), random(r, tensor.Float32, co, ci, 3, 3)}}
}

// tile is the size of the tiles by which a trial's kernel goes, read from its filters; 0 is the plain sum.
func (c trial) tile(t *testing.T) int {
	t.Helper()
	k, err := Compile(c.spec())
	if err != nil {
		t.Fatal(err)
	}
	for tile, terms := range map[int]int{winogradTile: winogradTerms, wideTile: wideTerms} {
		co, ci := c.in[1].Shape[0], c.in[1].Shape[1]
		if len(k.Weights) == 1 && k.Weights[0].Bytes == 4*terms*ci*roundUp(co, winogradRows) {
			return tile
		}
	}
	return 0
}

func TestWinograd_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, v := range []struct{ tile, n, ci, co, h, w, top, left, bottom, right int }{
		{2, 1, 16, 16, 8, 8, 1, 1, 1, 1},
		{2, 2, 17, 19, 9, 11, 1, 1, 1, 1}, // nothing is even
		{2, 1, 64, 40, 7, 7, 1, 1, 1, 1},  // one block, shared out by channels
		{4, 2, 17, 19, 15, 62, 1, 1, 1, 1},
		{4, 1, 16, 24, 30, 30, 1, 1, 1, 1},
		{4, 1, 9, 33, 40, 57, 0, 2, 1, 0},     // several blocks
		{4, 1, 12, 36, 130, 57, 1, 1, 1, 1},   // more of them
		{2, 1, 8, 32, 2, 300, 1, 1, 1, 1},     // parts of a row of tiles
		{4, 1, 8, 32, 7, 500, 1, 1, 1, 1},     // and of large ones
		{4, 3, 16, 24, 2, 300, 3, 4, 0, 9},    // tiles in nothing but padding
		{2, 1, 130, 160, 20, 20, 0, 0, 0, 0},  // results are smaller
		{4, 1, 16, 16, 100, 3, 0, 20, 40, 20}, // a narrow plane in much padding
	} {
		c := winogradLayer(r, v.n, v.ci, v.co, v.h, v.w, v.top, v.left, v.bottom, v.right)
		if got := c.tile(t); got != v.tile {
			t.Errorf("%v: tiles of %d, want %d", c, got, v.tile)
		}
		ones, out := [3]int{1, 1, 1}, [3]int{1, v.h + v.top + v.bottom - 2, v.w + v.left + v.right - 2}
		sums := refConv(numbers(c.in[0]), numbers(c.in[1]), v.n, v.ci, v.co, 1, [3]int{1, v.h, v.w}, [3]int{1, 3, 3}, ones, ones, [3]int{0, v.top, v.left}, out)
		c.near(t, c.run(t)[0], sums)
		if i > 4 {
			continue
		}
		// with all that a fused convolution does to its sums
		c.op = "FusedConv"
		for _, act := range []string{"", "Relu", "HardSwish"} {
			for _, residual := range []bool{false, true} {
				c.attrs["activation"] = act
				c.in = append(c.in[:2:2], random(r, tensor.Float32, v.co))
				bias, want := numbers(c.in[2]), make([]float64, len(sums))
				for j, s := range sums {
					want[j] = s + bias[j/volume(out)%v.co]
				}
				if residual {
					c.in = append(c.in, random(r, tensor.Float32, v.n, v.co, out[1], out[2]))
					for j, z := range numbers(c.in[3]) {
						want[j] += z
					}
				}
				for j := range want {
					want[j] = refAct(c.attrs, want[j])
				}
				c.near(t, c.run(t)[0], want)
			}
		}
	}
}

// TestWinograd_exact bounds the rounding errors by those of the plain sum, which has slices: with one sum over all channels
// they grow faster with them.
func TestWinograd_exact(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for _, mean := range []float64{0, 100} {
		for _, layer := range []struct{ tile, ci, size int }{{2, 16, 8}, {2, 256, 8}, {4, 16, 30}, {4, 128, 30}} {
			ci, size := layer.ci, layer.size
			c := winogradLayer(r, 1, ci, 16, size, size, 1, 1, 1, 1)
			if got := c.tile(t); got != layer.tile {
				t.Errorf("%v: tiles of %d, want %d", c, got, layer.tile)
			}
			for i, x := range c.in {
				v := numbers(x)
				for j := range v {
					v[j] = r.NormFloat64() + mean*float64(1-i)
				}
				setNumbers(x, v)
			}
			ones := [3]int{1, 1, 1}
			want := refConv(numbers(c.in[0]), numbers(c.in[1]), 1, ci, 16, 1, [3]int{1, size, size}, [3]int{1, 3, 3}, ones, ones, [3]int{0, 1, 1}, [3]int{1, size, size})
			squares := func() (sum float64) {
				for i, x := range numbers(c.run(t)[0]) {
					sum += (x - want[i]) * (x - want[i])
				}
				return sum
			}
			fast := squares()
			delete(c.attrs, "winograd")
			if plain := squares(); fast > 64*plain {
				t.Errorf("tiles of %d, %d channels around %g: error %.3g of the plain sum's", layer.tile, ci, mean, math.Sqrt(fast/plain))
			}
		}
	}
}

// TestWinograd_whereItPays holds which convolutions keep the plain sum.
func TestWinograd_whereItPays(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	good := func() trial { return winogradLayer(r, 1, 32, 32, 14, 14, 1, 1, 1, 1) }
	for _, c := range []struct {
		name   string
		change func(c *trial)
		want   bool
	}{
		{"as it is", func(c *trial) {}, true},
		{"not allowed", func(c *trial) { delete(c.attrs, "winograd") }, false},
		{"filters not known", func(c *trial) { c.konst = nil }, false},
		{"float16", func(c *trial) {
			c.in = []*tensor.Tensor{random(r, tensor.Float16, 1, 32, 14, 14), random(r, tensor.Float16, 32, 32, 3, 3)}
		}, false},
		{"stride", func(c *trial) { c.attrs["strides"] = i64(2, 1) }, false},
		{"dilation", func(c *trial) { c.attrs["dilations"] = i64(1, 2) }, false},
		{"groups", func(c *trial) { c.in[1], c.attrs["group"] = random(r, tensor.Float32, 32, 16, 3, 3), int64(2) }, false},
		{"other windows", func(c *trial) { c.in[1] = random(r, tensor.Float32, 32, 32, 3, 5) }, false},
		{"few input channels", func(c *trial) { *c = winogradLayer(r, 1, 3, 64, 14, 14, 1, 1, 1, 1) }, false},
		{"few output channels", func(c *trial) { *c = winogradLayer(r, 1, 64, 8, 14, 14, 1, 1, 1, 1) }, false},
		{"a small plane", func(c *trial) { *c = winogradLayer(r, 1, 32, 32, 4, 4, 1, 1, 1, 1) }, false},
		{"a single row", func(c *trial) { *c = winogradLayer(r, 1, 32, 32, 1, 100, 1, 1, 1, 1) }, false},
	} {
		v := good()
		c.change(&v)
		if got := v.tile(t) > 0; got != c.want {
			t.Errorf("%s: Winograd %v, want %v", c.name, got, c.want)
		}
	}
}

// TestWinograd_chargedAlike holds that the device's work is the operator's, whichever way the host computes it.
func TestWinograd_chargedAlike(t *testing.T) {
	c := winogradLayer(rand.New(rand.NewPCG(9, 9)), 1, 32, 32, 14, 14, 1, 1, 1, 1)
	fast, err := Compile(c.spec())
	if err != nil {
		t.Fatal(err)
	}
	delete(c.attrs, "winograd")
	plain, err := Compile(c.spec())
	if err != nil {
		t.Fatal(err)
	}
	if fast.Work != plain.Work || fast.Blocks != plain.Blocks || fast.Type != plain.Type {
		t.Errorf("Winograd is charged %s %d %+v, the plain sum %s %d %+v", fast.Type, fast.Blocks, fast.Work, plain.Type, plain.Blocks, plain.Work)
	}
}

// TestWinogradTransforms_paths compares the machine's path with the plain Go. Run it with GODEBUG=cpu.avx512f=off for the
// path of AVX2.
func TestWinogradTransforms_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 300 {
		rows, n := 1+r.IntN(4), 1+r.IntN(70)
		pitch, plane := 2*roundUp(n, spill)+2+r.IntN(3), rows*n+2*spill+r.IntN(40)
		src := hardNumbers(r, (2*rows+2)*pitch)
		got, want := make([]float32, winogradTerms*plane), make([]float32, winogradTerms*plane)
		winogradIn(got, plane, src, pitch, rows, n)
		winogradInPlain(want, plane, src, pitch, rows, n)
		for p := range winogradTerms {
			if i := sameBits(got[p*plane:][:rows*n], want[p*plane:]); i >= 0 {
				t.Fatalf("%d rows of %d tiles: element %d of term %d is %g, want %g", rows, n, i, p, got[p*plane+i], want[p*plane+i])
			}
		}

		height, width := 2*rows-r.IntN(2), 2*n-r.IntN(2)
		step := width + r.IntN(5)
		src = hardNumbers(r, winogradTerms*plane)
		got, want = make([]float32, height*step), make([]float32, height*step)
		winogradOut(got, step, src, plane, height, n, width, 0.5, -1, 2)
		winogradOutPlain(want, step, src, plane, height, n, width, 0.5, -1, 2)
		if i := sameBits(got, want); i >= 0 { // what lies between the rows is not touched either
			t.Fatalf("%d×%d of rows of %d tiles: element %d is %g, want %g", height, width, n, i, got[i], want[i])
		}
	}
}

func TestWinograd4Transforms_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	for range 300 {
		rows, n := 1+r.IntN(4), 1+r.IntN(40)
		pitch := roundUp(wideTile*roundUp(n, spill)+2, spill)
		src := hardNumbers(r, (wideTile*rows+2)*pitch)
		got, want := make([]float32, wideSpan*rows*pitch), make([]float32, wideSpan*rows*pitch)
		winogradInDown(got, pitch, src, pitch, rows, wideTile*n+2)
		winogradInDownPlain(want, pitch, src, pitch, rows, wideTile*n+2)
		for y := range wideSpan * rows {
			if i := sameBits(got[y*pitch:][:wideTile*n+2], want[y*pitch:]); i >= 0 {
				t.Fatalf("down %d rows of %d tiles: element %d of row %d is %g, want %g", rows, n, i, y, got[y*pitch+i], want[y*pitch+i])
			}
		}

		src, plane := hardNumbers(r, wideSpan*rows*pitch), rows*n+2*spill+r.IntN(40)
		got, want = make([]float32, wideTerms*plane), make([]float32, wideTerms*plane)
		winogradInAlong(got, plane, src, pitch, rows, n)
		winogradInAlongPlain(want, plane, src, pitch, rows, n)
		for p := range wideTerms {
			if i := sameBits(got[p*plane:][:rows*n], want[p*plane:]); i >= 0 {
				t.Fatalf("along %d rows of %d tiles: element %d of term %d is %g, want %g", rows, n, i, p, got[p*plane+i], want[p*plane+i])
			}
		}

		src = hardNumbers(r, wideTerms*plane)
		got, want = make([]float32, wideTile*wideSpan*plane), make([]float32, wideTile*wideSpan*plane)
		winogradOutDown(got, plane, src, plane, rows*n)
		winogradOutDownPlain(want, plane, src, plane, rows*n)
		for p := range wideTile * wideSpan {
			if i := sameBits(got[p*plane:][:rows*n], want[p*plane:]); i >= 0 {
				t.Fatalf("down %d tiles: element %d of row %d is %g, want %g", rows*n, i, p, got[p*plane+i], want[p*plane+i])
			}
		}

		height, width := wideTile*rows-r.IntN(wideTile), wideTile*n-r.IntN(wideTile)
		step := width + r.IntN(5)
		src = hardNumbers(r, wideTile*wideSpan*plane)
		got, want = make([]float32, height*step), make([]float32, height*step)
		winogradOutAlong(got, step, src, plane, height, n, width, 0.5, -1, 2)
		winogradOutAlongPlain(want, step, src, plane, height, n, width, 0.5, -1, 2)
		if i := sameBits(got, want); i >= 0 { // what lies between the rows is not touched either
			t.Fatalf("along %d×%d of rows of %d tiles: element %d is %g, want %g", height, width, n, i, got[i], want[i])
		}
	}
}

func TestPanelTile_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for cols := 1; cols <= 120; cols += 1 + r.IntN(4) {
		for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 63} {
			ld := roundUp(cols, spill) + r.IntN(20)
			a, b := hardNumbers(r, k*winogradRows), hardNumbers(r, k*ld)
			got, want := make([]float32, winogradRows*ld), make([]float32, winogradRows*ld)
			panelTile(cols, k, a, b, ld, got, ld)
			panelTilePlain(cols, k, a, b, ld, want, ld)
			for i := range winogradRows {
				if j := sameBits(got[i*ld:][:cols], want[i*ld:]); j >= 0 {
					t.Fatalf("%d columns, %d deep: element %d,%d is %g, want %g", cols, k, i, j, got[i*ld+j], want[i*ld+j])
				}
			}
		}
	}
}

// BenchmarkWinograd pairs Winograd's way with the plain sum.
func BenchmarkWinograd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, v := range [][3]int{{64, 64, 56}, {128, 128, 28}, {256, 256, 14}, {512, 512, 7}, {256, 256, 56}, {16, 64, 55}, {128, 32, 14}} {
		for _, threads := range []int{1, 2} {
			for _, way := range []string{"plain", "winograd"} {
				b.Run(fmt.Sprintf("%d-%d %d/%d/%s", v[0], v[1], v[2], threads, way), func(b *testing.B) {
					c := winogradLayer(r, 1, v[0], v[1], v[2], v[2], 1, 1, 1, 1)
					if way == "plain" {
						delete(c.attrs, "winograd")
					}
					k, x, _, err := c.prepare()
					if err != nil {
						b.Fatal(err)
					}
					x.Workers = NewWorkers(threads)
					defer x.Workers.Close()
					for b.Loop() {
						if err := k.Run(x); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
