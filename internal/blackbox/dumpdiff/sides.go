package dumpdiff

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/identify"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// side lists the tensors of a file or folder.
func side(path string) ([]*item, []string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, problem.Mark(problem.Damaged, err)
	}
	if !st.IsDir() {
		items, notes, err := fileItems(path)
		if err == nil && len(items) == 0 {
			err = problem.Damagedf("%s: holds no tensor", path)
		}
		return items, notes, err
	}
	var items []*item
	var notes []string
	err = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		more, n, err := fileItems(p)
		notes = append(notes, n...)
		if err == nil {
			items = append(items, more...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, problem.Mark(problem.Damaged, err)
	}
	if len(items) == 0 {
		return nil, notes, problem.Damagedf("%s: no dump and no .npy file below it", path)
	}
	slices.SortStableFunc(items, func(x, y *item) int { return cmp.Compare(x.order, y.order) })
	return items, notes, nil
}

func fileItems(path string) ([]*item, []string, error) {
	kind, err := identify.File(path)
	if err != nil {
		return nil, nil, err
	}
	switch kind {
	case identify.NPY:
		node, name, order := npyName(filepath.Base(path))
		return []*item{{node: node, name: name, label: path, order: order, load: func() (*tensor.Tensor, error) { return readNPY(path) }}}, nil, nil
	case identify.TensorDump:
		return dumpItems(path)
	}
	return nil, nil, problem.Damagedf("%s: a %s holds no tensors to compare", path, identify.Description(kind))
}

func dumpItems(path string) ([]*item, []string, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	d, err := adump.Parse(f, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	d.FillTypes(adump.KernelsBeside(path))
	n := adump.ParseName(adump.Mapped(path))
	if n.Scheme == "overflow" {
		return nil, nil, nil
	}
	node := normal(cmp.Or(n.OpName, d.OpName))
	var notes []string
	for _, p := range d.Problems {
		notes = append(notes, fmt.Sprintf("%s: offset 0x%x: %s", path, p.Offset, p.Text))
	}
	var out []*item
	for i := range d.Tensors {
		t := d.Tensors[i]
		if t.Role != "input" && t.Role != "output" || t.InputType == 7 {
			continue
		}
		name := fmt.Sprintf("%s.%d", t.Role, t.Index)
		out = append(out, &item{node: node, name: name, label: path + ":" + name, order: cmp.Or(n.Order, d.Time), load: func() (*tensor.Tensor, error) { return readDump(path, t) }})
	}
	return out, notes, nil
}

func open(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, problem.Mark(problem.Damaged, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, problem.Mark(problem.Damaged, err)
	}
	return f, st.Size(), nil
}

// npyName takes apart what this tool, the vendor's converter and scripts write: BASE.output.0.npy, op.out.0.ND.npy,
// op_output_0.npy, op.npy.
func npyName(base string) (node, name string, order uint64) {
	s := strings.TrimSuffix(strings.TrimSuffix(base, ".npy"), ".partial")
	f := strings.Split(s, ".")
	for i := len(f) - 1; i >= 1; i-- {
		role := map[string]string{"input": "input", "output": "output", "in": "input", "out": "output"}[f[i]]
		if role != "" && i+1 < len(f) && f[i+1] != "" && strings.Trim(f[i+1], "0123456789") == "" {
			head := strings.Join(f[:i], ".")
			n := adump.ParseName(head)
			return normal(cmp.Or(n.OpName, head)), role + "." + f[i+1], n.Order
		}
	}
	for _, role := range []string{"input", "output"} {
		if i := strings.LastIndex(s, "_"+role+"_"); i > 0 {
			if k := s[i+len(role)+2:]; k != "" && strings.Trim(k, "0123456789") == "" {
				return normal(s[:i]), role + "." + k, 0
			}
		}
	}
	return normal(s), "output.0", 0
}

// normal makes names of both sides alike: writers replace / . \ and blanks by underscores.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/.\ `, r) {
			return '_'
		}
		return r
	}, s)
}

func readNPY(path string) (*tensor.Tensor, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tensor.ReadNPY(f, size)
}

// readDump loads a tensor: whole elements that are there, in row-major order of its original shape where the layout
// is a fractal one.
func readDump(path string, t adump.Tensor) (*tensor.Tensor, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !t.DType.Numeric() {
		return nil, fmt.Errorf("its type %s is not known (exception dumps L0: put the kernel's .json beside it)", t.DType.Name)
	}
	b := make([]byte, t.Have)
	if _, err := f.ReadAt(b, t.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	count := t.DType.Count(uint64(len(b)))
	shape := tensor.Shape{int(count)}
	if n, ok := adump.Elements(t.Shape); ok && n == count && len(t.Shape) > 0 {
		shape = shape[:0]
		for _, d := range t.Shape {
			shape = append(shape, int(d))
		}
	}
	if x := natural(t, b, shape); x != nil {
		return x, nil
	}
	size, _ := t.DType.Bytes(count)
	out := &tensor.Tensor{DType: t.DType.Out(), Shape: shape, Data: t.DType.Widen(nil, b[:size])}
	if need, err := shape.Bytes(out.DType); err != nil || need > len(out.Data) {
		return nil, fmt.Errorf("shape %v and %d bytes do not fit", shape, len(out.Data))
	} else {
		out.Data = out.Data[:need]
	}
	return out, nil
}

// natural unpacks fractal layouts; nil when the tensor has none or the shapes do not fit.
func natural(t adump.Tensor, b []byte, stored tensor.Shape) *tensor.Tensor {
	f, ok := map[string]tensor.Format{"NC1HWC0": tensor.NC1HWC0, "FRACTAL_Z": tensor.FractalZ, "FRACTAL_NZ": tensor.FractalNZ}[adump.FormatName(t.Format)]
	dt := t.DType.DType()
	if !ok || len(t.OrigShape) == 0 || dt == tensor.Undefined || len(stored) < 2 {
		return nil
	}
	shape := make(tensor.Shape, len(t.OrigShape))
	for i, d := range t.OrigShape {
		shape[i] = int(min(d, 1<<40))
	}
	l := tensor.Layout{Format: f, C0: stored[len(stored)-1]}
	want, err := l.StorageShape(shape, dt)
	if err != nil {
		return nil
	}
	if n, err := want.Bytes(dt); err != nil || n != len(b) {
		return nil
	}
	out, err := tensor.New(dt, shape)
	if err != nil || l.Unpack(out.Data, b, shape, dt) != nil {
		return nil
	}
	return out
}
