package dumpdiff

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/tensor"
)

var opts = Options{RTol: 1e-3, ATol: 1e-4, Cosine: 0.9999}

// dump writes a data dump with one output in the given type number, format, stored and original shape.
func dump(t *testing.T, path string, dtype, format int, shape, orig []uint64, data []byte) {
	t.Helper()
	list := func(field byte, s []uint64) []byte {
		var p []byte
		for _, d := range s {
			p = binary.AppendUvarint(p, d)
		}
		in := append([]byte{10, byte(len(p))}, p...)
		return append([]byte{field<<3 | 2, byte(len(in))}, in...)
	}
	o := []byte{8, byte(dtype), 16, byte(format)}
	o = append(o, list(3, shape)...)
	o = binary.AppendUvarint(append(o, 6<<3), uint64(len(data)))
	if orig != nil {
		o = append(o, list(7, orig)...)
	}
	msg := append([]byte{10, 3, '2', '.', '0', 26, byte(len(o))}, o...)
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(msg))), msg...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, data...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func npy(t *testing.T, path string, x *tensor.Tensor) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tensor.WriteNPY(f, x); err != nil {
		t.Fatal(err)
	}
}

func halfs(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint16(b, tensor.Float32ToHalf(f))
	}
	return b
}

func floats(t *testing.T, s tensor.Shape, v ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromFloat32s(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestFileAgainstNPY(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "Add.x.1.2.1700000000000000"), filepath.Join(dir, "x.output.0.npy")
	dump(t, a, 2, 2, []uint64{2, 2}, nil, halfs(1, 2, 3, 4))
	npy(t, b, floats(t, tensor.Shape{2, 2}, 1, 2, 3, 4))
	r, err := Compare(context.Background(), a, b, opts)
	if err != nil || !r.Passed || r.Pairs[0].Verdict != "equal" || r.Pairs[0].DTypeA != "float16" {
		t.Fatalf("%v %+v", err, r)
	}
	npy(t, b, floats(t, tensor.Shape{2, 2}, 1, 2, 3.5, 4))
	r, err = Compare(context.Background(), a, b, opts)
	p := r.Pairs[0]
	if err != nil || r.Passed || p.Verdict != "differs" || fmt.Sprint(p.FirstAt) != "[1 0]" || p.FirstA != 3 || p.FirstB != 3.5 || p.MaxAbs != 0.5 || p.Differ != 1 {
		t.Errorf("%v %+v", err, p)
	}
	var text bytes.Buffer
	if err := Write(&text, r); err != nil || !strings.HasPrefix(text.String(), "first difference: x output.0: element [1 0] is 3 and 3.5\n") {
		t.Errorf("%v %s", err, text.String())
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// A fractal dump against its row-major array: C0 is what the stored shape says.
func TestFractalFormats(t *testing.T) {
	dir := t.TempDir()
	src := make([]float32, 1*20*2*3)
	for i := range src {
		src[i] = float32(i%31) - 15
	}
	row := floats(t, tensor.Shape{1, 20, 2, 3}, src...)
	half, err := row.As(tensor.Float16)
	if err != nil {
		t.Fatal(err)
	}
	half.Format = tensor.NCHW
	for name, c := range map[string]struct {
		f      tensor.Format
		number int
	}{"NC1HWC0": {tensor.NC1HWC0, 3}, "FRACTAL_Z": {tensor.FractalZ, 4}, "FRACTAL_NZ": {tensor.FractalNZ, 29}} {
		st, err := tensor.Convert(half, c.f)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := tensor.StorageShape(c.f, st.Shape, tensor.Float16)
		if err != nil {
			t.Fatal(err)
		}
		var dims []uint64
		for _, d := range stored {
			dims = append(dims, uint64(d))
		}
		a := filepath.Join(dir, "Conv.x."+fmt.Sprint(c.number)+".2.1700000000000000")
		dump(t, a, 2, c.number, dims, []uint64{1, 20, 2, 3}, st.Data)
		b := filepath.Join(dir, name+".npy")
		npy(t, b, row)
		r, err := Compare(context.Background(), a, b, opts)
		if err != nil || r.Pairs[0].Verdict != "equal" || r.Pairs[0].Shape != "1x20x2x3" {
			t.Errorf("%s: %v %+v", name, err, r.Pairs)
		}
	}
}

func TestFoldersInOrder(t *testing.T) {
	dir := t.TempDir()
	for i, n := range []string{"first", "second", "third"} {
		v := float32(i + 1)
		dump(t, filepath.Join(dir, "npu", fmt.Sprintf("Op.%s.%d.2.%d", n, i, 1700000000000000+int64(i))), 2, 2, []uint64{2}, nil, halfs(v, v))
		if i > 0 {
			v *= 2
		}
		npy(t, filepath.Join(dir, "cpu", n+".output.0.npy"), floats(t, tensor.Shape{2}, v, v))
	}
	npy(t, filepath.Join(dir, "cpu", "lonely.output.0.npy"), floats(t, tensor.Shape{1}, 1))
	r, err := Compare(context.Background(), filepath.Join(dir, "npu"), filepath.Join(dir, "cpu"), opts)
	if err != nil || len(r.Pairs) != 3 || r.First == nil || r.First.Node != "second" || len(r.OnlyB) != 1 {
		t.Fatalf("%v %+v", err, r)
	}
}

func TestUndecidable(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "exception_info.1.2.20260101000000000"), filepath.Join(dir, "b.npy")
	dump(t, a, 0, 0, []uint64{2}, nil, halfs(1, 2))
	npy(t, b, floats(t, tensor.Shape{2}, 1, 2))
	r, err := Compare(context.Background(), a, b, opts)
	if err != nil || r.Pairs[0].Verdict != "not compared" || !strings.Contains(r.Pairs[0].Why, "type") {
		t.Errorf("%v %+v", err, r)
	}
	npy(t, b, floats(t, tensor.Shape{3}, 1, 2, 3))
	dump(t, a, 2, 2, []uint64{2}, nil, halfs(1, 2))
	if r, err = Compare(context.Background(), a, b, opts); err != nil || r.Pairs[0].Verdict != "differs" {
		t.Errorf("shapes that differ: %v %+v", err, r)
	}
	if _, err := Compare(context.Background(), filepath.Join(dir, "nothing"), b, opts); problem.ClassOf(err) != problem.Damaged {
		t.Errorf("%v", err)
	}
	dump(t, a, 2, 2, []uint64{2}, nil, []byte{0, 0x3c, 0}) // cut: one whole element
	if _, err = Compare(context.Background(), a, b, opts); err != nil {
		t.Errorf("%v", err)
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"Conv2D.conv1_BiasAdd.12.7.1623124369613540.output.0.npy": "conv1_BiasAdd|output.0",
		"conv1.out.3.NC1HWC0.npy":                                 "conv1|output.3",
		"relu_output_2.npy":                                       "relu|output.2",
		"a/b.npy":                                                 "a_b|output.0",
	} {
		node, name, _ := npyName(in)
		if node+"|"+name != want {
			t.Errorf("%s: %s|%s, expected %s", in, node, name, want)
		}
	}
}
