// Package dumpdiff compares tensors that were dumped on two sides: two dumps, a dump and .npy files, or two folders,
// operator by operator in the order of execution, so that the first operator that differs stands on top.
package dumpdiff

import (
	"bytes"
	"cmp"
	"context"
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

// Options are the limits.
type Options struct {
	RTol, ATol float64
	Cosine     float64 // least cosine that counts as equal
}

// Pair is one compared tensor.
type Pair struct {
	Node     string  `json:"node"`
	Tensor   string  `json:"tensor"`
	A        string  `json:"a"`
	B        string  `json:"b"`
	DTypeA   string  `json:"dtype_a"`
	DTypeB   string  `json:"dtype_b"`
	Shape    string  `json:"shape"`
	Elements int     `json:"elements"`
	Cosine   float64 `json:"cosine"`
	MaxAbs   Float   `json:"max_abs"`
	MeanAbs  Float   `json:"mean_abs"`
	MaxRel   Float   `json:"max_rel"`
	NaN      [2]int  `json:"nan"`
	Inf      [2]int  `json:"inf"`
	Differ   int     `json:"beyond_tolerance"`
	FirstAt  []int   `json:"first_difference,omitempty"`
	FirstA   Float   `json:"first_a"`
	FirstB   Float   `json:"first_b"`
	Verdict  string  `json:"verdict"` // equal, close, differs, not compared
	Why      string  `json:"why,omitempty"`
	order    uint64
	hasFirst bool
}

// Result is a comparison.
type Result struct {
	Pairs  []Pair   `json:"pairs"`            // in order of execution
	First  *Pair    `json:"first"`            // first that differs
	OnlyA  []string `json:"only_a,omitempty"` // tensors without a partner
	OnlyB  []string `json:"only_b,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Passed bool     `json:"passed"`
}

// item is one tensor of a side, loaded when it is compared.
type item struct {
	node, name string // name: input.0
	label      string
	order      uint64
	load       func() (*tensor.Tensor, error)
}

// Compare compares two files or folders.
func Compare(ctx context.Context, a, b string, o Options) (*Result, error) {
	ia, na, err := side(a)
	if err != nil {
		return nil, err
	}
	ib, nb, err := side(b)
	if err != nil {
		return nil, err
	}
	res := &Result{Pairs: []Pair{}, Notes: append(na, nb...)}
	match(ia, ib, func(x, y *item) {
		switch {
		case y == nil:
			res.OnlyA = append(res.OnlyA, x.label)
		case x == nil:
			res.OnlyB = append(res.OnlyB, y.label)
		case ctx.Err() == nil:
			res.Pairs = append(res.Pairs, pair(x, y, o))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(res.Pairs) == 0 {
		return res, problem.Damagedf("%s and %s have no tensor in common", a, b)
	}
	slices.SortStableFunc(res.Pairs, func(x, y Pair) int { return cmp.Compare(x.order, y.order) })
	for i := range res.Pairs {
		if res.Pairs[i].Verdict == "differs" {
			res.First = &res.Pairs[i]
			break
		}
	}
	res.Passed = res.First == nil
	return res, nil
}

// match pairs by node and name; single files pair by name alone, and single tensors with each other.
func match(a, b []*item, fn func(x, y *item)) {
	key := func(i *item) string { return i.node + "|" + i.name }
	if oneNode(a) && oneNode(b) {
		key = func(i *item) string { return i.name }
		if len(a) == 1 && len(b) == 1 {
			key = func(*item) string { return "" }
		}
	}
	byKey := map[string][]*item{}
	for _, y := range b {
		byKey[key(y)] = append(byKey[key(y)], y)
	}
	for _, x := range a {
		k := key(x)
		if list := byKey[k]; len(list) > 0 {
			fn(x, list[0])
			byKey[k] = list[1:]
			continue
		}
		fn(x, nil)
	}
	for _, y := range b {
		if slices.Contains(byKey[key(y)], y) {
			fn(nil, y)
		}
	}
}

func oneNode(items []*item) bool {
	for _, i := range items {
		if i.node != items[0].node {
			return false
		}
	}
	return true
}

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

// pair compares one tensor.
func pair(x, y *item, o Options) Pair {
	p := Pair{Node: x.node, Tensor: x.name, A: x.label, B: y.label, order: x.order, Verdict: "not compared"}
	a, err := x.load()
	if err != nil {
		p.Why = x.label + ": " + err.Error()
		return p
	}
	b, err := y.load()
	if err != nil {
		p.Why = y.label + ": " + err.Error()
		return p
	}
	p.DTypeA, p.DTypeB, p.Shape = a.DType.String(), b.DType.String(), a.Shape.String()
	if !a.Shape.Equal(b.Shape) {
		na, erra := a.Shape.Elements()
		nb, errb := b.Shape.Elements()
		if erra != nil || errb != nil || na != nb {
			p.Verdict, p.Why = "differs", fmt.Sprintf("shapes %v and %v", a.Shape, b.Shape)
			return p
		}
		p.Why = fmt.Sprintf("shapes %v and %v, compared in order of memory", a.Shape, b.Shape)
		a, b = flat(a, na), flat(b, nb)
	}
	d, err := tensor.Compare(a, b, tensor.Tolerance{RTol: o.RTol, ATol: o.ATol})
	if err != nil {
		p.Why = err.Error()
		return p
	}
	p.Elements, p.Cosine, p.Differ = d.Elements, d.Cosine, d.Mismatches
	p.MaxAbs, p.MeanAbs, p.MaxRel, p.NaN, p.Inf = Float(d.MaxAbs), Float(d.MeanAbs), Float(d.MaxRel), d.NaNs, d.Infs
	p.first(a, b, o)
	judge(&p, a, b, d, o)
	return p
}

func flat(t *tensor.Tensor, n int) *tensor.Tensor {
	return &tensor.Tensor{DType: t.DType, Shape: tensor.Shape{n}, Data: t.Data}
}

func judge(p *Pair, a, b *tensor.Tensor, d *tensor.Difference, o Options) {
	switch {
	case a.DType == b.DType && bytes.Equal(a.Data, b.Data), d.MaxAbs == 0 && d.Mismatches == 0:
		p.Verdict = "equal"
	case d.NaNs[0] != d.NaNs[1] || d.Infs[0] != d.Infs[1]:
		p.Verdict = "differs"
		p.Why = strings.TrimPrefix(p.Why+fmt.Sprintf("; NaN %d and %d, Inf %d and %d", d.NaNs[0], d.NaNs[1], d.Infs[0], d.Infs[1]), "; ")
	case d.Mismatches == 0:
		p.Verdict = "close"
	case d.Cosine >= o.Cosine && d.Mismatches*1000 <= d.Elements:
		p.Verdict = "close"
		p.Why = strings.TrimPrefix(p.Why+fmt.Sprintf("; %d of %d beyond the tolerance", d.Mismatches, d.Elements), "; ")
	default:
		p.Verdict = "differs"
	}
}

// first finds the first element beyond the tolerance.
func (p *Pair) first(a, b *tensor.Tensor, o Options) {
	var vb [1024]float64
	stop := errors.New("found")
	k := 1
	if a.DType == tensor.Complex64 || a.DType == tensor.Complex128 {
		k = 2
	}
	err := a.EachFloats(func(at int, va []float64) error {
		w := vb[:len(va)]
		if err := tensor.DecodeFloats(w, b.DType, b.Data, at); err != nil {
			return err
		}
		for i := range va {
			diff := va[i] - w[i]
			if diff < 0 {
				diff = -diff
			}
			same := va[i] == w[i] || va[i] != va[i] && w[i] != w[i]
			if same || diff <= o.ATol+o.RTol*max(w[i], -w[i]) {
				continue
			}
			p.FirstAt, p.FirstA, p.FirstB, p.hasFirst = index((at+i)/k, a.Shape), Float(va[i]), Float(w[i]), true
			return stop
		}
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		p.Why = err.Error()
	}
}

func index(n int, s tensor.Shape) []int {
	out := make([]int, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] > 0 {
			out[i] = n % s[i]
			n /= s[i]
		}
	}
	return out
}
