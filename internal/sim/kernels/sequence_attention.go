package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// sequenceAttentionOps are operators of recurrent language models: they carry a state from token to token.
func sequenceAttentionOps() map[string]*Op {
	return map[string]*Op{
		"LinearAttention":     define(inferLinearAttention, buildLinearAttention),
		"CausalConvWithState": define(inferCausalConv, buildCausalConv),
	}
}

// linearAttention keeps, for each key head, a matrix S of key size × value size, and for each token t:
//
//	S = S·exp(decay) (gated), S += k ⊗ β(v − Sᵀk) (delta) or S += k ⊗ v, y = scale·Sᵀq
type linearAttention struct {
	batch, steps, nq, nk, size, vsize int
	gated, delta                      bool
	scale                             float64
}

func readLinearAttention(s *Spec) (*linearAttention, error) {
	if err := s.operands(3, 6); err != nil {
		return nil, err
	}
	a := &linearAttention{nq: s.Attrs.Int("q_num_heads", 0), nk: s.Attrs.Int("kv_num_heads", 0)}
	rule := s.Attrs.Str("update_rule", "gated_delta")
	switch rule {
	case "linear":
	case "gated":
		a.gated = true
	case "delta":
		a.delta = true
	case "gated_delta":
		a.gated, a.delta = true, true
	default:
		return nil, fmt.Errorf("update_rule %q, must be linear, gated, delta or gated_delta", rule)
	}
	if a.gated && s.Input(4).Absent() || a.delta && s.Input(5).Absent() {
		return nil, fmt.Errorf("update_rule %s needs a decay (gated) and a beta (delta)", rule)
	}
	q, k, v := s.In[0].Shape, s.In[1].Shape, s.In[2].Shape
	if len(q) != 3 || len(k) != 3 || len(v) != 3 {
		return nil, fmt.Errorf("query %v, key %v and value %v, must be batch,tokens,values", q, k, v)
	}
	if a.nq < 1 || a.nk < 1 || a.nq%a.nk != 0 {
		return nil, fmt.Errorf("q_num_heads %d and kv_num_heads %d", a.nq, a.nk)
	}
	for i, t := range s.In {
		if !t.Absent() && !floating(t.DType) {
			return nil, fmt.Errorf("input %d of type %v: %w", i, t.DType, ErrUnsupported)
		}
	}
	a.batch, a.steps, a.size, a.vsize = q[0], q[1], divide(k[2], a.nk), divide(v[2], a.nk)
	if a.scale = float64(s.Attrs.Float("scale", 0)); a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(max(1, a.size)))
	}
	return a, nil
}

func inferLinearAttention(s *Spec) error {
	a, err := readLinearAttention(s)
	if err != nil {
		return err
	}
	width := -1
	if a.vsize >= 0 {
		width = a.nq * a.vsize
	}
	t := s.In[0].DType
	return s.results(Desc{DType: t, Shape: tensor.Shape{a.batch, a.steps, width}},
		Desc{DType: t, Shape: tensor.Shape{a.batch, a.nk, a.size, a.vsize}})
}

func buildLinearAttention(s *Spec) (*Kernel, error) {
	a, err := readLinearAttention(s)
	if err != nil {
		return nil, err
	}
	tokens := a.batch * a.steps
	state := a.batch * a.nk * a.size * a.vsize
	want := map[int][]int{0: {tokens * a.nq * a.size}, 1: {tokens * a.nk * a.size}, 2: {tokens * a.nk * a.vsize}, 3: {state}}
	if a.gated {
		want[4] = []int{tokens * a.nk * a.size, tokens * a.nk}
	}
	if a.delta {
		want[5] = []int{tokens * a.nk, tokens}
	}
	for i, sizes := range want {
		d := s.Input(i)
		if d.Absent() {
			continue
		}
		if n := d.Shape.Count(); n != sizes[0] && n != sizes[len(sizes)-1] {
			return nil, fmt.Errorf("input %d of shape %v for %d key heads of %d×%d", i, d.Shape, a.nk, a.size, a.vsize)
		}
	}
	k, err := s.wide("LinearAttention", cost.AIV, 6*int64(tokens)*int64(a.nq)*int64(a.size)*int64(a.vsize), state+a.vsize, a.run)
	return k, err
}

func (a *linearAttention) run(w *wide) error {
	mem, diff := w.tmp[:len(w.tmp)-a.vsize], w.tmp[len(w.tmp)-a.vsize:]
	clear(mem)
	copy(mem, w.in[3])
	for u := range a.batch * a.nk {
		b, h := u/a.nk, u%a.nk
		s := mem[u*a.size*a.vsize:][:a.size*a.vsize]
		for t := range a.steps {
			token := b*a.steps + t
			k := w.in[1][(token*a.nk+h)*a.size:][:a.size]
			if a.gated {
				a.decay(w.in[4], token, h, s)
			}
			copy(diff, w.in[2][(token*a.nk+h)*a.vsize:])
			if a.delta {
				beta := w.in[5][len(w.in[5])/(a.batch*a.steps)*token:]
				if len(w.in[5]) > a.batch*a.steps {
					beta = beta[h:]
				}
				for i, x := range k {
					for j := range diff {
						diff[j] -= x * s[i*a.vsize+j]
					}
				}
				for j := range diff {
					diff[j] *= beta[0]
				}
			}
			for i, x := range k {
				for j, d := range diff {
					s[i*a.vsize+j] += x * d
				}
			}
			for g := range a.nq / a.nk {
				head := token*a.nq + h*(a.nq/a.nk) + g
				y := w.out[0][head*a.vsize:][:a.vsize]
				for i, x := range w.in[0][head*a.size:][:a.size] {
					for j := range y {
						y[j] += a.scale * x * s[i*a.vsize+j]
					}
				}
			}
		}
	}
	copy(w.out[1], mem)
	return nil
}

// decay shrinks the state of a head, by one factor or by one a row.
func (a *linearAttention) decay(gate []float64, token, h int, s []float64) {
	rows := len(gate) > a.batch*a.steps*a.nk
	f := 0.0
	for i := range a.size {
		if rows {
			f = math.Exp(gate[(token*a.nk+h)*a.size+i])
		} else if i == 0 {
			f = math.Exp(gate[token*a.nk+h])
		}
		for j := range a.vsize {
			s[i*a.vsize+j] *= f
		}
	}
}

func inferCausalConv(s *Spec) error {
	if err := s.operands(2, 4); err != nil {
		return err
	}
	x, w := s.In[0].Shape, s.In[1].Shape
	if len(x) != 3 || len(w) != 3 || w[1] >= 0 && w[1] != 1 || x[1] >= 0 && w[0] >= 0 && x[1] != w[0] {
		return fmt.Errorf("input %v with weights %v, must be batch,channels,length and channels,1,kernel", x, w)
	}
	for i, d := range s.In {
		if !d.Absent() && !floating(d.DType) {
			return fmt.Errorf("input %d of type %v: %w", i, d.DType, ErrUnsupported)
		}
	}
	switch act := s.Attrs.Str("activation", "none"); act {
	case "none", "silu", "swish", "":
	default:
		return fmt.Errorf("activation %q: %w", act, ErrUnsupported)
	}
	state := tensor.Shape{x[0], x[1], -1}
	if w[2] >= 0 {
		state[2] = w[2] - 1
	}
	t := s.In[0].DType
	return s.results(Desc{DType: t, Shape: x}, Desc{DType: t, Shape: state})
}

func buildCausalConv(s *Spec) (*Kernel, error) {
	x, taps := s.In[0].Shape, s.In[1].Shape[2]
	if taps < 1 {
		return nil, fmt.Errorf("weights of shape %v", s.In[1].Shape)
	}
	rows, length, keep := x[0]*x[1], x[2], taps-1
	for i, n := range map[int]int{2: x[1], 3: rows * keep} {
		if d := s.Input(i); !d.Absent() && d.Shape.Count() != n {
			return nil, fmt.Errorf("input %d of shape %v, must have %d elements", i, d.Shape, n)
		}
	}
	act := s.Attrs.Str("activation", "none")
	silu := act == "silu" || act == "swish"
	return s.wide("CausalConv1d", cost.AIV, 2*int64(rows)*int64(length)*int64(taps), keep+length, func(w *wide) error {
		for r := range rows {
			ch := r % x[1]
			line := w.tmp
			clear(line[:keep])
			if w.in[3] != nil {
				copy(line[:keep], w.in[3][r*keep:])
			}
			copy(line[keep:], w.in[0][r*length:][:length])
			for i := range length {
				sum := 0.0
				if w.in[2] != nil {
					sum = w.in[2][ch]
				}
				for k, f := range w.in[1][ch*taps:][:taps] {
					sum += f * line[i+k]
				}
				if silu {
					sum /= 1 + math.Exp(-sum)
				}
				w.out[0][r*length+i] = sum
			}
			if w.out[1] != nil {
				copy(w.out[1][r*keep:][:keep], line[length:])
			}
		}
		return nil
	})
}
