package om

import (
	"fmt"
	"strings"
)

// MemoryUse is the memory plan of a file against what it needs at least.
type MemoryUse struct {
	Features   int64  `json:"features_bytes"`             // of the plan
	LowerBound int64  `json:"features_lower_bound_bytes"` // tensors alive at the busiest operator
	Total      int64  `json:"without_reuse_bytes"`
	Tensors    int    `json:"tensors"`
	Busiest    string `json:"busiest"`
}

// MemoryUse computes lifetimes from the graph: a tensor lives from its operator to its last reader.
func (m *Model) MemoryUse() *MemoryUse {
	u := &MemoryUse{}
	if n, ok := m.Int("memory_size"); ok {
		u.Features = n
	}
	g := m.rootGraph()
	if g == nil {
		return u
	}
	type key struct {
		op    string
		index int
	}
	last := map[key]int{}
	for i, o := range g.Ops {
		for _, s := range o.Inputs {
			if name, n, ok := source(s); ok && n >= 0 {
				last[key{name, n}] = i
			}
		}
	}
	grow := make([]int64, len(g.Ops)+1)
	for i, o := range g.Ops {
		if o.Type == "Const" || o.Type == "NetOutput" {
			continue
		}
		for k, d := range o.Out {
			if d.Size <= 0 || d.Size > maxMemory {
				continue
			}
			end := max(i, last[key{o.Name, k}])
			grow[i] += d.Size
			grow[end+1] -= d.Size
			u.Total += d.Size
			u.Tensors++
		}
	}
	live := int64(0)
	for i, o := range g.Ops {
		if live += grow[i]; live > u.LowerBound {
			u.LowerBound, u.Busiest = live, o.Name
		}
	}
	return u
}

// String is the operand in one line: float16[1x96x8x8] NC1HWC0.
func (d *TensorDesc) String() string {
	if d.unused() {
		return "-"
	}
	s := fmt.Sprintf("%s[%v] %s", typeName(d.DType), shapeOf(d.Shape), strings.TrimPrefix(d.Layout, "FORMAT_"))
	if o, ok := d.originShape(); ok && !shapeOf(o).Equal(shapeOf(d.Shape)) {
		s += fmt.Sprintf(" (%v %s)", shapeOf(o), d.originFormat())
	}
	return s
}

// KernelName is the full name of the operator's kernel, which tells what was fused into it.
func (o *OpDef) KernelName() string { return o.kernelName() }
