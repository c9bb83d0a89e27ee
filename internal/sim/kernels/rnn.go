package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

func rnnOps() map[string]*Op {
	return map[string]*Op{
		"LSTM": define(inferRNN, buildRNN),
		"GRU":  define(inferRNN, buildRNN),
		"RNN":  define(inferRNN, buildRNN),
	}
}

// Operands of the recurrent operators.
const (
	rnnX = iota
	rnnW
	rnnR
	rnnB
	rnnLens
	rnnH
	rnnC // LSTM alone, like the next
	rnnP
)

// recurrent is a recurrent layer with its sizes: steps × batch × input to hidden, gates blocks of hidden in W and R.
type recurrent struct {
	op                                 string
	steps, batch, input, hidden, gates int
	dirs                               int
	reverse                            bool // the only direction is backwards
	batchFirst                         bool // layout 1
	dtype                              tensor.DType
	acts                               [][]cellAct // by direction
	clip                               float32     // 0: none
	coupled, linearBeforeReset         bool
}

func readRNN(s *Spec) (*recurrent, error) {
	r := &recurrent{op: s.Op, gates: map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[s.Op], dirs: 1}
	most := 6
	if s.Op == "LSTM" {
		most = 8
	}
	if err := s.operands(3, most); err != nil {
		return nil, err
	}
	x := s.In[rnnX]
	if r.dtype = x.DType; !floating(r.dtype) {
		return nil, fmt.Errorf("element type %v: %w", r.dtype, ErrUnsupported)
	}
	switch d := s.Attrs.Str("direction", "forward"); d {
	case "forward":
	case "reverse":
		r.reverse = true
	case "bidirectional":
		r.dirs = 2
	default:
		return nil, fmt.Errorf("direction %q: want forward, reverse or bidirectional", d)
	}
	if len(x.Shape) != 3 || len(s.In[rnnW].Shape) != 3 || len(s.In[rnnR].Shape) != 3 {
		return nil, fmt.Errorf("input, W and R have shapes %v, %v, %v, must have rank 3", x.Shape, s.In[rnnW].Shape, s.In[rnnR].Shape)
	}
	r.steps, r.batch, r.input = x.Shape[0], x.Shape[1], x.Shape[2]
	if r.batchFirst = s.Attrs.Int("layout", 0) != 0; r.batchFirst {
		r.steps, r.batch = r.batch, r.steps
	}
	if r.hidden = s.Attrs.Int("hidden_size", s.In[rnnR].Shape[2]); r.hidden == 0 || r.hidden < -1 || r.hidden > 1<<24 {
		return nil, fmt.Errorf("hidden_size %d: want a positive number", r.hidden)
	}
	if c := s.Attrs.Float("clip", 0); c != 0 {
		if r.clip = c; c < 0 {
			return nil, fmt.Errorf("clip %v must be positive", c)
		}
	}
	r.coupled = s.Attrs.Int("input_forget", 0) != 0
	r.linearBeforeReset = s.Attrs.Int("linear_before_reset", 0) != 0
	var err error
	if r.acts, err = cellActs(s.Attrs, s.Op, r.dirs); err != nil {
		return nil, err
	}
	return r, r.check(s)
}

// check compares the operands' shapes with the sizes where both are known.
func (r *recurrent) check(s *Spec) error {
	wide := r.gates * r.hidden
	state := tensor.Shape{r.dirs, r.batch, r.hidden}
	if r.batchFirst {
		state = tensor.Shape{r.batch, r.dirs, r.hidden}
	}
	want := []tensor.Shape{rnnW: {r.dirs, wide, r.input}, rnnR: {r.dirs, wide, r.hidden}, rnnB: {r.dirs, 2 * wide},
		rnnLens: {r.batch}, rnnH: state, rnnC: state, rnnP: {r.dirs, 3 * r.hidden}}
	for i, d := range s.In {
		if i == rnnX || d.Absent() {
			continue
		}
		t := r.dtype
		if i == rnnLens {
			t = tensor.Int32
		}
		if d.DType != t {
			return fmt.Errorf("input %d has type %v, must be %v", i, d.DType, t)
		}
		ok := len(d.Shape) == len(want[i])
		for j := 0; ok && j < len(d.Shape); j++ {
			ok = d.Shape[j] < 0 || want[i][j] < 0 || d.Shape[j] == want[i][j]
		}
		if !ok {
			return fmt.Errorf("input %d has shape %v, must be %v", i, d.Shape, want[i])
		}
	}
	return nil
}

func inferRNN(s *Spec) error {
	r, err := readRNN(s)
	if err != nil {
		return err
	}
	y, h := tensor.Shape{r.steps, r.dirs, r.batch, r.hidden}, tensor.Shape{r.dirs, r.batch, r.hidden}
	if r.batchFirst {
		y, h = tensor.Shape{r.batch, r.steps, r.dirs, r.hidden}, tensor.Shape{r.batch, r.dirs, r.hidden}
	}
	out := []Desc{{DType: r.dtype, Shape: y}, {DType: r.dtype, Shape: h}, {DType: r.dtype, Shape: h.Clone()}}
	if r.op != "LSTM" {
		out = out[:2]
	}
	return s.results(out...)
}

// cell is a compiled recurrent layer. The input's product with W for all steps comes first, as one gemm; then each
// direction goes through its steps with products of the state and R.
type cell struct {
	*recurrent
	project     *gemm
	recur       []*gemm // by direction
	reset       []*gemm // GRU: product of the reset state and the last block of R
	packR       []*packer
	directions  func(x *Exec, part, lo, hi int)
	present     [8]bool
	projected   int // byte offsets in the workspace: steps×batch×wide for each direction
	gate        int // batch×wide
	h, c, rh    int // batch×hidden
	bias, packs int // wide + hidden; R packed in a run
	tmp         int // wide for each direction, for loads and stores
}

func (r *recurrent) wide() int { return r.gates * r.hidden }

func buildRNN(s *Spec) (*Kernel, error) {
	r, err := readRNN(s)
	if err != nil {
		return nil, err
	}
	if r.hidden < 1 || r.input < 1 {
		return nil, fmt.Errorf("%d inputs and %d hidden units: want at least 1", r.input, r.hidden)
	}
	l := &cell{recurrent: r}
	for i := range l.present {
		l.present[i] = !s.Input(i).Absent()
	}
	rows, wide := r.steps*r.batch, r.wide()
	end := 0
	place := func(floats int) int {
		end += 4 * floats
		return end - 4*floats
	}
	l.projected, l.gate = place(r.dirs*rows*wide), place(r.dirs*r.batch*wide)
	l.h, l.c, l.rh = place(r.dirs*r.batch*r.hidden), place(r.dirs*r.batch*r.hidden), place(r.dirs*r.batch*r.hidden)
	l.bias, l.tmp = place(r.dirs*(wide+r.hidden)), place(r.dirs*wide)
	k := &Kernel{Type: map[string]string{"LSTM": "DynamicRNN", "GRU": "DynamicGRUV2", "RNN": "DynamicRNN"}[r.op], Core: cost.AIC}
	k.Work = cost.Work{M: int64(rows), N: int64(wide), K: int64(r.input + r.hidden), Batch: int64(r.dirs), MacType: r.dtype,
		VectorOps: int64(rows) * int64(r.dirs) * int64(r.hidden) * int64(10*r.gates), VectorType: r.dtype}
	k.Blocks = cubeBlocks(r.dirs, rows, wide)

	l.planProject(s, k)
	l.planSteps(s, k, place)
	end = l.project.plan(end)
	for _, g := range append(append([]*gemm{}, l.recur...), l.reset...) {
		g.plan(end)
		end += 4 * g.partFloats // a step runs on one thread
	}
	k.Workspace = end
	l.directions = l.run
	bare := *s
	bare.Out = append([]Desc{{}}, s.Out[1:]...) // the first result may be left out, which guard does not know
	size := s.Out[0].bytes()
	k = bare.guard(k, func(x *Exec) error {
		if x.wanted(0) && len(x.Out[0]) < size {
			return fmt.Errorf("output 0 has %d bytes of memory, needs %d", len(x.Out[0]), size)
		}
		return l.start(x)
	})
	k.Work.WriteBytes += int64(size)
	return k, nil
}

func (l *cell) planProject(s *Spec, k *Kernel) {
	wide, rows := l.wide(), l.steps*l.batch
	g := newGEMM(inSequence, rows, wide, l.input)
	g.a = side{at: loc{inOperand, rnnX}, dtype: l.dtype, ls: l.input, ks: 1}
	g.b = side{at: loc{inOperand, rnnW}, dtype: l.dtype, ls: l.input, ks: 1}
	g.fin = finish{out: loc{inWorkspace, l.projected}, outType: tensor.Float32, ldo: wide, alpha: 1, beta: 1,
		bias: loc{inWorkspace, l.bias}, biasType: tensor.Float32, bcs: 1}
	for d := range l.dirs {
		g.a.base = append(g.a.base, 0)
		g.b.base = append(g.b.base, d*wide*l.input)
		g.fin.outBase = append(g.fin.outBase, d*rows*wide)
		g.fin.biasBase = append(g.fin.biasBase, d*(wide+l.hidden))
	}
	if s.In[rnnW].Const != nil {
		k.Weights = append(k.Weights, prepackPlain(&g.b, rnnW, g.mk.nr, wide, l.input))
	}
	l.project = g
}

// planSteps makes the products of a step for each direction. R is always packed: at load, or at the start of a run.
func (l *cell) planSteps(s *Spec, k *Kernel, place func(floats int) int) {
	start := 0
	step := func(d, from, a, lanes int) *gemm {
		g := newGEMM(inSequence, l.batch, lanes, l.hidden)
		g.a = side{at: loc{inWorkspace, a + 4*d*l.batch*l.hidden}, dtype: tensor.Float32, base: []int{0}, ls: l.hidden, ks: 1}
		g.b = side{at: loc{inOperand, rnnR}, dtype: l.dtype, base: []int{0}, ls: l.hidden, ks: 1}
		g.fin = finish{out: loc{inWorkspace, l.gate + 4*(d*l.batch*l.wide()+from)}, outType: tensor.Float32, ldo: l.wide(),
			outBase: []int{0}, alpha: 1, beta: 1}
		p := g.b.prepack(g.mk.nr, lanes, l.hidden, []int{(d*l.wide() + from) * l.hidden}, []int{0}, start)
		start += p.floats()
		l.packR = append(l.packR, p)
		return g
	}
	for d := range l.dirs {
		if l.op == "GRU" && !l.linearBeforeReset {
			l.recur = append(l.recur, step(d, 0, l.h, 2*l.hidden))
			l.reset = append(l.reset, step(d, 2*l.hidden, l.rh, l.hidden))
		} else {
			l.recur = append(l.recur, step(d, 0, l.h, l.wide()))
		}
	}
	if s.In[rnnR].Const != nil {
		k.Weights = append(k.Weights, weight(rnnR, l.packR...))
		l.packR = nil
		return
	}
	l.packs = place(start)
	for _, g := range append(append([]*gemm{}, l.recur...), l.reset...) {
		g.b.at = loc{inWorkspace, l.packs}
	}
}
