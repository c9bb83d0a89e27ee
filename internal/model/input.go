package model

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Binding is an "-i" or "--verify" argument: a file, and the tensor of the model that it is for. An empty Name stands
// for the only one, or for all that an archive names.
type Binding struct {
	Name, File string
	Rank       int // that it is for, from 1; 0: for all
}

// ParseBinding reads NAME=FILE or FILE, and NAME@RANK=FILE for one rank.
func ParseBinding(s string) (Binding, error) {
	name, file, ok := strings.Cut(s, "=")
	if !ok {
		name, file = "", s
	}
	if file == "" {
		return Binding{}, problem.Usagef("%q names no file (write NAME=FILE)", s)
	}
	b := Binding{Name: name, File: file}
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		if n, err := strconv.ParseUint(name[i+1:], 10, 8); err == nil {
			b.Name, b.Rank = name[:i], int(n)+1
		}
	}
	return b, nil
}

// OfRank are the bindings of rank r: its own, and those for all where it has none.
func OfRank(list []Binding, r int) []Binding {
	var out []Binding
	for _, b := range list {
		if b.Rank == 0 {
			out = append(out, b)
		}
	}
	for _, b := range list {
		if b.Rank == r+1 {
			out = append(out, b)
		}
	}
	return out
}

// ParseShapes reads NAME=1x3x224x224 arguments.
func ParseShapes(list []string) (map[string]tensor.Shape, error) {
	out := map[string]tensor.Shape{}
	for _, s := range list {
		i := strings.LastIndexByte(s, '=')
		if i <= 0 {
			return nil, problem.Usagef("--shape %q: write NAME=1x3x224x224", s)
		}
		sh, err := tensor.ParseShape(s[i+1:])
		if err != nil {
			return nil, problem.Mark(problem.Usage, fmt.Errorf("--shape %s: %w", s, err))
		}
		out[s[:i]] = sh
	}
	return out, nil
}

// Files are the tensors of -i arguments: those that say their own shape are read at once, raw ones wait for the model.
type Files struct {
	tensors map[string]*tensor.Tensor
	raw     map[string]string
}

// OpenFiles reads .npy and .npz files and notes raw ones. Raw files need the model's types and shapes.
func OpenFiles(list []Binding) (*Files, error) {
	f := &Files{tensors: map[string]*tensor.Tensor{}, raw: map[string]string{}}
	for _, b := range list {
		if err := f.open(b); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Files) open(b Binding) error {
	st, err := os.Stat(b.File)
	if err != nil {
		return problem.Mark(problem.Damaged, err)
	}
	if st.IsDir() {
		return problem.Damagedf("%s is a directory, expected .npy, .npz or raw data", b.File)
	}
	switch strings.ToLower(filepath.Ext(b.File)) {
	case ".npy":
		r, err := os.Open(b.File)
		if err != nil {
			return problem.Mark(problem.Damaged, err)
		}
		defer r.Close()
		t, err := tensor.ReadNPY(r, st.Size())
		if err != nil {
			return problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", b.File, err))
		}
		f.tensors[b.Name] = t
		delete(f.raw, b.Name)
	case ".npz":
		return f.archive(b, st.Size())
	default:
		f.raw[b.Name] = b.File
		delete(f.tensors, b.Name)
	}
	return nil
}

func (f *Files) archive(b Binding, size int64) error {
	r, err := os.Open(b.File)
	if err != nil {
		return problem.Mark(problem.Damaged, err)
	}
	defer r.Close()
	z, err := tensor.OpenNPZ(r, size)
	if err != nil {
		return problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", b.File, err))
	}
	names := z.Names()
	if b.Name != "" {
		names = []string{b.Name}
	}
	for _, n := range names {
		t, err := z.Read(n)
		if err != nil {
			return problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", b.File, err))
		}
		f.tensors[n] = t
	}
	return nil
}

// CheckNames refuses names that are not among the model's.
func (f *Files) CheckNames(what string, names []string) error {
	for _, n := range append(slices.Sorted(maps.Keys(f.tensors)), slices.Sorted(maps.Keys(f.raw))...) {
		if n == "" && len(names) != 1 {
			return problem.Usagef("the model has %d %ss (%s): write NAME=FILE", len(names), what, strings.Join(names, ", "))
		}
		base, _, _ := strings.Cut(n, "[") // an element of a sequence
		if n != "" && !slices.Contains(names, n) && !slices.Contains(names, base) {
			return problem.Usagef("no %s %q: the model has %s", what, n, strings.Join(names, ", "))
		}
	}
	return nil
}

// Tensor is the tensor for one input or output of the model, converted to its shape where only the number of elements
// is stated; nil where no file was given.
func (f *Files) Tensor(name string, only bool, t tensor.DType, s tensor.Shape) (*tensor.Tensor, error) {
	keys := []string{name}
	if only {
		keys = append(keys, "")
	}
	for _, k := range keys {
		if got := f.tensors[k]; got != nil {
			if got.DType != t {
				return nil, problem.Usagef("%q is %v, the file holds %v", name, t, got.DType)
			}
			if !got.Shape.Equal(s) {
				return nil, problem.Usagef("%q has shape %v, the file %v", name, s, got.Shape)
			}
			return got, nil
		}
		if path, ok := f.raw[k]; ok {
			return readRaw(name, path, t, s)
		}
	}
	return nil, nil
}

// rawShape is the shape that the size of a raw file leaves for an input: at most one dimension may be open besides a
// leading batch of 1. nil: there is no such file, or its size does not say it.
func (f *Files) rawShape(v *graph.Value, only bool) tensor.Shape {
	path, ok := f.raw[v.Name]
	if !ok && only {
		path, ok = f.raw[""]
	}
	if !ok || !v.Known || v.DType.Size() == 0 {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil
	}
	s := v.Shape.Clone()
	if len(s) > 1 && s[0] < 0 {
		s[0] = 1
	}
	open, rest := -1, int64(v.DType.Size())
	for i, n := range s {
		switch {
		case n >= 0:
			rest *= int64(max(n, 1))
		case open >= 0:
			return nil
		default:
			open = i
		}
	}
	if open < 0 || rest <= 0 || st.Size() == 0 || st.Size()%rest != 0 {
		return nil
	}
	s[open] = int(st.Size() / rest)
	return s
}

// readRaw reads little-endian elements in C order; the file's size must be that of the shape.
func readRaw(name, path string, t tensor.DType, s tensor.Shape) (*tensor.Tensor, error) {
	want, err := s.Bytes(t)
	if err != nil {
		return nil, problem.Mark(problem.Usage, err)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if st.Size() != int64(want) {
		return nil, problem.Usagef("%q is %v[%v], %d bytes; %s has %d", name, t, s, want, path, st.Size())
	}
	out := &tensor.Tensor{DType: t, Shape: s.Clone(), Data: make([]byte, want)}
	if _, err := io.ReadFull(r, out.Data); err != nil {
		return nil, problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", path, err))
	}
	return out, nil
}

// Inputs are the given tensors by the model's input names.
func (m *Model) Inputs(f *Files) (map[string]*tensor.Tensor, error) {
	out := map[string]*tensor.Tensor{}
	var names []string
	for _, p := range m.Plan.Inputs {
		names = append(names, p.Name)
	}
	for _, v := range m.otherInputs() {
		names = append(names, v.Name)
	}
	if err := f.CheckNames("input", names); err != nil {
		return nil, err
	}
	for _, p := range m.Plan.Inputs {
		t, err := f.Tensor(p.Name, len(m.Plan.Inputs) == 1, p.DType, p.Shape)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out[p.Name] = t
		}
	}
	return out, nil
}

// Expected are the tensors that outputs are to be held against, by output name.
func (m *Model) Expected(f *Files) (map[string]*tensor.Tensor, error) {
	if m.Rest != nil {
		return m.expectedLate(f)
	}
	var names []string
	for _, p := range m.Plan.Outputs {
		names = append(names, p.Name)
	}
	if err := f.CheckNames("output", names); err != nil {
		return nil, err
	}
	out := map[string]*tensor.Tensor{}
	for _, p := range m.Plan.Outputs {
		t, err := f.Tensor(p.Name, len(names) == 1, p.DType, p.Shape)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out[p.Name] = t
		}
	}
	return out, nil
}

// Check is the comparison of one output with a stored one.
type Check struct {
	Name string
	*tensor.Difference
}

func (c Check) String() string {
	if c.Equal() {
		return fmt.Sprintf("verified %s: %d elements, largest difference %.3g", c.Name, c.Elements, c.MaxAbs)
	}
	return fmt.Sprintf("%s differs: %d of %d elements; worst at %v: %g, expected %g", c.Name, c.Mismatches, c.Elements, c.WorstAt, c.Got, c.Want)
}

// Verify compares outputs with stored ones, which are listed by rank. An output that differs is an error of class Failed that names its worst
// element.
func Verify(rep *Report, outputs []*tensor.Tensor, want []map[string]*tensor.Tensor, tol tensor.Tolerance) ([]Check, error) {
	var checks []Check
	var failed error
	for i, t := range outputs {
		name, rank := rep.Outputs[i].Name, 0
		if r := rep.Outputs[i].Rank; r != nil {
			rank = *r
		}
		if rank >= len(want) || want[rank][name] == nil {
			continue
		}
		w := want[rank][name]
		if len(want) > 1 {
			name = fmt.Sprintf("%s of rank %d", name, rank)
		}
		d, err := tensor.Compare(t, w, tol)
		if err != nil {
			return checks, problem.Mark(problem.Failed, fmt.Errorf("output %s: %w", name, err))
		}
		c := Check{name, d}
		checks = append(checks, c)
		if !d.Equal() && failed == nil {
			failed = problem.Failedf("output %s", c)
		}
	}
	return checks, failed
}
