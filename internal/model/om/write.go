package om

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Names of attributes of ours. They keep what a graph of this program needs to be the same again; other readers find
// the attributes of the field beside them.
const (
	attrOp      = "npu_op"      // operator of package kernels
	attrAttrs   = "npu_attrs"   // its attributes
	attrOpset   = "npu_opset"   // of a graph
	attrValues  = "npu_values"  // names of its results
	attrSymbols = "npu_symbols" // names of open dimensions of an input
)

// weightAlign is the alignment of constants in the weights.
const weightAlign = 512

// Program is a compiled graph with what its plan says of each node and of each task.
type Program struct {
	Name     string
	Soc      string
	ArchType string
	Command  string // behind "npu compile"
	// Gears are the graphs by gear; one graph without gears.
	Gears []Gear
	Flag  int64 // kind of the gears: 1 batch, 3 dimensions; 0: none
	// Open says that the graph is as it was read, with open shapes: nothing is placed and there are no tasks.
	Open bool
	// Dims are the declared shapes of inputs with -1 where a gear decides.
	Dims map[string][]int64
}

// Gear is one compiled graph.
type Gear struct {
	Value []int64 // nil without gears
	Graph *graph.Graph
	Nodes map[string]Placed // by node name
	Tasks []PlannedTask
	// Memory in bytes: tensors between operators, and inputs with outputs behind them.
	Features, Ports int64
	// Place is where inputs and outputs lie, from the start of the features.
	Inputs, Outputs []int64
}

// Placed is a node's place in memory and its kernel.
type Placed struct {
	Type      string // of the kernel
	Inputs    []int64
	Outputs   []int64
	Workspace int64 // -1: none
	WorkBytes int64
	Blocks    int
}

// PlannedTask is one task in order.
type PlannedTask struct {
	Type  TaskType
	Node  string
	Label uint32
	Args  []int64 // offsets; negative ones count from the weights' start as -1-offset
	Bytes uint64  // copies
}

// Write makes the file. Its bytes depend on nothing but the program.
func Write(p *Program) ([]byte, error) {
	w := &writer{p: p, def: &ModelDef{Name: p.Name, Version: 1, CustomVersion: "1"}, places: map[[32]byte]int64{}}
	for i := range p.Gears {
		if err := w.gear(i); err != nil {
			return nil, err
		}
	}
	if p.Flag != 0 {
		w.root()
	}
	return w.file()
}

type writer struct {
	p       *Program
	def     *ModelDef
	weights []byte
	places  map[[32]byte]int64 // of constants, by contents
	id      int64
	ids     map[string]int64 // node name to operator id, of the gear at hand
	tasks   []Task
	store   []byte
	kernels map[string]bool
	labels  uint32
	groups  []string // of operators of communication
	io      InOut
}

// gear writes one graph with its tasks.
func (w *writer) gear(i int) error {
	g := &w.p.Gears[i]
	name := w.p.Name
	if w.p.Flag != 0 {
		name = fmt.Sprintf("%s_ascend_mbatch_batch_%d", name, i)
	}
	w.ids = map[string]int64{}
	s := &graphWriter{w: w, gear: g, name: map[*graph.Value]string{}, taken: map[string]bool{}}
	def, err := s.graph(g.Graph, name, nil)
	if err != nil {
		return err
	}
	// The graph comes before the branches in it.
	w.def.Graphs = slices.Insert(w.def.Graphs, len(w.def.Graphs)-s.branches, def)
	w.addTasks(g)
	return nil
}

// graphWriter converts one graph and the branches in it.
type graphWriter struct {
	w        *writer
	gear     *Gear
	name     map[*graph.Value]string // "operator:output" in the graph at hand
	taken    map[string]bool
	def      *GraphDef
	branches int
}

// graph writes g. captures are the outer values that a branch uses; its inputs then stand for them.
func (s *graphWriter) graph(g *graph.Graph, name string, captures []*graph.Value) (*GraphDef, error) {
	s.def = &GraphDef{Name: name}
	s.def.Attrs.setInt(attrOpset, int64(g.Opset))
	for i, v := range g.Inputs {
		o := s.op(v.Name, "Data")
		o.Attrs.setInt("index", int64(i))
		if s.w.p.Flag != 0 {
			o.Attrs.setInt("_parent_node_index", int64(i+1))
		}
		o.In, o.Out = []*TensorDesc{descOf(v)}, []*TensorDesc{descOf(v)}
		if v.Symbols != nil {
			o.Attrs.setStrs(attrSymbols, v.Symbols)
		}
		if i < len(s.gear.Inputs) {
			o.OutputI = []int64{s.gear.Inputs[i]}
		}
		s.name[v] = o.Name + ":0"
		s.def.Inputs = append(s.def.Inputs, o.Name+":0")
	}
	for i, v := range captures {
		o := s.op(v.Name, "Data")
		o.Attrs.setInt("index", int64(i))
		o.Attrs.setInt("_parent_node_index", int64(i+1)) // behind the condition
		o.Out = []*TensorDesc{descOf(v)}
		s.name[v] = o.Name + ":0"
	}
	for _, n := range g.Nodes {
		if err := s.node(n); err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
	}
	net := s.op("Node_Output", "NetOutput")
	var names []string
	for i, v := range g.Outputs {
		src, err := s.source(v)
		if err != nil {
			return nil, err
		}
		d := descOf(v)
		d.Attrs.setInt("_parent_node_index", int64(i))
		net.Inputs, net.In = append(net.Inputs, src), append(net.In, d)
		if i < len(s.gear.Outputs) && captures == nil {
			net.InputI = append(net.InputI, s.gear.Outputs[i])
		}
		names = append(names, v.Name)
	}
	net.Attrs.setStrs(attrValues, names)
	s.def.Outputs = slices.Clone(net.Inputs)
	s.w.connect(s.def)
	return s.def, nil
}

// op appends an operator with a name of its own.
func (s *graphWriter) op(name, t string) *OpDef {
	if name == "" {
		name = strings.ToLower(t)
	}
	unique := name
	for i := 1; s.taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	s.taken[unique] = true
	o := &OpDef{Name: unique, Type: t, ID: s.w.id, HasOutAttr: true}
	s.w.id++
	s.def.Ops = append(s.def.Ops, o)
	return o
}

// unknownRank as the only dimension says that not even their number is known.
const unknownRank = -2

// descOf describes a value that is stored densely.
func descOf(v *graph.Value) *TensorDesc {
	d := &TensorDesc{Name: v.Name, DType: protoOf(v.DType), Shape: longs(v.Shape), Scalar: true, Layout: "ND", HasOutAttr: true, DeviceType: "NPU"}
	if !v.Known && v.Const == nil {
		d.Shape = []int64{unknownRank}
	}
	if n, err := v.Shape.Bytes(v.DType); err == nil && v.Known {
		d.Size = (int64(n)+31)/32*32 + 32
	}
	d.RealDims = int64(len(v.Shape))
	d.Attrs.setStr("origin_format", "ND")
	d.Attrs.setInts("origin_shape", d.Shape)
	return d
}

func longs(s tensor.Shape) []int64 {
	out := make([]int64, len(s))
	for i, n := range s {
		out[i] = int64(n)
	}
	return out
}

// source is where a value comes from; a constant becomes an operator at its first use.
func (s *graphWriter) source(v *graph.Value) (string, error) {
	if n, ok := s.name[v]; ok {
		return n, nil
	}
	if v.Const == nil {
		return "", fmt.Errorf("value %s is made by nothing", v.Name)
	}
	d := descOf(&graph.Value{Name: v.Name, DType: v.Const.DType, Shape: v.Const.Shape, Known: true})
	d.WeightSize = int64(len(v.Const.Data))
	d.DataOffset = s.w.place(v.Const.Data)
	o := s.op(v.Name, "Const")
	o.Attrs.add("value", Attr{Kind: AttrTensor, Tensor: &TensorDef{Desc: d}})
	o.Out = []*TensorDesc{descOf(&graph.Value{Name: v.Name, DType: v.Const.DType, Shape: v.Const.Shape, Known: true})}
	o.OutputI = []int64{0}
	s.name[v] = o.Name + ":0"
	return s.name[v], nil
}

// place puts the bytes of a constant into the weights, once.
func (w *writer) place(b []byte) int64 {
	key := sha256.Sum256(b)
	if at, ok := w.places[key]; ok {
		return at
	}
	for len(w.weights)%weightAlign != 0 {
		w.weights = append(w.weights, 0)
	}
	at := int64(len(w.weights))
	w.weights = append(w.weights, b...)
	w.places[key] = at
	return at
}

func (s *graphWriter) node(n *graph.Node) error {
	var captures []*graph.Value
	var inputs []string
	var descs []*TensorDesc
	var isConst []bool
	add := func(v *graph.Value) error {
		if v == nil {
			inputs, isConst = append(inputs, ""), append(isConst, false)
			descs = append(descs, &TensorDesc{Layout: "FORMAT_RESERVED"})
			return nil
		}
		src, err := s.source(v)
		if err != nil {
			return err
		}
		d := descOf(v)
		if v.Const != nil {
			d = descOf(&graph.Value{Name: v.Name, DType: v.Const.DType, Shape: v.Const.Shape, Known: true})
			d.DataOffset = s.w.place(v.Const.Data)
		}
		inputs, isConst, descs = append(inputs, src), append(isConst, v.Const != nil), append(descs, d)
		return nil
	}
	for _, v := range n.In {
		if err := add(v); err != nil {
			return err
		}
	}
	bodies := slices.Sorted(maps.Keys(n.Bodies))
	if len(bodies) > 0 && n.Op != "If" {
		return fmt.Errorf("control flow other than If: %w", kernels.ErrUnsupported)
	}
	for _, b := range bodies {
		for _, v := range free(n.Bodies[b]) {
			if !slices.Contains(captures, v) && v.Const == nil {
				captures = append(captures, v)
			}
		}
	}
	for _, v := range captures {
		if err := add(v); err != nil {
			return err
		}
	}
	at := s.gear.Nodes[n.Name]
	o := s.op(n.Name, geType(n, at.Type))
	s.w.ids[n.Name] = o.ID
	o.Inputs, o.In, o.ConstInput = inputs, descs, isConst
	o.InputI, o.OutputI = at.Inputs, at.Outputs
	if at.WorkBytes > 0 {
		o.Workspace, o.WorkBytes = []int64{at.Workspace}, []int64{at.WorkBytes}
	}
	var names []string
	for i, v := range n.Out {
		if v == nil {
			o.Out = append(o.Out, &TensorDesc{Layout: "FORMAT_RESERVED"})
			names = append(names, "")
			continue
		}
		o.Out = append(o.Out, descOf(v))
		names = append(names, v.Name)
		s.name[v] = fmt.Sprintf("%s:%d", o.Name, i)
	}
	if err := s.attrs(o, n, names, at); err != nil {
		return err
	}
	for _, b := range bodies {
		name := fmt.Sprintf("%s/%s/%d", s.def.Name, b, len(s.w.def.Graphs))
		inner := &graphWriter{w: s.w, gear: s.gear, name: map[*graph.Value]string{}, taken: map[string]bool{}}
		def, err := inner.graph(n.Bodies[b], name, captures)
		if err != nil {
			return err
		}
		s.w.def.Graphs = append(s.w.def.Graphs, def)
		s.branches += 1 + inner.branches
		o.Subgraphs = append(o.Subgraphs, name)
	}
	return nil
}

// free are the values that a branch uses and does not make, its own branches included.
func free(g *graph.Graph) []*graph.Value {
	made := map[*graph.Value]bool{}
	seen := map[*graph.Value]bool{}
	var list []*graph.Value
	use := func(v *graph.Value) {
		if v != nil && !made[v] && !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			use(v)
		}
		for _, b := range slices.Sorted(maps.Keys(n.Bodies)) {
			for _, v := range free(n.Bodies[b]) {
				use(v)
			}
		}
		for _, v := range n.Out {
			made[v] = true
		}
	}
	for _, v := range g.Outputs {
		use(v)
	}
	return list
}

// kernel adds a kernel of ours to the store. It is no device binary, and says so.
func (w *writer) kernel(t string, n *graph.Node) string {
	var text strings.Builder
	fmt.Fprintf(&text, "npu kernel %s: no device code\noperator %s\n", t, n.Op)
	for _, v := range n.In {
		if v != nil {
			fmt.Fprintf(&text, "in %s\n", graph.Type(v))
		}
	}
	for _, v := range n.Out {
		if v != nil {
			fmt.Fprintf(&text, "out %s\n", graph.Type(v))
		}
	}
	sum := sha256.Sum256([]byte(text.String()))
	name := fmt.Sprintf("npu_%s_%x__kernel0", strings.ToLower(t), sum[:8])
	if w.kernels == nil {
		w.kernels = map[string]bool{}
	}
	if !w.kernels[name] {
		w.kernels[name] = true
		w.store = appendKernel(w.store, name, []byte(text.String()))
	}
	return name
}

// connect fills in the lists that repeat the edges: sources and destinations by anchor.
func (w *writer) connect(g *GraphDef) {
	byName := map[string]*OpDef{}
	for _, o := range g.Ops {
		byName[o.Name] = o
	}
	for _, o := range g.Ops {
		for i, in := range o.Inputs {
			name, n, ok := source(in)
			if !ok {
				continue
			}
			o.SrcNames, o.SrcIndex = append(o.SrcNames, name), append(o.SrcIndex, int64(n))
			src := byName[name]
			src.DstNames, src.DstIndex = append(src.DstNames, o.Name), append(src.DstIndex, int64(i))
		}
	}
}
