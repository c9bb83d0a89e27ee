package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// lossOps score class probabilities against labels.
func lossOps() map[string]*Op {
	return map[string]*Op{
		"NegativeLogLikelihoodLoss": define(inferLoss, buildLoss("NLLLoss", false)),
		"SoftmaxCrossEntropyLoss":   define(inferLoss, buildLoss("SoftmaxCrossEntropyLoss", true)),
	}
}

func inferLoss(s *Spec) error {
	if err := s.operands(2, 3); err != nil {
		return err
	}
	x, labels, weight := s.In[0], s.In[1], s.Input(2)
	if err := wantType(x.DType, floating); err != nil {
		return err
	}
	if !isIndex(labels.DType) || len(x.Shape) < 2 || len(labels.Shape) != len(x.Shape)-1 {
		return fmt.Errorf("scores %v with labels %v %v, must be N,C,… and N,…", x.Shape, labels.DType, labels.Shape)
	}
	for i, n := range labels.Shape {
		j := i
		if i > 0 {
			j++
		}
		if n >= 0 && x.Shape[j] >= 0 && n != x.Shape[j] {
			return fmt.Errorf("scores %v with labels %v", x.Shape, labels.Shape)
		}
	}
	if !weight.Absent() && (len(weight.Shape) != 1 || weight.Shape[0] >= 0 && x.Shape[1] >= 0 && weight.Shape[0] != x.Shape[1]) {
		return fmt.Errorf("weights of shape %v for %d classes", weight.Shape, x.Shape[1])
	}
	loss := Desc{DType: x.DType, Shape: tensor.Shape{}}
	switch r := s.Attrs.Str("reduction", "mean"); r {
	case "none":
		loss.Shape = labels.Shape
	case "mean", "sum":
	default:
		return fmt.Errorf("reduction %q, must be none, sum or mean", r)
	}
	return s.results(loss, Desc{DType: x.DType, Shape: x.Shape})
}

func buildLoss(ge string, softmax bool) builder {
	return func(s *Spec) (*Kernel, error) {
		x := s.In[0].Shape
		n, c, area := x[0], x[1], x[2:].Count()
		reduction := s.Attrs.Str("reduction", "mean")
		hasIgnore, ignore := s.Attrs.Has("ignore_index"), float64(s.Attrs.Int("ignore_index", 0))
		if !softmax && len(s.Out) > 1 {
			return nil, fmt.Errorf("%d outputs asked for, has 1", len(s.Out))
		}
		return s.wide(ge, cost.AIV, 8*int64(n)*int64(c)*int64(area), c, func(w *wide) error {
			scores, labels, weights := w.in[0], w.in[1], w.in[2]
			total, mass := 0.0, 0.0
			for u := range n * area {
				b, p := u/max(1, area), u%max(1, area)
				row := w.tmp
				for k := range row {
					row[k] = scores[(b*c+k)*area+p]
				}
				if softmax {
					logSoftmax(row)
					if w.out[1] != nil {
						for k, v := range row {
							w.out[1][(b*c+k)*area+p] = v
						}
					}
				}
				label := labels[u]
				if hasIgnore && label == ignore {
					continue // its loss stays 0
				}
				if label < 0 || label >= float64(c) {
					return fmt.Errorf("label %d is %g, outside of %d classes", u, label, c)
				}
				factor := 1.0
				if weights != nil {
					factor = weights[int(label)]
				}
				loss := -row[int(label)] * factor
				total, mass = total+loss, mass+factor
				if reduction == "none" {
					w.out[0][u] = loss
				}
			}
			switch reduction {
			case "sum":
				w.out[0][0] = total
			case "mean":
				w.out[0][0] = total / mass
			}
			return nil
		})
	}
}

// logSoftmax turns scores into logarithms of probabilities, in place.
func logSoftmax(v []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, x := range v {
		top = max(top, x)
	}
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	log := math.Log(sum) + top
	for i := range v {
		v[i] -= log
	}
}
