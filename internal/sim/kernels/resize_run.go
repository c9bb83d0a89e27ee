package kernels

import (
	"fmt"

	"npu/internal/tensor"
)

// resizer is a compiled Resize: row by row of the last dimension. A row is the weighted sum of the input rows that the
// taps of the other dimensions select, then resampled along itself.
type resizer struct {
	dtype      tensor.DType
	in, out    tensor.Shape
	taps       []tapTable
	strides    []int
	fill       float32
	partFloats int
}

// compile makes the kernel; blend computes rows in the modes that weigh.
func (r *resizer) compile(s *Spec, mode string, blend func(x *Exec, part, lo, hi int)) (*Kernel, error) {
	last := len(r.in) - 1
	r.strides = r.in.Strides()
	rows := r.out[:last].Count()
	perElement := 1
	for _, t := range r.taps {
		if n := len(t.start) - 1; n > 0 {
			perElement *= max(1, ceilDiv(len(t.index), n))
		}
	}
	ge := map[string]string{"nearest": "ResizeNearestNeighborV2", "linear": "ResizeBilinearV2", "cubic": "ResizeBicubicV2"}[mode]
	k := s.vector(ge, 2*float64(perElement)*float64(s.Out[0].Shape.Count()))
	grain := ceilDiv(grainElements, max(1, r.out[last]*perElement))
	if r.out[last] == 0 {
		rows = 0
	}
	var part func(x *Exec, part, lo, hi int)
	if mode == "nearest" {
		switch r.dtype.Size() {
		case 1:
			part = pickRows[uint8](r)
		case 2:
			part = pickRows[uint16](r)
		case 4:
			part = pickRows[uint32](r)
		case 8:
			part = pickRows[uint64](r)
		default:
			return nil, fmt.Errorf("element type %v: %w", r.dtype, ErrUnsupported)
		}
	} else {
		if !floating(r.dtype) && !(mode == "linear" && (r.dtype == tensor.Uint8 || r.dtype == tensor.Int8)) {
			return nil, fmt.Errorf("element type %v in mode %s: %w", r.dtype, mode, ErrUnsupported)
		}
		r.partFloats = 2*r.in[last] + 5*r.out[last]
		k.Workspace = 4 * r.partFloats * min(maxParts, rows)
		part = blend
	}
	return s.guard(k, func(x *Exec) error { x.each(rows, grain, part); return nil }), nil
}

// pickRows is the nearest mode: elements are copied whatever they are.
func pickRows[T tensor.Number](r *resizer) func(x *Exec, part, lo, hi int) {
	last := len(r.in) - 1
	along := &r.taps[last]
	one := make([]byte, 8)
	if floating(r.dtype) || r.dtype == tensor.Int8 || r.dtype == tensor.Uint8 {
		newVec(r.dtype, one[:r.dtype.Size()]).store(0, 1, []float32{r.fill})
	}
	fill := tensor.View[T](one)[0]
	return func(x *Exec, _, lo, hi int) {
		src, dst := tensor.View[T](x.In[0]), tensor.View[T](x.Out[0])
		for row := lo; row < hi; row++ {
			out := dst[row*r.out[last]:][:r.out[last]]
			at, rest := 0, row
			for d := last - 1; d >= 0 && at >= 0; d-- {
				i := rest % r.out[d]
				rest /= r.out[d]
				switch t := &r.taps[d]; {
				case t.same:
					at += i * r.strides[d]
				case t.start[i] == t.start[i+1]:
					at = -1
				default:
					at += int(t.index[t.start[i]]) * r.strides[d]
				}
			}
			switch {
			case at < 0:
				for i := range out {
					out[i] = fill
				}
			case along.same:
				copy(out, src[at:])
			case len(along.index) == len(out):
				line := src[at:][:r.in[last]]
				for i, j := range along.index {
					out[i] = line[j]
				}
			default:
				for i := range out {
					if j := along.start[i]; j < along.start[i+1] {
						out[i] = src[at+int(along.index[j])]
					} else {
						out[i] = fill
					}
				}
			}
		}
	}
}

// rows computes output rows [lo,hi).
func (r *resizer) rows(x *Exec, part, lo, hi int) {
	last := len(r.in) - 1
	mem := tensor.View[float32](x.Workspace[4*r.partFloats*part:])[:r.partFloats]
	line, tmp, out := mem[:r.in[last]], mem[r.in[last]:2*r.in[last]], mem[2*r.in[last]:][:r.out[last]]
	src, dst := newVec(r.dtype, x.In[0]), newVec(r.dtype, x.Out[0])
	for row := lo; row < hi; row++ {
		clear(line)
		inside := r.sum(line, tmp, src, last-1, row, 0, 1)
		along := &r.taps[last]
		switch {
		case !inside:
			for i := range out {
				out[i] = r.fill
			}
		case along.same:
			copy(out, line)
		default:
			for i := range out {
				first, end := along.start[i], along.start[i+1]
				if first == end {
					out[i] = r.fill
					continue
				}
				v := float32(0)
				for j := first; j < end; j++ {
					v += along.weight[j] * line[along.index[j]]
				}
				out[i] = v
			}
		}
		dst.store(row*r.out[last], 1, out)
	}
}

// sum adds the input rows that position pos of dimensions 0…d selects, times weight. It says whether any dimension
// lies inside of the region.
func (r *resizer) sum(line, tmp []float32, src vec, d, pos, at int, weight float32) bool {
	if d < 0 {
		in := src.run(tmp, at, len(line))
		for i, v := range in {
			line[i] += weight * v
		}
		return true
	}
	t := &r.taps[d]
	i := pos % r.out[d]
	if t.same {
		return r.sum(line, tmp, src, d-1, pos/r.out[d], at+i*r.strides[d], weight)
	}
	if t.start[i] == t.start[i+1] {
		return false
	}
	for j := t.start[i]; j < t.start[i+1]; j++ {
		if !r.sum(line, tmp, src, d-1, pos/r.out[d], at+int(t.index[j])*r.strides[d], weight*t.weight[j]) {
			return false
		}
	}
	return true
}
