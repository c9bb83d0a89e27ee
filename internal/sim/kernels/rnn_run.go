package kernels

import (
	"fmt"

	"npu/internal/tensor"
)

// start checks the sequence lengths, sums the biases, packs what is not packed yet, projects the input, and runs the
// directions.
func (l *cell) start(x *Exec) error {
	if l.present[rnnLens] {
		for b, n := range tensor.View[int32](x.In[rnnLens])[:l.batch] {
			if n < 0 || int(n) > l.steps {
				return fmt.Errorf("sequence_lens[%d] is %d, input has %d steps", b, n, l.steps)
			}
		}
	}
	for d := range l.dirs {
		l.sumBias(x, d)
	}
	dst := tensor.View[float32](x.Workspace[l.packs:])
	for _, p := range l.packR {
		p.pack(dst[p.start:][:p.floats()], newVec(l.dtype, x.In[rnnR]))
	}
	l.project.run(x)
	x.each(l.dirs, 1, l.directions)
	return nil
}

func (l *cell) floats(x *Exec, at, n int) []float32 {
	return tensor.View[float32](x.Workspace[at:])[:n]
}

// sumBias adds both biases of a direction. A GRU that resets after the product keeps the recurrent bias of its last
// block apart, behind the sum.
func (l *cell) sumBias(x *Exec, d int) {
	wide := l.wide()
	bias := l.floats(x, l.bias, l.dirs*(wide+l.hidden))[d*(wide+l.hidden):][:wide+l.hidden]
	clear(bias)
	if !l.present[rnnB] {
		return
	}
	b, tmp := newVec(l.dtype, x.In[rnnB]), l.floats(x, l.tmp+4*d*wide, wide)
	both := wide
	if l.op == "GRU" && l.linearBeforeReset {
		both = 2 * l.hidden
	}
	b.load(bias[:wide], 2*d*wide, 1)
	addVec(bias[:both], bias[:both], b.run(tmp, (2*d+1)*wide, wide)[:both])
	b.load(bias[both+l.hidden:][:wide-both], (2*d+1)*wide+both, 1)
}

// run computes directions [lo,hi).
func (l *cell) run(x *Exec, _, lo, hi int) {
	for d := lo; d < hi; d++ {
		l.direction(x, d)
	}
}

func (l *cell) direction(x *Exec, d int) {
	n, wide := l.batch*l.hidden, l.wide()
	h, c := l.floats(x, l.h+4*d*n, n), l.floats(x, l.c+4*d*n, n)
	l.loadState(x, d, rnnH, h)
	l.loadState(x, d, rnnC, c)
	gates := l.floats(x, l.gate+4*d*l.batch*wide, l.batch*wide)
	projected := l.floats(x, l.projected+4*d*l.steps*l.batch*wide, l.steps*l.batch*wide)
	y := newVec(l.dtype, nil)
	if x.wanted(0) {
		y = newVec(l.dtype, x.Out[0])
	}
	backward := l.reverse || d == 1
	for s := range l.steps {
		g := l.recur[d]
		g.part(x, 0, 0, g.blocks)
		if l.reset != nil {
			l.resetStep(x, d, s, backward, projected, gates, h)
		}
		for b := range l.batch {
			t := l.time(x, s, b, backward)
			if t < 0 {
				if x.wanted(0) {
					zero := l.floats(x, l.tmp+4*d*wide, l.hidden)
					clear(zero)
					y.store(l.yAt(s, d, b), 1, zero)
				}
				continue
			}
			in := projected[l.row(t, b)*wide:][:wide]
			hb, gb := h[b*l.hidden:][:l.hidden], gates[b*wide:][:wide]
			switch l.op {
			case "LSTM":
				l.lstm(x, d, in, gb, hb, c[b*l.hidden:][:l.hidden])
			case "GRU":
				l.gru(x, d, in, gb, hb)
			default:
				addVec(gb, gb, in)
				l.act(d, 0, gb)
				copy(hb, gb)
			}
			if x.wanted(0) {
				y.store(l.yAt(t, d, b), 1, hb)
			}
		}
	}
	l.storeState(x, d, 1, h)
	if l.op == "LSTM" {
		l.storeState(x, d, 2, c)
	}
}

// time is the step of the input that sequence b is at in step s, or -1 when it has ended.
func (l *cell) time(x *Exec, s, b int, backward bool) int {
	n := l.steps
	if l.present[rnnLens] {
		n = int(tensor.View[int32](x.In[rnnLens])[b])
	}
	if s >= n {
		return -1
	}
	if backward {
		return n - 1 - s
	}
	return s
}

// row is the row of the projected input; yAt is the element offset of a result, stateAt that of a state.
func (l *cell) row(t, b int) int {
	if l.batchFirst {
		return b*l.steps + t
	}
	return t*l.batch + b
}

func (l *cell) yAt(t, d, b int) int {
	if l.batchFirst {
		return ((b*l.steps+t)*l.dirs + d) * l.hidden
	}
	return ((t*l.dirs+d)*l.batch + b) * l.hidden
}

func (l *cell) stateAt(d, b int) int {
	if l.batchFirst {
		return (b*l.dirs + d) * l.hidden
	}
	return (d*l.batch + b) * l.hidden
}

func (l *cell) loadState(x *Exec, d, input int, state []float32) {
	clear(state)
	if input == rnnC && l.op != "LSTM" || !l.present[input] {
		return
	}
	v := newVec(l.dtype, x.In[input])
	for b := range l.batch {
		v.load(state[b*l.hidden:][:l.hidden], l.stateAt(d, b), 1)
	}
}

func (l *cell) storeState(x *Exec, d, output int, state []float32) {
	if !x.wanted(output) {
		return
	}
	v := newVec(l.dtype, x.Out[output])
	for b := range l.batch {
		v.store(l.stateAt(d, b), 1, state[b*l.hidden:][:l.hidden])
	}
}

// lstm is one step of one sequence; gates are in the order i, o, f, c.
func (l *cell) lstm(x *Exec, d int, in, g, h, c []float32) {
	n := l.hidden
	addVec(g, g, in)
	gi, gate, gf, gc := g[:n], g[n:2*n], g[2*n:3*n], g[3*n:4*n]
	var peep vec
	tmp := l.floats(x, l.tmp+4*d*l.wide(), n)
	if l.present[rnnP] {
		peep = newVec(l.dtype, x.In[rnnP])
		l.peephole(gi, c, peep, (3*d+0)*n, tmp)
		l.peephole(gf, c, peep, (3*d+2)*n, tmp)
	}
	l.act(d, 0, gi)
	l.act(d, 1, gc)
	if l.coupled {
		for i := range gf {
			gf[i] = 1 - gi[i]
		}
	} else {
		l.act(d, 0, gf)
	}
	mulVec(c, c, gf)
	mulVec(gi, gi, gc)
	addVec(c, c, gi)
	if l.present[rnnP] {
		l.peephole(gate, c, peep, (3*d+1)*n, tmp)
	}
	l.act(d, 0, gate)
	copy(h, c)
	l.act(d, 2, h)
	mulVec(h, h, gate)
}

func (l *cell) peephole(g, c []float32, p vec, off int, tmp []float32) {
	p.load(tmp, off, 1)
	for i := range g {
		g[i] += tmp[i] * c[i]
	}
}

// resetStep computes, for a GRU that resets before the product, the reset state of all sequences and its product.
func (l *cell) resetStep(x *Exec, d, s int, backward bool, projected, gates, h []float32) {
	n, wide := l.hidden, l.wide()
	rh := l.floats(x, l.rh+4*d*l.batch*n, l.batch*n)
	clear(rh)
	for b := range l.batch {
		t := l.time(x, s, b, backward)
		if t < 0 {
			continue
		}
		r := gates[b*wide+n:][:n]
		addVec(r, r, projected[l.row(t, b)*wide+n:][:n])
		l.act(d, 0, r)
		mulVec(rh[b*n:][:n], r, h[b*n:])
	}
	g := l.reset[d]
	g.part(x, 0, 0, g.blocks)
}

// gru is one step of one sequence; gates are in the order z, r, h.
func (l *cell) gru(x *Exec, d int, in, g, h []float32) {
	n := l.hidden
	z, r, c := g[:n], g[n:2*n], g[2*n:3*n]
	addVec(z, z, in[:n])
	l.act(d, 0, z)
	if l.linearBeforeReset {
		addVec(r, r, in[n:2*n])
		l.act(d, 0, r)
		bias := l.floats(x, l.bias, l.dirs*(l.wide()+n))[d*(l.wide()+n)+l.wide():][:n]
		addVec(c, c, bias)
		mulVec(c, c, r)
	}
	addVec(c, c, in[2*n:3*n])
	l.act(d, 1, c)
	mulVec(h, h, z)
	for i, v := range z {
		z[i] = 1 - v
	}
	mulVec(c, c, z)
	addVec(h, c, h)
}

// act applies activation number i of direction d, after the clip.
func (l *cell) act(d, i int, v []float32) {
	if l.clip > 0 {
		for j, e := range v {
			v[j] = min(max(e, -l.clip), l.clip)
		}
	}
	a := &l.acts[d][i]
	a.f(v, a.alpha, a.beta)
}
