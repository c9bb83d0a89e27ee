package graph

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/sim/kernels"
)

// microsoft is the domain of the operators that ONNX Runtime's optimiser and quantiser write. Those that are a few ONNX
// operators are replaced by them.
const microsoft = "com.microsoft."

// replace rewrites, before anything is inferred, nodes that stand for a few others: an Einsum of many operands, and
// operators of ONNX Runtime. Bodies too. What it does not know it leaves to be refused by name.
func replace(g *Graph) error {
	nodes := make([]*Node, 0, len(g.Nodes))
	sub := map[*Value]*Value{}
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if s, ok := sub[v]; ok {
				n.In[i] = s
			}
		}
		for _, b := range n.bodies() {
			if err := replace(b); err != nil {
				return err
			}
			swap(b, sub)
		}
		x := &expander{of: n}
		out, err := x.replacement()
		if err != nil {
			return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		if out == nil {
			nodes = append(nodes, n)
			continue
		}
		nodes = append(nodes, x.nodes...)
		for i, v := range n.Out {
			if v != nil && i < len(out) && out[i] != nil {
				out[i].Name = v.Name
				sub[v] = out[i]
			} else if v != nil {
				return fmt.Errorf("node %s (%s): output %d: %w", n.Name, n.Op, i, kernels.ErrUnsupported)
			}
		}
	}
	g.Nodes = nodes
	for i, v := range g.Outputs {
		if s, ok := sub[v]; ok {
			g.Outputs[i] = s
		}
	}
	return nil
}

// swap follows replaced values into a body.
func swap(g *Graph, sub map[*Value]*Value) {
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if s, ok := sub[v]; ok {
				n.In[i] = s
			}
		}
		for _, b := range n.bodies() {
			swap(b, sub)
		}
	}
	for i, v := range g.Outputs {
		if s, ok := sub[v]; ok {
			g.Outputs[i] = s
		}
	}
}

// in is operand i, nil where it is left out.
func (x *expander) in(i int) *Value {
	if i < len(x.of.In) {
		return x.of.In[i]
	}
	return nil
}

// replacement makes the nodes for one that is replaced and gives its results; nil for any other.
func (x *expander) replacement() ([]*Value, error) {
	n := x.of
	if n.Op == "Einsum" && len(n.In) > 2 {
		y, err := x.einsum()
		return []*Value{y}, err
	}
	op, ok := strings.CutPrefix(n.Op, microsoft)
	if !ok || len(n.In) == 0 || n.In[0] == nil {
		return nil, nil
	}
	one := func(v *Value) ([]*Value, error) { return []*Value{v}, nil }
	a, b := x.in(0), x.in(1)
	switch op {
	case "Gelu":
		return one(x.add("Gelu", nil, a))
	case "FastGelu", "BiasGelu":
		attrs := kernels.Attrs{}
		if op == "FastGelu" {
			attrs["approximate"] = "tanh"
		}
		if b != nil {
			a = x.add("Add", nil, a, b)
		}
		return one(x.add("Gelu", attrs, a))
	case "QuickGelu":
		return one(x.add("Swish", kernels.Attrs{"alpha": n.Attrs.Float("alpha", 1.702)}, a))
	case "FusedMatMul", "TransposeMatMul":
		if n.Attrs.Int("transBatchA", 0) != 0 || n.Attrs.Int("transBatchB", 0) != 0 {
			return nil, nil
		}
		return one(x.add("FusedMatMul", n.Attrs, a, b))
	case "SkipLayerNormalization", "SkipSimplifiedLayerNormalization":
		return x.skipNorm(op == "SkipSimplifiedLayerNormalization")
	case "QuantizeLinear", "DequantizeLinear":
		return one(x.add(op, n.Attrs, n.In...))
	case "MatMulIntegerToFloat", "DynamicQuantizeMatMul":
		return one(x.integerProduct(op == "DynamicQuantizeMatMul"))
	}
	return x.quantised(op)
}

// skipNorm is a normalisation of a sum; the fourth result is the sum.
func (x *expander) skipNorm(rms bool) ([]*Value, error) {
	n := x.of
	sum := x.add("Add", nil, x.in(0), x.in(1))
	bias := x.in(4)
	eps := kernels.Attrs{"axis": int64(-1), "epsilon": n.Attrs.Float("epsilon", 1e-12)}
	norm, in := "LayerNormalization", []*Value{sum, x.in(2), x.in(3)}
	if rms {
		norm, in, bias = "RMSNormalization", []*Value{sum, x.in(2)}, x.in(3)
	}
	if bias != nil {
		sum = x.add("Add", nil, sum, bias)
		in[0] = sum
	}
	for len(in) > 0 && in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	return []*Value{x.add(norm, eps, in...), nil, nil, sum}, nil
}

// integerProduct multiplies bytes and scales the sums: A, B, scales and zero points in the order of ONNX Runtime.
func (x *expander) integerProduct(dynamic bool) *Value {
	a, b := x.in(0), x.in(1)
	scaleA, scaleB, zeroA, zeroB, bias := x.in(2), x.in(3), x.in(4), x.in(5), x.in(6)
	if dynamic {
		scaleB, zeroB, bias = x.in(2), x.in(3), x.in(4)
		q := x.add("DynamicQuantizeLinear", nil, a)
		made := x.nodes[len(x.nodes)-1]
		for _, name := range []string{"scale", "zero"} {
			made.Out = append(made.Out, &Value{Name: made.Name + "/" + name, Producer: made})
		}
		a, scaleA, zeroA = q, made.Out[1], made.Out[2]
	}
	y := x.add("Cast", kernels.Attrs{"to": int64(1)}, x.add("MatMulInteger", nil, a, b, zeroA, zeroB))
	y = x.add("Mul", nil, y, x.add("Mul", nil, scaleA, scaleB))
	if bias != nil {
		y = x.add("Add", nil, y, bias)
	}
	return y
}

// quantised are operators on quantised tensors: dequantise, compute, quantise. Operands come as value, scale and zero
// point; the last two are the result's.
func (x *expander) quantised(op string) ([]*Value, error) {
	n := x.of
	deq := func(i int) *Value { return x.add("DequantizeLinear", nil, x.in(i), x.in(i+1), x.in(i+2)) }
	quant := func(v *Value, i int) ([]*Value, error) {
		return []*Value{x.add("QuantizeLinear", nil, v, x.in(i), x.in(i+1))}, nil
	}
	switch op {
	case "QLinearAdd", "QLinearMul":
		return quant(x.add(strings.TrimPrefix(op, "QLinear"), nil, deq(0), deq(3)), 6)
	case "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax":
		return quant(x.add(strings.TrimPrefix(op, "QLinear"), n.Attrs, deq(0)), 3)
	case "QLinearGlobalAveragePool", "QLinearAveragePool":
		if n.Attrs.Int("channels_last", 0) != 0 {
			return nil, nil
		}
		return quant(x.add(strings.TrimPrefix(op, "QLinear"), n.Attrs, deq(0)), 3)
	case "QLinearConcat":
		var parts []*Value
		for i := 2; i+2 < len(n.In); i += 3 {
			parts = append(parts, deq(i))
		}
		return quant(x.add("Concat", n.Attrs, parts...), 0)
	case "QGemm":
		return x.quantGemm()
	}
	return nil, nil
}

// quantGemm: A, B and C in int32 with the scale of the product; without a result's scale the result is floating.
func (x *expander) quantGemm() ([]*Value, error) {
	n := x.of
	a := x.add("DequantizeLinear", nil, x.in(0), x.in(1), x.in(2))
	axis := int64(1)
	if n.Attrs.Int("transB", 0) != 0 {
		axis = 0
	}
	b := x.add("DequantizeLinear", kernels.Attrs{"axis": axis}, x.in(3), x.in(4), x.in(5))
	in := []*Value{a, b}
	if c := x.in(6); c != nil {
		f := x.add("Cast", kernels.Attrs{"to": int64(1)}, c)
		in = append(in, x.add("Mul", nil, f, x.add("Mul", nil, x.in(1), x.in(4))))
	}
	y := x.add("Gemm", n.Attrs, in...)
	if x.in(7) != nil {
		y = x.add("QuantizeLinear", nil, y, x.in(7), x.in(8))
	}
	return []*Value{y}, nil
}

// einsum takes the operands of an equation two at a time, from the left; a label stays while a later operand or the result
// has it.
func (x *expander) einsum() (*Value, error) {
	n := x.of
	equation := strings.ReplaceAll(n.Attrs.Str("equation", ""), " ", "")
	left, result, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(n.In) || slices.Contains(n.In, nil) || strings.Contains(equation, ".") {
		return nil, fmt.Errorf("equation %q of %d operands: %w", equation, len(n.In), kernels.ErrUnsupported)
	}
	if !explicit { // the labels that occur once, in their order
		all := strings.ReplaceAll(left, ",", "")
		for _, l := range slices.Sorted(slices.Values([]rune(all))) {
			if strings.Count(all, string(l)) == 1 {
				result += string(l)
			}
		}
	}
	acc, labels := n.In[0], terms[0]
	for i := 1; i < len(terms); i++ {
		next := result
		if i < len(terms)-1 {
			next = ""
			later := strings.Join(terms[i+1:], "") + result
			for _, l := range labels + terms[i] {
				if strings.ContainsRune(later, l) && !strings.ContainsRune(next, l) {
					next += string(l)
				}
			}
		}
		acc = x.add("Einsum", kernels.Attrs{"equation": labels + "," + terms[i] + "->" + next}, acc, n.In[i])
		labels = next
	}
	return acc, nil
}

// ContribOps are the operators of ONNX Runtime (com.microsoft) that are replaced by a few of ONNX.
func ContribOps() []string {
	return []string{"Gelu", "FastGelu", "BiasGelu", "QuickGelu", "FusedMatMul", "TransposeMatMul", "SkipLayerNormalization",
		"SkipSimplifiedLayerNormalization", "QuantizeLinear", "DequantizeLinear", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
		"QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearGlobalAveragePool",
		"QLinearAveragePool", "QLinearConcat", "QGemm"}
}
