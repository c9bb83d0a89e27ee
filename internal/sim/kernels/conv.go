package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// convOps are the convolutions. FusedConv is made by graph passes: Conv with a fourth operand Z of the result's shape that
// is added before the activation, which parseActivation describes. Where their attribute winograd is 1, they may sum in
// another order.
func convOps() map[string]*Op {
	return map[string]*Op{
		"Conv":          define(inferConv, buildConv),
		"FusedConv":     define(inferConv, buildConv),
		"ConvTranspose": define(inferConvTranspose, buildConvTranspose),
	}
}

// convolution is a convolution with its sizes: ci and co are channels of one group.
type convolution struct {
	window
	n, groups, ci, co int
	dtype             tensor.DType
	act               activation
}

// readConv checks the operands and reads the attributes; transposed kernels are input channels first.
func readConv(s *Spec, transposed bool) (*convolution, error) {
	most := 3
	if s.Op == "FusedConv" {
		most = 4
	}
	if err := s.operands(2, most); err != nil {
		return nil, err
	}
	if err := s.sameType(0, 1); err != nil {
		return nil, err
	}
	x, w := s.In[0].Shape, s.In[1].Shape
	if len(x) != len(w) || len(x) < 3 {
		return nil, fmt.Errorf("input of shape %v with weights of shape %v: ranks must be equal, 3 or more", x, w)
	}
	if !floating(s.In[0].DType) {
		return nil, fmt.Errorf("element type %v: %w", s.In[0].DType, ErrUnsupported)
	}
	win, err := newWindow(s.Attrs, x, w[2:])
	if err != nil {
		return nil, err
	}
	c := &convolution{window: win, n: x[0], groups: s.Attrs.Int("group", 1), dtype: s.In[0].DType}
	if c.groups < 1 || c.groups > maxBatch {
		return nil, fmt.Errorf("group %d: want 1 or more", c.groups)
	}
	if c.act, err = parseActivation(s.Attrs); err != nil {
		return nil, err
	}
	c.co, c.ci = w[0], w[1]
	if transposed {
		c.ci, c.co = w[0], w[1]
	}
	divided, whole := &c.co, c.ci*c.groups
	if transposed {
		divided, whole = &c.ci, w[0]
	}
	if *divided > 0 {
		if *divided%c.groups != 0 {
			return nil, fmt.Errorf("weights of shape %v do not split into %d groups", w, c.groups)
		}
		*divided /= c.groups
	}
	if c.ci >= 0 && x[1] >= 0 && x[1] != whole {
		return nil, fmt.Errorf("input has %d channels, weights of shape %v in %d groups take %d", x[1], w, c.groups, whole)
	}
	if b := s.Input(2); !b.Absent() {
		if len(b.Shape) != 1 || b.Shape[0] >= 0 && c.co >= 0 && b.Shape[0] != c.co*c.groups {
			return nil, fmt.Errorf("bias of shape %v for %d output channels", b.Shape, c.co*c.groups)
		}
	}
	return c, nil
}

func (c *convolution) result(s *Spec) error {
	co := -1
	if c.co >= 0 {
		co = c.co * c.groups
	}
	return s.results(Desc{DType: c.dtype, Shape: c.outShape(c.n, co)})
}

func inferConv(s *Spec) error {
	c, err := readConv(s, false)
	if err != nil {
		return err
	}
	if err := c.conv(s.Attrs, false); err != nil {
		return err
	}
	return c.result(s)
}

func inferConvTranspose(s *Spec) error {
	c, err := readConv(s, true)
	if err != nil {
		return err
	}
	if err := c.transposed(s.Attrs); err != nil {
		return err
	}
	return c.result(s)
}

func buildConv(s *Spec) (*Kernel, error) {
	c, err := readConv(s, false)
	if err != nil {
		return nil, err
	}
	if err := c.conv(s.Attrs, false); err != nil {
		return nil, err
	}
	fin, err := c.finish(s)
	if err != nil {
		return nil, err
	}
	k := c.account(s, "Conv2D", "Conv3D")
	switch {
	case c.ci == 1 && c.groups > 1:
		if c.rank < 3 {
			k.Type = "DepthwiseConv2D"
		}
		if d := c.depthwise(s, k, fin); d != nil {
			return d, nil
		}
	case c.groups == 1 && c.co > 1 && c.in == c.kernel && volume(c.out) == 1 && c.lo == [3]int{} && c.hi == [3]int{}:
		return c.fullyConnected(s, k, fin), nil
	case c.co > 1:
		if f := c.few(s, k, fin); f != nil {
			return f, nil
		}
	}
	if w := c.winograd(s, k, fin); w != nil {
		return w, nil
	}
	if a := c.across(s, k, fin); a != nil {
		return a, nil
	}
	return c.compile(s, k, fin, []phase{c.wholePhase()}), nil
}

func buildConvTranspose(s *Spec) (*Kernel, error) {
	c, err := readConv(s, true)
	if err != nil {
		return nil, err
	}
	if err := c.transposed(s.Attrs); err != nil {
		return nil, err
	}
	fin, err := c.finish(s)
	if err != nil {
		return nil, err
	}
	phases, err := c.phases()
	if err != nil {
		return nil, err
	}
	k := c.account(s, "Conv2DTransposeD", "Conv3DTransposeD")
	return c.compile(s, k, fin, phases), nil
}

// account fills in what the cost model wants to know.
func (c *convolution) account(s *Spec, flat, deep string) *Kernel {
	pixels, taps := volume(c.out), volume(c.kernel)
	if s.Op == "ConvTranspose" {
		pixels = volume(c.in)
	}
	k := &Kernel{Type: flat, Core: cost.AIC}
	if c.rank == 3 {
		k.Type = deep
	}
	k.Work = cost.Work{M: int64(pixels), K: int64(c.ci * taps), N: int64(c.co), Batch: int64(c.n * c.groups), MacType: c.dtype,
		VectorType: c.dtype}
	elements := int64(s.Out[0].Shape.Count())
	k.Work.VectorOps = elements * c.act.vectorOps()
	if s.Op == "ConvTranspose" {
		k.Work.N, k.Work.K = int64(c.co*taps), int64(c.ci)
		k.Work.VectorOps += int64(c.n*c.groups) * k.Work.M * k.Work.N
	}
	k.Blocks = cubeBlocks(c.n*c.groups, volume(c.out), c.co)
	return k
}

// finish is the epilogue: bias by output channel, residual, activation. Rows are channels, columns are pixels.
func (c *convolution) finish(s *Spec) (finish, error) {
	f := finish{out: loc{outOperand, 0}, outType: c.dtype, ldo: volume(c.out), alpha: 1, beta: 1, act: c.act}
	if !s.Input(2).Absent() {
		if s.In[2].DType != c.dtype {
			return f, fmt.Errorf("bias has type %v, input has %v, must be the same", s.In[2].DType, c.dtype)
		}
		f.bias, f.biasType, f.brs = loc{inOperand, 2}, c.dtype, 1
	}
	if z := s.Input(3); !z.Absent() {
		if !z.Shape.Equal(s.Out[0].Shape) || z.DType != c.dtype {
			return f, fmt.Errorf("residual of %v %v for a result of %v %v: %w", z.DType, z.Shape, c.dtype, s.Out[0].Shape, ErrUnsupported)
		}
		f.z, f.zType = loc{inOperand, 3}, c.dtype
	}
	if c.n*c.groups > maxBatch {
		return f, fmt.Errorf("%d images × %d groups: %w", c.n, c.groups, ErrUnsupported)
	}
	for b := range c.n {
		for g := range c.groups {
			f.outBase = append(f.outBase, (b*c.groups+g)*c.co*volume(c.out))
			f.biasBase = append(f.biasBase, g*c.co)
		}
	}
	return f, nil
}

// fullyConnected is the convolution whose window covers the whole input: one product for all images.
func (c *convolution) fullyConnected(s *Spec, k *Kernel, fin finish) *Kernel {
	depth := c.ci * volume(c.kernel)
	g := newGEMM(inLanes, c.n, c.co, depth)
	g.slice = depth
	g.a = side{at: loc{inOperand, 0}, dtype: c.dtype, base: []int{0}, ls: depth, ks: 1}
	g.b = side{at: loc{inOperand, 1}, dtype: c.dtype, base: []int{0}, ls: depth, ks: 1}
	fin.outBase, fin.biasBase, fin.ldo = []int{0}, nil, c.co
	fin.brs, fin.bcs = 0, 1
	g.fin = fin
	if s.In[1].Const != nil {
		k.Weights = append(k.Weights, prepackPlain(&g.b, 1, g.mk.nr, c.co, depth))
	}
	k.Workspace = g.plan(0)
	return s.guard(k, func(x *Exec) error { g.run(x); return nil })
}
