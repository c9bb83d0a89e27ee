package graph

import (
	"fmt"
	"slices"

	"npu/internal/problem"
)

// Options steer Optimize.
type Options struct {
	Disable []string // names of passes to leave out, for debugging
	// CopyConstants keeps the bytes of constants as they are: a pass that changes weights copies them. Without it a
	// weight with a single use is changed in place, so that folding needs no second copy of the weights.
	CopyConstants bool
}

// PassStat tells what one pass did over all rounds.
type PassStat struct {
	Name    string
	Changes int // nodes replaced, fused or removed
	Nodes   int // left after its last run
}

// maxRounds bounds the fixed point; every pass shrinks or normalises the graph, real models need three or four.
const maxRounds = 20

// pass is one rewrite: node looks at a node whose inputs are final and says whether it changed something.
type pass struct {
	name string
	node func(r *rewriter, n *Node) bool
	// rounds says that results may differ in their last bits: it multiplies weights, or sums in another order.
	rounds bool
}

// passes in the order in which a round runs them: first what only removes, then what changes weights, then patterns
// that become one operator, last the fused operators that take up what stands after them.
var passes = []pass{
	{"identity", dropIdentity, false},
	{"sum-of-two", sumOfTwo, false},
	{"views", mergeViews, false},
	{"transposes", mergeTransposes, false},
	{"common", mergeCommon, false},
	{"conv-pad", foldPad, false},
	{"batch-norm", foldBatchNorm, true},
	{"conv-scale", foldScale, true},
	{"conv-input", foldInput, true},
	{"layer-norm", fuseLayerNorm, true},
	{"hard-swish", fuseHardSwish, true},
	{"silu", fuseSilu, false},
	{"gelu", fuseGelu, true},
	{"arithmetic", simplify, true},
	{"winograd", allowWinograd, true},
	{"fuse-conv", fuseConv, false},
	{"fuse-matmul", fuseMatMul, true},
}

// PassNames lists the passes in their order.
func PassNames() []string {
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.name
	}
	return names
}

// Optimize rewrites an inferred graph until no pass changes anything. Results stay the same up to rounding, and to the
// last bit where the model compares floating numbers for equality (see equates). A name in Disable that no pass has is
// problem.Usage.
func Optimize(g *Graph, opt Options) ([]PassStat, error) {
	for _, name := range opt.Disable {
		if !slices.Contains(PassNames(), name) {
			return nil, problem.Usagef("no pass %q; there are %v", name, PassNames())
		}
	}
	stats := make([]PassStat, len(passes))
	names := outputNames(g)
	exact := equates(g)
	for range maxRounds {
		changed := false
		for i, p := range passes {
			stats[i].Name = p.name
			if slices.Contains(opt.Disable, p.name) || exact && p.rounds {
				continue
			}
			r := newRewriter(g, opt)
			r.walk(g, p.node)
			if r.changes > 0 {
				RemoveDead(g)
				changed = true
			}
			stats[i].Changes += r.changes
			stats[i].Nodes = count(g)
		}
		if !changed {
			break
		}
	}
	finish(g, names)
	if err := Check(g); err != nil {
		return nil, fmt.Errorf("optimize: %w", err)
	}
	return stats, nil
}

// equates says that a model asks whether floating numbers are equal, like a detector that keeps a score where it is the
// greatest of its neighbourhood. One rounding more or less turns such an answer round, so that results would no longer
// be those of other runtimes, which the kernels match bit for bit.
func equates(g *Graph) bool {
	for _, n := range g.Nodes {
		if n.Op == "Equal" && n.In[0].DType.Float() {
			return true
		}
		for _, b := range n.bodies() {
			if equates(b) {
				return true
			}
		}
	}
	return false
}

func count(g *Graph) int {
	n := 0
	for _, c := range Ops(g) {
		n += c
	}
	return n
}
