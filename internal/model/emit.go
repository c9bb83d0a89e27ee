package model

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/model/om"
	"npu/internal/model/onnx"
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// CompileOptions is how an ONNX model becomes an offline one.
type CompileOptions struct {
	Chip    *soc.Chip
	Shapes  map[string]tensor.Shape // of inputs; -1 where a gear decides
	Batches []int                   // --dynamic-batch
	Dims    [][]int                 // --dynamic-dims: numbers for the -1 of all inputs in their order
	Half    bool                    // compute floats in float16
	Command string                  // arguments, for the file
}

// Compiled is what compiling gave, for the report.
type Compiled struct {
	File    []byte
	Notes   []string
	Memory  plan.Memory // of the largest gear
	Tasks   int
	Nodes   int
	Inputs  []plan.Port
	Outputs []plan.Port
	Gears   [][]int
}

// Compile compiles an ONNX file. The graph is the one that Open makes, so that running the result gives the same bits.
func Compile(path string, o CompileOptions) (*Compiled, error) {
	gears, kind, err := o.gears()
	if err != nil {
		return nil, err
	}
	p := &om.Program{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Soc: o.Chip.Name, Command: o.Command, Flag: kind, Dims: map[string][]int64{}}
	out := &Compiled{Gears: gears}
	if kind == 0 {
		gears = [][]int{nil}
	}
	for _, value := range gears {
		src, err := onnx.Read(path) // each gear folds its own constants in place
		if err != nil {
			return nil, err
		}
		g, err := src.Graph()
		if err != nil {
			return nil, at(path, err)
		}
		shapes, err := o.shapesAt(g, value, p.Dims)
		if err != nil {
			return nil, err
		}
		m, err := o.lower(path, g, shapes)
		if kind == 0 && len(o.Shapes) == 0 && problem.ClassOf(err) == problem.Usage && err != nil {
			return o.open(path, p, out)
		}
		if err != nil {
			return nil, err
		}
		if value == nil || len(p.Gears) == 0 {
			out.Notes = append(out.Notes, m.Notes...)
		}
		p.Gears = append(p.Gears, gearOf(m, value))
		out.Memory, out.Tasks, out.Inputs, out.Outputs = m.Plan.Memory, out.Tasks+plan.Count(m.Plan.Steps), m.Plan.Inputs, m.Plan.Outputs
		out.Nodes += len(m.Graph.Nodes)
	}
	if out.File, err = om.Write(p); err != nil {
		return nil, problem.Mark(problem.Failed, err)
	}
	return out, nil
}

// open writes a model whose input shapes are not known yet: the graph as it was read, with the shapes open. It is shaped,
// optimised and planned when it is run.
func (o *CompileOptions) open(path string, p *om.Program, out *Compiled) (*Compiled, error) {
	src, err := onnx.Read(path)
	if err != nil {
		return nil, err
	}
	g, err := src.Graph()
	if err != nil {
		return nil, at(path, err)
	}
	if o.Half {
		return nil, problem.Usagef("%s has open shapes: --precision fp16 needs them, give --shape", path)
	}
	p.Open = true
	p.Gears = []om.Gear{{Graph: g}}
	for _, v := range g.Inputs {
		out.Inputs = append(out.Inputs, plan.Port{Name: v.Name, DType: v.DType, Shape: v.Shape})
	}
	for _, v := range g.Outputs {
		out.Outputs = append(out.Outputs, plan.Port{Name: v.Name, DType: v.DType, Shape: v.Shape})
	}
	out.Nodes = len(g.Nodes)
	out.Notes = append(out.Notes, "input shapes are open: tasks and memory are planned when it is run; --shape or --dynamic-batch fixes them")
	if out.File, err = om.Write(p); err != nil {
		return nil, problem.Mark(problem.Failed, err)
	}
	return out, nil
}

// lower optimises and plans one graph.
func (o *CompileOptions) lower(path string, g *graph.Graph, shapes map[string]tensor.Shape) (*Model, error) {
	m := &Model{Name: g.Name, Path: path, Graph: g}
	notes, err := graph.Bind(g, shapes)
	if err != nil {
		return nil, at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if notes, err = graph.Infer(g); err != nil {
		return nil, at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if o.Half {
		if err := graph.Half(g); err != nil {
			return nil, at(path, err)
		}
	}
	if _, err = graph.Optimize(g, graph.Options{}); err != nil {
		return nil, at(path, err)
	}
	if m.Plan, err = plan.Compile(g); err != nil {
		return nil, at(path, problem.Mark(problem.Failed, err))
	}
	return m, nil
}

// gears are the sizes to compile for, ascending, and their kind in the file.
func (o *CompileOptions) gears() ([][]int, int64, error) {
	switch {
	case len(o.Batches) > 0 && len(o.Dims) > 0:
		return nil, 0, problem.Usagef("--dynamic-batch and --dynamic-dims exclude each other")
	case len(o.Dims) > 0:
		return o.Dims, 3, nil
	case len(o.Batches) == 0:
		return nil, 0, nil
	}
	list := slices.Clone(o.Batches)
	slices.Sort(list)
	var out [][]int
	for i, n := range list {
		if n < 1 {
			return nil, 0, problem.Usagef("--dynamic-batch %d: a batch is at least 1", n)
		}
		if i == 0 || n != list[i-1] {
			out = append(out, []int{n})
		}
	}
	return out, 1, nil
}

// shapesAt are the shapes of the inputs for one gear; dims collects them with -1.
func (o *CompileOptions) shapesAt(g *graph.Graph, value []int, dims map[string][]int64) (map[string]tensor.Shape, error) {
	out := map[string]tensor.Shape{}
	used := 0
	for _, v := range g.Inputs {
		s, ok := o.Shapes[v.Name]
		if !ok && value == nil {
			continue
		}
		if !ok {
			if !v.Known {
				continue
			}
			s = v.Shape
		}
		s = s.Clone()
		if len(o.Batches) > 0 && !ok && len(s) > 0 {
			s[0] = -1 // the first dimension is the batch, declared so or not
		}
		mark := make([]int64, len(s))
		free := false
		for i, n := range s {
			mark[i] = int64(n)
			if n >= 0 {
				continue
			}
			free = true
			if len(o.Batches) > 0 {
				if i > 0 {
					return nil, problem.Usagef("input %q: --dynamic-batch decides the first dimension only; give the others with --shape", v.Name)
				}
				s[i] = value[0]
				continue
			}
			if used >= len(value) {
				return nil, problem.Usagef("--dynamic-dims: a gear of %d numbers for more dynamic dimensions; first without one: dimension %d of %q", len(value), i, v.Name)
			}
			s[i] = value[used]
			used++
		}
		if free {
			dims[v.Name] = mark
		}
		out[v.Name] = s
	}
	for name, s := range o.Shapes {
		if _, ok := out[name]; !ok {
			out[name] = s // Bind says that there is no such input
		}
	}
	if len(o.Dims) > 0 && used != len(value) {
		return nil, problem.Usagef("--dynamic-dims: a gear of %d numbers, the inputs have %d dynamic dimensions: mark them with --shape NAME=-1x3x-1x-1", len(value), used)
	}
	return out, nil
}

// gearOf describes a planned model for the file: inputs and outputs lie behind the features.
func gearOf(m *Model, value []int) om.Gear {
	p := m.Plan
	g := om.Gear{Graph: m.Graph, Nodes: map[string]om.Placed{}, Features: round(p.Memory.FeatureBytes)}
	for _, n := range value {
		g.Value = append(g.Value, int64(n))
	}
	e := &emitter{m: m, gear: &g}
	at := g.Features
	for _, l := range []struct {
		ports []plan.Port
		to    *[]int64
	}{{p.Inputs, &g.Inputs}, {p.Outputs, &g.Outputs}} {
		for _, x := range l.ports {
			*l.to = append(*l.to, at)
			at += round(x.Bytes)
		}
	}
	g.Ports = at - g.Features
	e.steps(p.Steps)
	return g
}

func round(n int64) int64 { return (n + plan.Align - 1) / plan.Align * plan.Align }

type emitter struct {
	m      *Model
	gear   *om.Gear
	labels uint32
}

// place is an operand's offset; places in the weights are -1-offset.
func (e *emitter) place(o plan.Operand) int64 {
	b := &e.m.Plan.Buffers[o.Buffer]
	switch b.Region {
	case plan.Weights:
		return -1 - b.Offset
	case plan.Input:
		return e.gear.Inputs[b.Index]
	case plan.Output:
		return e.gear.Outputs[b.Index]
	}
	return b.Offset
}

// steps turns the plan's steps into tasks. Branches become labels: else, then, and where both end.
func (e *emitter) steps(steps []plan.Step) {
	for i := range steps {
		s := &steps[i]
		switch s.Kind {
		case plan.Launch:
			e.launch(s)
		case plan.Communicate:
			e.communicate(s)
		case plan.Copy:
			e.gear.Tasks = append(e.gear.Tasks, om.PlannedTask{Type: om.TaskMemcpy, Node: s.Name, Args: []int64{e.place(s.Out[0]), e.place(s.In[0])}, Bytes: uint64(s.Out[0].Bytes)})
		case plan.Branch:
			els, end := e.labels, e.labels+2
			e.labels += 3
			mark := func(t om.TaskType, label uint32) {
				e.gear.Tasks = append(e.gear.Tasks, om.PlannedTask{Type: t, Node: s.Name, Label: label})
			}
			mark(om.TaskLabelSwitch, els)
			mark(om.TaskLabelSet, els)
			e.steps(s.Else)
			mark(om.TaskLabelGoto, end)
			mark(om.TaskLabelSet, els+1)
			e.steps(s.Then)
			mark(om.TaskLabelSet, end)
		}
	}
}

func (e *emitter) communicate(s *plan.Step) {
	x := om.Placed{Type: s.Op, Workspace: -1}
	for _, o := range s.In {
		x.Inputs = append(x.Inputs, e.place(o))
	}
	for _, o := range s.Out {
		x.Outputs = append(x.Outputs, e.place(o))
	}
	e.gear.Tasks = append(e.gear.Tasks, om.PlannedTask{Type: om.TaskHCCL, Node: s.Name})
	e.gear.Nodes[s.Name] = x
}

func (e *emitter) launch(s *plan.Step) {
	x := om.Placed{Type: s.Kernel.Type, Blocks: s.Kernel.Blocks, Workspace: -1}
	t := om.PlannedTask{Type: om.TaskKernel, Node: s.Name}
	for _, o := range s.In {
		if o.Buffer < 0 {
			continue
		}
		at := e.place(o)
		t.Args = append(t.Args, at)
		x.Inputs = append(x.Inputs, max(at, 0)) // constants have their place in the descriptor
	}
	for _, o := range s.Out {
		if o.Buffer >= 0 {
			t.Args = append(t.Args, e.place(o))
			x.Outputs = append(x.Outputs, e.place(o))
		}
	}
	if s.Workspace.Buffer >= 0 {
		x.Workspace, x.WorkBytes = e.place(s.Workspace), s.Workspace.Bytes
		t.Args = append(t.Args, x.Workspace)
	}
	e.gear.Tasks = append(e.gear.Tasks, t)
	e.gear.Nodes[s.Name] = x
}

// ParseGears reads "1,224,224;2,448,448".
func ParseGears(s string) ([][]int, error) {
	var out [][]int
	for _, g := range strings.Split(s, ";") {
		var one []int
		for _, f := range strings.Split(g, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(f))
			if err != nil || n < 1 {
				return nil, problem.Usagef("--dynamic-dims %q: expected numbers such as 1,224,224;2,448,448", s)
			}
			one = append(one, n)
		}
		if len(out) > 0 && len(out[0]) != len(one) {
			return nil, problem.Usagef("--dynamic-dims %q: gears of %d and %d numbers", s, len(out[0]), len(one))
		}
		out = append(out, one)
	}
	return out, nil
}

// ParseOpenShapes is ParseShapes with -1 for dimensions that a gear decides.
func ParseOpenShapes(list []string) (map[string]tensor.Shape, error) {
	out := map[string]tensor.Shape{}
	for _, s := range list {
		i := strings.LastIndexByte(s, '=')
		if i <= 0 {
			return nil, problem.Usagef("--shape %q: write NAME=1x3x224x224", s)
		}
		var dims tensor.Shape
		for _, f := range strings.FieldsFunc(s[i+1:], func(r rune) bool { return r == 'x' || r == ',' }) {
			n, err := strconv.Atoi(f)
			if err != nil || n < -1 {
				return nil, problem.Usagef("--shape %s: %q is no dimension", s, f)
			}
			dims = append(dims, n)
		}
		out[s[:i]] = dims
	}
	return out, nil
}

// Summary is one line for the user.
func (c *Compiled) Summary() string {
	return fmt.Sprintf("%d operators, %d tasks", c.Nodes, c.Tasks)
}
