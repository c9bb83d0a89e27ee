package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// randomOps draw numbers. ONNX leaves the generator open; here the same seed gives the same numbers in every run, so
// that a model with them can be repeated. Without a seed it is 0.
func randomOps() map[string]*Op {
	return map[string]*Op{
		"RandomUniform":     define(inferRandom, buildRandom("StatelessRandomUniformV2", uniform)),
		"RandomUniformLike": define(inferRandomLike, buildRandom("StatelessRandomUniformV2", uniform)),
		"RandomNormal":      define(inferRandom, buildRandom("StatelessRandomNormalV2", normal)),
		"RandomNormalLike":  define(inferRandomLike, buildRandom("StatelessRandomNormalV2", normal)),
		"Bernoulli":         define(inferRandomLike, buildRandom("StatelessBernoulli", bernoulli)),
		"Multinomial":       define(inferMultinomial, buildMultinomial),
	}
}

// draw is one number; in is the element of the input at its place, if there is one.
type draw func(s *Spec, rng *rand.Rand, in float64) float64

func uniform(s *Spec, rng *rand.Rand, _ float64) float64 {
	lo, hi := float64(s.Attrs.Float("low", 0)), float64(s.Attrs.Float("high", 1))
	return lo + (hi-lo)*rng.Float64()
}

func normal(s *Spec, rng *rand.Rand, _ float64) float64 {
	return float64(s.Attrs.Float("mean", 0)) + float64(s.Attrs.Float("scale", 1))*rng.NormFloat64()
}

func bernoulli(_ *Spec, rng *rand.Rand, p float64) float64 {
	if rng.Float64() < p {
		return 1
	}
	return 0
}

func inferRandom(s *Spec) error {
	if err := s.operands(0, 0); err != nil {
		return err
	}
	t, err := onnxType(s.Attrs.Int("dtype", 1))
	if err == nil {
		err = wantType(t, floating)
	}
	if err != nil {
		return err
	}
	shape := s.Attrs.Ints("shape")
	if shape == nil {
		return fmt.Errorf("shape is missing")
	}
	for _, n := range shape {
		if n < 0 {
			return fmt.Errorf("shape %v", shape)
		}
	}
	return s.results(Desc{DType: t, Shape: shape})
}

func inferRandomLike(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	t := s.In[0].DType
	if s.Op == "Bernoulli" {
		if err := wantType(t, floating); err != nil {
			return err
		}
	}
	if n := s.Attrs.Int("dtype", 0); n != 0 {
		var err error
		if t, err = onnxType(n); err != nil {
			return err
		}
	}
	if err := wantType(t, func(t tensor.DType) bool {
		return floating(t) || s.Op == "Bernoulli" && (numeric(t) || t == tensor.Bool)
	}); err != nil {
		return err
	}
	return s.results(Desc{DType: t, Shape: s.In[0].Shape})
}

// seed is the seed attribute, which ONNX gives as a float.
func (s *Spec) seed() uint64 {
	if f, ok := s.Attrs["seed"].(float32); ok {
		return math.Float64bits(float64(f))
	}
	return uint64(s.Attrs.Int("seed", 0))
}

func buildRandom(ge string, one draw) builder {
	return func(s *Spec) (*Kernel, error) {
		n, t, seed := s.Out[0].Shape.Count(), s.Out[0].DType, s.seed()
		from := tensor.Undefined
		if s.Op == "Bernoulli" {
			from = s.In[0].DType
		}
		type buffers struct {
			pcg rand.PCG
			rng *rand.Rand
			v   [blockLen]float64
		}
		pool := newScratch[buffers]()
		k := s.kernel(ge, cost.AIV, 10, nil, func(x *Exec) error {
			b := pool.get()
			defer pool.put(b)
			if b.rng == nil {
				b.rng = rand.New(&b.pcg)
			}
			b.pcg.Seed(seed, 0x9e3779b97f4a7c15)
			for at := 0; at < n; at += blockLen {
				v := b.v[:min(blockLen, n-at)]
				if from != tensor.Undefined {
					if err := tensor.DecodeFloats(v, from, x.In[0], at); err != nil {
						return err
					}
				}
				for i, p := range v {
					v[i] = one(s, b.rng, p)
				}
				storeFloat(t, x.Out[0], at, v, false)
			}
			return nil
		})
		return k, nil
	}
}

func inferMultinomial(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	x := s.In[0]
	if len(x.Shape) != 2 || !floating(x.DType) {
		return fmt.Errorf("input is %v %v, must be batch,classes of a floating type", x.DType, x.Shape)
	}
	t, err := onnxType(s.Attrs.Int("dtype", 6))
	if err != nil {
		return err
	}
	n := s.Attrs.Int("sample_size", 1)
	if !isIndex(t) || n < 0 || n > maxPad {
		return fmt.Errorf("%d samples of %v: %w", n, t, ErrUnsupported)
	}
	return s.results(Desc{DType: t, Shape: tensor.Shape{x.Shape[0], n}})
}

func buildMultinomial(s *Spec) (*Kernel, error) {
	rows, classes, n, seed := s.In[0].Shape[0], s.In[0].Shape[1], s.Out[0].Shape[1], s.seed()
	if classes == 0 {
		return nil, errEmpty(1)
	}
	pool := newScratch[rand.PCG]()
	return s.wide("Multinomial", cost.AICPU, int64(rows)*int64(n)*int64(classes), classes, func(w *wide) error {
		pcg := pool.get()
		defer pool.put(pcg)
		pcg.Seed(seed, 0x9e3779b97f4a7c15)
		rng := rand.New(pcg)
		for r := range rows {
			copy(w.tmp, w.in[0][r*classes:][:classes]) // logarithms of probabilities, up to a constant
			softmaxOrZero(w.tmp)
			for i := range n {
				u, c := rng.Float64(), 0
				for ; c < classes-1 && u >= w.tmp[c]; c++ {
					u -= w.tmp[c]
				}
				w.out[0][r*n+i] = float64(c)
			}
		}
		return nil
	})
}
