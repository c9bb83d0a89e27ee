package kernels

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/tensor"
)

// TestBackend runs the ONNX project's own cases whose operators are all in the table, against the outputs that come
// with them. Each node runs with every operand known at compile time and again with each operand known only at run
// time, where it can be compiled so: the bits must be the same.
func TestBackend(t *testing.T) {
	for _, file := range []struct {
		name  string
		least int
	}{{"node.zip", 1415}, {"simple.zip", 6}, {"pytorch-operator.zip", 33}, {"pytorch-converted.zip", 69}} {
		t.Run(file.name, func(t *testing.T) { backendFile(t, file.name, file.least) })
	}
}

func backendFile(t *testing.T, file string, least int) {
	cases := openCases(t, file)
	names := make([]string, 0, len(cases))
	for n := range cases {
		names = append(names, n)
	}
	sort.Strings(names)
	passed, missing, skipped := 0, map[string]int{}, []string{}
	for _, n := range names {
		err := runCase(cases[n])
		var no noOperator
		switch {
		case err == nil:
			passed++
		case errors.As(err, &no):
			missing[string(no)]++
		case errors.Is(err, ErrUnsupported):
			skipped = append(skipped, n+": "+err.Error())
		default:
			t.Errorf("%s: %v", n, err)
		}
	}
	t.Logf("%d of %d cases pass; %d not supported; without their operator: %v", passed, len(names), len(skipped), missing)
	for _, s := range skipped {
		t.Log("not supported: ", s)
	}
	if passed < least {
		t.Errorf("only %d cases pass, expected at least %d", passed, least)
	}
}

// noOperator names an operator that is not in the table.
type noOperator string

func (n noOperator) Error() string { return "no operator " + string(n) }

type backendCase map[string][]byte // file name inside the case's folder

func openCases(t *testing.T, name string) map[string]backendCase {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "data", "onnx-backend", name)
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Skipf("no ONNX backend cases at %s", path)
	}
	defer z.Close()
	cases := map[string]backendCase{}
	for _, f := range z.File {
		c, file, ok := strings.Cut(f.Name, "/")
		if !ok || strings.HasSuffix(file, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if cases[c] == nil {
			cases[c] = backendCase{}
		}
		cases[c][file] = b
	}
	return cases
}

func runCase(c backendCase) error {
	m, err := readModel(c["model.onnx"])
	if err != nil {
		return err
	}
	for _, n := range m.nodes {
		if n.domain == "ai.onnx.ml" {
			n.op = n.domain + "." + n.op
		} else if n.domain != "" {
			return noOperator(n.op)
		}
		if _, ok := Lookup(n.op); !ok {
			return noOperator(n.op)
		}
		if n.op == "Bernoulli" || n.op == "RandomUniformLike" {
			return noOperator(n.op + " (random)")
		}
	}
	for set := 0; ; set++ {
		dir := fmt.Sprintf("test_data_set_%d/", set)
		if set > 0 && c[dir+"output_0.pb"] == nil {
			return nil
		}
		values := map[string]*tensor.Tensor{}
		for k, v := range m.values {
			values[k] = v
		}
		for i, name := range m.inputs {
			b, ok := c[dir+fmt.Sprintf("input_%d.pb", i)]
			if !ok {
				continue
			}
			v, _, err := readTensor(b)
			if err != nil {
				return err
			}
			values[name] = v
		}
		for _, n := range m.nodes {
			if err := n.run(values, m.opset); err != nil {
				return err
			}
		}
		for i, name := range m.outputs {
			want, _, err := readTensor(c[dir+fmt.Sprintf("output_%d.pb", i)])
			if err != nil {
				return err
			}
			if err := sameTensor(values[name], want); err != nil {
				return fmt.Errorf("output %s: %w", name, err)
			}
		}
	}
}

type testNode struct {
	op, domain string
	in, out    []string
	attrs      Attrs
}

// run computes the node's outputs into values.
func (n *testNode) run(values map[string]*tensor.Tensor, opset int) error {
	known, err := n.compute(values, opset, func(int) bool { return true })
	if err != nil {
		return err
	}
	for hidden := range n.in {
		late, err := n.compute(values, opset, func(i int) bool { return i != hidden })
		if errors.Is(err, ErrUnsupported) {
			continue // this operand must be known
		}
		if err != nil {
			return fmt.Errorf("with input %d known only at run time: %w", hidden, err)
		}
		for i := range known {
			if known[i] != nil && !bytes.Equal(known[i].Data, late[i].Data) {
				return fmt.Errorf("%s: result %d differs when input %d is known only at run time", n.op, i, hidden)
			}
		}
	}
	for i, o := range n.out {
		if o != "" {
			values[o] = known[i]
		}
	}
	return n.checkPartial(values, opset)
}

func (n *testNode) spec(values map[string]*tensor.Tensor, opset int) *Spec {
	s := &Spec{Op: n.op, Opset: opset, Attrs: n.attrs, Out: make([]Desc, len(n.out))}
	for _, name := range n.in {
		d := Desc{}
		if v := values[name]; name != "" && v != nil {
			d = Desc{DType: v.DType, Shape: v.Shape, Const: v}
		}
		s.In = append(s.In, d)
	}
	return s
}

func (n *testNode) compute(values map[string]*tensor.Tensor, opset int, known func(int) bool) ([]*tensor.Tensor, error) {
	s := n.spec(values, opset)
	x := &Exec{}
	for i := range s.In {
		if s.In[i].Absent() {
			x.In = append(x.In, nil)
			continue
		}
		x.In = append(x.In, s.In[i].Const.Data)
		if !known(i) {
			s.In[i].Const = nil
		}
	}
	if err := Infer(s); err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	k, err := Compile(s)
	if err != nil {
		return nil, err
	}
	for _, w := range k.Weights {
		packed := make([]byte, w.Bytes)
		w.Pack(packed, x.In[w.Input])
		x.In[w.Input] = packed
	}
	x.Workspace = make([]byte, k.Workspace)
	out := make([]*tensor.Tensor, len(s.Out))
	for i, d := range s.Out {
		x.Out = append(x.Out, nil)
		if n.out[i] == "" {
			continue
		}
		if out[i], err = tensor.New(d.DType, d.Shape); err != nil {
			return nil, err
		}
		for j := range out[i].Data {
			out[i].Data[j] = 0xcd // a kernel must write all of it
		}
		x.Out[i] = out[i].Data
	}
	if err := k.Run(x); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if k.Type == "" || k.Blocks < 1 {
		return nil, fmt.Errorf("kernel has type %q and %d blocks", k.Type, k.Blocks)
	}
	return out, nil
}

// checkPartial infers with unknown values and dimensions: what it then says must agree with what came out.
func (n *testNode) checkPartial(values map[string]*tensor.Tensor, opset int) error {
	for _, hide := range []string{"values", "dims", "both"} {
		s := n.spec(values, opset)
		for i := range s.In {
			if hide != "values" {
				s.In[i].Shape = slices.Repeat(tensor.Shape{-1}, len(s.In[i].Shape))
			}
			if hide != "dims" {
				s.In[i].Const = nil
			}
		}
		if err := Infer(s); err != nil {
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			return fmt.Errorf("infer without %s: %w", hide, err)
		}
		for i, d := range s.Out {
			v := values[n.out[i]]
			if n.out[i] == "" || v == nil {
				continue
			}
			ok := d.DType == v.DType && len(d.Shape) == len(v.Shape)
			for j := range d.Shape {
				ok = ok && (d.Shape[j] == -1 || d.Shape[j] == v.Shape[j])
			}
			if !ok {
				return fmt.Errorf("infer without %s: output %d is %v %v, really %v", hide, i, d.DType, d.Shape, v)
			}
		}
	}
	return nil
}

func sameTensor(got, want *tensor.Tensor) error {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("is %v, want %v", got, want)
	}
	if !got.DType.Float() {
		if !bytes.Equal(got.Data, want.Data) {
			return fmt.Errorf("%v differs: %.40x, want %.40x", got, got.Data, want.Data)
		}
		return nil
	}
	n := want.Shape.Count()
	g, w := make([]float64, n), make([]float64, n)
	loadF64(g, got.DType, got.Data, 0)
	loadF64(w, got.DType, want.Data, 0)
	rtol, atol := 1e-3, 1e-6
	switch got.DType {
	case tensor.Float16:
		rtol, atol = 2e-3, 1e-4
	case tensor.BFloat16:
		rtol = 1e-2
	}
	for i := range g {
		same := g[i] == w[i] || math.IsNaN(g[i]) && math.IsNaN(w[i])
		if !same && !(math.Abs(g[i]-w[i]) <= atol+rtol*math.Abs(w[i])) {
			return fmt.Errorf("%v element %d is %g, want %g", got, i, g[i], w[i])
		}
	}
	return nil
}

type testModel struct {
	opset           int
	nodes           []*testNode
	inputs, outputs []string
	values          map[string]*tensor.Tensor
}

// fields calls f for each field of a message; v is the payload or the number.
func fields(b []byte, f func(num protowire.Number, v []byte, x uint64) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v []byte
		var x uint64
		switch typ {
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			var y uint32
			y, n = protowire.ConsumeFixed32(b)
			x = uint64(y)
		case protowire.Fixed64Type:
			x, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := f(num, v, x); err != nil {
			return err
		}
	}
	return nil
}

func readModel(b []byte) (*testModel, error) {
	m := &testModel{values: map[string]*tensor.Tensor{}}
	return m, fields(b, func(num protowire.Number, v []byte, _ uint64) error {
		switch num {
		case 7:
			return m.readGraph(v)
		case 8:
			var domain string
			var version int
			err := fields(v, func(num protowire.Number, v []byte, x uint64) error {
				if num == 1 {
					domain = string(v)
				} else if num == 2 {
					version = int(x)
				}
				return nil
			})
			if domain == "" {
				m.opset = version
			}
			return err
		}
		return nil
	})
}

func (m *testModel) readGraph(b []byte) error {
	return fields(b, func(num protowire.Number, v []byte, _ uint64) error {
		switch num {
		case 1:
			n := &testNode{attrs: Attrs{}}
			m.nodes = append(m.nodes, n)
			return n.read(v)
		case 5:
			t, name, err := readTensor(v)
			m.values[name] = t
			return err
		case 11, 12:
			name, plain := readValueInfo(v)
			if !plain {
				return fmt.Errorf("value %s is no tensor: %w", name, ErrUnsupported)
			}
			if num == 11 {
				m.inputs = append(m.inputs, name)
			} else {
				m.outputs = append(m.outputs, name)
			}
		}
		return nil
	})
}

func readValueInfo(b []byte) (name string, plain bool) {
	plain = true
	_ = fields(b, func(num protowire.Number, v []byte, _ uint64) error {
		if num == 1 {
			name = string(v)
		} else if num == 2 {
			return fields(v, func(num protowire.Number, _ []byte, _ uint64) error {
				plain = plain && (num == 1 || num == 6)
				return nil
			})
		}
		return nil
	})
	return name, plain
}

func (n *testNode) read(b []byte) error {
	return fields(b, func(num protowire.Number, v []byte, _ uint64) error {
		switch num {
		case 1:
			n.in = append(n.in, string(v))
		case 2:
			n.out = append(n.out, string(v))
		case 4:
			n.op = string(v)
		case 5:
			return n.readAttr(v)
		case 7:
			n.domain = string(v)
		}
		return nil
	})
}

func (n *testNode) readAttr(b []byte) error {
	var name string
	var kind, i int64
	var f float32
	var s string
	var t *tensor.Tensor
	var fs []float32
	var is []int64
	var ss []string
	err := fields(b, func(num protowire.Number, v []byte, x uint64) (err error) {
		switch num {
		case 1:
			name = string(v)
		case 2:
			f = math.Float32frombits(uint32(x))
		case 3:
			i = int64(x)
		case 4:
			s = string(v)
		case 5:
			t, _, err = readTensor(v)
		case 7:
			if v == nil {
				fs = append(fs, math.Float32frombits(uint32(x)))
			}
			for ; len(v) >= 4; v = v[4:] {
				fs = append(fs, math.Float32frombits(binary.LittleEndian.Uint32(v)))
			}
		case 8:
			is = append(is, varints(v, x)...)
		case 9:
			ss = append(ss, string(v))
		case 20:
			kind = int64(x)
		}
		return err
	})
	switch kind {
	case 1:
		n.attrs[name] = f
	case 2:
		n.attrs[name] = i
	case 3:
		n.attrs[name] = s
	case 4:
		n.attrs[name] = t
	case 6:
		n.attrs[name] = fs
	case 7:
		n.attrs[name] = is
	case 8:
		n.attrs[name] = ss
	}
	return err
}

// varints reads a repeated integer field, packed or not.
func varints(v []byte, x uint64) []int64 {
	if v == nil {
		return []int64{int64(x)}
	}
	var out []int64
	for len(v) > 0 {
		x, n := protowire.ConsumeVarint(v)
		if n < 0 {
			break
		}
		out, v = append(out, int64(x)), v[n:]
	}
	return out
}

func readTensor(b []byte) (*tensor.Tensor, string, error) {
	t := &tensor.Tensor{Shape: tensor.Shape{}}
	var name string
	var raw []byte
	var ints []int64
	var kind int
	err := fields(b, func(num protowire.Number, v []byte, x uint64) error {
		switch num {
		case 1:
			for _, d := range varints(v, x) {
				t.Shape = append(t.Shape, int(d))
			}
		case 2:
			kind = int(x)
		case 4, 9, 10: // float_data and double_data are packed little-endian, as raw_data is
			raw = append(raw, v...)
		case 5, 7, 11:
			ints = append(ints, varints(v, x)...)
		case 8:
			name = string(v)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if t.DType, err = onnxType(kind); err != nil {
		return nil, "", err
	}
	if t.DType.Bits() == 0 {
		return nil, "", fmt.Errorf("tensor %s of %v: %w", name, t.DType, ErrUnsupported)
	}
	n, err := t.Shape.Bytes(t.DType)
	if err != nil {
		return nil, "", err
	}
	if raw == nil {
		raw = make([]byte, n)
		var w [8]byte
		for i, v := range ints {
			binary.LittleEndian.PutUint64(w[:], uint64(v))
			if t.DType.Bits() < 8 {
				copy(raw[i:], w[:1])
			} else {
				copy(raw[i*t.DType.Size():(i+1)*t.DType.Size()], w[:])
			}
		}
	}
	if len(raw) != n {
		return nil, "", fmt.Errorf("tensor %s %v has %d bytes, want %d", name, t, len(raw), n)
	}
	t.Data = raw
	return t, name, nil
}
