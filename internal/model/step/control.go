package step

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// branch runs one branch of an If.
func (m *Machine) branch(n *graph.Node, f *frame, in []*Item) ([]*Item, error) {
	if len(in) != 1 || in[0] == nil {
		return nil, problem.Failedf("an If has one condition")
	}
	yes, err := m.truth(in[0])
	if err != nil {
		return nil, err
	}
	name := "else_branch"
	if yes {
		name = "then_branch"
	}
	b := n.Bodies[name]
	if b == nil {
		return nil, problem.Failedf("no %s", name)
	}
	return m.body(b, f, nil)
}

// loop runs a Loop: while the trip count and the condition allow it, the body makes the next state from the last one, and
// a row of each scan output.
func (m *Machine) loop(n *graph.Node, f *frame, in []*Item) ([]*Item, error) {
	b := n.Bodies["body"]
	if b == nil || len(in) < 2 || len(b.Inputs) != len(in) || len(b.Outputs) < len(in)-1 {
		return nil, problem.Failedf("a Loop of %d inputs whose body does not fit them", len(in))
	}
	trips, going := int64(-1), true
	var err error
	if in[0] != nil {
		if trips, err = m.number(in[0]); err != nil {
			return nil, err
		}
	}
	if in[1] != nil {
		if going, err = m.truth(in[1]); err != nil {
			return nil, err
		}
	}
	states := len(in) - 2
	state := make([]*Item, states)
	for i, it := range in[2:] {
		state[i] = it.retain()
	}
	rows := make([][]*Item, len(b.Outputs)-1-states)
	defer func() {
		m.releaseAll(state)
		for _, r := range rows {
			m.releaseAll(r)
		}
	}()
	for i := int64(0); going && (trips < 0 || i < trips); i++ {
		if err := m.breathe(i, len(rows) > 0); err != nil {
			return nil, err
		}
		args := append([]*Item{scalarInt(i), scalarBool(going)}, state...)
		out, err := m.body(b, f, args)
		m.releaseAll(args[:2])
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i, err)
		}
		m.releaseAll(state)
		copy(state, out[1:1+states])
		for j := range rows {
			rows[j] = append(rows[j], out[1+states+j])
		}
		going, err = m.truth(out[0])
		m.Release(out[0])
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	out := make([]*Item, 0, len(n.Out))
	for _, it := range state {
		out = append(out, it.retain())
	}
	for j, r := range rows {
		it, err := m.stack(r, b.Outputs[1+states+j])
		if err != nil {
			m.releaseAll(out)
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

// maxRows bounds what a Loop collects.
const maxRows = 1 << 24

// breathe lets an interrupt end a loop that does all its work on the host, and a loop that collects without end fail.
func (m *Machine) breathe(i int64, collects bool) error {
	if collects && i >= maxRows {
		return problem.Failedf("the loop has collected %d rows and goes on", i)
	}
	if i%1024 != 1023 {
		return nil
	}
	return m.th.SynchronizeStream(m.stream)
}

// stack puts tensors of one shape on top of each other along a new first axis; like is what they would be like where there
// are none.
func (m *Machine) stack(rows []*Item, like *graph.Value) (*Item, error) {
	if len(rows) == 0 {
		s := tensor.Shape{0}
		if like.Known && like.Shape.Static() {
			s = append(s, like.Shape...)
		}
		return known(like.DType, s, []byte{}), nil
	}
	first := rows[0]
	n, err := first.bytes()
	if err != nil {
		return nil, err
	}
	if first.DType.Bits()%8 != 0 {
		return nil, problem.Failedf("rows of %v: %w", first.DType, kernels.ErrUnsupported)
	}
	out, err := m.fresh(first.DType, append(tensor.Shape{len(rows)}, first.Shape...))
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.Kind != graph.Tensor || r.DType != first.DType || !r.Shape.Equal(first.Shape) {
			m.Release(out)
			return nil, problem.Failedf("iteration %d makes %v[%v], the first made %v[%v]", i, r.DType, r.Shape, first.DType, first.Shape)
		}
		if n == 0 {
			continue
		}
		p, err := m.device(r)
		if err == nil {
			err = m.th.MemcpyAsync(out.mem.ptr+runtime.Ptr(int64(i)*n), p, n, m.stream)
		}
		if err != nil {
			m.Release(out)
			return nil, err
		}
	}
	return out, nil
}

// row is the part of a tensor at an index of its first axis.
func (m *Machine) row(it *Item, i int) (*Item, error) {
	if it.Kind != graph.Tensor || len(it.Shape) == 0 || it.DType.Size() == 0 {
		return nil, problem.Failedf("%v %v[%v] has no rows", it.Kind, it.DType, it.Shape)
	}
	n, err := it.Shape[1:].Bytes(it.DType)
	if err != nil {
		return nil, err
	}
	if _, err := m.device(it); err != nil {
		return nil, err
	}
	return it.view(it.Shape[1:].Clone(), int64(i*n)), nil
}

// scan runs a Scan. Since opset 9 its scan inputs are cut along an axis each; opset 8 cuts along axis 1 for each element
// of a batch.
func (m *Machine) scan(g *graph.Graph, n *graph.Node, f *frame, in []*Item) ([]*Item, error) {
	if g.Opset >= 9 {
		return m.scanOnce(g.Opset, n, f, in)
	}
	if len(in) < 2 || in[1] == nil || len(in[1].Shape) == 0 {
		return nil, problem.Failedf("a Scan of opset 8 has a batch")
	}
	if in[0] != nil {
		return nil, problem.Failedf("sequence_lens: %w", kernels.ErrUnsupported)
	}
	in = in[1:]
	results := make([][]*Item, len(n.Out))
	defer func() {
		for _, r := range results {
			m.releaseAll(r)
		}
	}()
	for b := range in[0].Shape[0] {
		part := make([]*Item, len(in))
		var err error
		for i, it := range in {
			if it == nil || len(it.Shape) == 0 || b >= it.Shape[0] {
				err = problem.Failedf("input %d has no element %d of the batch", i+1, b)
			} else {
				part[i], err = m.row(it, b)
			}
			if err != nil {
				m.releaseAll(part)
				return nil, err
			}
		}
		out, err := m.scanOnce(g.Opset, n, f, part)
		m.releaseAll(part)
		if err != nil {
			return nil, err
		}
		for i, it := range out {
			results[i] = append(results[i], it)
		}
	}
	out := make([]*Item, len(n.Out))
	for i, r := range results {
		var err error
		if out[i], err = m.stack(r, &graph.Value{}); err != nil {
			m.releaseAll(out)
			return nil, err
		}
	}
	return out, nil
}

// scanOnce runs the body once for each index of the scan inputs.
func (m *Machine) scanOnce(opset int, n *graph.Node, f *frame, in []*Item) ([]*Item, error) {
	b, scans := n.Bodies["body"], n.Attrs.Int("num_scan_inputs", 0)
	states := len(in) - scans
	if b == nil || scans < 1 || states < 0 || len(b.Inputs) != len(in) || len(b.Outputs) < states {
		return nil, problem.Failedf("a Scan of %d inputs, %d of them scanned, whose body does not fit them", len(in), scans)
	}
	inAxes, inBack := n.Attrs.Ints("scan_input_axes"), n.Attrs.Ints("scan_input_directions")
	if opset < 9 {
		inBack = n.Attrs.Ints("directions")
	}
	var held []*Item // everything to give up at the end
	defer func() { m.releaseAll(held) }()
	sources, length := make([]*Item, scans), -1
	for i := range scans {
		it := in[states+i]
		if it == nil {
			return nil, problem.Failedf("scan input %d is missing", i)
		}
		x, err := m.toFront(n, fmt.Sprintf("input %d", i), it, pick(inAxes, i))
		if err != nil {
			return nil, err
		}
		held = append(held, x)
		if sources[i] = x; length >= 0 && x.Shape[0] != length {
			return nil, problem.Failedf("scan inputs of lengths %d and %d", length, x.Shape[0])
		}
		length = x.Shape[0]
	}
	state := make([]*Item, states)
	for i := range state {
		state[i] = in[i].retain()
	}
	rows := make([][]*Item, len(b.Outputs)-states)
	defer func() {
		m.releaseAll(state)
		for _, r := range rows {
			m.releaseAll(r)
		}
	}()
	for t := range length {
		args := append([]*Item{}, state...)
		for i, x := range sources {
			at := t
			if pick(inBack, i) != 0 {
				at = length - 1 - t
			}
			r, err := m.row(x, at)
			if err != nil {
				return nil, err
			}
			args = append(args, r)
		}
		out, err := m.body(b, f, args)
		m.releaseAll(args[states:])
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", t, err)
		}
		m.releaseAll(state)
		copy(state, out)
		for j := range rows {
			rows[j] = append(rows[j], out[states+j])
		}
	}
	out := make([]*Item, 0, len(n.Out))
	for _, it := range state {
		out = append(out, it.retain())
	}
	outAxes, outBack := n.Attrs.Ints("scan_output_axes"), n.Attrs.Ints("scan_output_directions")
	for j, r := range rows {
		if pick(outBack, j) != 0 {
			for a, z := 0, len(r)-1; a < z; a, z = a+1, z-1 {
				r[a], r[z] = r[z], r[a]
			}
		}
		it, err := m.stack(r, b.Outputs[states+j])
		if err == nil {
			held = append(held, it)
			it, err = m.fromFront(n, fmt.Sprintf("output %d", j), it, pick(outAxes, j))
		}
		if err != nil {
			m.releaseAll(out)
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

// pick is element i of a list that may be left out.
func pick(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// toFront moves an axis to the front; the result is the caller's.
func (m *Machine) toFront(n *graph.Node, role string, it *Item, axis int) (*Item, error) {
	rank := len(it.Shape)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return nil, problem.Failedf("%s: axis outside of %v", role, it.Shape)
	}
	perm := []int64{int64(axis)}
	for d := range rank {
		if d != axis {
			perm = append(perm, int64(d))
		}
	}
	return m.transpose(n, role, it, perm)
}

// fromFront moves the first axis to its place.
func (m *Machine) fromFront(n *graph.Node, role string, it *Item, axis int) (*Item, error) {
	rank := len(it.Shape)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return nil, problem.Failedf("%s: axis outside of %v", role, it.Shape)
	}
	var perm []int64
	for d := 1; d < rank; d++ {
		perm = append(perm, int64(d))
	}
	perm = append(perm[:axis], append([]int64{0}, perm[axis:]...)...)
	return m.transpose(n, role, it, perm)
}

func (m *Machine) transpose(n *graph.Node, role string, it *Item, perm []int64) (*Item, error) {
	if perm[0] == 0 && len(perm) > 0 {
		same := true
		for i, p := range perm {
			same = same && int(p) == i
		}
		if same {
			return it.retain(), nil
		}
	}
	out, err := m.help(n, role, "Transpose", kernels.Attrs{"perm": perm}, 1, it)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// help runs an operator that a control node needs; its attributes are the same each time.
func (m *Machine) help(n *graph.Node, role, op string, attrs kernels.Attrs, outs int, in ...*Item) ([]*Item, error) {
	key := helperKey{n, fmt.Sprintf("%s %d", role, outs)}
	h := m.helper[key]
	if h == nil {
		h = &graph.Node{Name: n.Name + " " + role, Op: op, Attrs: attrs, Origin: n.Origin}
		for range outs {
			h.Out = append(h.Out, &graph.Value{})
		}
		m.helper[key] = h
	}
	return m.kernel(13, h, in)
}
