package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	batchSize     = 32
	trainingSteps = 2000
	warmUp        = 40 // steps during which the rate rises
	topRate       = 0.004
	heldOutImages = 4096
	reportEvery   = 250 // steps
)

// A sample is read right, but not without doubt.
const sampleFrom, sampleTo = 0.80, 0.99

// train runs the optimiser over steps batches of new images and prints the mean loss now and then.
func train(w io.Writer, n *network, steps int) {
	opt := adam{}
	answers := make([]int, n.image.n)
	loss := 0.0
	for step := range steps {
		loss += trainStep(n, &opt, step, rate(step, steps), answers)
		if (step+1)%reportEvery == 0 {
			fmt.Fprintf(w, "step %4d  loss %.4f\n", step+1, loss/reportEvery)
			loss = 0
		}
	}
}

// trainStep learns from one batch and returns its mean cross-entropy from before.
func trainStep(n *network, opt *adam, step int, rate float32, answers []int) float64 {
	n.load(training, step*len(answers), answers)
	n.forward(true)
	n.backward(answers)
	opt.step(n.all, rate)
	loss := 0.0
	for i, a := range answers {
		loss -= math.Log(max(1e-30, float64(n.probs[i*classes+a])))
	}
	return loss / float64(len(answers))
}

// rate rises to its top and falls to nothing, along straight lines.
func rate(step, steps int) float32 {
	return mul(topRate, min(float32(step+1)/warmUp, float32(steps-step)/float32(steps)))
}

// adam is the optimiser of that name; the zero value is ready.
type adam struct{ steps int }

func (o *adam) step(all []*param, rate float32) {
	const keep1, keep2, tiny = 0.9, 0.99, 1e-7
	o.steps++
	// The averages start at 0: what they lack at first is made up for.
	rest1, rest2 := float32(1), float32(1)
	for range o.steps {
		rest1, rest2 = mul(rest1, keep1), mul(rest2, keep2)
	}
	rate /= 1 - rest1
	for _, p := range all {
		for i, d := range p.d {
			p.m1[i] += mul(1-keep1, d-p.m1[i])
			p.m2[i] += mul(1-keep2, mul(d, d)-p.m2[i])
			root := float32(math.Sqrt(float64(p.m2[i] / (1 - rest2))))
			p.v[i] -= mul(rate, p.m1[i]/(root+tiny))
		}
	}
}

// result is how a network did on images that it was not trained on.
type result struct {
	images, right int
	wrong         [classes][classes]int // [digit][what was read]
	sample        [classes]int          // first image of each digit that makes a good sample, or -1
}

// examine reads count images of a set; count is a multiple of the batch.
func examine(n *network, s set, count int) *result {
	e := &result{images: count}
	for d := range e.sample {
		e.sample[d] = -1
	}
	answers := make([]int, n.image.n)
	for first := 0; first < count; first += len(answers) {
		n.load(s, first, answers)
		n.forward(false)
		for i, digit := range answers {
			read, p := best(n.probs[i*classes:][:classes])
			if read != digit {
				e.wrong[digit][read]++
				continue
			}
			e.right++
			if e.sample[digit] < 0 && p >= sampleFrom && p <= sampleTo {
				e.sample[digit] = first + i
			}
		}
	}
	return e
}

func best(p []float32) (at int, top float32) {
	for i, v := range p {
		if v > top {
			at, top = i, v
		}
	}
	return at, top
}

func (e *result) accuracy() float64 { return float64(e.right) / float64(e.images) }

func (e *result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d held-out images right (%.2f %%); misread:", e.right, e.images, 100*e.accuracy())
	for digit, row := range e.wrong {
		for read, count := range row {
			if count > 0 {
				fmt.Fprintf(&b, " %d as %d: %d;", digit, read, count)
			}
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), " misread:"), ";")
}
