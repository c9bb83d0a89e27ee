package kernels

import (
	"fmt"
	"slices"
)

// window is the sliding window of a convolution or a pooling over up to three spatial dimensions (depth, height,
// width; the ones that are not there come first and have length 1).
type window struct {
	rank                     int
	kernel, stride, dilation [3]int
	lo, hi                   [3]int // padding before and after
	in, out                  [3]int
	same                     bool // auto_pad SAME_*: out depends on in and stride alone
}

const (
	maxKernel = 1 << 16
	maxPad    = 1 << 24
	maxStride = 1 << 24
)

// newWindow reads strides, dilations, pads, auto_pad (and kernel_shape unless kernel is given) for an input of shape
// N×C×spatial. Output sizes are set by the operator: conv, pool or transposed.
func newWindow(at Attrs, shape, kernel []int) (window, error) {
	w := window{rank: len(shape) - 2}
	if w.rank < 1 {
		return w, fmt.Errorf("input of rank %d has no spatial dimension", len(shape))
	}
	if w.rank > 3 {
		return w, fmt.Errorf("%d spatial dimensions: %w (at most 3)", w.rank, ErrUnsupported)
	}
	if kernel == nil {
		if kernel = at.Ints("kernel_shape"); kernel == nil {
			return w, fmt.Errorf("kernel_shape is missing")
		}
	} else if ks := at.Ints("kernel_shape"); ks != nil && !slices.Equal(ks, kernel) && !slices.Contains(kernel, -1) {
		return w, fmt.Errorf("kernel_shape %v, but the weights are %v", ks, kernel)
	}
	ones := func(name string) []int {
		if v := at.Ints(name); v != nil {
			return v
		}
		return slices.Repeat([]int{1}, w.rank)
	}
	stride, dilation := ones("strides"), ones("dilations")
	pads := at.Ints("pads")
	auto := at.Str("auto_pad", "NOTSET")
	switch auto {
	case "NOTSET", "":
		if pads == nil {
			pads = make([]int, 2*w.rank)
		}
	case "VALID", "SAME_UPPER", "SAME_LOWER":
		pads = make([]int, 2*w.rank)
		w.same = auto != "VALID"
	default:
		return w, fmt.Errorf("auto_pad %q: want NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto)
	}
	for _, l := range []struct {
		name       string
		v          []int
		n, lo, top int
	}{
		{"kernel_shape", kernel, w.rank, 1, maxKernel}, {"strides", stride, w.rank, 1, maxStride},
		{"dilations", dilation, w.rank, 1, maxStride}, {"pads", pads, 2 * w.rank, 0, maxPad},
	} {
		if len(l.v) != l.n {
			return w, fmt.Errorf("%s %v: want %d numbers for an input of rank %d", l.name, l.v, l.n, len(shape))
		}
		for _, v := range l.v {
			if (v < l.lo || v > l.top) && !(v == -1 && l.name == "kernel_shape") {
				return w, fmt.Errorf("%s %v: want numbers from %d to %d", l.name, l.v, l.lo, l.top)
			}
		}
	}
	for d := range 3 {
		i := d - (3 - w.rank)
		if i < 0 {
			w.kernel[d], w.stride[d], w.dilation[d], w.in[d], w.out[d] = 1, 1, 1, 1, 1
			continue
		}
		w.kernel[d], w.stride[d], w.dilation[d], w.in[d] = kernel[i], stride[i], dilation[i], shape[2+i]
		w.lo[d], w.hi[d], w.out[d] = pads[i], pads[w.rank+i], -1
	}
	return w, nil
}

// extent is the input length that the kernel spans.
func (w *window) extent(d int) int { return (w.kernel[d]-1)*w.dilation[d] + 1 }

// conv sets the output size of a convolution or of a pooling (ceil: round up).
func (w *window) conv(at Attrs, ceil bool) error {
	lower := at.Str("auto_pad", "") == "SAME_LOWER"
	for d := 3 - w.rank; d < 3; d++ {
		in, s := w.in[d], w.stride[d]
		if in < 0 || w.kernel[d] < 0 {
			continue
		}
		if w.same {
			w.out[d] = ceilDiv(in, s)
			w.split(d, (w.out[d]-1)*s+w.extent(d)-in, !lower)
			continue
		}
		room := in + w.lo[d] + w.hi[d] - w.extent(d)
		if room < 0 {
			return fmt.Errorf("window of %d is larger than the padded input of %d", w.extent(d), in+w.lo[d]+w.hi[d])
		}
		w.out[d] = room/s + 1
		if ceil {
			w.out[d] = ceilDiv(room, s) + 1
			if (w.out[d]-1)*s >= in+w.lo[d] {
				w.out[d]-- // a window that would start behind the input is left out
			}
		}
	}
	return nil
}

// split shares total padding between both ends, the odd one at the end if upper.
func (w *window) split(d, total int, upper bool) {
	total = max(total, 0)
	w.lo[d], w.hi[d] = total/2, total-total/2
	if !upper {
		w.lo[d], w.hi[d] = w.hi[d], w.lo[d]
	}
}

// transposed sets the output size of a transposed convolution.
func (w *window) transposed(at Attrs) error {
	extra, shape := at.Ints("output_padding"), at.Ints("output_shape")
	if extra == nil {
		extra = make([]int, w.rank)
	}
	if len(extra) != w.rank || slices.ContainsFunc(extra, func(v int) bool { return v < 0 || v > maxPad }) {
		return fmt.Errorf("output_padding %v: want %d numbers from 0 to %d", extra, w.rank, maxPad)
	}
	if len(shape) == w.rank+2 {
		shape = shape[2:] // some exporters give all dimensions
	}
	if shape != nil && (len(shape) != w.rank || slices.ContainsFunc(shape, func(v int) bool { return v < 1 || v > maxDim })) {
		return fmt.Errorf("output_shape %v: want %d positive numbers", shape, w.rank)
	}
	upper := at.Str("auto_pad", "") == "SAME_UPPER"
	for i := range w.rank {
		d := i + 3 - w.rank
		if w.in[d] < 0 || w.kernel[d] < 0 {
			if shape != nil {
				w.out[d] = shape[i]
			}
			continue
		}
		full := (w.in[d]-1)*w.stride[d] + extra[i] + w.extent(d)
		switch {
		case shape != nil:
			w.out[d] = shape[i]
			w.split(d, full-shape[i], upper)
		case w.same:
			w.out[d] = w.in[d] * w.stride[d]
			w.split(d, full-w.out[d], upper)
		default:
			w.out[d] = full - w.lo[d] - w.hi[d]
		}
		if w.out[d] < 1 {
			return fmt.Errorf("pads %d and %d leave nothing of a result of %d", w.lo[d], w.hi[d], full)
		}
	}
	return nil
}

// outShape is N×C×output.
func (w *window) outShape(n, c int) []int {
	return append([]int{n, c}, w.out[3-w.rank:]...)
}

func volume(d [3]int) int { return d[0] * d[1] * d[2] }
