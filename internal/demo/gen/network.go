package main

import (
	"math"
	"math/rand/v2"
)

// network is the digit reader for batches of one size:
//
//	image      1×28×28
//	stem       3×3, 12 channels, Relu, 2×2 maximum          14×14
//	first      depthwise 3×3, hard swish, 1×1 to 24, Relu   14×14
//	down       3×3 with stride 2 to 64, Relu                7×7
//	second     depthwise 3×3, hard swish, 1×1, + its input, Relu
//	head       mean over the image, 64 to 10, Softmax
//
// Every convolution is followed by a normalisation.
type network struct {
	image  *maps
	layers []named
	logits *maps
	probs  []float32 // n × classes
	all    []*param
}

// named is a layer with the name of its result in the written file.
type named struct {
	name string
	layer
}

func newNetwork(batch int) *network {
	n := &network{image: newMaps(1, batch, side, side), probs: make([]float32, batch*classes)}
	add := func(name string, l layer) *maps {
		n.layers = append(n.layers, named{name, l})
		n.all = append(n.all, l.params()...)
		return l.output()
	}
	dense := func(name string, x *maps, c, k, stride int) *maps {
		x = add(name+".conv", newConv(x, c, k, stride, false))
		return add(name+".norm", newNorm(x))
	}
	relu := func(name string, x *maps) *maps { return add(name+".relu", &rectify{x, x.like()}) }
	separable := func(name string, x *maps, c int) *maps {
		x = add(name+".depthwise", newDepthwise(x))
		x = add(name+".depthwise.norm", newNorm(x))
		x = add(name+".swish", &hardSwish{x, x.like()})
		return dense(name, x, c, 1, 1)
	}

	x := relu("stem", dense("stem", n.image, 12, 3, 1))
	half := newMaps(x.c, x.n, x.h/2, x.w/2)
	x = add("stem.pool", &halve{x, half, make([]int, len(half.v))})
	x = relu("first", separable("first", x, 24))
	x = relu("down", dense("down", x, 64, 3, 2))
	y := separable("second", x, 64)
	x = relu("second", add("second.sum", &sum{y, x, x.like()}))
	x = add("head.mean", &average{x, newMaps(x.c, x.n, 1, 1)})
	n.logits = add("head.logits", newConv(x, classes, 1, 1, true))
	n.initialise()
	return n
}

// initialise draws the taps so that each layer keeps the size of the numbers.
func (n *network) initialise() {
	r := rand.New(rand.NewPCG(seed, 0))
	fill := func(w []float32, fan int) {
		bound := float32(math.Sqrt(6 / float64(fan)))
		for i := range w {
			w[i] = mul(bound, mul(2, float32(r.Float32()))-1)
		}
	}
	for _, l := range n.layers {
		switch l := l.layer.(type) {
		case *conv:
			fill(l.w.v, l.taps())
		case *depthwise:
			fill(l.w.v, 9)
		}
	}
}

// forward computes the probabilities of the batch in n.image.
func (n *network) forward(train bool) {
	for _, l := range n.layers {
		l.forward(train)
	}
	batch := n.image.n
	for i := range batch {
		p := n.probs[i*classes:][:classes]
		top := n.logits.v[i]
		for c := range p {
			p[c] = n.logits.v[c*batch+i]
			top = max(top, p[c])
		}
		var sum float32
		for c := range p {
			p[c] = exp(p[c] - top)
			sum += p[c]
		}
		for c := range p {
			p[c] /= sum
		}
	}
}

// backward computes the gradients of the mean cross-entropy of forward(true) by all parameters, afresh.
func (n *network) backward(answers []int) {
	clear(n.image.d)
	for _, l := range n.layers {
		clear(l.output().d)
	}
	for _, p := range n.all {
		clear(p.d)
	}
	batch := n.image.n
	for i, answer := range answers {
		for c := range classes {
			d := n.probs[i*classes+c]
			if c == answer {
				d--
			}
			n.logits.d[c*batch+i] = d / float32(batch)
		}
	}
	for i := len(n.layers) - 1; i >= 0; i-- {
		n.layers[i].backward()
	}
}

// load puts images first, first+1, ... of a set into the batch and returns their answers in the slice given.
func (n *network) load(s set, first int, answers []int) {
	for i := range answers {
		im := draw(s, first+i)
		copy(n.image.v[i*area:], im.pixels[:])
		answers[i] = im.digit
	}
}
