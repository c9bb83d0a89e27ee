package kernels

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"npu/internal/tensor"
)

// dice draws choices from fuzz input; when it is used up every choice is 0.
type dice struct{ b []byte }

func (d *dice) n(n int) int {
	if len(d.b) == 0 {
		return 0
	}
	v := int(d.b[0]) % n
	d.b = d.b[1:]
	return v
}

func (d *dice) number() int64 {
	v := []int64{0, 1, -1, 2, -2, 3, 5, 7, 8, -9, 100, 1 << 20, 1 << 40, -1 << 40, 1 << 62, math.MaxInt64, math.MinInt64, math.MaxInt32}
	return v[d.n(len(v))]
}

func (d *dice) dim() int {
	v := []int{1, 2, 3, 4, 0, 5, -1, 7, 16, 1 << 20, 1 << 40, math.MaxInt}
	if d.n(4) != 0 {
		return v[d.n(4)]
	}
	return v[d.n(len(v))]
}

// operand draws a type, a shape and sometimes a value.
func (d *dice) operand() Desc {
	types := []tensor.DType{tensor.Float32, tensor.Int64, tensor.Float16, tensor.Int32, tensor.Bool, tensor.Float64, tensor.Uint8,
		tensor.BFloat16, tensor.Int8, tensor.Uint64, tensor.Int4, tensor.Float8E4M3, tensor.Complex128, tensor.String, tensor.Undefined}
	o := Desc{DType: types[d.n(3)]}
	if d.n(3) == 0 {
		o.DType = types[d.n(len(types))]
	}
	o.Shape = make(tensor.Shape, d.n(5))
	for i := range o.Shape {
		o.Shape[i] = d.dim()
	}
	if n, err := o.Shape.Bytes(o.DType); err != nil || n > 1<<10 || d.n(2) == 0 || o.DType == tensor.Undefined {
		return o
	}
	c, err := tensor.New(o.DType, o.Shape)
	if err != nil {
		return o
	}
	for i := range len(c.Data) / max(1, o.DType.Size()) {
		v := d.number()
		switch {
		case o.DType == tensor.Int64:
			tensor.View[int64](c.Data)[i] = v
		case o.DType == tensor.Int32:
			tensor.View[int32](c.Data)[i] = int32(v)
		case o.DType == tensor.Float32:
			tensor.View[float32](c.Data)[i] = float32(v) / 2
		default:
			c.Data[i] = byte(v)
		}
	}
	o.Const = c
	return o
}

func (d *dice) attr() any {
	list := make([]int64, d.n(6))
	for i := range list {
		list[i] = d.number()
	}
	switch d.n(6) {
	case 0:
		return d.number()
	case 1:
		return []float32{0, 1, -1, float32(math.NaN()), float32(math.Inf(1))}[d.n(5)]
	case 2:
		return []string{"", "none", "add", "reflect", "wrap", "edge", "CRD", "LEFT", "tanh", "ij,jk->ik", "...i->...", "ii->i", "->", "a,b,c"}[d.n(14)]
	case 3:
		return d.operand().Const
	}
	return list
}

// ownOps lists the operators of the families in this file's half of the package.
func ownOps() []string {
	var names []string
	for n := range merge(castOps(), predicateOps(), clipOps(), viewOps(), rearrangeOps(), joinOps(), rowOps(), gatherOps(), scatterOps(),
		padOps(), reduceOps(), argOps(), scanOps(), topOps(), selectOps(), einsumOps(), nmsOps(), produceOps(), unaryOps(), binaryOps(), variadicOps(),
		quantizeOps(), quantProductOps(), lossOps(), attentionOps(), sequenceAttentionOps(), rotaryOps(), sampleOps(), patchOps(),
		fourierOps(), windowOps(), cropOps(), randomOps(), learnedOps()) {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// FuzzSpec: no operator panics or allocates without bound on any types, shapes, values and attributes; what compiles
// runs, or fails with an error.
func FuzzSpec(f *testing.F) {
	names := ownOps()
	for i := range names {
		f.Add([]byte{byte(i), 1, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1})
	}
	f.Fuzz(func(t *testing.T, b []byte) { hostile(&dice{b}, names) })
}

func hostile(d *dice, names []string) {
	attrs := []string{"axis", "axes", "perm", "keepdims", "mode", "pads", "split", "num_outputs", "starts", "ends", "steps", "shape", "to",
		"k", "value", "value_ints", "equation", "reduction", "batch_dims", "blocksize", "direction", "min", "max", "alpha", "start", "end",
		"dtype", "batch_axis", "time_axis", "noop_with_empty_axes", "allowzero", "upper", "largest", "sorted", "fmod", "value_int", "approximate"}
	s := &Spec{Op: names[d.n(len(names))], Opset: []int{13, 18, 7, 9, 11, 21, 1}[d.n(7)], Attrs: Attrs{}}
	for range d.n(6) {
		s.In = append(s.In, d.operand())
	}
	for range d.n(4) {
		s.Attrs[attrs[d.n(len(attrs))]] = d.attr()
	}
	s.Out = make([]Desc, d.n(4))
	tryAll(d, s)
}

// tryAll infers, compiles and, where it is small, runs.
func tryAll(d *dice, s *Spec) {
	if Infer(s) != nil {
		return
	}
	for i := range s.Out { // a caller may say what is not known
		if d.n(3) == 0 {
			for j, n := range s.Out[i].Shape {
				if n < 0 {
					s.Out[i].Shape = s.Out[i].Shape.Clone()
					s.Out[i].Shape[j] = d.n(4)
				}
			}
		}
	}
	c := *s
	k, err := Compile(&c)
	if err != nil {
		return
	}
	x := &Exec{}
	total := k.Workspace
	for _, in := range s.In {
		total += in.bytes()
	}
	for _, out := range s.Out {
		total += out.bytes()
	}
	if total > 1<<18 {
		return
	}
	for _, in := range s.In {
		if in.Const != nil {
			x.In = append(x.In, in.Const.Data)
		} else {
			x.In = append(x.In, make([]byte, in.bytes()))
		}
	}
	for _, out := range s.Out {
		x.Out = append(x.Out, make([]byte, out.bytes()))
	}
	x.Workspace = make([]byte, k.Workspace)
	_ = k.Run(x) // an error is as good as a result
}

// TestHostile_random draws many specs without the fuzzer.
func TestHostile_random(t *testing.T) {
	names := ownOps()
	for i := range 200_000 {
		b := make([]byte, 64)
		x := uint64(i)*0x9e3779b97f4a7c15 + 1
		for j := range b {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			b[j] = byte(x >> 24)
		}
		hostile(&dice{b}, names)
	}
}

// TestHostile_mutated changes one thing at a time in the ONNX project's own nodes.
func TestHostile_mutated(t *testing.T) {
	own := map[string]bool{}
	for _, n := range ownOps() {
		own[n] = true
	}
	r := rand.New(rand.NewPCG(11, 96))
	cases := openCases(t, "node.zip")
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		m, err := readModel(c["model.onnx"])
		if err != nil || len(m.nodes) != 1 || !own[m.nodes[0].op] {
			continue
		}
		for i, in := range m.inputs {
			if v, _, err := readTensor(c["test_data_set_0/"+fmt.Sprintf("input_%d.pb", i)]); err == nil {
				m.values[in] = v
			}
		}
		t.Log(name) // which case it was, if it panics
		for range 60 {
			b := make([]byte, 48)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			d := &dice{b}
			s := m.nodes[0].spec(m.values, m.opset)
			s.Attrs = maps.Clone(s.Attrs)
			mutate(d, s)
			tryAll(d, s)
		}
	}
}

func mutate(d *dice, s *Spec) {
	if len(s.In) > 0 {
		i := d.n(len(s.In))
		in := &s.In[i]
		switch d.n(7) {
		case 0:
			*in = d.operand()
		case 1:
			in.Const = nil
		case 2:
			if len(in.Shape) > 0 {
				in.Const = nil
				in.Shape = in.Shape.Clone()
				in.Shape[d.n(len(in.Shape))] = d.dim()
			}
		case 3:
			in.Const = nil
			in.Shape = append(in.Shape.Clone(), d.dim())
		case 4, 5:
			if c := in.Const; c != nil && c.DType == tensor.Int64 && len(c.Data) > 0 {
				c = &tensor.Tensor{DType: c.DType, Shape: c.Shape, Data: slices.Clone(c.Data)}
				v := tensor.View[int64](c.Data)
				v[d.n(len(v))] = d.number()
				in.Const = c
			}
		case 6:
			s.In = s.In[:i]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attrs)) {
		if d.n(4) == 0 {
			s.Attrs[name] = d.attr()
		}
	}
	s.Opset = []int{s.Opset, 7, 9, 11, 13, 18}[d.n(6)]
}

// TestCompile_memoryTooSmall: a run on less memory than the shapes say is an error.
func TestCompile_memoryTooSmall(t *testing.T) {
	d := Desc{DType: tensor.Float32, Shape: tensor.Shape{4, 4}}
	k, err := Compile(&Spec{Op: "Add", Opset: 14, In: []Desc{d, d}})
	if err != nil {
		t.Fatal(err)
	}
	full, short := make([]byte, 64), make([]byte, 60)
	for _, x := range []*Exec{
		{In: [][]byte{full, short}, Out: [][]byte{full}}, {In: [][]byte{full}, Out: [][]byte{full}},
		{In: [][]byte{full, full}, Out: [][]byte{short}}, {In: [][]byte{full, full}, Out: [][]byte{nil}},
	} {
		if k.Run(x) == nil {
			t.Errorf("no error with inputs of %d bytes", len(x.In))
		}
	}
}
