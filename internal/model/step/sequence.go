package step

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// sequence runs an operator on sequences or optionals: lists of tensors, which stay where they are.
func (m *Machine) sequence(n *graph.Node, in []*Item) ([]*Item, error) {
	arg := func(i int) *Item {
		if i < len(in) {
			return in[i]
		}
		return nil
	}
	var out *Item
	var err error
	switch n.Op {
	case "SequenceEmpty":
		out = &Item{Kind: graph.Sequence, refs: 1}
	case "SequenceConstruct":
		out, err = list(in)
	case "SequenceLength":
		var s *Item
		if s, err = sequenceOf(arg(0)); err == nil {
			out = scalarInt(int64(len(s.list)))
		}
	case "SequenceAt":
		out, err = m.at(arg(0), arg(1))
	case "SequenceInsert":
		out, err = m.insert(arg(0), arg(1), arg(2))
	case "SequenceErase":
		out, err = m.erase(arg(0), arg(1))
	case "SplitToSequence":
		out, err = m.split(n, arg(0), arg(1))
	case "ConcatFromSequence":
		out, err = m.concat(n, arg(0))
	case "Optional":
		out = &Item{Kind: graph.Optional, held: arg(0).retain(), refs: 1}
	case "OptionalHasElement":
		x := arg(0)
		out = scalarBool(x != nil && (x.Kind != graph.Optional || x.held != nil))
	case "OptionalGetElement":
		x := arg(0)
		if x != nil && x.Kind == graph.Optional {
			x = x.held
		}
		if x == nil {
			return nil, problem.Failedf("the optional is empty")
		}
		out = x.retain()
	default:
		err = problem.Failedf("%w", kernels.ErrUnsupported)
	}
	return []*Item{out}, err
}

// sequenceOf is the sequence that an operand is, or holds.
func sequenceOf(it *Item) (*Item, error) {
	if it != nil && it.Kind == graph.Optional {
		it = it.held
	}
	if it == nil || it.Kind != graph.Sequence {
		return nil, problem.Failedf("the first input is no sequence")
	}
	return it, nil
}

// list makes a sequence of tensors.
func list(in []*Item) (*Item, error) {
	out := &Item{Kind: graph.Sequence}
	for i, it := range in {
		if it == nil {
			return nil, problem.Failedf("element %d is missing", i)
		}
		out.list = append(out.list, it)
	}
	for _, it := range out.list {
		it.retain()
	}
	out.refs = 1
	return out, nil
}

// place reads a position in a sequence of n; negative ones count from the end. Without one it is def.
func (m *Machine) place(it *Item, n, def, most int) (int, error) {
	if it == nil {
		return def, nil
	}
	p, err := m.number(it)
	if err != nil {
		return 0, err
	}
	if p < 0 {
		p += int64(n)
	}
	if p < 0 || p > int64(most) {
		return 0, problem.Failedf("position %d in a sequence of %d", p, n)
	}
	return int(p), nil
}

func (m *Machine) at(seq, pos *Item) (*Item, error) {
	s, err := sequenceOf(seq)
	if err != nil {
		return nil, err
	}
	p, err := m.place(pos, len(s.list), 0, len(s.list)-1)
	if err != nil {
		return nil, err
	}
	if p >= len(s.list) {
		return nil, problem.Failedf("the sequence is empty")
	}
	return s.list[p].retain(), nil
}

func (m *Machine) insert(seq, it, pos *Item) (*Item, error) {
	s, err := sequenceOf(seq)
	if err != nil {
		return nil, err
	}
	p, err := m.place(pos, len(s.list), len(s.list), len(s.list))
	if err != nil {
		return nil, err
	}
	elements := append([]*Item{}, s.list[:p]...)
	return list(append(append(elements, it), s.list[p:]...))
}

func (m *Machine) erase(seq, pos *Item) (*Item, error) {
	s, err := sequenceOf(seq)
	if err != nil {
		return nil, err
	}
	p, err := m.place(pos, len(s.list), len(s.list)-1, len(s.list)-1)
	if err != nil {
		return nil, err
	}
	if p < 0 {
		return nil, problem.Failedf("the sequence is empty")
	}
	return list(append(append([]*Item{}, s.list[:p]...), s.list[p+1:]...))
}

// split cuts a tensor along an axis into a sequence.
func (m *Machine) split(n *graph.Node, x, sizes *Item) (*Item, error) {
	if x == nil || x.Kind != graph.Tensor || len(x.Shape) == 0 {
		return nil, problem.Failedf("the input cannot be split")
	}
	axis := n.Attrs.Int("axis", 0)
	if axis < 0 {
		axis += len(x.Shape)
	}
	if axis < 0 || axis >= len(x.Shape) {
		return nil, problem.Failedf("axis %d of %v", axis, x.Shape)
	}
	dim, drop := x.Shape[axis], sizes == nil && n.Attrs.Int("keepdims", 1) == 0
	var parts []int64
	switch {
	case sizes == nil || len(sizes.Shape) == 0:
		step := int64(1)
		if sizes != nil {
			var err error
			if step, err = m.number(sizes); err != nil {
				return nil, err
			}
		}
		if step < 1 {
			return nil, problem.Failedf("split into parts of %d", step)
		}
		for left := int64(dim); left > 0; left -= step {
			parts = append(parts, min(step, left))
		}
	default:
		b, err := m.read(sizes)
		if err != nil {
			return nil, err
		}
		if sizes.DType == tensor.Int32 {
			for _, v := range tensor.View[int32](b) {
				parts = append(parts, int64(v))
			}
		} else if sizes.DType == tensor.Int64 {
			parts = tensor.View[int64](b)
		}
	}
	if len(parts) == 0 {
		return &Item{Kind: graph.Sequence, refs: 1}, nil
	}
	cut := known(tensor.Int64, tensor.Shape{len(parts)}, tensor.Bytes(parts))
	defer m.Release(cut)
	pieces, err := m.help(n, "split", "Split", kernels.Attrs{"axis": int64(axis)}, len(parts), x, cut)
	if err != nil {
		return nil, err
	}
	defer m.releaseAll(pieces)
	if !drop {
		return list(pieces)
	}
	out := &Item{Kind: graph.Sequence, refs: 1}
	for _, p := range pieces {
		s := append(p.Shape[:axis].Clone(), p.Shape[axis+1:]...)
		out.list = append(out.list, p.view(s, 0))
	}
	return out, nil
}

// concat joins the tensors of a sequence along an axis, or along a new one.
func (m *Machine) concat(n *graph.Node, seq *Item) (*Item, error) {
	s, err := sequenceOf(seq)
	if err != nil {
		return nil, err
	}
	if len(s.list) == 0 {
		return nil, problem.Failedf("the sequence is empty")
	}
	axis, fresh := n.Attrs.Int("axis", 0), n.Attrs.Int("new_axis", 0) != 0
	in := make([]*Item, 0, len(s.list))
	defer func() { m.releaseAll(in) }()
	for i, it := range s.list {
		if it.Kind != graph.Tensor {
			return nil, problem.Failedf("element %d is no tensor", i)
		}
		if !fresh {
			in = append(in, it.retain())
			continue
		}
		at, rank := axis, len(it.Shape)+1
		if at < 0 {
			at += rank
		}
		if at < 0 || at >= rank {
			return nil, problem.Failedf("axis %d of a result of rank %d", axis, rank)
		}
		if _, err := m.device(it); err != nil {
			return nil, err
		}
		shape := append(it.Shape[:at:at].Clone(), 1)
		in = append(in, it.view(append(shape, it.Shape[at:]...), 0))
	}
	out, err := m.help(n, fmt.Sprintf("concat %d", len(in)), "Concat", kernels.Attrs{"axis": int64(axis)}, 1, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// sequenceMap runs the body for each element of the first sequence, with the elements of the other sequences beside it.
func (m *Machine) sequenceMap(n *graph.Node, f *frame, in []*Item) ([]*Item, error) {
	b := n.Bodies["body"]
	if b == nil || len(in) == 0 || len(b.Inputs) != len(in) {
		return nil, problem.Failedf("a SequenceMap of %d inputs whose body does not fit them", len(in))
	}
	first, err := sequenceOf(in[0])
	if err != nil {
		return nil, err
	}
	out := make([]*Item, len(b.Outputs))
	for i := range out {
		out[i] = &Item{Kind: graph.Sequence, refs: 1}
	}
	for k := range first.list {
		args := make([]*Item, len(in))
		for i, it := range in {
			if args[i] = it; it != nil && it.Kind == graph.Sequence {
				if k >= len(it.list) {
					m.releaseAll(out)
					return nil, problem.Failedf("input %d has %d elements, the first has %d", i, len(it.list), len(first.list))
				}
				args[i] = it.list[k]
			}
		}
		made, err := m.body(b, f, args)
		if err != nil {
			m.releaseAll(out)
			return nil, fmt.Errorf("element %d: %w", k, err)
		}
		for i, it := range made {
			out[i].list = append(out[i].list, it)
		}
	}
	return out, nil
}
