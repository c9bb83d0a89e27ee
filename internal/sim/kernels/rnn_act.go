package kernels

import (
	"fmt"
	"math"
)

// cellAct is an activation of a recurrent cell, in place.
type cellAct struct {
	f           func(v []float32, alpha, beta float32)
	alpha, beta float32
}

// cellActs reads activations, activation_alpha and activation_beta: for each direction f, g, h (LSTM), f, g (GRU) or
// f (RNN). Alphas and betas are given in order for the activations that take them.
func cellActs(at Attrs, op string, dirs int) ([][]cellAct, error) {
	names := map[string][]string{"LSTM": {"Sigmoid", "Tanh", "Tanh"}, "GRU": {"Sigmoid", "Tanh"}, "RNN": {"Tanh"}}[op]
	n := len(names)
	if given, ok := at["activations"].([]string); ok && len(given) > 0 {
		if len(given) != n*dirs {
			return nil, fmt.Errorf("activations %v: want %d names", given, n*dirs)
		}
		names = given
	}
	alphas, _ := at["activation_alpha"].([]float32)
	betas, _ := at["activation_beta"].([]float32)
	take := func(list *[]float32, def float32) float32 {
		if len(*list) > 0 {
			def, *list = (*list)[0], (*list)[1:]
		}
		return def
	}
	out := make([][]cellAct, dirs)
	for d := range out {
		for i := range n {
			name := names[(d*n+i)%len(names)]
			row, ok := cellActRow(name)
			if !ok {
				return nil, fmt.Errorf("activation %q: %w", name, ErrUnsupported)
			}
			if row.takes > 0 {
				row.alpha = take(&alphas, row.alpha)
			}
			if row.takes > 1 {
				row.beta = take(&betas, row.beta)
			}
			out[d] = append(out[d], row.cellAct)
		}
	}
	return out, nil
}

type cellActDef struct {
	cellAct
	takes int // 1: alpha, 2: alpha and beta
}

// eachElement makes a loop of a scalar function.
func eachElement(f func(x, alpha, beta float32) float32) func(v []float32, alpha, beta float32) {
	return func(v []float32, alpha, beta float32) {
		for i, x := range v {
			v[i] = f(x, alpha, beta)
		}
	}
}

func cellActRow(name string) (cellActDef, bool) {
	row := func(takes int, alpha, beta float32, f func(x, alpha, beta float32) float32) (cellActDef, bool) {
		return cellActDef{cellAct{eachElement(f), alpha, beta}, takes}, true
	}
	switch name {
	case "Sigmoid":
		return cellActDef{cellAct: cellAct{f: func(v []float32, _, _ float32) { sigmoidVec(v, v) }}}, true
	case "Tanh":
		return cellActDef{cellAct: cellAct{f: func(v []float32, _, _ float32) { tanhVec(v, v) }}}, true
	case "Relu":
		return row(0, 0, 0, func(x, _, _ float32) float32 { return max(x, 0) })
	case "LeakyRelu":
		return row(1, 0.01, 0, func(x, a, _ float32) float32 { return max(x, 0) + a*min(x, 0) })
	case "ThresholdedRelu":
		return row(1, 1, 0, func(x, a, _ float32) float32 {
			if x > a {
				return x
			}
			return 0
		})
	case "Elu":
		return row(1, 1, 0, func(x, a, _ float32) float32 {
			if x < 0 {
				return a * float32(math.Expm1(float64(x)))
			}
			return x
		})
	case "Affine":
		return row(2, 1, 0, func(x, a, b float32) float32 { return a*x + b })
	case "ScaledTanh":
		return row(2, 1, 1, func(x, a, b float32) float32 { return a * tanhf(b*x) })
	case "HardSigmoid":
		return row(2, 0.2, 0.5, func(x, a, b float32) float32 { return max(0, min(1, a*x+b)) })
	case "Softsign":
		return row(0, 0, 0, func(x, _, _ float32) float32 { return x / (1 + max(x, -x)) })
	case "Softplus":
		return row(0, 0, 0, func(x, _, _ float32) float32 {
			return max(x, 0) + float32(math.Log1p(math.Exp(-math.Abs(float64(x)))))
		})
	}
	return cellActDef{}, false
}
