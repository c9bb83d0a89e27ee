package om

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// baseAddr is the logical start of feature memory that compilers write.
const baseAddr = 0x80000000

// memory is what the largest gear needs: one runs at a time.
func (w *writer) memory() (features, ports int64) {
	for i := range w.p.Gears {
		g := &w.p.Gears[i]
		features, ports = max(features, g.Features), max(ports, g.Ports)
	}
	return features, ports
}

// addTasks appends the tasks of a gear.
func (w *writer) addTasks(g *Gear) {
	features, ports := w.memory()
	weights := uint64(baseAddr + features + ports)
	for _, t := range g.Tasks {
		op, ok := w.ids[t.Node]
		if !ok {
			op = 0
		}
		x := Task{Type: t.Type, OpIndex: op}
		switch t.Type {
		case TaskLabelSet, TaskLabelGoto, TaskLabelSwitch:
			x.Label = t.Label + w.labels
		case TaskHCCL:
			x.Collective = g.Nodes[t.Node].Type
		case TaskKernel:
			at := g.Nodes[t.Node]
			x.KernelType, x.Kernel, x.BlockDim, x.ArgsSize = 2, t.Node, uint32(at.Blocks), uint32(8*len(t.Args))
			for _, a := range t.Args {
				addr := uint64(baseAddr) + uint64(a)
				if a < 0 {
					addr = weights + uint64(-1-a)
				}
				x.Args = binary.LittleEndian.AppendUint64(x.Args, addr)
			}
		}
		if t.Type == TaskMemcpy && len(t.Args) == 2 {
			x.Dst, x.Src, x.Count = baseAddr+uint64(t.Args[0]), baseAddr+uint64(t.Args[1]), t.Bytes
			if t.Args[1] < 0 {
				x.Src = weights + uint64(-1-t.Args[1])
			}
		}
		w.tasks = append(w.tasks, x)
	}
	for _, t := range g.Tasks {
		if t.Type == TaskLabelSet {
			w.labels++
		}
	}
}

// root is the graph in front of several gears: a Case that takes the one whose value arrives.
func (w *writer) root() {
	g := &GraphDef{Name: w.p.Name}
	first := w.p.Gears[0].Graph
	c := &OpDef{Name: "ascend_mbatch_case", Type: "Case", HasOutAttr: true}
	add := func(o *OpDef) *OpDef {
		o.ID = w.id
		w.id++
		g.Ops = append(g.Ops, o)
		return o
	}
	largest := w.p.Gears[len(w.p.Gears)-1].Graph
	for i, v := range first.Inputs {
		d := descOf(largest.Inputs[i])
		o := add(&OpDef{Name: v.Name, Type: "Data", In: []*TensorDesc{d}, Out: []*TensorDesc{descOf(largest.Inputs[i])}, HasOutAttr: true})
		o.Attrs.setInt("index", int64(i))
		if dims := w.p.Dims[v.Name]; slices.Contains(dims, -1) {
			o.Attrs.setInts("_mbatch_origin_input_dims", dims)
		}
		g.Inputs = append(g.Inputs, v.Name+":0")
		c.In = append(c.In, descOf(largest.Inputs[i]))
	}
	values := int64(len(w.p.Gears[0].Value))
	sel := &TensorDesc{Name: gearInput, DType: 8, Shape: []int64{values}, Layout: "ND", Size: 8 * values}
	o := add(&OpDef{Name: gearInput, Type: "Data", In: []*TensorDesc{sel}, Out: []*TensorDesc{sel}, HasOutAttr: true})
	o.Attrs.setInt("index", int64(len(first.Inputs)))
	o.Attrs.setBool("mbatch-inserted-node", true)
	index := &TensorDesc{Name: "index", DType: 7, Scalar: true, Layout: "ND", Size: 4}
	add(&OpDef{Name: "ascend_mbatch_mapindex", Type: "MapIndex", Inputs: []string{gearInput + ":0"}, In: []*TensorDesc{sel}, Out: []*TensorDesc{index}, HasOutAttr: true})
	c.Inputs = []string{"ascend_mbatch_mapindex:0"}
	for _, v := range first.Inputs {
		c.Inputs = append(c.Inputs, v.Name+":0")
	}
	c.In = slices.Insert(c.In, 0, index)
	net := &OpDef{Name: "Node_Output", Type: "NetOutput", HasOutAttr: true}
	for i := range first.Outputs {
		c.Out = append(c.Out, descOf(largest.Outputs[i]))
		net.In = append(net.In, descOf(largest.Outputs[i]))
		net.Inputs = append(net.Inputs, fmt.Sprintf("%s:%d", c.Name, i))
	}
	add(c)
	c.Attrs.setInt("_batch_num", int64(len(w.p.Gears)))
	c.Attrs.setInt("mbatch_dynamic_type", w.p.Flag)
	for i := range w.p.Gears {
		c.Attrs.setInts(fmt.Sprintf("_pred_value_%d", i), w.p.Gears[i].Value)
		c.Subgraphs = append(c.Subgraphs, fmt.Sprintf("%s_ascend_mbatch_batch_%d", w.p.Name, i))
	}
	add(net)
	g.Outputs = slices.Clone(net.Inputs)
	w.connect(g)
	w.def.Graphs = slices.Insert(w.def.Graphs, 0, g)
}

// file puts the partitions together.
func (w *writer) file() ([]byte, error) {
	features, ports := w.memory()
	memory := features + ports
	w.tasks = append(w.tasks, Task{Type: TaskEndGraph})
	h := TaskHeader{MemorySize: uint64(memory), Streams: 1, WeightSize: uint64(len(w.weights)), BaseAddr: baseAddr, WeightAddr: uint64(baseAddr + memory), Batches: 1}
	tasks := encodeTasks(&h, w.tasks)
	largest := w.p.Gears[len(w.p.Gears)-1].Graph
	var outs []string
	for i, v := range largest.Outputs {
		outs = append(outs, fmt.Sprintf("%s:%d:%s", w.p.Name, i, v.Name))
		w.io.Outputs = append(w.io.Outputs, portOf(v.Name, descOf(v), nil))
	}
	for _, v := range largest.Inputs {
		w.io.Inputs = append(w.io.Inputs, portOf(v.Name, descOf(v), w.p.Dims[v.Name]))
	}
	if w.p.Flag != 0 {
		w.io.Inputs = append(w.io.Inputs, InOutTensor{Name: gearInput, Bytes: 8 * uint64(len(w.p.Gears[0].Value)), Format: 2, DType: 9, Dims: []int64{int64(len(w.p.Gears[0].Value))}})
		for _, g := range w.p.Gears {
			if w.p.Flag == 1 {
				w.io.Batches = append(w.io.Batches, g.Value...)
			} else {
				w.io.Dims = append(w.io.Dims, g.Value)
			}
		}
	}
	a := &w.def.Attrs
	a.setInt("memory_size", memory)
	a.setInt("weight_size", int64(len(w.weights)))
	a.setInt("zero_copy_memory_size", ports)
	a.setInt("stream_num", 1)
	a.setInt("event_num", 0)
	a.setInt("label_num", int64(w.labels))
	a.setInt("batch_num", 1)
	a.setInt("task_gen_base_addr", baseAddr)
	a.setInt("task_gen_weight_addr", baseAddr+memory)
	a.setStr("target_type", "MINI")
	a.setStr("core_type", "AiCore")
	a.setStr("soc_version", w.p.Soc)
	a.setStr("arch_type", w.p.ArchType)
	a.setStr("framework_type", "Onnx")
	a.setStr("atc_version", "npu")
	a.setStr("atc_cmdline", ourCommand+" "+w.p.Command+" (written by npu: no device code inside)")
	a.setStrs("attr_model_out_nodes_name", outs)
	if len(w.groups) > 0 {
		a.setStrs("hcom_group_names", w.groups)
	}
	a.setInts("om_info_list", []int64{int64(len(w.weights)), int64(len(w.store)), 0, int64(len(tasks)), 0})
	g := &Group{Partitions: []Partition{
		{Type: InOutInfo, Data: w.io.append(nil)}, {Type: ModelDefPart, Data: w.def.encode()}, {Type: WeightsPart, Data: w.weights},
		{Type: TBEKernels, Data: w.store}, {Type: TaskInfo, Data: tasks},
	}}
	m := &Model{Header: Header{Version: version2, Name: w.p.Name, IRVersion: 2, ModelNum: 1, PlatformVersion: "1.11.z.0", PlatformType: 1, ModelLength: 1, Dynamic: uint8(bit(w.p.Open))}, Groups: []*Group{g}}
	return m.Encode(), nil
}

// portOf describes an input or output for MODEL_INOUT_INFO; dims has -1 where a gear decides.
func portOf(name string, d *TensorDesc, dims []int64) InOutTensor {
	t := InOutTensor{Name: name, Format: 2, DType: int32(dtypeOf(d.DType).ACL()), Dims: d.Shape, DimsV2: d.Shape}
	if slices.Contains(t.Dims, unknownRank) {
		t.Dims, t.DimsV2 = nil, nil
	}
	if n, err := shapeOf(d.Shape).Bytes(dtypeOf(d.DType)); err == nil {
		t.Bytes = uint64(n)
	}
	if slices.Contains(dims, -1) {
		t.Dims, t.DimsV2 = dims, dims
	}
	return t
}
