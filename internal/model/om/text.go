package om

import (
	"fmt"
	"strings"
)

// textBytes is how much of a binary value the text form shows.
const textBytes = 64

// Text is the text form of the file: header, partitions, attributes, operators with their operands, tasks. It is for
// people; nothing reads it.
func (m *Model) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "header %+v\n", m.Header)
	for i, g := range m.Groups {
		fmt.Fprintf(&b, "model %d %q\n", i, g.Name)
		for _, p := range g.Partitions {
			fmt.Fprintf(&b, "  partition %v at %#x, %d bytes\n", p.Type, p.Offset, len(p.Data))
		}
		if g.Def != nil {
			textAttrs(&b, "  ", g.Def.Attrs)
			for _, gr := range g.Def.Graphs {
				textGraph(&b, "  ", gr)
			}
		}
		for k := range g.Tasks {
			t := &g.Tasks[k]
			fmt.Fprintf(&b, "  task %d %v stream %d op %d kernel %q block_dim %d args %d bytes %s\n", k, t.Type, t.Stream, t.OpIndex, t.Kernel, t.BlockDim, len(t.Args), t.ArgsFormat)
		}
		for _, k := range g.Kernels {
			fmt.Fprintf(&b, "  kernel %s at %#x, %d bytes\n", k.Name, k.offset, len(k.Data))
		}
	}
	for _, n := range m.Nested {
		fmt.Fprintf(&b, "nested %q %s, %d bytes\n", n.Name, n.Type, n.Bytes)
		if n.Model != nil {
			b.WriteString(n.Model.Text())
		}
	}
	return b.String()
}

func textGraph(b *strings.Builder, in string, g *GraphDef) {
	fmt.Fprintf(b, "%sgraph %s\n", in, g.Name)
	textAttrs(b, in+"  ", g.Attrs)
	for _, o := range g.Ops {
		fmt.Fprintf(b, "%s  op %d stream %d %s %q\n", in, o.ID, o.Stream, o.Type, o.Name)
		for i, s := range o.Inputs {
			d := "-"
			if i < len(o.In) {
				d = o.In[i].String()
			}
			fmt.Fprintf(b, "%s    in %d %q %s\n", in, i, s, d)
		}
		for i, d := range o.Out {
			fmt.Fprintf(b, "%s    out %d %s\n", in, i, d)
		}
		textAttrs(b, in+"    ", o.Attrs)
	}
}

func textAttrs(b *strings.Builder, in string, a Attrs) {
	for i := range a {
		fmt.Fprintf(b, "%s%s = %s\n", in, a[i].Key, a[i].Attr.String())
	}
}

// String is the value in one line.
func (a *Attr) String() string {
	switch a.Kind {
	case AttrString, AttrBytes, AttrExpr:
		return textValue(a.Data)
	case AttrInt, AttrBool, AttrDType:
		return fmt.Sprint(a.Int)
	case AttrFloat:
		return fmt.Sprint(a.F)
	case AttrTensor:
		if a.Tensor.Desc == nil {
			return "tensor"
		}
		return fmt.Sprintf("tensor %s at %#x, %d bytes", a.Tensor.Desc, a.Tensor.Desc.DataOffset, a.Tensor.Desc.WeightSize)
	case AttrDesc:
		return a.Desc.String()
	case AttrFunc:
		var s []string
		for _, kv := range a.Func.Attrs {
			s = append(s, kv.Key+"="+kv.Attr.String())
		}
		return a.Func.Name + "{" + strings.Join(s, " ") + "}"
	case AttrIntLists:
		return fmt.Sprint(a.Ints)
	case AttrFloatLists:
		return fmt.Sprint(a.Floats)
	case AttrList:
		return a.List.String()
	case AttrGraph:
		return "graph " + a.Graph.Name
	}
	return "default"
}

func (l *List) String() string {
	var s []string
	for _, x := range l.Strings {
		s = append(s, textValue(x))
	}
	for _, x := range l.Bytes {
		s = append(s, textValue(x))
	}
	for _, x := range l.Ints {
		s = append(s, fmt.Sprint(x))
	}
	for _, x := range l.Floats {
		s = append(s, fmt.Sprint(x))
	}
	for _, x := range l.Bools {
		s = append(s, fmt.Sprint(x))
	}
	for _, x := range l.Tensors {
		if x.Desc != nil {
			s = append(s, x.Desc.String())
		}
	}
	for _, x := range l.Descs {
		s = append(s, x.String())
	}
	return "[" + strings.Join(s, " ") + "]"
}

func textValue(b []byte) string {
	if len(b) > textBytes && !text(b) {
		return fmt.Sprintf("%q… %d bytes", b[:textBytes], len(b))
	}
	return fmt.Sprintf("%q", b)
}
