package main

import "math"

const (
	epsilon  = 1e-5
	momentum = 0.05 // of the running statistics
)

// norm is batch normalisation: a channel gets mean 0 and variance 1 over the batch, then a learned scale and offset.
// The running statistics are what the written network uses.
type norm struct {
	in, out        *maps
	scale, offset  *param
	mean, variance []float32 // running
	inverse        []float32 // 1/deviation of the last batch
	hat            []float32 // normalised input of the last batch
}

func newNorm(in *maps) *norm {
	l := &norm{
		in: in, out: in.like(), scale: newParam(in.c), offset: newParam(in.c),
		mean: make([]float32, in.c), variance: make([]float32, in.c), inverse: make([]float32, in.c),
		hat: make([]float32, len(in.v)),
	}
	for c := range in.c {
		l.scale.v[c], l.variance[c] = 1, 1
	}
	return l
}

func (l *norm) forward(train bool) {
	n := l.in.run()
	for c := range l.in.c {
		x, hat, y := l.in.v[c*n:][:n], l.hat[c*n:][:n], l.out.v[c*n:][:n]
		mean, variance := l.mean[c], l.variance[c]
		if train {
			mean, variance = moments(x)
			l.mean[c] += mul(momentum, mean-l.mean[c])
			l.variance[c] += mul(momentum, variance-l.variance[c])
		}
		inverse := float32(1 / math.Sqrt(float64(variance)+epsilon))
		l.inverse[c] = inverse
		for i, v := range x {
			hat[i] = mul(v-mean, inverse)
			y[i] = mul(l.scale.v[c], hat[i]) + l.offset.v[c]
		}
	}
}

// backward is the gradient through the statistics of the batch as well: forward(true) must have come before.
func (l *norm) backward() {
	n := l.in.run()
	for c := range l.in.c {
		hat, d, to := l.hat[c*n:][:n], l.out.d[c*n:][:n], l.in.d[c*n:][:n]
		var sum, along float64
		for i, v := range d {
			sum += float64(v)
			along += float64(mul(v, hat[i]))
		}
		l.offset.d[c] += float32(sum)
		l.scale.d[c] += float32(along)
		mean, slope := float32(sum/float64(n)), float32(along/float64(n))
		f := mul(l.scale.v[c], l.inverse[c])
		for i, v := range d {
			to[i] += mul(f, v-mean-mul(slope, hat[i]))
		}
	}
}

// moments are the mean and the variance of x.
func moments(x []float32) (mean, variance float32) {
	var s, q float64
	for _, v := range x {
		s += float64(v)
	}
	mean = float32(s / float64(len(x)))
	for _, v := range x {
		q += float64(mul(v-mean, v-mean))
	}
	return mean, float32(q / float64(len(x)))
}

func (l *norm) output() *maps    { return l.out }
func (l *norm) params() []*param { return []*param{l.scale, l.offset} }
