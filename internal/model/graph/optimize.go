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
}

// passes in the order in which a round runs them: first what only removes, then what changes weights, then patterns
// that become one operator, last the fused operators that take up what stands after them.
var passes = []pass{
	{"identity", dropIdentity},
	{"views", mergeViews},
	{"transposes", mergeTransposes},
	{"common", mergeCommon},
	{"conv-pad", foldPad},
	{"batch-norm", foldBatchNorm},
	{"conv-scale", foldScale},
	{"conv-input", foldInput},
	{"layer-norm", fuseLayerNorm},
	{"hard-swish", fuseHardSwish},
	{"silu", fuseSilu},
	{"gelu", fuseGelu},
	{"arithmetic", simplify},
	{"fuse-conv", fuseConv},
	{"fuse-matmul", fuseMatMul},
}

// PassNames lists the passes in their order.
func PassNames() []string {
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.name
	}
	return names
}

// Optimize rewrites an inferred graph until no pass changes anything. Results stay the same up to rounding. A name in
// Disable that no pass has is problem.Usage.
func Optimize(g *Graph, opt Options) ([]PassStat, error) {
	for _, name := range opt.Disable {
		if !slices.Contains(PassNames(), name) {
			return nil, problem.Usagef("no pass %q; there are %v", name, PassNames())
		}
	}
	stats := make([]PassStat, len(passes))
	names := outputNames(g)
	for range maxRounds {
		changed := false
		for i, p := range passes {
			stats[i].Name = p.name
			if slices.Contains(opt.Disable, p.name) {
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

func count(g *Graph) int {
	n := 0
	for _, c := range Ops(g) {
		n += c
	}
	return n
}
