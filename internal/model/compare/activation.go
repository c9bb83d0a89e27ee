package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"npu/internal/model/graph"
)

// act is an activation with its parameters, in a form that fused and single operators share.
type act struct {
	name string
	p    [2]float64
}

func (a act) String() string {
	switch {
	case a.name == "Clip" && a.p == [2]float64{0, math.Inf(1)}:
		return "Relu"
	case a.p == [2]float64{}:
		return a.name
	}
	return fmt.Sprintf("%s(%.4g, %.4g)", a.name, a.p[0], a.p[1])
}

// close says that both are the same up to the rounding of their parameters.
func (a act) close(b act) bool {
	for i := range a.p {
		if a.p[i] != b.p[i] && !(math.Abs(a.p[i]-b.p[i]) <= 2e-3*math.Abs(a.p[i])) {
			return false
		}
	}
	return a.name == b.name
}

// activationsOf compares the activations of both sides.
func activationsOf(s segment) (finding, bool) {
	a, b := acts(s.a), acts(s.b)
	if slices.EqualFunc(a, b, act.close) {
		return finding{}, false
	}
	text := func(l []act) string {
		if len(l) == 0 {
			return "none"
		}
		var out []string
		for _, x := range l {
			out = append(out, x.String())
		}
		return strings.Join(out, ", ")
	}
	return finding{kind: Activation, detail: text(a) + " against " + text(b)}, true
}

func acts(list []*graph.Node) []act {
	var out []act
	for _, n := range list {
		var x act
		switch name := n.Attrs.Str("activation", ""); {
		case name != "":
			x = fusedAct(n, name)
		case activating(n):
			x = singleAct(n)
		default:
			continue
		}
		if k := len(out) - 1; k >= 0 && x.name == "Clip" && out[k].name == "Clip" { // a Max and a Min are one Clip
			out[k].p = [2]float64{max(out[k].p[0], x.p[0]), min(out[k].p[1], x.p[1])}
			continue
		}
		out = append(out, x)
	}
	return out
}

// bound widens the largest numbers of the float types to infinity: compilers write them for "no bound".
func bound(v float64) float64 {
	if math.Abs(v) >= 65504 {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return v
}

func fusedAct(n *graph.Node, name string) act {
	f := func(k string, def float64) float64 { return float64(n.Attrs.Float(k, float32(def))) }
	switch name {
	case "Relu":
		return act{"Clip", [2]float64{0, math.Inf(1)}}
	case "Clip":
		return act{"Clip", [2]float64{bound(f("act_min", -math.MaxFloat32)), bound(f("act_max", math.MaxFloat32))}}
	case "LeakyRelu":
		return act{name, [2]float64{f("act_alpha", 0.01), 0}}
	case "HardSigmoid":
		return act{name, [2]float64{f("act_alpha", 0.2), f("act_beta", 0.5)}}
	}
	return act{name: name}
}

func singleAct(n *graph.Node) act {
	f := func(k string, def float64) float64 { return float64(n.Attrs.Float(k, float32(def))) }
	constant := func(i int, def float64) float64 {
		if i < len(n.In) && n.In[i] != nil && n.In[i].Const != nil {
			if v := floats(n.In[i].Const); len(v) == 1 {
				return bound(v[0])
			}
		}
		return def
	}
	none := math.Inf(1)
	switch n.Op {
	case "Relu":
		return act{"Clip", [2]float64{0, none}}
	case "Clip":
		return act{"Clip", [2]float64{constant(1, bound(f("min", -math.MaxFloat32))), constant(2, bound(f("max", math.MaxFloat32)))}}
	case "Max":
		return act{"Clip", [2]float64{constant(1, constant(0, -none)), none}}
	case "Min":
		return act{"Clip", [2]float64{-none, constant(1, constant(0, none))}}
	case "LeakyRelu":
		return act{n.Op, [2]float64{f("alpha", 0.01), 0}}
	case "HardSigmoid":
		return act{n.Op, [2]float64{f("alpha", 0.2), f("beta", 0.5)}}
	case "Elu", "ThresholdedRelu", "Celu":
		return act{n.Op, [2]float64{f("alpha", 1), 0}}
	}
	return act{name: n.Op}
}
