package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/model/om"
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// offline says that a file is an offline model, or is called one: then package om says what it is instead.
func offline(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // reported by who reads it
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false
	}
	return bytes.Equal(head, []byte("IMOD")) || strings.EqualFold(filepath.Ext(path), ".om")
}

// openOffline reads a compiled model. It was optimised by its compiler: no pass runs, so that its operators round
// where the file's do.
func openOffline(path string, o Options) (*Model, error) {
	src, err := om.Read(path)
	if err != nil {
		return nil, err
	}
	if src.Open() {
		b, err := src.Build(nil)
		if err != nil {
			return nil, at(path, err)
		}
		m := &Model{Name: b.Graph.Name, Path: path, Graph: b.Graph}
		m.Soc, _ = src.Soc()
		return m, m.lower(o)
	}
	shapes, err := o.offlineShapes(src)
	if err != nil {
		return nil, at(path, err)
	}
	b, err := src.Build(shapes)
	if err != nil {
		return nil, at(path, err)
	}
	m := &Model{Name: b.Graph.Name, Path: path, Graph: b.Graph, Timed: b.Timed}
	if m.Soc, _ = src.Soc(); m.Soc == "" {
		m.SocGuess = src.GuessSoc()
	}
	m.Notes = append(m.Notes, b.Notes...)
	if n := len(b.Timed); n > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("times only, no result: the meaning of %d operator(s) is not known", n))
	}
	for _, t := range b.Timed {
		m.Notes = append(m.Notes, "timed only: "+t)
	}
	notes, err := graph.Infer(b.Graph)
	if err != nil {
		return nil, at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if m.Plan, err = plan.Compile(b.Graph); err != nil {
		return nil, at(path, problem.Mark(problem.Failed, err))
	}
	return m, nil
}

// offlineShapes joins the shapes that were asked for with those of the files, for inputs whose size a gear decides.
func (o Options) offlineShapes(m *om.Model) (map[string]tensor.Shape, error) {
	out := maps.Clone(o.Shapes)
	if o.Files == nil {
		return out, nil
	}
	ports := m.RunInputs()
	var names []string
	for _, p := range ports {
		names = append(names, p.Name)
	}
	if err := o.Files.CheckNames("input", names); err != nil {
		return nil, err
	}
	if out == nil {
		out = map[string]tensor.Shape{}
	}
	for _, p := range ports {
		if _, asked := out[p.Name]; asked || !p.Dynamic() {
			continue
		}
		if s, ok := o.Files.shape(p.Name, len(ports) == 1, p.Sizes); ok {
			out[p.Name] = s
		}
	}
	return out, nil
}

// shape is the shape that a file states; of a raw file that of the size it has, out of those possible.
func (f *Files) shape(name string, only bool, sizes map[int64]tensor.Shape) (tensor.Shape, bool) {
	keys := []string{name}
	if only {
		keys = append(keys, "")
	}
	for _, k := range keys {
		if t := f.tensors[k]; t != nil {
			return t.Shape, true
		}
		path, ok := f.raw[k]
		if !ok {
			continue
		}
		if st, err := os.Stat(path); err == nil {
			if s, ok := sizes[st.Size()]; ok {
				return s, true
			}
		}
	}
	return nil, false
}

// CheckChip says what to tell the user about running on a chip: a compiled file belongs to one.
func (m *Model) CheckChip(name string) string {
	if m.Soc == "" || strings.EqualFold(m.Soc, name) {
		return ""
	}
	return fmt.Sprintf("compiled for %s: a device of type %s would refuse it; times are those of %s", m.Soc, name, name)
}
