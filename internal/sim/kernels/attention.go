package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// attentionOps are scaled dot-product attention in one operator.
func attentionOps() map[string]*Op {
	return map[string]*Op{"Attention": define(inferAttention, buildAttention)}
}

// attention is one Attention (opset 23, 24): Q of nq heads and K and V of nk heads, nq a multiple of nk; sizes are those
// of a head. A rank-3 operand keeps the heads beside each other in its last dimension.
type attention struct {
	batch, nq, nk      int
	q, k, past         int // lengths: queries, keys with the past ones, keys of the past
	size, vsize        int
	flat               bool // operands and result of rank 3
	scale              float64
	softcap            float64
	causal             bool
	mode               int // what qk_matmul_output shows
	types              [7]tensor.DType
	mask               tensor.Shape
	hasMask, hasNonpad bool
	pad                bool // a mask that is too short hides the keys beyond it
}

func readAttention(s *Spec) (*attention, error) {
	if err := s.operands(3, 7); err != nil {
		return nil, err
	}
	a := &attention{scale: float64(s.Attrs.Float("scale", 0)), softcap: float64(s.Attrs.Float("softcap", 0)),
		causal: s.Attrs.Int("is_causal", 0) != 0, mode: s.Attrs.Int("qk_matmul_output_mode", 0)}
	q, k, v := s.In[0].Shape, s.In[1].Shape, s.In[2].Shape
	for i := range a.types {
		a.types[i] = s.Input(i).DType
	}
	for _, i := range []int{0, 1, 2} {
		if err := wantType(s.In[i].DType, floating); err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
	}
	if len(q) != len(k) || len(q) != len(v) || len(q) != 3 && len(q) != 4 {
		return nil, fmt.Errorf("operands Q %v, K %v and V %v, must all have rank 3 or 4", q, k, v)
	}
	a.batch = q[0]
	if a.flat = len(q) == 3; a.flat {
		a.nq, a.nk = s.Attrs.Int("q_num_heads", 0), s.Attrs.Int("kv_num_heads", 0)
		if a.nq < 1 || a.nk < 1 {
			return nil, fmt.Errorf("q_num_heads %d and kv_num_heads %d: operands of rank 3 need both", a.nq, a.nk)
		}
		for _, d := range []struct{ whole, heads int }{{q[2], a.nq}, {k[2], a.nk}, {v[2], a.nk}} {
			if d.whole >= 0 && d.whole%d.heads != 0 {
				return nil, fmt.Errorf("%d values do not divide into %d heads", d.whole, d.heads)
			}
		}
		a.q, a.k, a.size, a.vsize = q[1], k[1], divide(q[2], a.nq), divide(v[2], a.nk)
	} else {
		a.nq, a.nk, a.q, a.k, a.size, a.vsize = q[1], k[1], q[2], k[2], q[3], v[3]
	}
	if a.nq >= 0 && a.nk >= 0 && (a.nk == 0 || a.nq%a.nk != 0) {
		return nil, fmt.Errorf("%d query heads for %d key heads", a.nq, a.nk)
	}
	if past := s.Input(4); !past.Absent() {
		if len(past.Shape) != 4 || s.Input(5).Absent() {
			return nil, fmt.Errorf("past keys of shape %v, must be of rank 4 and come with past values", past.Shape)
		}
		a.past = past.Shape[2]
		if a.k >= 0 && a.past >= 0 {
			a.k += a.past
		} else {
			a.k = -1
		}
	}
	if n := s.Attrs.Int("softmax_precision", 1); n != 0 {
		if t, err := onnxType(n); err != nil || !floating(t) { // it is computed in float64, whatever is asked for
			return nil, fmt.Errorf("softmax_precision %d: %w", n, ErrUnsupported)
		}
	}
	if m := s.Input(3); !m.Absent() {
		if len(m.Shape) < 2 || len(m.Shape) > 4 || m.DType != tensor.Bool && !numeric(m.DType) {
			return nil, fmt.Errorf("mask is %v %v, must be bool or numbers of rank 2 to 4", m.DType, m.Shape)
		}
		a.hasMask, a.mask = true, m.Shape
	}
	if d := s.Input(6); !d.Absent() {
		if d.DType != tensor.Int64 || len(d.Shape) != 1 {
			return nil, fmt.Errorf("nonpad_kv_seqlen is %v %v, must be a list of int64", d.DType, d.Shape)
		}
		a.hasNonpad = true
	}
	if a.mode < 0 || a.mode > 3 {
		return nil, fmt.Errorf("qk_matmul_output_mode %d, must be 0 to 3", a.mode)
	}
	return a, nil
}

// divide is n/by, -1 where n is not known.
func divide(n, by int) int {
	if n < 0 {
		return -1
	}
	return n / by
}

func inferAttention(s *Spec) error {
	a, err := readAttention(s)
	if err != nil {
		return err
	}
	t := s.In[0].DType
	y := tensor.Shape{a.batch, a.nq, a.q, a.vsize}
	if a.flat {
		y = tensor.Shape{a.batch, a.q, -1}
		if a.vsize >= 0 {
			y[2] = a.nq * a.vsize
		}
	}
	return s.results(Desc{DType: t, Shape: y},
		Desc{DType: s.In[1].DType, Shape: tensor.Shape{a.batch, a.nk, a.k, a.size}},
		Desc{DType: s.In[2].DType, Shape: tensor.Shape{a.batch, a.nk, a.k, a.vsize}},
		Desc{DType: t, Shape: tensor.Shape{a.batch, a.nq, a.q, a.k}})
}

func buildAttention(s *Spec) (*Kernel, error) {
	a, err := readAttention(s)
	if err != nil {
		return nil, err
	}
	if a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(a.size))
	}
	k, v := s.In[1].Shape, s.In[2].Shape
	own := a.k - a.past
	want := []tensor.Shape{{a.batch, a.nk, own, a.size}, {a.batch, a.nk, own, a.vsize}}
	if a.flat {
		want = []tensor.Shape{{a.batch, own, a.nk * a.size}, {a.batch, own, a.nk * a.vsize}}
	}
	if !k.Equal(want[0]) || !v.Equal(want[1]) {
		return nil, fmt.Errorf("operands K %v and V %v, must be %v and %v", k, v, want[0], want[1])
	}
	if a.past > 0 && (!s.In[4].Shape.Equal(tensor.Shape{a.batch, a.nk, a.past, a.size}) || !s.In[5].Shape.Equal(tensor.Shape{a.batch, a.nk, a.past, a.vsize})) {
		return nil, fmt.Errorf("past of %v and %v does not fit K %v and V %v", s.In[4].Shape, s.In[5].Shape, k, v)
	}
	if a.hasNonpad && s.In[6].Shape[0] != a.batch {
		return nil, fmt.Errorf("%d lengths for a batch of %d", s.In[6].Shape[0], a.batch)
	}
	if a.hasMask {
		m := append(tensor.Shape{1, 1}, a.mask...)
		m = m[len(m)-4:]
		for i, n := range []int{a.batch, a.nq, a.q} {
			if m[i] != 1 && m[i] != n {
				return nil, fmt.Errorf("mask of shape %v for scores %v", a.mask, []int{a.batch, a.nq, a.q, a.k})
			}
		}
		if m[3] > a.k && m[3] != 1 {
			return nil, fmt.Errorf("mask of shape %v for %d keys", a.mask, a.k)
		}
		a.mask, a.pad = m, m[3] != 1 || s.Opset >= 24
	}
	kern := s.kernel("FlashAttentionScore", cost.Mix, 0, all(len(s.In)), nil)
	heads := a.batch * a.nq
	w := &kern.Work
	w.M, w.K, w.N, w.Batch, w.MacType = int64(a.q), int64(a.size+a.vsize), int64(a.k), int64(heads), s.In[0].DType
	w.VectorOps = 8 * int64(heads) * int64(a.q) * int64(a.k)
	kern.Blocks = cubeBlocks(heads, a.q, a.k)
	lanes := a.k + a.size + a.vsize + max(a.size, a.vsize)
	kern.Workspace = 8 * maxParts * max(1, lanes)
	w.ReadBytes, w.WriteBytes = 0, 0 // guard counts them
	part := func(x *Exec, part, lo, hi int) {
		mem := tensor.View[float64](x.Workspace)[part*lanes : (part+1)*lanes]
		for u := lo; u < hi; u++ {
			a.row(x, u/(a.nq*a.q), u/a.q%a.nq, u%a.q, mem)
		}
	}
	grain := ceilDiv(grainElements/8, max(1, a.k*a.size))
	return s.guard(kern, func(x *Exec) error {
		if a.hasNonpad {
			for b, n := range tensor.View[int64](x.In[6])[:a.batch] {
				if n < 0 || n > int64(a.k) {
					return fmt.Errorf("nonpad_kv_seqlen %d is %d, there are %d keys", b, n, a.k)
				}
			}
		}
		a.present(x)
		x.each(heads*a.q, grain, part)
		return nil
	}), nil
}

// vector reads n values of operand i (0 Q, 1 K, 2 V) at a place of a head; keys of the past come first.
func (a *attention) vector(x *Exec, dst []float64, i, batch, head, at int) {
	heads, length := a.nk, a.k-a.past
	if i == 0 {
		heads, length = a.nq, a.q
	} else if at < a.past {
		loadF64(dst, a.types[i+3], x.In[i+3], ((batch*heads+head)*a.past+at)*len(dst))
		return
	} else {
		at -= a.past
	}
	off := ((batch*heads+head)*length + at) * len(dst)
	if a.flat {
		off = ((batch*length+at)*heads + head) * len(dst)
	}
	loadF64(dst, a.types[i], x.In[i], off)
}

// row computes the scores and the result of one query.
func (a *attention) row(x *Exec, batch, head, i int, mem []float64) {
	scores, q, y := mem[:a.k], mem[a.k:][:a.size], mem[a.k+a.size:][:a.vsize]
	line := mem[a.k+a.size+a.vsize:]
	kv := head / (a.nq / a.nk)
	a.vector(x, q, 0, batch, head, i)
	for j := range scores {
		a.vector(x, line[:a.size], 1, batch, kv, j)
		sum := 0.0
		for d, v := range line[:a.size] {
			sum += q[d] * v
		}
		scores[j] = sum * a.scale
	}
	a.show(x, 0, batch, head, i, scores)
	if a.softcap > 0 {
		for j, v := range scores {
			scores[j] = a.softcap * math.Tanh(v/a.softcap)
		}
	}
	a.show(x, 1, batch, head, i, scores)
	a.hide(x, batch, head, i, scores)
	a.show(x, 2, batch, head, i, scores)
	softmaxOrZero(scores)
	a.show(x, 3, batch, head, i, scores)
	clear(y)
	for j, p := range scores {
		if p == 0 {
			continue
		}
		a.vector(x, line[:a.vsize], 2, batch, kv, j)
		for d, e := range line[:a.vsize] {
			y[d] += p * e
		}
	}
	off := ((batch*a.nq+head)*a.q + i) * a.vsize
	if a.flat {
		off = ((batch*a.q+i)*a.nq + head) * a.vsize
	}
	storeFloat(a.types[0], x.Out[0], off, y, false)
}

// show stores the scores of a query where the operator is asked to show this stage.
func (a *attention) show(x *Exec, stage, batch, head, i int, scores []float64) {
	if stage == a.mode && x.wanted(3) {
		storeFloat(a.types[0], x.Out[3], ((batch*a.nq+head)*a.q+i)*a.k, scores, false)
	}
}

// hide adds the mask and takes out the keys that a query must not see.
func (a *attention) hide(x *Exec, batch, head, i int, scores []float64) {
	if a.hasMask {
		m := a.mask
		at := 0
		for d, n := range []int{batch, head, i} {
			if m[d] > 1 {
				at = at*m[d] + n
			}
		}
		for j := range scores {
			switch {
			case m[3] == 1 && !a.pad:
				scores[j] += a.bias(x, at)
			case j < m[3]:
				scores[j] += a.bias(x, at*m[3]+j)
			default:
				scores[j] = math.Inf(-1)
			}
		}
	}
	seen := a.k
	if a.hasNonpad {
		seen = int(tensor.View[int64](x.In[6])[batch])
	}
	if a.causal {
		first := a.past // the place of query 0 among the keys
		if a.hasNonpad {
			first = seen - a.q
		}
		seen = min(seen, max(0, first+i+1))
	}
	fill(scores[seen:], math.Inf(-1))
}

// bias is what element i of the mask adds to a score: integers as well as floating numbers are added.
func (a *attention) bias(x *Exec, i int) float64 {
	if a.types[3] == tensor.Bool {
		if x.In[3][i] != 0 {
			return 0
		}
		return math.Inf(-1)
	}
	var v [1]float64
	loadF64(v[:], a.types[3], x.In[3], i)
	return v[0]
}

// present writes the keys and values with the past ones before them.
func (a *attention) present(x *Exec) {
	for i, n := range []int{a.size, a.vsize} {
		if !x.wanted(1 + i) {
			continue
		}
		size := a.types[1+i].Size() * n
		own := a.k - a.past
		for h := range a.batch * a.nk {
			dst := x.Out[1+i][h*a.k*size:][:a.k*size]
			if a.past > 0 {
				copy(dst, x.In[4+i][h*a.past*size:][:a.past*size])
			}
			for j := range own {
				from := h*own + j
				if a.flat {
					from = (h/a.nk*own+j)*a.nk + h%a.nk
				}
				copy(dst[(a.past+j)*size:][:size], x.In[1+i][from*size:])
			}
		}
	}
}

// softmaxOrZero is the softmax; a row in which everything is hidden becomes zero.
func softmaxOrZero(v []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, x := range v {
		top = max(top, x)
	}
	if math.IsInf(top, -1) {
		clear(v)
		return
	}
	for i, x := range v {
		v[i] = math.Exp(x - top)
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
}
