package kernels

import (
	"math"
	"testing"
)

func TestFastFunctions_accuracy(t *testing.T) {
	for _, c := range []struct {
		name   string
		fast   func(dst, src []float32)
		exact  func(float64) float64
		lo, hi float32
	}{
		{"exp", fastExp, math.Exp, -87, 88.5},
		{"sigmoid", sigmoidVec, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 0, 80},
		{"sigmoid below zero", func(dst, src []float32) {
			sigmoidVec(dst, src)
			for i := range dst {
				dst[i] += 1 // the error there is absolute
			}
		}, func(x float64) float64 { return 1 + 1/(1+math.Exp(-x)) }, -80, 0},
		{"tanh", tanhVec, math.Tanh, -12, 12},
		{"tanh near zero", tanhVec, math.Tanh, -1e-3, 1e-3},
		{"log", logVec, math.Log, 1.01, 1e9},
		{"log below 1", logVec, math.Log, 1e-30, 0.99},
		{"log of small numbers", logVec, math.Log, 1e-45, 1e-38},
		{"erf", erfVec, math.Erf, -5, 5},
		{"erf near zero", erfVec, math.Erf, -1e-3, 1e-3},
	} {
		const n = 200_001
		src, dst := make([]float32, n), make([]float32, n)
		for i := range src {
			src[i] = c.lo + (c.hi-c.lo)*float32(i)/(n-1)
		}
		c.fast(dst, src)
		worst, at := 0.0, float32(0)
		for i, x := range src {
			want := c.exact(float64(x))
			if e := math.Abs(float64(dst[i])-want) / math.Max(math.Abs(want), 1e-30); e > worst {
				worst, at = e, x
			}
		}
		if worst > 2.5e-7 {
			t.Errorf("%s: relative error %.3g at %v", c.name, worst, at)
		}
	}
}

func TestFastFunctions_ends(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name    string
		f       func(float32) float32
		x, want float32
	}{
		{"exp", expf, inf, inf}, {"exp", expf, -inf, 0}, {"exp", expf, 0, 1}, {"exp", expf, nan, nan},
		{"exp", expf, 89, inf}, {"exp", expf, -103, float32(math.Exp(-103))},
		{"tanh", tanhf, inf, 1}, {"tanh", tanhf, -inf, -1}, {"tanh", tanhf, nan, nan}, {"tanh", tanhf, 0, 0},
		{"erf", erff, inf, 1}, {"erf", erff, -inf, -1}, {"erf", erff, nan, nan}, {"erf", erff, 0, 0},
		{"log", logf, inf, inf}, {"log", logf, -inf, nan}, {"log", logf, nan, nan}, {"log", logf, 0, -inf}, {"log", logf, 1, 0}, {"log", logf, -1, nan},
		{"sigmoid", sigmoidf, inf, 1}, {"sigmoid", sigmoidf, -inf, 0}, {"sigmoid", sigmoidf, nan, nan},
	} {
		if got := c.f(c.x); got != c.want && !(got != got && c.want != c.want) {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, got, c.want)
		}
	}
}
