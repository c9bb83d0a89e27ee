package compare

import (
	"slices"
	"strings"

	"npu/internal/model/graph"
)

// pair is a layer of each model that stand for each other.
type pair struct{ a, b *layer }

// widest bounds the table of align: beyond it only layers at about the same relative place can be partners.
const widest = 1 << 24

// align lines the layers of two models up: the partners that, in order, look most alike by name, operator, shape and
// values. A fused layer has the partner at the end of the chain that it stands for, where the values meet.
func align(a, b *side) []pair {
	n, m := len(a.layers), len(b.layers)
	if n == 0 || m == 0 {
		return nil
	}
	band := m
	if n*m > widest {
		band = max(16, widest/n/2)
	}
	at := func(i int) (lo, hi int) { c := i * m / n; return max(0, c-band), min(m, c+band+1) }
	best := make([]float64, m+1) // row of the layers before i
	move := make([][]byte, n)    // by i: match, skip a, skip b for lo…hi
	for i := range n {
		lo, hi := at(i)
		move[i] = make([]byte, hi-lo)
		diagonal := best[lo]
		for j := lo; j < hi; j++ {
			up := best[j+1]
			s := diagonal + score(a.layers[i], b.layers[j])
			switch {
			case s > diagonal && s >= up && s >= best[j]:
				best[j+1], move[i][j-lo] = s, 'm'
			case up >= best[j]:
				move[i][j-lo] = 'a'
			default:
				best[j+1], move[i][j-lo] = best[j], 'b'
			}
			diagonal = up
		}
		for j := hi; j < m; j++ {
			best[j+1] = max(best[j+1], best[hi])
		}
	}
	var out []pair
	for i, j := n-1, m-1; i >= 0 && j >= 0; {
		lo, hi := at(i)
		switch {
		case j >= hi:
			j = hi - 1
		case j < lo:
			i--
		case move[i][j-lo] == 'm':
			out = append(out, pair{a.layers[i], b.layers[j]})
			i, j = i-1, j-1
		case move[i][j-lo] == 'a':
			i--
		default:
			j--
		}
	}
	slices.Reverse(out)
	return leftovers(a, b, out)
}

// leftovers pairs what the order kept apart, where the values leave no doubt.
func leftovers(a, b *side, out []pair) []pair {
	used := map[*layer]bool{}
	for _, p := range out {
		used[p.a], used[p.b] = true, true
	}
	for _, x := range b.layers {
		if used[x] {
			continue
		}
		var best *layer
		top := 10.0
		for _, y := range a.layers {
			if !used[y] && family(y.node) == family(x.node) {
				if s := score(y, x); s > top {
					best, top = y, s
				}
			}
		}
		if best != nil {
			used[x], used[best] = true, true
			out = append(out, pair{best, x})
		}
	}
	return out
}

// score is how much two layers look alike; 0: they cannot be partners.
func score(a, b *layer) float64 {
	same := family(a.node) == family(b.node)
	named := sameName(a, b)
	shape := sameElements(a.data.Shape, b.data.Shape)
	if !shape && (!same || len(a.data.Shape) != len(b.data.Shape)) {
		return 0
	}
	alike := near(a.sample, b.sample)
	if !same && !named && alike < 0.98 {
		return 0
	}
	s := alike
	if alike > 0.98 { // the end of the same chain, however its operators are cut and named
		s += 9
	}
	if shape {
		s += 2
	}
	if same {
		s += 2
		if ending(a.node) == ending(b.node) {
			s++
		}
	}
	if named {
		s += 4
	}
	return s
}

// sameName says that the compiled layer's kernel carries the other one's name for this very operator. One kernel may
// carry several names; the operator settles which.
func sameName(a, b *layer) bool {
	if a.name == b.name {
		return true
	}
	for _, x := range [][2]*layer{{a, b}, {b, a}} {
		if n := x[1].node.Name; len(n) > 3 && family(a.node) == family(b.node) && (slices.Contains(x[0].origin, n) || strings.HasSuffix(strings.TrimSuffix(x[0].name, "#"+x[0].node.Op), n)) {
			return true
		}
	}
	return false
}

var families = map[string]string{
	"Conv": "conv", "ConvTranspose": "deconv", "Gemm": "matmul", "MatMul": "matmul", "FusedMatMul": "matmul", "FusedConv": "conv",
	"GlobalAveragePool": "mean", "ReduceMean": "mean", "AveragePool": "average", "MaxPool": "max", "GlobalMaxPool": "max", "ReduceMax": "max",
	"Resize": "resize", "Upsample": "resize",
}

var activations = []string{"Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Selu", "Celu", "Gelu",
	"Softplus", "Softsign", "Mish", "Swish", "ThresholdedRelu", "Erf", "Max", "Min", "FastGelu"}

// family groups the operators that may stand for each other.
func family(n *graph.Node) string {
	if n.Attrs.Str("activation", "") != "" || activating(n) {
		return "activation"
	}
	if f := families[n.Op]; f != "" {
		return f
	}
	return n.Op
}

// activating says that a node is an activation: one tensor goes in, besides constants.
func activating(n *graph.Node) bool {
	if !slices.Contains(activations, n.Op) {
		return false
	}
	tensors := 0
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			tensors++
		}
	}
	return tensors == 1
}

// ending is the last operator of a layer.
func ending(n *graph.Node) string {
	if s := n.Attrs.Str("activation", ""); s != "" {
		return s
	}
	return n.Op
}
