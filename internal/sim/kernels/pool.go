package kernels

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

func poolOps() map[string]*Op {
	return map[string]*Op{
		"MaxPool":           define(inferPool, buildPool),
		"AveragePool":       define(inferPool, buildPool),
		"LpPool":            define(inferPool, buildPool),
		"GlobalMaxPool":     define(inferPool, buildPool),
		"GlobalAveragePool": define(inferPool, buildPool),
		"GlobalLpPool":      define(inferPool, buildPool),
	}
}

type poolKind uint8

const (
	poolMax poolKind = iota
	poolAverage
	poolLp
)

// pooling is a pooling with its sizes; a global one is a window of the input's size.
type pooling struct {
	window
	kind       poolKind
	dtype      tensor.DType
	planes     int
	includePad bool
	p          float64
	byColumn   bool // storage_order of Indices
	partFloats int
}

func readPool(s *Spec) (*pooling, error) {
	if err := s.operands(1, 1); err != nil {
		return nil, err
	}
	x := s.In[0]
	p := &pooling{dtype: x.DType, p: float64(s.Attrs.Float("p", 2)), includePad: s.Attrs.Int("count_include_pad", 0) != 0,
		byColumn: s.Attrs.Int("storage_order", 0) != 0}
	if len(x.Shape) < 3 {
		return nil, fmt.Errorf("input of rank %d has no spatial dimension", len(x.Shape))
	}
	at := s.Attrs
	global := true
	switch s.Op {
	case "GlobalMaxPool":
	case "GlobalAveragePool":
		p.kind = poolAverage
	case "GlobalLpPool":
		p.kind = poolLp
	case "AveragePool":
		p.kind, global = poolAverage, false
	case "LpPool":
		p.kind, global = poolLp, false
	default:
		global = false
	}
	ok := floating(x.DType) || p.kind == poolMax && (x.DType == tensor.Int8 || x.DType == tensor.Uint8)
	if !ok {
		return nil, fmt.Errorf("element type %v: %w", x.DType, ErrUnsupported)
	}
	if p.kind == poolLp && !(p.p >= 1) {
		return nil, fmt.Errorf("p is %v, must be at least 1", p.p)
	}
	var err error
	if global {
		area := 1
		for _, d := range x.Shape[2:] {
			if d == 0 {
				return nil, fmt.Errorf("input of shape %v has nothing to pool", x.Shape)
			}
			if area *= d; d < 0 {
				area = -1
				break
			}
		}
		// any number of spatial dimensions is one long one
		p.window, err = window{rank: 1, kernel: [3]int{1, 1, area}, stride: [3]int{1, 1, 1}, dilation: [3]int{1, 1, 1},
			in: [3]int{1, 1, area}, out: [3]int{1, 1, 1}}, nil
		return p, err
	}
	if p.window, err = newWindow(at, x.Shape, nil); err != nil {
		return nil, err
	}
	for d := range 3 {
		if p.lo[d] >= p.extent(d) || p.hi[d] >= p.extent(d) {
			return nil, fmt.Errorf("pads %d and %d must be smaller than the window of %d", p.lo[d], p.hi[d], p.extent(d))
		}
	}
	return p, p.conv(at, at.Int("ceil_mode", 0) != 0)
}

func inferPool(s *Spec) error {
	p, err := readPool(s)
	if err != nil {
		return err
	}
	x := s.In[0].Shape
	shape := append(tensor.Shape{x[0], x[1]}, slices.Repeat(tensor.Shape{1}, len(x)-2)...)
	if len(x)-2 == p.rank && !isGlobal(s.Op) {
		copy(shape[2:], p.out[3-p.rank:])
	}
	if s.Op == "MaxPool" {
		return s.results(Desc{DType: p.dtype, Shape: shape}, Desc{DType: tensor.Int64, Shape: shape.Clone()})
	}
	return s.results(Desc{DType: p.dtype, Shape: shape})
}

func isGlobal(op string) bool { return op[0] == 'G' }

func buildPool(s *Spec) (*Kernel, error) {
	p, err := readPool(s)
	if err != nil {
		return nil, err
	}
	p.planes = s.In[0].Shape[0] * s.In[0].Shape[1]
	ge := map[poolKind]string{poolMax: "MaxPoolV3", poolAverage: "AvgPoolV2", poolLp: "LpPool"}[p.kind]
	if p.rank == 3 {
		ge = map[poolKind]string{poolMax: "MaxPool3D", poolAverage: "AvgPool3D", poolLp: "LpPool"}[p.kind]
	}
	if isGlobal(s.Op) {
		ge = map[poolKind]string{poolMax: "ReduceMaxD", poolAverage: "ReduceMeanD", poolLp: "LpNormV2"}[p.kind]
	}
	k := s.vector(ge, float64(s.Out[0].Shape.Count())*float64(volume(p.kernel)))
	grain := ceilDiv(grainElements, max(1, p.out[2]*volume(p.kernel)))
	whole := p.kind == poolAverage && p.kernel == p.in && volume(p.out) == 1 && p.lo == [3]int{} && p.hi == [3]int{}
	if isGlobal(s.Op) || whole {
		part := p.global
		return s.guard(k, func(x *Exec) error { x.each(p.planes, grain, part); return nil }), nil
	}
	rows := p.planes * p.out[0] * p.out[1]
	p.partFloats = p.in[2] + p.out[2]
	k.Workspace = 4 * p.partFloats * min(maxParts, rows)
	part, units, indices := p.rows, rows, p.indices
	if r := p.byRows(); r != nil {
		part, units = r.units, p.planes*r.blocks
		grain = ceilDiv(grainElements, max(1, r.height*p.out[2]*len(r.padded)/4))
		k.Workspace = 4 * r.floats * min(maxParts, units)
	} else if b := p.overBand(); b != nil {
		part, units = b.units, p.planes*b.blocks
		grain = ceilDiv(grainElements, max(1, b.run(b.height, b.width)*len(b.tapAt)/4))
		k.Workspace = 4 * b.partFloats * min(maxParts, units)
	}
	indexGrain := ceilDiv(grainElements, max(1, p.out[2]*volume(p.kernel)))
	return s.guard(k, func(x *Exec) error {
		x.each(units, grain, part)
		if x.wanted(1) {
			x.each(rows, indexGrain, indices)
		}
		return nil
	}), nil
}

// vector starts the kernel of a vector operator that executes ops instructions on elements.
func (s *Spec) vector(ge string, ops float64) *Kernel {
	k := &Kernel{Type: ge, Core: cost.AIV}
	k.Work.VectorOps, k.Work.VectorType = int64(min(ops, 1<<62)), s.In[0].DType
	k.Blocks = max(1, ceilDiv(max(s.In[0].bytes(), s.Out[0].bytes()), tileBytes))
	return k
}

// taps is how many taps along dimension d an average at output position o divides by.
func (p *pooling) taps(d, o int) int {
	first := o*p.stride[d] - p.lo[d]
	if first >= 0 && first+p.extent(d) <= p.in[d] {
		return p.kernel[d]
	}
	length := p.in[d]
	if p.includePad {
		first, length = first+p.lo[d], p.lo[d]+p.in[d]+p.hi[d]
	}
	lo, hi := inside(first, p.dilation[d], p.kernel[d], length)
	return max(1, hi-lo)
}

// rows computes output rows [lo,hi), counted over all planes.
func (p *pooling) rows(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*p.partFloats*part:])[:p.partFloats]
	acc, line := mem[:p.out[2]], mem[p.out[2]:]
	src, dst := newVec(p.dtype, x.In[0]), newVec(p.dtype, x.Out[0])
	for r := lo; r < hi; r++ {
		y, z := r%p.out[1], r/p.out[1]%p.out[0]
		plane := r / (p.out[1] * p.out[0])
		p.start(acc)
		for kz := range p.kernel[0] {
			iz := z*p.stride[0] + kz*p.dilation[0] - p.lo[0]
			if uint(iz) >= uint(p.in[0]) {
				continue
			}
			for ky := range p.kernel[1] {
				iy := y*p.stride[1] + ky*p.dilation[1] - p.lo[1]
				if uint(iy) >= uint(p.in[1]) {
					continue
				}
				p.row(acc, src.run(line, ((plane*p.in[0]+iz)*p.in[1]+iy)*p.in[2], p.in[2]))
			}
		}
		switch p.kind {
		case poolAverage:
			n := p.taps(0, z) * p.taps(1, y)
			for i := range acc {
				acc[i] /= float32(n * p.taps(2, i))
			}
		case poolLp:
			for i := range acc {
				acc[i] = p.root(acc[i])
			}
		}
		dst.store(r*p.out[2], 1, acc)
	}
}

func (p *pooling) start(acc []float32) {
	clear(acc)
	if p.kind == poolMax {
		for i := range acc {
			acc[i] = float32(math.Inf(-1))
		}
	}
}

// row folds one input row into the output row.
func (p *pooling) row(acc, in []float32) {
	for k := range p.kernel[2] {
		stride := p.stride[2]
		first := k*p.dilation[2] - p.lo[2]
		lo, hi := inside(first, stride, len(acc), len(in))
		if lo == hi {
			continue
		}
		out, v := acc[lo:hi], in[first+lo*stride:]
		switch {
		case p.kind == poolMax:
			for i, j := 0, 0; i < len(out) && j < len(v); i, j = i+1, j+stride {
				out[i] = max(out[i], v[j])
			}
		case p.kind == poolAverage:
			for i, j := 0, 0; i < len(out) && j < len(v); i, j = i+1, j+stride {
				out[i] += v[j]
			}
		default:
			for i, j := 0, 0; i < len(out) && j < len(v); i, j = i+1, j+stride {
				out[i] += p.power(v[j])
			}
		}
	}
}

func (p *pooling) power(v float32) float32 {
	switch p.p {
	case 1:
		return max(v, -v)
	case 2:
		return v * v
	}
	return float32(math.Pow(math.Abs(float64(v)), p.p))
}

func (p *pooling) root(v float32) float32 {
	switch p.p {
	case 1:
		return v
	case 2:
		return float32(math.Sqrt(float64(v)))
	}
	return float32(math.Pow(float64(v), 1/p.p))
}

// global computes planes [lo,hi).
func (p *pooling) global(x *Exec, _, lo, hi int) {
	src, dst := newVec(p.dtype, x.In[0]), newVec(p.dtype, x.Out[0])
	area := volume(p.in)
	var buf [blockLen]float32
	for r := lo; r < hi; r++ {
		var sum float64
		top := float32(math.Inf(-1))
		for i := 0; i < area; i += blockLen {
			v := src.run(buf[:], r*area+i, min(blockLen, area-i))
			switch p.kind {
			case poolMax:
				for _, e := range v {
					top = max(top, e)
				}
			case poolAverage:
				sum += float64(sumOf(v))
			default:
				for _, e := range v {
					sum += float64(p.power(e))
				}
			}
		}
		switch p.kind {
		case poolAverage:
			top = float32(sum / float64(area))
		case poolLp:
			top = p.root(float32(sum))
		}
		dst.store(r, 1, []float32{top})
	}
}

// indices computes the second result of MaxPool: the position of each maximum in the whole input.
func (p *pooling) indices(x *Exec, _, lo, hi int) {
	src, out := newVec(p.dtype, x.In[0]), tensor.View[int64](x.Out[1])
	area := volume(p.in)
	for r := lo * p.out[2]; r < hi*p.out[2]; r++ {
		o := [3]int{r / p.out[2] / p.out[1] % p.out[0], r / p.out[2] % p.out[1], r % p.out[2]}
		plane := r / volume(p.out)
		best, at := float32(math.Inf(-1)), -1
		for kz := range p.kernel[0] {
			for ky := range p.kernel[1] {
				for kx := range p.kernel[2] {
					z := o[0]*p.stride[0] + kz*p.dilation[0] - p.lo[0]
					y := o[1]*p.stride[1] + ky*p.dilation[1] - p.lo[1]
					x := o[2]*p.stride[2] + kx*p.dilation[2] - p.lo[2]
					if uint(z) >= uint(p.in[0]) || uint(y) >= uint(p.in[1]) || uint(x) >= uint(p.in[2]) {
						continue
					}
					v := src.at(plane*area + (z*p.in[1]+y)*p.in[2] + x)
					if v > best || at < 0 {
						best, at = v, (z*p.in[1]+y)*p.in[2]+x
						if p.byColumn {
							at = (x*p.in[1]+y)*p.in[0] + z
						}
					}
				}
			}
		}
		out[r] = int64(plane*area + max(at, 0))
	}
}
