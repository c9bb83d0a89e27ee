package kernels

import (
	"fmt"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// matmulOps are the matrix products. FusedMatMul is made by graph passes: act(alpha·A·B + bias + Z) with transA and
// transB on the last two dimensions, a bias along the last dimension and Z of the result's shape, both optional.
func matmulOps() map[string]*Op {
	return map[string]*Op{
		"MatMul":      define(inferMatMul, buildMatMul),
		"FusedMatMul": define(inferMatMul, buildMatMul),
		"Gemm":        define(inferGemm, buildGemm),
	}
}

// maxBatch bounds the tables that a batched product needs.
const maxBatch = 1 << 22

// matrixProduct is a matrix product as the operators of this file describe it.
type matrixProduct struct {
	m, n, k      int
	transA       bool
	transB       bool
	aBase, bBase []int // element offsets for each matrix of the result
	alpha, beta  float32
	bias         Desc // input 2, absent: none
	brs, bcs     int
	residual     bool // input 3 has the shape of the result
	act          activation
}

func inferMatMul(s *Spec) error {
	most := 2
	if s.Op == "FusedMatMul" {
		most = 4
	}
	if err := s.operands(2, most); err != nil {
		return err
	}
	if err := s.sameType(0, 1); err != nil {
		return err
	}
	a, b := s.In[0].Shape, s.In[1].Shape
	if len(a) == 0 || len(b) == 0 {
		return fmt.Errorf("shapes %v and %v: a scalar has no matrix product", a, b)
	}
	transA, transB := s.Attrs.Int("transA", 0) != 0, s.Attrs.Int("transB", 0) != 0
	m, k, n, k2 := -2, a[len(a)-1], -2, b[0]
	var batchA, batchB tensor.Shape
	if len(a) > 1 {
		m, k = ends(a, transA)
		batchA = a[:len(a)-2]
	}
	if len(b) > 1 {
		k2, n = ends(b, transB)
		batchB = b[:len(b)-2]
	}
	if k >= 0 && k2 >= 0 && k != k2 {
		return fmt.Errorf("shapes %v and %v: inner dimensions %d and %d differ", a, b, k, k2)
	}
	out, err := broadcast(batchA, batchB)
	if err != nil {
		return err
	}
	out = out.Clone()
	if m != -2 {
		out = append(out, m)
	}
	if n != -2 {
		out = append(out, n)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

// ends are the rows and columns of a matrix, transposed or not.
func ends(s tensor.Shape, trans bool) (rows, cols int) {
	rows, cols = s[len(s)-2], s[len(s)-1]
	if trans {
		rows, cols = cols, rows
	}
	return rows, cols
}

func buildMatMul(s *Spec) (*Kernel, error) {
	a, b := s.In[0].Shape, s.In[1].Shape
	p := matrixProduct{transA: s.Attrs.Int("transA", 0) != 0 && len(a) > 1, transB: s.Attrs.Int("transB", 0) != 0 && len(b) > 1,
		alpha: s.Attrs.Float("alpha", 1), beta: 1}
	if len(a) == 1 {
		a = tensor.Shape{1, a[0]}
	}
	if len(b) == 1 {
		b = tensor.Shape{b[0], 1}
	}
	p.m, p.k = ends(a, p.transA)
	_, p.n = ends(b, p.transB)
	batchA, batchB := a[:len(a)-2], b[:len(b)-2]
	if batchB.Count() == 1 && !p.transA {
		p.m *= batchA.Count() // one matrix B for all: the rows of all A are one tall matrix
		batchA, batchB = nil, nil
	}
	batch, err := tensor.Broadcast(batchA, batchB)
	if err != nil {
		return nil, err
	}
	if n, err := batch.Elements(); err != nil || n > maxBatch {
		return nil, fmt.Errorf("batch %v of more than %d products: %w", batch, maxBatch, ErrUnsupported)
	}
	p.aBase, p.bBase = offsets(batchA, batch, p.m*p.k), offsets(batchB, batch, p.k*p.n)
	if p.act, err = parseActivation(s.Attrs); err != nil {
		return nil, err
	}
	if p.bias = s.Input(2); !p.bias.Absent() {
		switch n := p.bias.Shape.Count(); {
		case n == 1:
		case n == p.n && len(p.bias.Shape) > 0 && p.bias.Shape[len(p.bias.Shape)-1] == n:
			p.bcs = 1
		default:
			return nil, fmt.Errorf("bias of shape %v does not fit %d columns", p.bias.Shape, p.n)
		}
	}
	if z := s.Input(3); !z.Absent() {
		if p.residual = true; !z.Shape.Equal(s.Out[0].Shape) {
			return nil, fmt.Errorf("residual of shape %v for a result of %v: %w", z.Shape, s.Out[0].Shape, ErrUnsupported)
		}
	}
	ge := "MatMulV2"
	if len(s.In[0].Shape) > 2 || len(s.In[1].Shape) > 2 {
		ge = "BatchMatMulV2"
	}
	return p.build(s, ge)
}

// offsets lists, for each index of the broadcast shape, the element offset of the matrix that it uses.
func offsets(own, batch tensor.Shape, size int) []int {
	out := []int{0}
	st := own.Strides()
	for i, d := range batch {
		step := 0
		if j := i - (len(batch) - len(own)); j >= 0 && own[j] != 1 {
			step = st[j] * size
		}
		next := make([]int, 0, len(out)*d)
		for _, o := range out {
			for n := range d {
				next = append(next, o+n*step)
			}
		}
		out = next
	}
	return out
}

func inferGemm(s *Spec) error {
	if err := s.operands(2, 3); err != nil {
		return err
	}
	if err := s.sameType(0, 1); err != nil {
		return err
	}
	a, b := s.In[0].Shape, s.In[1].Shape
	if len(a) != 2 || len(b) != 2 {
		return fmt.Errorf("shapes %v and %v: must be matrices", a, b)
	}
	m, k := ends(a, s.Attrs.Int("transA", 0) != 0)
	k2, n := ends(b, s.Attrs.Int("transB", 0) != 0)
	if k >= 0 && k2 >= 0 && k != k2 {
		return fmt.Errorf("shapes %v and %v: inner dimensions %d and %d differ", a, b, k, k2)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: tensor.Shape{m, n}})
}

func buildGemm(s *Spec) (*Kernel, error) {
	p := matrixProduct{transA: s.Attrs.Int("transA", 0) != 0, transB: s.Attrs.Int("transB", 0) != 0,
		alpha: s.Attrs.Float("alpha", 1), beta: s.Attrs.Float("beta", 1), aBase: []int{0}, bBase: []int{0}}
	p.m, p.k = ends(s.In[0].Shape, p.transA)
	_, p.n = ends(s.In[1].Shape, p.transB)
	if p.bias = s.Input(2); !p.bias.Absent() {
		c := p.bias.Shape
		full, err := tensor.Broadcast(c, s.Out[0].Shape)
		if err != nil || !full.Equal(s.Out[0].Shape) {
			return nil, fmt.Errorf("input 2 of shape %v does not broadcast to %v", c, s.Out[0].Shape)
		}
		if len(c) > 0 && c[len(c)-1] != 1 {
			p.bcs = 1
		}
		if len(c) > 1 && c[0] != 1 {
			p.brs = c[1]
		}
	}
	return p.build(s, "MatMulV2")
}

func (p *matrixProduct) build(s *Spec, ge string) (*Kernel, error) {
	for i, d := range s.In {
		if i > 1 && !d.Absent() && d.DType != s.In[0].DType {
			return nil, fmt.Errorf("input %d has type %v, input 0 has %v, must be the same", i, d.DType, s.In[0].DType)
		}
	}
	batch := len(p.aBase)
	k := &Kernel{Type: ge, Core: cost.AIC, Blocks: cubeBlocks(batch, p.m, p.n)}
	k.Work = cost.Work{M: int64(p.m), N: int64(p.n), K: int64(p.k), Batch: int64(batch), MacType: s.In[0].DType,
		VectorOps: int64(batch*p.m*p.n) * p.act.vectorOps(), VectorType: s.In[0].DType,
		// constant operands are laid out when the model is loaded
		TransA: p.transA && s.In[0].Const == nil, TransB: p.transB && s.In[1].Const == nil}
	switch s.In[0].DType {
	case tensor.Float32, tensor.Float16, tensor.BFloat16:
		return p.compile(s, k), nil
	case tensor.Float64:
		return s.guard(k, plainProduct[float64](p)), nil
	case tensor.Int32:
		return s.guard(k, plainProduct[int32](p)), nil
	case tensor.Int64:
		return s.guard(k, plainProduct[int64](p)), nil
	case tensor.Uint32:
		return s.guard(k, plainProduct[uint32](p)), nil
	case tensor.Uint64:
		return s.guard(k, plainProduct[uint64](p)), nil
	}
	return nil, fmt.Errorf("element type %v: %w", s.In[0].DType, ErrUnsupported)
}

// strides are the element strides of a row-major matrix along its lanes (rows of A, columns of B) and along k.
func (p *matrixProduct) strides() (als, aks, bls, bks int) {
	als, aks, bls, bks = p.k, 1, 1, p.n
	if p.transA {
		als, aks = 1, p.m
	}
	if p.transB {
		bls, bks = p.k, 1
	}
	return
}

// compile makes the blocked float32 form.
func (p *matrixProduct) compile(s *Spec, k *Kernel) *Kernel {
	t := s.In[0].DType
	g := newGEMM(inSequence, p.m, p.n, p.k)
	als, aks, bls, bks := p.strides()
	g.a = side{at: loc{inOperand, 0}, dtype: t, base: p.aBase, ls: als, ks: aks}
	g.b = side{at: loc{inOperand, 1}, dtype: t, base: p.bBase, ls: bls, ks: bks}
	g.fin = finish{out: loc{outOperand, 0}, outType: t, ldo: p.n, alpha: p.alpha, beta: p.beta, brs: p.brs, bcs: p.bcs, act: p.act}
	for i := range p.aBase {
		g.fin.outBase = append(g.fin.outBase, i*p.m*p.n)
	}
	if !p.bias.Absent() {
		g.fin.bias, g.fin.biasType = loc{inOperand, 2}, t
	}
	if p.residual {
		g.fin.z, g.fin.zType = loc{inOperand, 3}, t
	}
	if s.In[1].Const != nil {
		k.Weights = append(k.Weights, prepackPlain(&g.b, 1, g.mk.nr, p.n, p.k))
	} else if s.In[0].Const != nil && !g.a.direct() {
		k.Weights = append(k.Weights, prepackPlain(&g.a, 0, 0, p.m, p.k))
	}
	k.Workspace = g.plan(0)
	return s.guard(k, func(x *Exec) error { g.run(x); return nil })
}

// prepackPlain packs each distinct matrix of a constant operand once.
func prepackPlain(sd *side, input, width, lanes, depth int) Weight {
	distinct := slices.Compact(slices.Sorted(slices.Values(sd.base)))
	number := make([]int, len(sd.base))
	for i, off := range sd.base {
		number[i], _ = slices.BinarySearch(distinct, off)
	}
	return weight(input, sd.prepack(width, lanes, depth, distinct, number, 0))
}

// plainProduct computes in the storage type: float64 and integers, which wrap around.
func plainProduct[T tensor.Number](p *matrixProduct) func(x *Exec) error {
	als, aks, bls, bks := p.strides()
	part := func(x *Exec, _, lo, hi int) {
		a, b, out := tensor.View[T](x.In[0]), tensor.View[T](x.In[1]), tensor.View[T](x.Out[0])
		for r := lo; r < hi; r++ {
			g, i := r/p.m, r%p.m
			row := out[r*p.n:][:p.n]
			clear(row)
			for k := range p.k {
				f := a[p.aBase[g]+i*als+k*aks]
				off := p.bBase[g] + k*bks
				for j := range row {
					row[j] += f * b[off+j*bls]
				}
			}
			if p.alpha != 1 {
				for j, v := range row {
					row[j] = T(float64(p.alpha) * float64(v))
				}
			}
			if !p.bias.Absent() {
				c := tensor.View[T](x.In[2])
				for j := range row {
					v := c[i*p.brs+j*p.bcs]
					if p.beta != 1 {
						v = T(float64(p.beta) * float64(v))
					}
					row[j] += v
				}
			}
			if p.residual {
				for j, v := range tensor.View[T](x.In[3])[r*p.n:][:p.n] {
					row[j] += v
				}
			}
			if p.act.kind != actNone {
				for j, v := range row {
					one := [1]float32{float32(v)}
					p.act.apply(one[:], one[:])
					row[j] = T(one[0])
				}
			}
		}
	}
	rows := len(p.aBase) * p.m
	grain := ceilDiv(grainMACs/4, max(1, p.n*p.k))
	return func(x *Exec) error { x.each(rows, grain, part); return nil }
}

// cubeBlocks is the number of 128×128 tiles of a batch of products.
func cubeBlocks(batch, m, n int) int {
	return max(1, batch*ceilDiv(m, 128)*ceilDiv(n, 128))
}

// guard completes a kernel of this file's kind: bytes moved, and a check that each operand's memory is as large as
// the kernel was compiled for.
func (s *Spec) guard(k *Kernel, run func(x *Exec) error) *Kernel {
	in, out := make([]int, len(s.In)), make([]int, len(s.Out))
	for i, d := range s.In {
		in[i] = d.bytes()
		k.Work.ReadBytes += int64(in[i])
		if d.Const != nil {
			k.Work.WeightBytes += int64(in[i])
		}
	}
	for i, d := range s.Out {
		out[i] = d.bytes()
		k.Work.WriteBytes += int64(out[i])
	}
	for _, w := range k.Weights {
		in[w.Input] = w.Bytes
	}
	size := k.Workspace
	k.Run = func(x *Exec) error {
		if err := complete("input", x.In, in); err != nil {
			return err
		}
		if err := complete("output", x.Out, out); err != nil {
			return err
		}
		if len(x.Workspace) < size {
			return fmt.Errorf("workspace has %d bytes, needs %d", len(x.Workspace), size)
		}
		return run(x)
	}
	return k
}
