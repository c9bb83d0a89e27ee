package onnx

import (
	"npu/internal/model/graph"
	"npu/internal/problem"
)

// Field numbers of SequenceProto and OptionalProto.
const (
	sequenceTensors   = 3
	sequenceLists     = 5
	sequenceOptionals = 7
	optionalTensor    = 3
	optionalList      = 5
	optionalOptional  = 7
)

// ParseData reads a file that holds one value, a TensorProto, SequenceProto or OptionalProto by its kind, as the test data
// of the ONNX project does. Errors are problem.Damaged, and Failed for element types that this module does not have.
func ParseData(b []byte, kind graph.Kind) (*graph.Data, error) {
	d := &decoder{b: b, m: &Model{}}
	up := &message{file: b, end: len(b)}
	v, err := d.data(up, &field{typ: 2, hi: len(b)}, &where{name: kind.String(), idx: -1}, kind)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	return v, nil
}

// data reads one value; the message is field f of up.
func (d *decoder) data(up *message, f *field, at *where, kind graph.Kind) (*graph.Data, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, up.broken(f.off, "values are too deep inside each other")
	}
	defer func() { d.depth-- }()
	out := &graph.Data{Kind: kind}
	if kind == graph.Tensor {
		t, err := d.tensor(up, f, at)
		out.Tensor = t.t
		return out, err
	}
	msg, err := up.sub(f, at)
	if err != nil {
		return nil, err
	}
	fields := map[graph.Kind]map[int]graph.Kind{
		graph.Sequence: {sequenceTensors: graph.Tensor, sequenceLists: graph.Sequence, sequenceOptionals: graph.Optional},
		graph.Optional: {optionalTensor: graph.Tensor, optionalList: graph.Sequence, optionalOptional: graph.Optional},
	}[kind]
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return out, err
		}
		inner, ok := fields[int(f.num)]
		if !ok {
			continue
		}
		v, err := d.data(msg, f, &where{at, "values", len(out.List)}, inner)
		if err != nil {
			return nil, err
		}
		if kind == graph.Optional {
			out.Held = v
		} else {
			out.List = append(out.List, v)
		}
	}
}
