package om

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// pb appends fields to a message. Fields of their default value are left out; members of a oneof are always written.
type pb []byte

func (b *pb) tag(n protowire.Number, t protowire.Type) { *b = protowire.AppendTag(*b, n, t) }

func (b *pb) varint(n protowire.Number, v uint64) {
	if v != 0 {
		b.always(n, v)
	}
}

func (b *pb) always(n protowire.Number, v uint64) {
	b.tag(n, protowire.VarintType)
	*b = protowire.AppendVarint(*b, v)
}

func (b *pb) int(n protowire.Number, v int64) { b.varint(n, uint64(v)) }

func (b *pb) bool(n protowire.Number, v bool) {
	if v {
		b.always(n, 1)
	}
}

func (b *pb) float(n protowire.Number, v float32) {
	b.tag(n, protowire.Fixed32Type)
	*b = protowire.AppendFixed32(*b, math.Float32bits(v))
}

// bytes always writes the field: repeated ones may hold empty values.
func (b *pb) bytes(n protowire.Number, v []byte) {
	b.tag(n, protowire.BytesType)
	*b = protowire.AppendBytes(*b, v)
}

func (b *pb) str(n protowire.Number, v string) {
	if v != "" {
		b.bytes(n, []byte(v))
	}
}

func (b *pb) strs(n protowire.Number, list []string) {
	for _, s := range list {
		b.bytes(n, []byte(s))
	}
}

func (b *pb) ints(n protowire.Number, list []int64) {
	if len(list) == 0 {
		return
	}
	var p []byte
	for _, v := range list {
		p = protowire.AppendVarint(p, uint64(v))
	}
	b.bytes(n, p)
}

func (b *pb) bools(n protowire.Number, list []bool) {
	if len(list) == 0 {
		return
	}
	p := make([]byte, len(list))
	for i, v := range list {
		if v {
			p[i] = 1
		}
	}
	b.bytes(n, p)
}

func (b *pb) floats(n protowire.Number, list []float32) {
	if len(list) == 0 {
		return
	}
	var p []byte
	for _, v := range list {
		p = protowire.AppendFixed32(p, math.Float32bits(v))
	}
	b.bytes(n, p)
}

func (m *ModelDef) encode() []byte {
	var b pb
	b.str(1, m.Name)
	b.varint(2, uint64(m.Version))
	b.str(3, m.CustomVersion)
	for _, g := range m.Graphs {
		b.bytes(7, g.encode())
	}
	b.attrs(11, m.Attrs)
	return b
}

func (g *GraphDef) encode() []byte {
	var b pb
	b.str(1, g.Name)
	b.strs(4, g.Inputs)
	b.strs(5, g.Outputs)
	for _, o := range g.Ops {
		b.bytes(6, o.encode())
	}
	b.attrs(11, g.Attrs)
	return b
}

func (o *OpDef) encode() []byte {
	var b pb
	b.str(1, o.Name)
	b.str(2, o.Type)
	b.strs(5, o.Inputs)
	b.attrs(10, o.Attrs)
	b.bool(20, o.HasOutAttr)
	b.int(21, o.ID)
	b.int(22, o.Stream)
	b.strs(23, o.InputNames)
	b.strs(24, o.SrcNames)
	b.ints(25, o.SrcIndex)
	b.strs(26, o.DstNames)
	b.ints(27, o.DstIndex)
	b.ints(28, o.InputI)
	b.ints(29, o.OutputI)
	b.ints(30, o.Workspace)
	b.ints(31, o.WorkBytes)
	b.bools(32, o.ConstInput)
	for _, d := range o.In {
		b.bytes(33, d.encode())
	}
	for _, d := range o.Out {
		b.bytes(34, d.encode())
	}
	b.strs(35, o.Subgraphs)
	return b
}

func (d *TensorDesc) encode() []byte {
	var b pb
	b.str(1, d.Name)
	b.int(2, d.DType)
	if len(d.Shape) > 0 || d.Scalar {
		var s pb
		s.ints(1, d.Shape)
		b.bytes(3, s)
	}
	b.str(4, d.Layout)
	b.attrs(5, d.Attrs)
	b.bool(9, d.HasOutAttr)
	b.int(10, d.Size)
	b.int(11, d.WeightSize)
	b.bool(12, d.ReuseInput)
	b.bool(13, d.OutputTens)
	b.str(14, d.DeviceType)
	b.bool(15, d.InputTens)
	b.int(16, d.RealDims)
	b.int(17, d.ReuseIndex)
	b.int(18, d.DataOffset)
	b.int(19, d.CmpsSize)
	if len(d.CmpsTab) > 0 {
		b.bytes(20, d.CmpsTab)
	}
	b.int(21, d.CmpsTabOffs)
	return b
}

func (t *TensorDef) encode() []byte {
	var b pb
	if t.Desc != nil {
		b.bytes(1, t.Desc.encode())
	}
	if len(t.Data) > 0 {
		b.bytes(2, t.Data)
	}
	return b
}

func (n *NamedAttrs) encode() []byte {
	var b pb
	b.str(1, n.Name)
	b.attrs(2, n.Attrs)
	return b
}

func (b *pb) attrs(n protowire.Number, list Attrs) {
	for i := range list {
		var kv pb
		kv.str(1, list[i].Key)
		kv.bytes(2, list[i].Attr.encode())
		b.bytes(n, kv)
	}
}

func (a *Attr) encode() []byte {
	var b pb
	n := protowire.Number(a.Kind)
	switch a.Kind {
	case AttrList:
		b.bytes(n, a.List.encode())
	case AttrString, AttrBytes, AttrExpr:
		b.bytes(n, a.Data)
	case AttrInt, AttrDType, AttrBool:
		b.always(n, uint64(a.Int))
	case AttrFloat:
		b.float(n, a.F)
	case AttrFunc:
		b.bytes(n, a.Func.encode())
	case AttrDesc:
		b.bytes(n, a.Desc.encode())
	case AttrTensor:
		b.bytes(n, a.Tensor.encode())
	case AttrGraph:
		b.bytes(n, a.Graph.encode())
	case AttrIntLists:
		var l pb
		for _, v := range a.Ints {
			var s pb
			s.ints(1, v)
			l.bytes(1, s)
		}
		b.bytes(n, l)
	case AttrFloatLists:
		var l pb
		for _, v := range a.Floats {
			var s pb
			s.floats(1, v)
			l.bytes(1, s)
		}
		b.bytes(n, l)
	}
	return b
}

func (l *List) encode() []byte {
	var b pb
	for _, s := range l.Strings {
		b.bytes(2, s)
	}
	b.ints(3, l.Ints)
	b.floats(4, l.Floats)
	b.bools(5, l.Bools)
	for _, s := range l.Bytes {
		b.bytes(7, s)
	}
	for _, d := range l.Descs {
		b.bytes(8, d.encode())
	}
	for _, t := range l.Tensors {
		b.bytes(9, t.encode())
	}
	for _, g := range l.Graphs {
		b.bytes(10, g.encode())
	}
	for _, n := range l.Funcs {
		b.bytes(11, n.encode())
	}
	b.ints(12, l.DTypes)
	b.int(20, l.Type)
	return b
}

// encodeTasks writes TASK_INFO.
func encodeTasks(h *TaskHeader, tasks []Task) []byte {
	var b pb
	b.str(1, h.Version)
	for i := range tasks {
		b.bytes(10, tasks[i].encode())
	}
	b.varint(11, h.MemorySize)
	b.varint(12, uint64(h.Streams))
	b.varint(13, uint64(h.Events))
	b.varint(14, h.WeightSize)
	b.varint(16, h.BaseAddr)
	b.varint(17, h.WeightAddr)
	b.varint(18, uint64(h.Batches))
	return b
}

func (t *Task) encode() []byte {
	var b pb
	b.varint(1, uint64(t.ID))
	b.varint(2, uint64(t.Type))
	b.varint(10, uint64(t.Stream))
	b.varint(11, uint64(t.Event))
	b.varint(12, uint64(t.Notify))
	if t.Type == TaskKernel {
		var c, k pb
		c.varint(1, uint64(t.KernelType))
		c.int(4, max(t.OpIndex, 0))
		c.str(10, t.ArgsFormat)
		k.bytes(1, c)
		k.str(10, t.Kernel)
		k.varint(11, uint64(t.BlockDim))
		k.varint(12, uint64(t.ArgsSize))
		if len(t.Args) > 0 {
			k.bytes(13, t.Args)
		}
		k.str(16, t.So)
		b.bytes(20, k)
	}
	b.varint(30, uint64(t.Label))
	sub := func(n, owner protowire.Number) {
		var s pb
		s.int(owner, max(t.OpIndex, 0))
		b.bytes(n, s)
	}
	switch t.Type {
	case TaskHCCL:
		var s pb
		s.int(8, max(t.OpIndex, 0))
		s.str(9, t.Collective)
		b.bytes(25, s)
	case TaskMemcpy:
		var s pb
		s.varint(1, t.Dst)
		s.varint(2, t.Count)
		s.varint(3, t.Src)
		s.varint(4, t.Count)
		s.varint(5, 3) // device to device
		s.int(6, max(t.OpIndex, 0))
		b.bytes(31, s)
	case TaskLabelSet:
		sub(37, 1)
	case TaskLabelGoto:
		sub(38, 1)
	case TaskLabelSwitch:
		sub(39, 1)
	}
	return b
}
