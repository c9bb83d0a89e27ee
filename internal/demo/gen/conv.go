package main

// conv is a convolution of k×k taps with padding k/2 and without a bias, which the normalisation after it would take
// away again. A classifier at the end is one with a single tap on maps of one pixel; it has a bias.
type conv struct {
	in, out   *maps
	k, stride int
	w, bias   *param    // w is out.c × in.c·k·k; bias may be nil
	cols      []float32 // in.c·k·k × out.run(): what each tap sees
	dcols     []float32
	wt        []float32
}

func newConv(in *maps, c, k, stride int, bias bool) *conv {
	l := &conv{in: in, k: k, stride: stride, out: newMaps(c, in.n, (in.h-1)/stride+1, (in.w-1)/stride+1)}
	l.w = newParam(c * l.taps())
	if bias {
		l.bias = newParam(c)
	}
	l.cols = make([]float32, l.taps()*l.out.run())
	l.dcols = make([]float32, len(l.cols))
	l.wt = make([]float32, len(l.w.v))
	return l
}

func (l *conv) taps() int { return l.in.c * l.k * l.k }

func (l *conv) forward(bool) {
	l.eachTap(func(to, from int) { l.cols[to] = l.in.v[from] })
	n := l.out.run()
	for c := range l.out.c {
		var b float32
		if l.bias != nil {
			b = l.bias.v[c]
		}
		row := l.out.v[c*n:][:n]
		for i := range row {
			row[i] = b
		}
	}
	addProduct(l.out.v, l.w.v, l.cols, l.out.c, l.taps(), n)
}

func (l *conv) backward() {
	n := l.out.run()
	addOuter(l.w.d, l.out.d, l.cols, l.out.c, l.taps(), n)
	if l.bias != nil {
		for c := range l.out.c {
			for _, d := range l.out.d[c*n:][:n] {
				l.bias.d[c] += d
			}
		}
	}
	transpose(l.wt, l.w.v, l.out.c, l.taps())
	clear(l.dcols)
	addProduct(l.dcols, l.wt, l.out.d, l.taps(), l.out.c, n)
	l.eachTap(func(to, from int) { l.in.d[from] += l.dcols[to] })
}

// eachTap visits the elements of the columns that see a pixel; the others see the padding and stay 0.
func (l *conv) eachTap(visit func(to, from int)) {
	in, out := l.in, l.out
	to := 0
	for row := range l.taps() {
		c, ky, kx := row/(l.k*l.k), row/l.k%l.k-l.k/2, row%l.k-l.k/2
		for i := range in.n {
			for y := range out.h {
				iy := y*l.stride + ky
				line := ((c*in.n+i)*in.h + iy) * in.w
				for x := range out.w {
					if ix := x*l.stride + kx; iy >= 0 && iy < in.h && ix >= 0 && ix < in.w {
						visit(to, line+ix)
					}
					to++
				}
			}
		}
	}
}

func (l *conv) output() *maps { return l.out }

func (l *conv) params() []*param {
	if l.bias != nil {
		return []*param{l.w, l.bias}
	}
	return []*param{l.w}
}

// depthwise is a convolution of 3×3 taps in which a channel sees only itself.
type depthwise struct {
	in, out *maps
	w       *param // c × 9
}

func newDepthwise(in *maps) *depthwise {
	return &depthwise{in: in, out: in.like(), w: newParam(in.c * 9)}
}

func (l *depthwise) forward(bool) {
	clear(l.out.v)
	l.eachRow(func(tap, to, from, n int) {
		axpy(l.out.v[to:][:n], l.w.v[tap], l.in.v[from:][:n])
	})
}

func (l *depthwise) backward() {
	l.eachRow(func(tap, to, from, n int) {
		l.w.d[tap] += dot(l.out.d[to:][:n], l.in.v[from:][:n])
		axpy(l.in.d[from:][:n], l.w.v[tap], l.out.d[to:][:n])
	})
}

// eachRow visits the pairs of rows that a tap joins, without the padding.
func (l *depthwise) eachRow(visit func(tap, to, from, n int)) {
	h, w := l.in.h, l.in.w
	for tap := range l.in.c * 9 {
		ky, kx := tap%9/3-1, tap%3-1
		left, right := max(0, -kx), min(w, w-kx)
		for i := range l.in.n {
			image := (tap/9*l.in.n + i) * h * w
			for y := max(0, -ky); y < min(h, h-ky); y++ {
				visit(tap, image+y*w+left, image+(y+ky)*w+left+kx, right-left)
			}
		}
	}
}

func (l *depthwise) output() *maps    { return l.out }
func (l *depthwise) params() []*param { return []*param{l.w} }
