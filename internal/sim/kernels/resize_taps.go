package kernels

import (
	"math"
	"slices"
)

// tapTable says, for each output position along a dimension, which input positions it takes with which weights.
// No taps: the position lies outside of the region and takes the extrapolation value.
type tapTable struct {
	start  []int32 // of each position in the lists; one more at the end
	index  []int32
	weight []float32
	same   bool // position i takes i alone, and the lists may be short
}

// table makes the taps of one dimension.
func (z *resizing) table(d int) tapTable {
	in, out := z.in[d], z.out[d]
	t := tapTable{start: make([]int32, 1, out+1), same: in == out}
	for i := range out {
		x := z.coordinate(d, i)
		if z.coordinates != "tf_crop_and_resize" || x >= 0 && x <= float32(in-1) {
			z.tapsAt(&t, min(max(float64(x), -maxResized), maxResized), in, float64(z.scale[d]))
		}
		t.start = append(t.start, int32(len(t.index)))
		t.same = t.same && t.start[i+1] == t.start[i]+1 && t.index[t.start[i]] == int32(i)
	}
	return t
}

// coordinate is the input position of output position i, in float32 like other runtimes so that ties fall alike.
func (z *resizing) coordinate(d, i int) float32 {
	in, out, x, scale := float32(z.in[d]), float32(z.out[d]), float32(i), z.scale[d]
	switch z.coordinates {
	case "half_pixel":
		return (x+0.5)/scale - 0.5
	case "half_pixel_symmetric":
		adjust := out / (scale * in)
		return in/2*(1-adjust) + (x+0.5)/scale - 0.5
	case "pytorch_half_pixel":
		if out <= 1 {
			return 0
		}
		return (x+0.5)/scale - 0.5
	case "align_corners":
		if out <= 1 {
			return 0
		}
		if exact := scale * in; exact-out > 1e-3 {
			out = exact // a scale that does not divide evenly counts in full
		}
		return x * (in - 1) / (out - 1)
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / scale
	case "tf_crop_and_resize":
		if out <= 1 {
			return 0.5 * (z.begin[d] + z.end[d]) * (in - 1)
		}
		return z.begin[d]*(in-1) + x*(z.end[d]-z.begin[d])*(in-1)/(out-1)
	}
	return x / scale
}

func (z *resizing) tapsAt(t *tapTable, x float64, in int, scale float64) {
	if z.mode == "nearest" {
		t.add(z.round(x, scale), 1, in)
		return
	}
	first, from := math.Floor(x), len(t.index)
	stretch, reach := 1.0, 1
	if z.mode == "cubic" {
		reach = 2
	}
	lo, hi := int(first)-reach+1, int(first)+reach
	if z.antialias && scale < 1 {
		stretch = scale
		lo, hi = int(math.Ceil(x-float64(reach)/scale)), int(math.Floor(x+float64(reach)/scale))
	}
	if z.mode == "linear" && stretch == 1 {
		x = min(max(x, 0), float64(in-1))
		lo = int(x)
		hi = min(lo+1, in-1)
	}
	sum := 0.0
	for i := lo; i <= hi; i++ {
		if z.excludeOut && (i < 0 || i >= in) {
			continue
		}
		w := z.kernelAt((float64(i) - x) * stretch)
		if w == 0 && i != lo {
			continue
		}
		sum += w
		t.add(i, w, in)
	}
	if (z.excludeOut || stretch != 1) && sum != 0 {
		for i := range t.weight[from:] {
			t.weight[from+i] = float32(float64(t.weight[from+i]) / sum)
		}
	}
}

// kernelAt is the interpolation kernel: the triangle or Keys' cubic.
func (z *resizing) kernelAt(x float64) float64 {
	x, a := math.Abs(x), z.cubicA
	switch {
	case z.mode == "linear":
		return max(0, 1-x)
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

func (z *resizing) round(x, scale float64) int {
	if z.simpleRounds && scale < 1 {
		return int(math.Ceil(x))
	}
	switch z.nearest {
	case "floor":
		return int(math.Floor(x))
	case "ceil":
		return int(math.Ceil(x))
	case "round_prefer_ceil":
		return int(math.Floor(x + 0.5))
	}
	return int(math.Ceil(x - 0.5))
}

// add appends a tap; positions outside of the input take its edge.
func (t *tapTable) add(i int, w float64, in int) {
	t.index = append(t.index, int32(min(max(i, 0), in-1)))
	t.weight = append(t.weight, float32(w))
}

// merge joins neighbouring dimensions that stay as they are.
func (r *resizer) merge() {
	for i := len(r.taps) - 1; i > 0; i-- {
		if r.taps[i].same && r.taps[i-1].same {
			n := r.in[i] * r.in[i-1]
			r.in[i-1], r.out[i-1] = n, n
			r.in, r.out, r.taps = slices.Delete(r.in, i, i+1), slices.Delete(r.out, i, i+1), slices.Delete(r.taps, i, i+1)
		}
	}
}
