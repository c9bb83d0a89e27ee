package om

import (
	"regexp"
	"slices"
	"strings"

	"npu/internal/model/graph"
)

// A fused kernel is called te_fused_op_<operators>_<hash>: the operators in snake case, in the order of the chain.
var fusedName = regexp.MustCompile(`^te_fused_op_([a-z0-9_]+?)((_[0-9a-f]{12,64})+)(_\d+)?(__kernel\d+)?$`)

// fusedNames are the operators of a fused kernel by its name; false for other kernels. Names that are not known are
// kept as they are, in one piece.
func fusedNames(kernel string) ([]string, bool) {
	m := fusedName.FindStringSubmatch(kernel)
	if m == nil {
		return nil, false
	}
	words := strings.Split(m[1], "_")
	if names := spell(words, map[int]bool{}); names != nil {
		return names, true
	}
	return []string{m[1]}, true
}

// spell reads words as names of operators, longest first.
func spell(words []string, dead map[int]bool) []string {
	if len(words) == 0 {
		return []string{}
	}
	if dead[len(words)] {
		return nil
	}
	for n := min(len(words), 6); n > 0; n-- {
		t := fusedType(strings.Join(words[:n], ""))
		if t == "" {
			continue
		}
		if rest := spell(words[n:], dead); rest != nil {
			return append([]string{t}, rest...)
		}
	}
	dead[len(words)] = true
	return nil
}

// fusedType is the operator whose name in lower case is s; "" where there is none that occurs in fused kernels.
func fusedType(s string) string {
	switch s {
	case "aipp":
		return "Aipp"
	case "fixpipe":
		return "FixPipe"
	case "transdata":
		return "TransData"
	case "conv2d", "conv2dcompress":
		return "Conv2D"
	case "depthwiseconv2d":
		return "DepthwiseConv2D"
	case "conv2dtransposed":
		return "Conv2DTransposeD"
	case "conv2dbackpropinputd":
		return "Conv2DBackpropInputD"
	case "matmul", "matmulv2", "matmulv3":
		return "MatMulV2"
	case "batchmatmul", "batchmatmulv2", "batchmatmulv3":
		return "BatchMatMulV2"
	case "fullyconnection":
		return "FullyConnection"
	case "clipbyvalue", "clipbyvaluev2":
		return "ClipByValue"
	case "bninferenced", "bninference":
		return "BNInferenceD"
	case "cast":
		return "Cast"
	case "eltwise":
		return "Eltwise"
	}
	for _, t := range elementwise {
		if strings.ToLower(t) == s {
			return t
		}
	}
	return ""
}

// elementwise are the operators that occur behind others in a fused kernel.
var elementwise = []string{
	"Relu", "Relu6", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Swish", "Tanh", "Exp", "Log", "Abs", "Neg", "Sqrt", "Rsqrt", "Square", "Reciprocal", "Erf", "Elu",
	"Softplus", "Mish", "Gelu", "FastGelu", "Floor", "Ceil", "Rint", "Sign", "Add", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "Pow", "Muls", "Adds", "AddV2",
}

// fused computes a chain of operators in one kernel.
func (x *kernelOp) fused(names []string) []*graph.Value {
	if names[0] == "Aipp" && len(names) > 1 {
		names = names[1:] // the convolution looks for it itself
	}
	if names[0] == "TransData" && len(names) > 1 && strings.Contains(names[1], "MatMul") {
		names = names[1:] // a matrix product that lays out one operand first
	}
	var v *graph.Value
	rest := names[1:]
	extras := x.slots(3)
	switch names[0] {
	case "Conv2D", "DepthwiseConv2D":
		v = x.convolution(true)
	case "Conv2DTransposeD":
		v = x.transposed(true)
	case "Conv2DBackpropInputD":
		v, extras = x.transposed(true), x.slots(2)
	case "MatMulV2", "BatchMatMulV2":
		v = x.matmul(true)
		if d, ok := x.o.Out[0].originShape(); ok && x.connected(2) && !x.isBias(2, shapeOf(d)) {
			extras = x.slots(2)
		}
		v = x.reorder(v, x.o.Out[0].originFormat(), x.o.Out[0].order())
	case "FullyConnection":
		v = x.fullyConnection()
	default:
		return x.chain(names)
	}
	if x.err != nil {
		return nil
	}
	if slices.Contains(rest, "FixPipe") {
		return []*graph.Value{x.finish(x.fixPipe(v), 0)}
	}
	v, extras = x.apply(v, rest, extras)
	if len(extras) > 0 {
		return x.fail("operands are left over: the kernel %s does more than its name says", strings.Join(names, "+"))
	}
	return []*graph.Value{x.finish(v, 0)}
}

// slots are the connected inputs from one on.
func (x *kernelOp) slots(from int) []int {
	var list []int
	for i := from; i < len(x.o.Inputs); i++ {
		if x.connected(i) {
			list = append(list, i)
		}
	}
	return list
}

// apply computes operators one after the other on v; those of two operands take the next of extras. Each rounds to the
// type of v as it would alone.
func (x *kernelOp) apply(v *graph.Value, names []string, extras []int) (*graph.Value, []int) {
	next := func() *graph.Value {
		if len(extras) == 0 {
			return x.bad(x.errorf("an operand of its chain is missing"))
		}
		w := x.broadcastTo(extras[0], x.o.Out[0])
		extras = extras[1:]
		return w
	}
	for _, t := range names {
		if x.err != nil {
			return v, nil
		}
		switch {
		case t == "TransData", t == "Cast":
		case t == "ClipByValue":
			lo := next()
			v = x.emit("Min", nil, x.emit("Max", nil, v, x.cast(lo, v.DType)), x.cast(next(), v.DType))
		case t == "BNInferenceD":
			v = x.pair("Add", v, next())
			v = x.pair("Mul", v, next())
		case t == "Eltwise":
			v = x.pair("Add", v, next())
			x.note("its element-wise operator taken as a sum")
		case isPair(t):
			w := next()
			if t == "Sub" || t == "Div" || t == "RealDiv" || t == "Pow" {
				x.note("%s taken as (result before it) %s (operand): the order is not stored", t, t)
			}
			v = x.pair(t, v, w)
		case t == "LeakyRelu" && !x.o.hasAttrsOf(t):
			v = x.commonLeaky(v)
		case lostAttributes(t) && !x.o.hasAttrsOf(t):
			return x.bad(x.errorf("the parameters of %s in its chain are not stored", t)), nil
		default:
			if t == "HardSigmoid" && !x.o.Attrs.Has("alpha") {
				x.note("HardSigmoid with its default parameters: they are not stored")
			}
			v = x.unary(t, v)
		}
	}
	return v, extras
}

// lostAttributes says that an operator has parameters without which it means nothing.
func lostAttributes(t string) bool {
	switch t {
	case "LeakyRelu", "Elu", "Muls", "Adds", "Power":
		return true
	}
	return false
}

// hasAttrsOf says that the parameters of a fused operator stayed with the kernel's operator.
func (o *OpDef) hasAttrsOf(t string) bool {
	switch t {
	case "LeakyRelu":
		return o.Attrs.Has("negative_slope")
	case "Elu":
		return o.Attrs.Has("alpha")
	case "Muls", "Adds":
		return o.Attrs.Has("value")
	}
	return false
}

// chain is a kernel of element-wise operators alone: the first takes the first operands, each other the result before
// it and the next operand.
func (x *kernelOp) chain(names []string) []*graph.Value {
	for _, t := range names {
		if _, ok := unaries[t]; !ok && simple[t] == "" && !isPair(t) && t != "Cast" && t != "TransData" && t != "ClipByValue" && t != "BNInferenceD" {
			return x.fail("the operators of kernel %s are not known", x.o.kernelName())
		}
	}
	slots := x.slots(0)
	if len(slots) == 0 {
		return x.fail("it is connected to nothing")
	}
	if v, ok := x.idiom(names, slots); ok {
		return []*graph.Value{x.finish(v, 0)}
	}
	if len(names) > 2 && x.repeats(slots) {
		return x.fail("the order of its operators (%s) is not stored, and an operand is used twice", strings.Join(names, ", "))
	}
	v := x.broadcastTo(slots[0], x.o.Out[0])
	first := names[0]
	if isPair(first) {
		if len(slots) < 2 {
			return x.fail("%s has one operand", first)
		}
		v = x.pair(first, v, x.broadcastTo(slots[1], x.o.Out[0]))
		names, slots = names[1:], slots[2:]
	} else {
		slots = slots[1:]
	}
	v, slots = x.apply(v, names, slots)
	if len(slots) > 0 {
		return x.fail("operands are left over: its chain is no simple one")
	}
	if len(names) > 1 {
		x.note("order of its operators taken from the kernel's name")
	}
	return []*graph.Value{x.finish(v, 0)}
}

// repeats says that a tensor that is no constant stands in two slots.
func (x *kernelOp) repeats(slots []int) bool {
	seen := map[*graph.Value]bool{}
	for _, i := range slots {
		v := x.s.input(x.o, i).v
		if v != nil && v.Const == nil && seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}

// idiom knows chains that are no simple ones: c1·x + c2·|x|, a leaky ReLU.
func (x *kernelOp) idiom(names []string, slots []int) (*graph.Value, bool) {
	if !slices.Equal(names, []string{"Abs", "Mul", "Mul", "Add"}) || len(slots) != 4 || x.s.input(x.o, slots[0]).v != x.s.input(x.o, slots[2]).v {
		return nil, false
	}
	v := x.broadcastTo(slots[0], x.o.Out[0])
	a := x.pair("Mul", v, x.broadcastTo(slots[1], x.o.Out[0]))
	b := x.pair("Mul", x.emit("Abs", nil, v), x.broadcastTo(slots[3], x.o.Out[0]))
	x.note("taken as c1·x + c2·|x|, a leaky ReLU: the order of its operators is not stored")
	return x.pair("Add", a, b), true
}
