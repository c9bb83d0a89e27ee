package om

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/problem"
	"npu/internal/tensor"
)

// Gears are the sizes a model was compiled for beside its largest one.
type Gears struct {
	Flag   string // of the compiler: "--dynamic-batch", "--dynamic-image-size", "--dynamic-dims"
	Values [][]int64
	inputs []gearPort
	merge  bool // the old form: streams and Merge; else a Case
}

// gearPort is an input whose dimensions a gear sets: -1 in dims takes the next number of a gear's value.
type gearPort struct {
	name string
	dims []int64
	from int // of the gear's numbers, first that belongs to this input
	// also are other forms in which a user may state the shape: that of the network behind AIPP.
	also [][]int64
}

// Gears describes the gears of the model; nil where it has one size.
func (m *Model) Gears() *Gears {
	g := m.rootGraph()
	if g == nil {
		return nil
	}
	var gears Gears
	kind := int64(0)
	for _, o := range g.Ops {
		switch {
		case o.Type == "StreamSwitchN":
			gears.merge = true
		case o.Type == "Case" && (o.Attrs.Has("_batch_num") || o.Attrs.Has("_pred_value_0")):
		default:
			continue
		}
		kind = o.Attrs.Int("mbatch_dynamic_type", kind)
		gears.Values = predValues(o)
	}
	if len(gears.Values) == 0 {
		return nil
	}
	gears.Flag = map[int64]string{2: "--dynamic-image-size", 3: "--dynamic-dims"}[kind]
	if gears.Flag == "" {
		gears.Flag = "--dynamic-batch"
		if len(gears.Values[0]) == 2 && kind == 0 {
			gears.Flag = "--dynamic-image-size"
		}
	}
	from := 0
	for _, o := range dataOps(g) {
		dims, also := originDims(o)
		n := 0
		for _, d := range dims {
			if d < 0 {
				n++
			}
		}
		if n == 0 || o.Name == gearInput {
			continue
		}
		gears.inputs = append(gears.inputs, gearPort{name: o.Name, dims: dims, from: from, also: also})
		if gears.Flag == "--dynamic-dims" {
			from += n
		}
	}
	return &gears
}

// predValues are _pred_value_0, _pred_value_1, ….
func predValues(o *OpDef) [][]int64 {
	var out [][]int64
	for i := 0; ; i++ {
		v := o.Attrs.Get(fmt.Sprintf("_pred_value_%d", i))
		if v == nil {
			return out
		}
		switch {
		case v.Kind == AttrList && v.List != nil:
			out = append(out, v.List.Ints)
		default:
			out = append(out, []int64{v.Int})
		}
	}
}

// originDims is the shape of a gear's input with -1: what the program is given, and other ways to say it.
func originDims(o *OpDef) (dims []int64, also [][]int64) {
	var found [][]int64
	for _, d := range [][]int64{o.Attrs.Ints("_mbatch_origin_input_dims"), o.Attrs.Ints("input_dims")} {
		if slices.Contains(d, -1) {
			found = append(found, d)
		}
	}
	for _, list := range [][]*TensorDesc{o.Out, o.In} {
		if len(list) > 0 && slices.Contains(list[0].Shape, -1) {
			found = append(found, list[0].Shape)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	a := aippOf(o)
	if a == nil {
		return found[0], nil
	}
	also = found
	if d := found[0]; len(d) == 4 {
		also = append(also, []int64{d[0], d[3], d[1], d[2]})
		return a.dims(d[0], d), also
	}
	return found[0], also
}

// gearDims is the shape of an input with -1 where a gear decides; nil for other inputs.
func (m *Model) gearDims(o *OpDef) []int64 {
	g := m.Gears()
	if g == nil {
		return nil
	}
	for _, p := range g.inputs {
		if p.name == o.Name {
			return p.dims
		}
	}
	return nil
}

// shape is an input's shape at a gear.
func (p *gearPort) shape(value []int64) []int64 { return p.fill(p.dims, value) }

func (p *gearPort) fill(dims, value []int64) []int64 {
	s := slices.Clone(dims)
	at := p.from
	for i, d := range s {
		if d < 0 && at < len(value) {
			s[i] = value[at]
			at++
		}
	}
	return s
}

// pick finds the gear that all given shapes fit. Without a shape it is the largest. A shape that no gear has is
// problem.Usage with the list of those there are.
func (g *Gears) pick(shapes map[string]tensor.Shape) (int, error) {
	fits := func(value []int64) bool {
		for i := range g.inputs {
			p := &g.inputs[i]
			s, ok := shapes[p.name]
			same := func(dims []int64) bool { return s.Equal(shapeOf(p.fill(dims, value))) }
			if ok && !same(p.dims) && !slices.ContainsFunc(p.also, same) {
				return false
			}
		}
		return true
	}
	best, size := -1, int64(-1)
	for i, v := range g.Values {
		n := int64(1)
		for _, x := range v {
			n *= max(x, 1)
		}
		if fits(v) && n > size {
			best, size = i, n
		}
	}
	if best >= 0 {
		return best, nil
	}
	var have []string
	for _, v := range g.Values {
		for i := range g.inputs {
			have = append(have, fmt.Sprintf("%s=%v", g.inputs[i].name, shapeOf(g.inputs[i].shape(v))))
		}
	}
	for i := range g.inputs {
		if s, ok := shapes[g.inputs[i].name]; ok {
			return 0, problem.Usagef("input %q: no gear of shape %v; the model was compiled for %s", g.inputs[i].name, s, strings.Join(have, ", "))
		}
	}
	return 0, problem.Usagef("no gear fits; the model was compiled for %s", strings.Join(have, ", "))
}
