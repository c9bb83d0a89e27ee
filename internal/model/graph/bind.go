package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"npu/internal/problem"
	"npu/internal/tensor"
)

// maxBytes bounds one tensor: far more than any chip has, refused before anything is allocated.
const maxBytes = 1 << 40

// Bind gives the inputs of a graph their shapes (--shape). A symbolic dimension takes the given size, and the same
// size wherever its symbol stands; a leading symbolic dimension that nobody gave is a batch of 1, and a note says so.
// A fixed dimension may be given another size: Infer tells whether the network allows it. Everything wrong is
// problem.Usage.
func Bind(g *Graph, shapes map[string]tensor.Shape) (notes []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if !slices.ContainsFunc(g.Inputs, func(v *Value) bool { return v.Name == name }) {
			return nil, problem.Usagef("no input %q: the model has %s", name, describe(g.Inputs))
		}
	}
	symbols := map[string]symbol{}
	for _, v := range g.Inputs {
		s, ok := shapes[v.Name]
		if !ok {
			continue
		}
		if err := v.give(g, s, symbols); err != nil {
			return nil, err
		}
	}
	for _, v := range g.Inputs {
		note, err := v.settle(symbols)
		if err != nil {
			return nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// symbol is a size that was given for a named dimension, and by which input.
type symbol struct {
	size int
	by   string
}

// give takes the user's shape for one input.
func (v *Value) give(g *Graph, s tensor.Shape, symbols map[string]symbol) error {
	if v.Kind != Tensor {
		return problem.Usagef("input %q is of kind %v and takes no shape", v.Name, v.Kind)
	}
	if v.Known && len(s) != len(v.Shape) {
		return problem.Usagef("input %q: shape %v has %d dimensions, the model declares %s", v.Name, s, len(s), Type(v))
	}
	if !s.Static() {
		return problem.Usagef("input %q: shape %v has an unknown dimension", v.Name, s)
	}
	for i, n := range s {
		if i >= len(v.Symbols) || v.Symbols[i] == "" {
			continue
		}
		if o, ok := symbols[v.Symbols[i]]; ok && o.size != n {
			return problem.Usagef("input %q: dimension %s is %d here and %d in %q", v.Name, v.Symbols[i], n, o.size, o.by)
		}
		symbols[v.Symbols[i]] = symbol{n, v.Name}
	}
	if !v.Known || !s.Equal(v.Shape) {
		g.Asked = true
	}
	v.Shape, v.Known = s.Clone(), true
	return nil
}

// settle makes sure that an input is static, with a note for a batch that was set to 1.
func (v *Value) settle(symbols map[string]symbol) (note string, err error) {
	if v.Kind != Tensor {
		return "", nil
	}
	if !v.Known {
		return "", problem.Usagef("input %q has no declared shape: give it with --shape %s=DIMS", v.Name, v.Name)
	}
	s := v.Shape.Clone()
	for i, n := range s {
		if n < 0 && i < len(v.Symbols) && v.Symbols[i] != "" {
			if o, ok := symbols[v.Symbols[i]]; ok {
				s[i] = o.size
			}
		}
	}
	if len(s) > 1 && s[0] < 0 && !lengthLike(v.symbol(0)) {
		s[0] = 1
		if name := v.symbol(0); name != "" {
			symbols[name] = symbol{1, v.Name}
			note = fmt.Sprintf("input %q: dimension 0 (%s) set to 1", v.Name, name)
		} else {
			note = fmt.Sprintf("input %q: dimension 0 set to 1", v.Name)
		}
	}
	if !s.Static() {
		want := make([]string, len(s))
		for i, n := range s {
			if want[i] = strconv.Itoa(n); n < 0 {
				want[i] = "N"
			}
		}
		return "", problem.Usagef("input %q is %s: give its size with --shape %s=%s", v.Name, Type(v), v.Name, strings.Join(want, "x"))
	}
	if b, err := s.Bytes(v.DType); err != nil || b > maxBytes {
		return "", problem.Usagef("input %q: shape %v of %v is more than any device holds", v.Name, s, v.DType)
	}
	v.Shape = s
	return note, nil
}

func (v *Value) symbol(i int) string {
	if i < len(v.Symbols) {
		return v.Symbols[i]
	}
	return ""
}

// lengthLike says that a symbol names a length and no batch.
func lengthLike(s string) bool {
	s = strings.ToLower(s)
	for _, w := range []string{"seq", "len", "time", "sample", "frame", "height", "width", "chan"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// describe lists values with their types.
func describe(vs []*Value) string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = fmt.Sprintf("%q %s", v.Name, Type(v))
	}
	if len(s) == 0 {
		return "no inputs"
	}
	return strings.Join(s, ", ")
}
