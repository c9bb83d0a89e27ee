package onnx

import (
	"fmt"
	"math"

	"npu/internal/tensor"

	"google.golang.org/protobuf/encoding/protowire"
)

// attr reads an AttributeProto. Files older than the type field are read by the fields that are there.
func (d *decoder) attr(up *message, f *field, at *where) (rawAttr, error) {
	off := f.off
	var a rawAttr
	msg, err := up.sub(f, at)
	if err != nil {
		return a, err
	}
	var (
		kind, seen int64
		fl         float32
		i          int64
		s          string
		t          rawTensor
		fs         []byte
		is         []int64
		ss         []string
	)
	for {
		ok, err := msg.next(f)
		if err != nil {
			return a, err
		}
		if !ok {
			break
		}
		switch f.num {
		case attrName:
			a.name, err = msg.str(f)
		case attrRef:
			a.ref, err = msg.str(f)
		case attrType:
			kind, err = msg.int(f)
		case attrF:
			seen = kindFloat
			var bits uint32
			bits, err = msg.fixed32(f)
			fl = math.Float32frombits(bits)
		case attrI:
			seen = kindInt
			i, err = msg.int(f)
		case attrS:
			seen = kindString
			s, err = msg.str(f)
		case attrT:
			seen = kindTensor
			t, err = d.tensor(msg, f, &where{at, "t", -1})
		case attrG:
			seen = kindGraph
			a.graph, err = d.graph(msg, f, &where{at, "g", -1})
		case attrFloats:
			seen = kindFloats
			fs, err = msg.fixed(f, 4, fs)
		case attrInts:
			seen = kindInts
			if f.typ == protowire.BytesType && is == nil {
				is = make([]int64, 0, countVarints(msg.file[f.lo:f.hi]))
			}
			err = msg.varints(f, func(v uint64) { is = append(is, int64(v)) })
		case attrStrings:
			seen = kindStrings
			var one string
			one, err = msg.str(f)
			ss = append(ss, one)
		case attrTensors:
			seen = kindTensors
		case attrGraphs:
			seen = kindGraphs
		case attrSparse:
			seen = -1
		}
		if err != nil {
			return a, err
		}
	}
	if a.name == "" {
		return a, up.broken(off, fmt.Sprintf("%v has no name", at))
	}
	if kind == 0 {
		kind = seen
	}
	if a.ref != "" {
		a.graph = nil
		return a, nil
	}
	switch kind {
	case kindFloat:
		a.value = fl
	case kindInt:
		a.value = i
	case kindString:
		a.value = s
	case kindTensor:
		if t.t == nil {
			return a, up.broken(off, fmt.Sprintf("%v %q is a tensor attribute without a tensor", at, a.name))
		}
		a.value = t.t
	case kindFloats:
		v := make([]float32, len(fs)/4)
		copy(v, tensor.View[float32](fs))
		a.value = v
	case kindInts:
		if is == nil {
			is = []int64{}
		}
		a.value = is
	case kindStrings:
		a.value = ss
	case kindType: // what an Optional may hold; its operand says it too
	case kindGraph:
		if a.graph == nil {
			return a, up.broken(off, fmt.Sprintf("%v %q is a graph attribute without a graph", at, a.name))
		}
	case 0:
		return a, up.broken(off, fmt.Sprintf("%v %q has no value", at, a.name))
	default:
		return a, unsupportedf("%v %q: attribute of kind %d (a list of tensors or graphs, a sparse tensor, a list of types)", at, a.name, kind)
	}
	if kind != kindGraph {
		a.graph = nil
	}
	return a, nil
}

// countVarints is the number of varints in b: the bytes without a continuation bit.
func countVarints(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}
