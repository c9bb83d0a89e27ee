package om

import (
	"errors"
	"fmt"
	"math"
)

// Bounds beyond any chip, refused before anything depends on them.
const (
	maxMemory  = 1 << 42
	maxStreams = 1 << 16
	maxRank    = 32
)

// check holds what the partitions say against each other.
func (m *Model) check() error {
	for i, g := range m.Groups {
		if g.Def == nil {
			continue
		}
		if err := m.checkGroup(g); err != nil {
			if len(m.Groups) > 1 {
				err = fmt.Errorf("model %d: %w", i, err)
			}
			return err
		}
	}
	return nil
}

func (m *Model) checkGroup(g *Group) error {
	for _, b := range []struct {
		name  string
		limit int64
	}{
		{"memory_size", maxMemory}, {"weight_size", maxMemory}, {"zero_copy_memory_size", maxMemory}, {"stream_num", maxStreams}, {"event_num", maxStreams},
		{"label_num", maxStreams},
	} {
		if a := g.Def.Attrs.Get(b.name); a != nil && (a.Int < 0 || a.Int > b.limit) {
			return fmt.Errorf("MODEL_DEF: attribute %s is %d, expected 0 to %d", b.name, a.Int, b.limit)
		}
	}
	if len(g.Def.Graphs) == 0 {
		return fmt.Errorf("MODEL_DEF: no graph")
	}
	graphs := map[string]*GraphDef{}
	for _, x := range []*Group{m.Groups[0], g} { // a statically compiled subgraph may name graphs of the root
		if x.Def != nil {
			for _, gr := range x.Def.Graphs {
				graphs[gr.Name] = gr
			}
		}
	}
	for i, gr := range g.Def.Graphs {
		if err := m.checkGraph(g, gr, graphs, i == 0); err != nil {
			return fmt.Errorf("MODEL_DEF: graph %q: %w", gr.Name, err)
		}
	}
	return g.checkTasks(m)
}

func (m *Model) checkGraph(g *Group, gr *GraphDef, graphs map[string]*GraphDef, root bool) error {
	ops := make(map[string]*OpDef, len(gr.Ops))
	outputs := 0
	for _, o := range gr.Ops {
		if o.Name == "" || o.Type == "" {
			return fmt.Errorf("offset %#x: an operator without name or type", o.offset)
		}
		if ops[o.Name] != nil {
			return fmt.Errorf("offset %#x: two operators have the name %q", o.offset, o.Name)
		}
		ops[o.Name] = o
		if o.Type == "NetOutput" {
			outputs++
		}
	}
	if outputs > 1 || outputs == 0 && root {
		return fmt.Errorf("%d operators of type NetOutput, expected 1", outputs)
	}
	for _, o := range gr.Ops {
		if err := m.checkOp(g, o, ops, graphs); err != nil {
			return fmt.Errorf("operator %q (%s) at offset %#x: %w", o.Name, o.Type, o.offset, err)
		}
	}
	if _, err := order(gr); err != nil {
		return err
	}
	return nil
}

func (m *Model) checkOp(g *Group, o *OpDef, ops map[string]*OpDef, graphs map[string]*GraphDef) error {
	for i, s := range o.Inputs {
		if s == "" {
			continue
		}
		name, index, ok := source(s)
		src := ops[name]
		switch {
		case !ok:
			return fmt.Errorf("input %d is %q, expected name:output", i, s)
		case src == nil:
			return fmt.Errorf("input %d comes from %q, which is not in the graph", i, name)
		case index >= max(len(src.Out), 1):
			return fmt.Errorf("input %d is output %d of %q, which has %d", i, index, name, len(src.Out))
		}
	}
	for _, s := range o.Subgraphs {
		if s != "" && graphs[s] == nil {
			return fmt.Errorf("its subgraph %q is not in the file", s)
		}
	}
	for _, list := range [][]*TensorDesc{o.In, o.Out} {
		for i, d := range list {
			if err := d.check(); err != nil {
				return fmt.Errorf("operand %d: %w", i, err)
			}
		}
	}
	if t := weightOf(o); t != nil {
		if err := g.checkWeight(t); err != nil {
			return err
		}
	}
	return m.checkOffsets(g, o)
}

func (d *TensorDesc) check() error {
	if len(d.Shape) > maxRank {
		return fmt.Errorf("shape of rank %d, at most %d are possible", len(d.Shape), maxRank)
	}
	n := int64(1)
	for _, x := range d.Shape {
		if x < -2 {
			return fmt.Errorf("shape %v has a negative dimension", d.Shape)
		}
		x = max(x, 1)
		if n > math.MaxInt64/16/x {
			return fmt.Errorf("shape %v has more elements than 64 bits count", d.Shape)
		}
		n *= x
	}
	return nil
}

// weightOf is the constant of a Const operator.
func weightOf(o *OpDef) *TensorDef {
	if o.Type != "Const" && o.Type != "Constant" {
		return nil
	}
	if a := o.Attrs.Get("value"); a != nil {
		return a.Tensor
	}
	return nil
}

func (g *Group) checkWeight(t *TensorDef) error {
	if t.Desc == nil {
		return fmt.Errorf("a constant without a descriptor")
	}
	_, err := g.weight(t)
	return err
}

// weight is the stored bytes of a constant: inline, or a piece of the weights.
func (g *Group) weight(t *TensorDef) ([]byte, error) {
	d := t.Desc
	b := t.Data
	if len(b) == 0 && d.WeightSize != 0 {
		if d.DataOffset < 0 || d.WeightSize < 0 || d.DataOffset > int64(len(g.Weights)) || d.WeightSize > int64(len(g.Weights))-d.DataOffset {
			return nil, fmt.Errorf("data_offset %d and weight_size %d are outside of the %d bytes of weights", d.DataOffset, d.WeightSize, len(g.Weights))
		}
		b = g.Weights[d.DataOffset : d.DataOffset+d.WeightSize : d.DataOffset+d.WeightSize]
	}
	if t := dtypeOf(d.DType); t.Bits() > 0 {
		if n, err := shapeOf(d.Shape).Bytes(t); err == nil && n > len(b) {
			return nil, fmt.Errorf("constant %v of %v needs %d bytes, %d are stored", d.Shape, t, n, len(b))
		}
	}
	return b, nil
}

// checkOffsets holds the places in feature memory against its size. Files made by hand for tests of the graph engine
// have dynamic shapes and do not fit: their faults are noted.
func (m *Model) checkOffsets(g *Group, o *OpDef) error {
	size := g.Def.Attrs.Int("memory_size", -1)
	if size < 0 {
		return nil
	}
	for _, l := range []struct {
		what string
		list []int64
	}{{"input_i", o.dataOffsets()}, {"output_i", o.OutputI}, {"workspace", o.Workspace}} {
		for _, off := range l.list {
			if off >= 0 && off <= size {
				continue
			}
			if m.Header.Dynamic == 1 {
				m.noteOnce(fmt.Sprintf("operator %q: %s %d is outside of the %d bytes of memory", o.Name, l.what, off, size))
				continue
			}
			return fmt.Errorf("%s %d is outside of the %d bytes of memory", l.what, off, size)
		}
	}
	return nil
}

// dataOffsets are the entries of input_i that are places in feature memory: it has one for each connected input, and
// those of constants are places in the weights.
func (o *OpDef) dataOffsets() []int64 {
	var out []int64
	k := 0
	for i, s := range o.Inputs {
		if _, n, ok := source(s); !ok || n < 0 {
			continue
		}
		if k < len(o.InputI) && (i >= len(o.ConstInput) || !o.ConstInput[i]) {
			out = append(out, o.InputI[k])
		}
		k++
	}
	return out
}

func (m *Model) noteOnce(s string) {
	if len(m.Problems) < 50 {
		m.Problems = append(m.Problems, s)
	}
}

func (g *Group) checkTasks(m *Model) error {
	ids := map[int64]bool{}
	for _, gr := range g.Def.Graphs {
		for _, o := range gr.Ops {
			ids[o.ID] = true
		}
	}
	streams, events := g.Def.Attrs.Int("stream_num", math.MaxInt32), g.Def.Attrs.Int("event_num", math.MaxInt32)
	labels := g.Def.Attrs.Int("label_num", math.MaxInt32)
	unknown := map[TaskType]bool{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if !t.Type.Known() && !unknown[t.Type] {
			unknown[t.Type] = true
			m.noteOnce(fmt.Sprintf("task type %d is not known", t.Type))
		}
		fault := ""
		switch {
		case int64(t.Stream) >= streams:
			fault = fmt.Sprintf("stream %d of %d", t.Stream, streams)
		case (t.Type == TaskEventRecord || t.Type == TaskEventWait) && int64(t.Event) >= events:
			fault = fmt.Sprintf("event %d of %d", t.Event, events)
		case t.Type == TaskLabelSet && int64(t.Label) >= max(labels, 1):
			fault = fmt.Sprintf("label %d of %d", t.Label, labels)
		case t.OpIndex >= 0 && !ids[t.OpIndex]:
			fault = fmt.Sprintf("operator %d is not in the graph", t.OpIndex)
		case t.Type == TaskKernel && t.ArgsSize != 0 && len(t.Args) > int(t.ArgsSize):
			fault = fmt.Sprintf("%d bytes of arguments, args_size is %d", len(t.Args), t.ArgsSize)
		default:
			continue
		}
		fault = fmt.Sprintf("TASK_INFO: task %d at offset %#x: %s", i, t.offset, fault)
		if m.Header.Dynamic != 1 {
			return errors.New(fault)
		}
		m.noteOnce(fault) // the host executor assigns streams of dynamic-shape models when it runs them
	}
	for _, k := range g.Kernels {
		if !k.ELF && !m.Ours() {
			m.noteOnce(fmt.Sprintf("kernel %q at offset %#x is no device binary (ELF)", k.Name, k.offset))
		}
	}
	return nil
}

// order is the operators of a graph so that each comes after its inputs. Loops of the old form close through
// NextIteration; another cycle is an error.
func order(g *GraphDef) ([]*OpDef, error) {
	index := make(map[string]int, len(g.Ops))
	for i, o := range g.Ops {
		index[o.Name] = i
	}
	waits := make([]int, len(g.Ops))
	next := make([][]int, len(g.Ops))
	for i, o := range g.Ops {
		for _, s := range o.Inputs {
			name, n, ok := source(s)
			k, there := index[name]
			if !ok || !there || n < 0 || g.Ops[k].Type == "NextIteration" || g.Ops[k].Type == "RefNextIteration" {
				continue
			}
			waits[i]++
			next[k] = append(next[k], i)
		}
	}
	out := make([]*OpDef, 0, len(g.Ops))
	done := make([]bool, len(g.Ops))
	var stack []int
	for start := range g.Ops {
		if waits[start] != 0 || done[start] {
			continue
		}
		stack = append(stack, start)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[i] {
				continue
			}
			done[i] = true
			out = append(out, g.Ops[i])
			for _, k := range next[i] {
				// Operators of a well-formed file are in order already: those behind the walk are found by it.
				if waits[k]--; waits[k] == 0 && k <= start {
					stack = append(stack, k)
				}
			}
		}
	}
	if len(out) < len(g.Ops) {
		for i, o := range g.Ops {
			if !done[i] {
				return nil, fmt.Errorf("operator %q at offset %#x is part of a cycle", o.Name, o.offset)
			}
		}
	}
	return out, nil
}
