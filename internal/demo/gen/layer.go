package main

// maps is a batch of feature maps and the gradient of the loss by them. The channel is the outermost dimension:
// v[((c·n + image)·h + y)·w + x], so that a convolution of the whole batch is one matrix product and a channel is one
// run of memory.
type maps struct {
	c, n, h, w int
	v, d       []float32
}

func newMaps(c, n, h, w int) *maps {
	return &maps{c: c, n: n, h: h, w: w, v: make([]float32, c*n*h*w), d: make([]float32, c*n*h*w)}
}

// like is another batch of the same size.
func (m *maps) like() *maps { return newMaps(m.c, m.n, m.h, m.w) }

// run is the length of one channel.
func (m *maps) run() int { return m.n * m.h * m.w }

// param is a learned array with its gradient and Adam's two averages.
type param struct {
	v, d, m1, m2 []float32
}

func newParam(n int) *param {
	return &param{make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)}
}

// layer is one operation between two batches of maps. forward computes the output; train selects the statistics of
// the batch where there are any. backward adds to the gradients of the inputs and of the parameters.
type layer interface {
	forward(train bool)
	backward()
	params() []*param
	output() *maps
}

// rectify is Relu.
type rectify struct{ in, out *maps }

func (l *rectify) forward(bool) {
	for i, v := range l.in.v {
		l.out.v[i] = max(0, v)
	}
}

func (l *rectify) backward() {
	for i, v := range l.in.v {
		if v > 0 {
			l.in.d[i] += l.out.d[i]
		}
	}
}

// hardSwish is x·min(1, max(0, x/6 + 1/2)).
type hardSwish struct{ in, out *maps }

func gate(x float32) float32 { return min(1, max(0, mul(x, 1./6)+0.5)) }

func (l *hardSwish) forward(bool) {
	for i, v := range l.in.v {
		l.out.v[i] = mul(v, gate(v))
	}
}

func (l *hardSwish) backward() {
	for i, v := range l.in.v {
		slope := gate(v)
		if v > -3 && v < 3 {
			slope += mul(v, 1./6)
		}
		l.in.d[i] += mul(slope, l.out.d[i])
	}
}

// sum adds two batches: the residual connection.
type sum struct{ a, b, out *maps }

func (l *sum) forward(bool) {
	for i, v := range l.a.v {
		l.out.v[i] = v + l.b.v[i]
	}
}

func (l *sum) backward() {
	for i, d := range l.out.d {
		l.a.d[i] += d
		l.b.d[i] += d
	}
}

// halve is MaxPool of 2×2 with stride 2.
type halve struct {
	in, out *maps
	from    []int // where each maximum was
}

func (l *halve) forward(bool) {
	w := l.in.w
	for i := range l.out.v {
		x, row := i%l.out.w, i/l.out.w // rows of all channels and images in one sequence
		at := 2*row*w + 2*x
		for _, j := range [...]int{at + 1, at + w, at + w + 1} {
			if l.in.v[j] > l.in.v[at] {
				at = j
			}
		}
		l.out.v[i], l.from[i] = l.in.v[at], at
	}
}

func (l *halve) backward() {
	for i, at := range l.from {
		l.in.d[at] += l.out.d[i]
	}
}

// average is GlobalAveragePool.
type average struct{ in, out *maps }

func (l *average) forward(bool) {
	size := l.in.h * l.in.w
	for i := range l.out.v {
		var s float32
		for _, v := range l.in.v[i*size:][:size] {
			s += v
		}
		l.out.v[i] = s / float32(size)
	}
}

func (l *average) backward() {
	size := l.in.h * l.in.w
	for i, d := range l.out.d {
		d /= float32(size)
		for j := range size {
			l.in.d[i*size+j] += d
		}
	}
}

func (l *rectify) params() []*param   { return nil }
func (l *hardSwish) params() []*param { return nil }
func (l *sum) params() []*param       { return nil }
func (l *halve) params() []*param     { return nil }
func (l *average) params() []*param   { return nil }

func (l *rectify) output() *maps   { return l.out }
func (l *hardSwish) output() *maps { return l.out }
func (l *sum) output() *maps       { return l.out }
func (l *halve) output() *maps     { return l.out }
func (l *average) output() *maps   { return l.out }
