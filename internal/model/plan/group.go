package plan

import (
	"fmt"
	"sync"

	"npu/internal/model/graph"
	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
)

// scratchAlign is the alignment of intermediate tensors in the workspace of a group.
const scratchAlign = 64

// place is where an operand of a group's part lies: operand i of the group, or a piece of its workspace.
type place struct {
	kind placeKind
	from int // operand, or the offset in the workspace
	n    int // bytes
}

type placeKind uint8

const (
	nowhere placeKind = iota
	groupIn
	groupOut
	workspace
)

// part is one operator of a group. Without a kernel it copies its first operand.
type part struct {
	kernel  *kernels.Kernel
	in, out []place
	scratch place
}

type grouper struct {
	n      *graph.Node
	inputs map[*graph.Value]int
	uses   map[*graph.Value]int
	places map[*graph.Value]place
	parts  []part
	k      *kernels.Kernel
	top    int // of the workspace
	extra  int // largest workspace of a part
}

// groupKernel compiles a group to one kernel: its parts run one after the other, intermediate tensors lie in its
// workspace, and it is charged as one task that reads its operands and writes its results once.
func groupKernel(n *graph.Node) (*kernels.Kernel, error) {
	g := &grouper{n: n, inputs: map[*graph.Value]int{}, uses: map[*graph.Value]int{}, places: map[*graph.Value]place{}, k: &kernels.Kernel{Type: n.Attrs.Str("type", n.Op)}}
	for i, v := range n.In {
		if v == nil {
			continue
		}
		b, err := v.Shape.Bytes(v.DType)
		if err != nil {
			return nil, err
		}
		g.inputs[v] = i
		g.places[v] = place{kind: groupIn, from: i, n: b}
		g.k.Work.ReadBytes += int64(b)
		if v.Const != nil {
			g.k.Work.WeightBytes += int64(b)
		}
	}
	for _, v := range n.Out {
		b, err := v.Shape.Bytes(v.DType)
		if err != nil {
			return nil, err
		}
		g.k.Work.WriteBytes += int64(b)
		g.k.Work.VectorType = v.DType
	}
	body := n.Bodies[graph.GroupBody]
	if body == nil {
		g.opaque()
		return g.k, nil
	}
	if err := g.body(body); err != nil {
		return nil, err
	}
	g.finish(body)
	return g.k, nil
}

// opaque is a kernel of unknown meaning: it takes the time that moving its operands and touching each element takes.
func (g *grouper) opaque() {
	for _, v := range g.n.Out {
		g.k.Work.VectorOps += int64(v.Shape.Count())
	}
	g.settle(cost.AIV)
	name := g.k.Type
	g.k.Run = func(*kernels.Exec) error {
		return fmt.Errorf("%s has no known meaning: it can be timed, not computed", name)
	}
}

func (g *grouper) settle(core cost.Core) {
	if g.k.Core = core; g.n.Attrs.Str("core", "") == "AICPU" {
		g.k.Core = cost.AICPU
		g.k.Work.ScalarOps, g.k.Work.VectorOps = g.k.Work.ScalarOps+g.k.Work.VectorOps, 0
	}
	if b := g.n.Attrs.Int("blocks", 0); b > 0 {
		g.k.Blocks = b
	}
	g.k.Blocks = max(g.k.Blocks, 1)
}

func (g *grouper) body(body *graph.Graph) error {
	for i, v := range body.Outputs {
		if _, there := g.places[v]; !there && v.Const == nil {
			b, err := v.Shape.Bytes(v.DType)
			if err != nil {
				return err
			}
			g.places[v] = place{kind: groupOut, from: i, n: b}
		}
	}
	for _, m := range body.Nodes {
		for _, v := range m.In {
			g.uses[v]++
		}
	}
	core := cost.AIV
	for _, m := range body.Nodes {
		cube, err := g.part(body, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Op, err)
		}
		if cube {
			core = cost.AIC
		}
	}
	for i, v := range body.Outputs {
		if p := g.places[v]; p.kind != groupOut || p.from != i {
			g.parts = append(g.parts, part{in: []place{p}, out: []place{{kind: groupOut, from: i, n: p.n}}})
		}
	}
	if len(g.parts) == 1 && g.parts[0].kernel == nil {
		g.k.Blocks = int(max(1, g.k.Work.WriteBytes/(16<<10)))
	}
	g.settle(core)
	return nil
}

func (g *grouper) part(body *graph.Graph, m *graph.Node) (cube bool, err error) {
	if isView(m) && m.In[0].DType == m.Out[0].DType {
		src, ok := g.places[m.In[0]]
		if !ok {
			return false, fmt.Errorf("%s is no operand of the group", m.In[0].Name)
		}
		if dst := g.places[m.Out[0]]; dst.kind == groupOut {
			g.parts = append(g.parts, part{in: []place{src}, out: []place{dst}})
			return false, nil
		}
		g.places[m.Out[0]] = src
		return false, nil
	}
	spec := graph.Spec(body, m)
	k, err := kernels.Compile(spec)
	if err != nil {
		return false, err
	}
	for _, w := range k.Weights {
		if v := m.In[w.Input]; g.uses[v] > 1 { // others read it as it is
			spec.In[w.Input].Const = nil
		}
	}
	if len(k.Weights) > 0 {
		if k, err = kernels.Compile(spec); err != nil {
			return false, err
		}
	}
	p := part{kernel: k}
	packed := map[int]int{}
	for _, w := range k.Weights {
		i, ok := g.inputs[m.In[w.Input]]
		if !ok {
			return false, fmt.Errorf("weights %s are no operand of the group", m.In[w.Input].Name)
		}
		w.Input, packed[w.Input] = i, w.Bytes
		g.k.Weights = append(g.k.Weights, w)
	}
	for i, v := range m.In {
		q, err := g.operand(v)
		if err != nil {
			return false, err
		}
		if b, ok := packed[i]; ok {
			q.n = b
		}
		p.in = append(p.in, q)
	}
	for _, v := range m.Out {
		q, err := g.result(v)
		if err != nil {
			return false, err
		}
		p.out = append(p.out, q)
	}
	if k.Workspace > 0 {
		p.scratch = place{kind: workspace, n: k.Workspace}
		g.extra = max(g.extra, k.Workspace)
	}
	g.parts = append(g.parts, p)
	return g.charge(k, m, len(body.Nodes)), nil
}

// charge adds what a part computes. Conversions inside a group keep the arithmetic exact and cost the chip nothing.
func (g *grouper) charge(k *kernels.Kernel, m *graph.Node, parts int) (cube bool) {
	w := &g.k.Work
	if m.Op != "Cast" || parts == 1 {
		w.VectorOps += k.Work.VectorOps
		w.ScalarOps += k.Work.ScalarOps
	}
	g.k.Blocks = max(g.k.Blocks, k.Blocks)
	if k.Work.M == 0 {
		return false
	}
	if k.Work.M*k.Work.N*k.Work.K*k.Work.Batch > w.M*w.N*w.K*w.Batch {
		w.M, w.N, w.K, w.Batch, w.MacType = k.Work.M, k.Work.N, k.Work.K, k.Work.Batch, k.Work.MacType
		if g.n.In[0] != nil {
			w.MacType = g.n.In[0].DType
		}
	}
	return true
}

func (g *grouper) operand(v *graph.Value) (place, error) {
	if v == nil {
		return place{}, nil
	}
	p, ok := g.places[v]
	if !ok {
		return p, fmt.Errorf("%s is no operand of the group", v.Name)
	}
	return p, nil
}

func (g *grouper) result(v *graph.Value) (place, error) {
	if v == nil {
		return place{}, nil
	}
	if p, ok := g.places[v]; ok {
		return p, nil
	}
	b, err := v.Shape.Bytes(v.DType)
	if err != nil {
		return place{}, err
	}
	p := place{kind: workspace, from: g.top, n: b}
	g.top += (b + scratchAlign - 1) / scratchAlign * scratchAlign
	g.places[v] = p
	return p, nil
}

// finish makes the kernel's run. Each run takes the operand lists of its parts from a pool.
func (g *grouper) finish(body *graph.Graph) {
	top := g.top
	g.k.Workspace = top + g.extra
	for i := range g.parts {
		if g.parts[i].scratch.kind == workspace {
			g.parts[i].scratch.from = top
		}
	}
	parts := g.parts
	if len(body.Nodes) == 1 && len(parts) == 1 && parts[0].kernel != nil {
		g.k.Work.VectorType = parts[0].kernel.Work.VectorType
	}
	pool := sync.Pool{New: func() any {
		x := make([]kernels.Exec, len(parts))
		for i := range parts {
			x[i] = kernels.Exec{In: make([][]byte, len(parts[i].in)), Out: make([][]byte, len(parts[i].out))}
		}
		return &x
	}}
	g.k.Run = func(x *kernels.Exec) error {
		list := pool.Get().(*[]kernels.Exec)
		defer pool.Put(list)
		for i := range parts {
			if err := parts[i].run(x, &(*list)[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p *part) run(x, own *kernels.Exec) error {
	for i, q := range p.in {
		own.In[i] = q.memory(x)
	}
	for i, q := range p.out {
		own.Out[i] = q.memory(x)
	}
	if p.kernel == nil {
		copy(own.Out[0], own.In[0])
		return nil
	}
	own.Workspace, own.Workers = p.scratch.memory(x), x.Workers
	return p.kernel.Run(own)
}

func (p place) memory(x *kernels.Exec) []byte {
	switch p.kind {
	case groupIn:
		return x.In[p.from][:p.n]
	case groupOut:
		return x.Out[p.from][:p.n]
	case workspace:
		return x.Workspace[p.from : p.from+p.n]
	}
	return nil
}
