package step

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

const (
	// smallBytes is what counts as a few numbers: such operands are read back when a shape may depend on them, and
	// operators on them that the host knows are computed by the host.
	smallBytes = 4096
	// keptForms is how many compiled forms a node keeps: a loop that works on growing tensors must not keep them all.
	keptForms = 8
)

// knowledge is how much of its operands' values an operator gets to see when it is compiled.
type knowledge int

const (
	constants knowledge = iota // the model's own
	numbers                    // and small operands, which are read back if need be
	everything
)

// compiled are the forms of a node that were compiled so far, the latest last.
type compiled struct {
	least knowledge // that was needed last time
	forms []*form
}

// form is a node compiled for some shapes, and for some values where it depends on them.
type form struct {
	in      []kernels.Desc // with Const where the value counts
	out     []kernels.Desc
	k       *kernels.Kernel
	loaded  *runtime.Kernel
	weights map[int]*Item // packed constants by operand
	view    bool
}

// kernel runs an operator of package kernels.
func (m *Machine) kernel(opset int, n *graph.Node, in []*Item) ([]*Item, error) {
	if out := shapeOnly(n, in); out != nil {
		return []*Item{out}, nil
	}
	if out, err := m.onHost(opset, n, in); out != nil || err != nil {
		return out, err
	}
	c := m.cache[n]
	if c == nil {
		c = &compiled{}
		m.cache[n] = c
	}
	var last error
	for know := c.least; know <= everything; know++ {
		desc, err := m.describe(in, know)
		if err != nil {
			return nil, err
		}
		f := c.find(desc)
		if f == nil {
			if f, err = m.compile(opset, n, desc, in); err != nil {
				if errors.Is(err, kernels.ErrNotKnown) {
					last = err
					continue
				}
				return nil, problem.Mark(problem.Failed, err)
			}
			m.keep(c, f)
		}
		c.least = know
		return m.launch(n, f, in)
	}
	return nil, problem.Mark(problem.Failed, last)
}

// shapeOnly answers what the host knows without a kernel.
func shapeOnly(n *graph.Node, in []*Item) *Item {
	if len(in) != 1 || in[0] == nil {
		return nil
	}
	switch n.Op {
	case "Size":
		if c, err := in[0].Shape.Elements(); err == nil {
			return scalarInt(int64(c))
		}
	case "Shape":
		s := in[0].Shape
		clip := func(i int) int {
			if i < 0 {
				i += len(s)
			}
			return min(max(i, 0), len(s))
		}
		lo, hi := clip(n.Attrs.Int("start", 0)), clip(n.Attrs.Int("end", len(s)))
		dims := make([]int64, 0, len(s))
		for i := lo; i < hi; i++ {
			dims = append(dims, int64(s[i]))
		}
		return known(tensor.Int64, tensor.Shape{len(dims)}, tensor.Bytes(dims))
	}
	return nil
}

// onHost computes an operator on a few numbers that the host knows; nil where it does not.
func (m *Machine) onHost(opset int, n *graph.Node, in []*Item) ([]*Item, error) {
	total := 0
	for _, it := range in {
		if it == nil {
			continue
		}
		if it.host == nil || it.DType.Float() && len(it.host) > 64 {
			return nil, nil
		}
		total += len(it.host)
	}
	if total > smallBytes || len(in) == 0 || strings.HasPrefix(n.Op, "Random") || n.Op == "Bernoulli" || n.Op == "Multinomial" {
		return nil, nil
	}
	s := &kernels.Spec{Op: n.Op, Opset: opset, Attrs: n.Attrs, Out: make([]kernels.Desc, len(n.Out))}
	x := &kernels.Exec{}
	for _, it := range in {
		d, b := kernels.Desc{}, []byte(nil)
		if it != nil {
			d = kernels.Desc{DType: it.DType, Shape: it.Shape, Const: &tensor.Tensor{DType: it.DType, Shape: it.Shape, Data: it.host}}
			b = it.host
		}
		s.In, x.In = append(s.In, d), append(x.In, b)
	}
	if err := kernels.Infer(s); err != nil {
		return nil, nil // the way over the device says what is wrong
	}
	for _, d := range s.Out {
		if b, err := d.Shape.Bytes(d.DType); err != nil || b > smallBytes {
			return nil, nil
		}
	}
	k, err := kernels.Compile(s)
	if err != nil {
		return nil, nil
	}
	for _, w := range k.Weights {
		packed := make([]byte, w.Bytes)
		w.Pack(packed, x.In[w.Input])
		x.In[w.Input] = packed
	}
	x.Workspace = make([]byte, k.Workspace)
	var out []*Item
	for i, d := range s.Out {
		t, err := tensor.New(d.DType, d.Shape)
		if err != nil {
			return nil, err
		}
		x.Out = append(x.Out, t.Data)
		if n.Out[i] == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, known(t.DType, t.Shape, t.Data))
	}
	if err := k.Run(x); err != nil {
		return nil, problem.Mark(problem.Failed, err)
	}
	return out, nil
}

// describe gives the operands with as much of their values as is wanted.
func (m *Machine) describe(in []*Item, know knowledge) ([]kernels.Desc, error) {
	desc := make([]kernels.Desc, len(in))
	for i, it := range in {
		if it == nil {
			continue
		}
		desc[i] = kernels.Desc{DType: it.DType, Shape: it.Shape}
		if it.fixed != nil {
			desc[i].Const = it.fixed
			continue
		}
		n, err := it.bytes()
		if err != nil {
			return nil, err
		}
		if know == constants || know == numbers && n > smallBytes {
			continue
		}
		b, err := m.read(it)
		if err != nil {
			return nil, err
		}
		desc[i].Const = &tensor.Tensor{DType: it.DType, Shape: it.Shape, Data: b}
	}
	return desc, nil
}

// find is the form that was compiled for these shapes and values.
func (c *compiled) find(desc []kernels.Desc) *form {
	for i := len(c.forms) - 1; i >= 0; i-- {
		if f := c.forms[i]; f.fits(desc) {
			return f
		}
	}
	return nil
}

func (f *form) fits(desc []kernels.Desc) bool {
	if len(f.in) != len(desc) {
		return false
	}
	for i, d := range desc {
		o := f.in[i]
		if d.DType != o.DType || !d.Shape.Equal(o.Shape) || (d.Const == nil) != (o.Const == nil) {
			return false
		}
		if d.Const != o.Const && !bytes.Equal(d.Const.Data, o.Const.Data) {
			return false
		}
	}
	return true
}

// keep adds a form and forgets the oldest beyond those that are kept, which the device may still be about to run.
func (m *Machine) keep(c *compiled, f *form) {
	if len(c.forms) == keptForms {
		old := c.forms[0]
		c.forms = append(c.forms[:0], c.forms[1:]...)
		if old.loaded != nil && m.th.SynchronizeStream(m.stream) == nil {
			_ = m.th.UnloadKernel(old.loaded) // it is idle
		}
		for _, w := range old.weights {
			m.Release(w)
		}
	}
	c.forms = append(c.forms, f)
}

// compile makes a form of a node. An error that wraps kernels.ErrNotKnown asks for more knowledge.
func (m *Machine) compile(opset int, n *graph.Node, desc []kernels.Desc, in []*Item) (*form, error) {
	s := &kernels.Spec{Op: n.Op, Opset: opset, Attrs: n.Attrs, In: desc, Out: make([]kernels.Desc, len(n.Out))}
	if err := kernels.Infer(s); err != nil {
		return nil, err
	}
	for i, d := range s.Out {
		if !d.Shape.Static() {
			return nil, fmt.Errorf("output %d has shape %v: %w", i, d.Shape, kernels.ErrNotKnown)
		}
	}
	f := &form{in: desc, out: s.Out}
	if op, ok := kernels.Lookup(n.Op); ok && op.View && len(n.Out) == 1 {
		f.view = true
		return f, nil
	}
	var err error
	if f.k, err = kernels.Compile(s); err != nil {
		return nil, err
	}
	c := runtime.KernelConfig{Name: n.Name, Run: f.k, Control: true, InDesc: bare(desc), OutDesc: bare(s.Out), Origin: n.Origin}
	for _, it := range in {
		size := int64(-1)
		if it != nil {
			if size, err = it.bytes(); err != nil {
				return nil, err
			}
		}
		c.In = append(c.In, int(size))
	}
	for _, w := range f.k.Weights {
		packed := make([]byte, w.Bytes)
		w.Pack(packed, desc[w.Input].Const.Data)
		if f.weights == nil {
			f.weights = map[int]*Item{}
		}
		f.weights[w.Input] = known(tensor.Uint8, tensor.Shape{w.Bytes}, packed)
		c.In[w.Input] = w.Bytes
	}
	for i, d := range s.Out {
		size := -1
		if n.Out[i] != nil {
			if size, err = d.Shape.Bytes(d.DType); err != nil {
				return nil, err
			}
		}
		c.Out = append(c.Out, size)
	}
	f.loaded, err = m.th.LoadKernel(c)
	return f, err
}

// bare are the descriptions without values, which the runtime need not keep.
func bare(list []kernels.Desc) []kernels.Desc {
	out := make([]kernels.Desc, len(list))
	for i, d := range list {
		d.Const = nil
		out[i] = d
	}
	return out
}

// launch runs a form on operands of its shapes.
func (m *Machine) launch(n *graph.Node, f *form, in []*Item) (out []*Item, err error) {
	if f.view {
		if _, err := m.device(in[0]); err != nil {
			return nil, err
		}
		v := in[0].view(f.out[0].Shape.Clone(), 0)
		v.DType = f.out[0].DType
		return []*Item{v}, nil
	}
	defer func() {
		if err != nil {
			m.releaseAll(out)
			out = nil
		}
	}()
	var args []uint64
	for i, it := range in {
		if it == nil {
			continue
		}
		if w := f.weights[i]; w != nil {
			it = w
		}
		p, err := m.device(it)
		if err != nil {
			return nil, err
		}
		args = append(args, uint64(p))
	}
	for i, d := range f.out {
		if n.Out[i] == nil {
			out = append(out, nil)
			continue
		}
		it, err := m.fresh(d.DType, d.Shape)
		if err != nil {
			return out, err
		}
		out = append(out, it)
		args = append(args, uint64(it.mem.ptr))
	}
	if f.k.Workspace > 0 {
		work, err := m.allocate(int64(f.k.Workspace))
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, m.th.Free(work.ptr)) }()
		args = append(args, uint64(work.ptr))
	}
	if len(args) <= sim.ArgWords {
		return out, m.th.LaunchKernel(f.loaded, args, m.stream)
	}
	block, err := m.allocate(int64(8 * len(args)))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.th.Free(block.ptr)) }()
	words := make([]byte, 8*len(args))
	for i, a := range args {
		binary.LittleEndian.PutUint64(words[8*i:], a)
	}
	if err := m.th.MemcpyFromHost(block.ptr, words); err != nil {
		return out, err
	}
	return out, m.th.LaunchPrepared(f.loaded, block.ptr, m.stream)
}
