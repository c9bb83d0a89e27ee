package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// learnedOps are operators of the domain ai.onnx.ml that work on numbers.
func learnedOps() map[string]*Op {
	return map[string]*Op{
		"ai.onnx.ml.ArrayFeatureExtractor": define(inferFeatures, buildFeatures),
		"ai.onnx.ml.Binarizer":             define(inferBinarizer, buildBinarizer),
		"ai.onnx.ml.TreeEnsemble":          define(inferTrees, buildTrees),
	}
}

func inferFeatures(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	x, y := s.In[0], s.In[1]
	if len(x.Shape) == 0 || y.DType != tensor.Int64 {
		return fmt.Errorf("data of shape %v with indices of %v", x.Shape, y.DType)
	}
	n, err := product(y.Shape)
	if err != nil {
		return err
	}
	out := append(x.Shape[:len(x.Shape)-1].Clone(), n)
	if len(x.Shape) == 1 {
		out = tensor.Shape{1, n}
	}
	return s.results(Desc{DType: x.DType, Shape: out})
}

func buildFeatures(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	x, n := s.In[0].Shape, s.In[1].Shape.Count()
	dim, rows := x[len(x)-1], x[:len(x)-1].Count()
	k := s.kernel("ArrayFeatureExtractor", cost.AIV, 1, []int{0, 1}, func(x *Exec) error {
		if err := checkIndices(tensor.Int64, x.In[1], n, dim); err != nil {
			return err
		}
		for u := range rows * n {
			from := u/n*dim + place(readIndex(tensor.Int64, x.In[1], u%n), dim)
			copy(x.Out[0][u*size:][:size], x.In[0][from*size:])
		}
		return nil
	})
	return gathering(k, s, n), nil
}

func inferBinarizer(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func buildBinarizer(s *Spec) (*Kernel, error) {
	limit := float64(s.Attrs.Float("threshold", 0))
	return s.wide("Binarizer", cost.AIV, int64(s.Out[0].Shape.Count()), 0, func(w *wide) error {
		for i, v := range w.in[0] {
			if v > limit {
				w.out[0][i] = 1
			}
		}
		return nil
	})
}

// trees is a TreeEnsemble: inner nodes that compare one feature, leaves that add a weight to one target.
type trees struct {
	roots, feature, onTrue, onFalse, target []int
	trueLeaf, falseLeaf                     []int
	mode                                    []byte
	split, weight                           []float64
	members                                 [][]float64 // by node, of mode treeMember
	targets, aggregate, post                int
}

// Modes of a tree's node.
const (
	treeLEQ = iota
	treeLT
	treeGTE
	treeGT
	treeEQ
	treeNEQ
	treeMember
)

func readTrees(s *Spec) (*trees, error) {
	if err := s.operands(1, 1); err != nil {
		return nil, err
	}
	a := s.Attrs
	t := &trees{roots: a.Ints("tree_roots"), feature: a.Ints("nodes_featureids"), onTrue: a.Ints("nodes_truenodeids"), onFalse: a.Ints("nodes_falsenodeids"),
		trueLeaf: a.Ints("nodes_trueleafs"), falseLeaf: a.Ints("nodes_falseleafs"), target: a.Ints("leaf_targetids"),
		targets: a.Int("n_targets", 0), aggregate: a.Int("aggregate_function", 1), post: a.Int("post_transform", 0)}
	var member []float64
	for name, p := range map[string]*[]float64{"nodes_splits": &t.split, "leaf_weights": &t.weight, "membership_values": &member} {
		v := a.Tensor(name)
		if v == nil {
			continue
		}
		var err error
		if *p, err = tensor.Floats(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	modes := a.Tensor("nodes_modes")
	n, leaves := len(t.feature), len(t.weight)
	if modes == nil || len(modes.Data) != n || len(t.onTrue) != n || len(t.onFalse) != n || len(t.trueLeaf) != n || len(t.falseLeaf) != n ||
		len(t.split) != n || len(t.target) != leaves || len(t.roots) == 0 || t.targets < 1 || t.targets > maxPad {
		return nil, fmt.Errorf("%d nodes and %d leaves, whose attributes have other lengths", n, leaves)
	}
	if a.Has("nodes_hitrates") || a.Has("nodes_missing_value_tracks_true") || t.post != 0 || t.aggregate < 0 || t.aggregate > 3 {
		return nil, fmt.Errorf("post_transform %d, aggregate_function %d, or missing values: %w", t.post, t.aggregate, ErrUnsupported)
	}
	t.mode, t.members = modes.Data, make([][]float64, n)
	for i, m := range t.mode {
		if m > treeMember {
			return nil, fmt.Errorf("node %d has mode %d", i, m)
		}
		for _, to := range []struct{ at, leaf int }{{t.onTrue[i], t.trueLeaf[i]}, {t.onFalse[i], t.falseLeaf[i]}} {
			if to.at < 0 || to.leaf != 0 && to.at >= leaves || to.leaf == 0 && (to.at >= n || to.at <= i) {
				return nil, fmt.Errorf("node %d goes to %d, which is no later node or leaf", i, to.at)
			}
		}
		if m == treeMember { // the sets follow each other, each ended by NaN
			end := 0
			for end < len(member) && member[end] == member[end] {
				end++
			}
			t.members[i] = member[:end]
			member = member[min(end+1, len(member)):]
		}
	}
	for _, r := range t.roots {
		if r < 0 || r >= n {
			return nil, fmt.Errorf("tree root %d of %d nodes", r, n)
		}
	}
	for i, at := range t.target {
		if at < 0 || at >= t.targets {
			return nil, fmt.Errorf("leaf %d has target %d of %d", i, at, t.targets)
		}
	}
	return t, nil
}

func inferTrees(s *Spec) error {
	t, err := readTrees(s)
	if err != nil {
		return err
	}
	x := s.In[0]
	if err := wantType(x.DType, floating); err != nil {
		return err
	}
	if len(x.Shape) != 2 {
		return fmt.Errorf("input of shape %v, must be of rank 2", x.Shape)
	}
	return s.results(Desc{DType: x.DType, Shape: tensor.Shape{x.Shape[0], t.targets}})
}

func buildTrees(s *Spec) (*Kernel, error) {
	t, err := readTrees(s)
	if err != nil {
		return nil, err
	}
	rows, features := s.In[0].Shape[0], s.In[0].Shape[1]
	for i, f := range t.feature {
		if f < 0 || f >= features {
			return nil, fmt.Errorf("node %d asks for feature %d of %d", i, f, features)
		}
	}
	return s.wide("TreeEnsemble", cost.AICPU, int64(rows)*int64(len(t.roots))*16, 0, func(w *wide) error {
		for r := range rows {
			x, y := w.in[0][r*features:][:features], w.out[0][r*t.targets:][:t.targets]
			switch t.aggregate {
			case 2:
				fill(y, math.Inf(1))
			case 3:
				fill(y, math.Inf(-1))
			}
			for _, root := range t.roots {
				leaf := t.walk(root, x)
				p, v := &y[t.target[leaf]], t.weight[leaf]
				switch t.aggregate {
				case 2:
					*p = min(*p, v)
				case 3:
					*p = max(*p, v)
				case 0:
					*p += v / float64(len(t.roots))
				default:
					*p += v
				}
			}
		}
		return nil
	})
}

// walk follows a tree to its leaf. Children come after their parents, so that it ends.
func (t *trees) walk(at int, x []float64) (leaf int) {
	for {
		v, ok := x[t.feature[at]], false
		switch t.mode[at] {
		case treeLEQ:
			ok = v <= t.split[at]
		case treeLT:
			ok = v < t.split[at]
		case treeGTE:
			ok = v >= t.split[at]
		case treeGT:
			ok = v > t.split[at]
		case treeEQ:
			ok = v == t.split[at]
		case treeNEQ:
			ok = v != t.split[at]
		default:
			for _, m := range t.members[at] {
				ok = ok || v == m
			}
		}
		to, isLeaf := t.onFalse[at], t.falseLeaf[at] != 0
		if ok {
			to, isLeaf = t.onTrue[at], t.trueLeaf[at] != 0
		}
		if isLeaf {
			return to
		}
		at = to
	}
}
