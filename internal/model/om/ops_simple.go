package om

import (
	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
)

// simple are operators of one input that have an ONNX operator of the same meaning without attributes.
var simple = map[string]string{
	"Relu": "Relu", "Sigmoid": "Sigmoid", "Tanh": "Tanh", "Abs": "Abs", "Neg": "Neg", "Sign": "Sign", "Sqrt": "Sqrt", "Reciprocal": "Reciprocal", "Inv": "Reciprocal",
	"Erf": "Erf", "Ceil": "Ceil", "Floor": "Floor", "Rint": "Round", "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Sinh": "Sinh", "Cosh": "Cosh", "Asin": "Asin", "Acos": "Acos",
	"Atan": "Atan", "Asinh": "Asinh", "Acosh": "Acosh", "Atanh": "Atanh", "Softplus": "Softplus", "Softsign": "Softsign", "Mish": "Mish", "Selu": "Selu",
	"LogicalNot": "Not", "HardSwish": "HardSwish", "Invert": "BitwiseNot", "IsNan": "IsNaN", "IsInf": "IsInf",
}

// pairs are operators of two inputs that broadcast.
var pairs = map[string]string{
	"Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "RealDiv": "Div", "Pow": "Pow", "Maximum": "Max", "Minimum": "Min", "Equal": "Equal",
	"Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less", "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalOr": "Or",
	"BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor", "FloorMod": "Mod", "PRelu": "PRelu",
}

// meanings finds what an operator that stands alone computes; nil where that is not known.
func meanings(t string) meaning {
	if _, ok := unaries[t]; ok || simple[t] != "" {
		return func(x *kernelOp) []*graph.Value {
			return []*graph.Value{x.finish(x.unary(t, x.in(0)), 0)}
		}
	}
	if isPair(t) {
		return func(x *kernelOp) []*graph.Value {
			v := x.broadcast(0, 1)
			return []*graph.Value{x.finish(x.pair(t, v[0], v[1]), 0)}
		}
	}
	return others(t)
}

// unary applies an operator of one input. Attributes are those of the operator at hand; fused operators have lost
// theirs, see fused.go.
func (x *kernelOp) unary(t string, v *graph.Value) *graph.Value {
	if op := simple[t]; op != "" {
		return x.emit(op, nil, v)
	}
	if f := unaries[t]; f != nil {
		return f(x, v)
	}
	return x.bad(x.errorf("%s is not known", t))
}

// unaries are operators of one input with attributes or without a counterpart.
var unaries = map[string]func(x *kernelOp, v *graph.Value) *graph.Value{
	"Exp":       func(x *kernelOp, v *graph.Value) *graph.Value { return x.power("Exp", v) },
	"Log":       func(x *kernelOp, v *graph.Value) *graph.Value { return x.power("Log", v) },
	"LeakyRelu": func(x *kernelOp, v *graph.Value) *graph.Value { return x.leaky(v) },
	"Elu": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("Elu", kernels.Attrs{"alpha": x.o.Attrs.Float("alpha", 1)}, v)
	},
	"HardSigmoid": func(x *kernelOp, v *graph.Value) *graph.Value { return x.hardSigmoid(v) },
	"Relu6":       func(x *kernelOp, v *graph.Value) *graph.Value { return x.clip(v, 0, 6) },
	"Rsqrt": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.precise(v, func(v *graph.Value) *graph.Value { return x.emit("Reciprocal", nil, x.emit("Sqrt", nil, v)) })
	},
	"Square":     func(x *kernelOp, v *graph.Value) *graph.Value { return x.emit("Mul", nil, v, v) },
	"Round":      func(x *kernelOp, v *graph.Value) *graph.Value { return x.emit("Round", nil, v) },
	"Gelu":       func(x *kernelOp, v *graph.Value) *graph.Value { return x.gelu(v, "tanh") },
	"GeluV2":     func(x *kernelOp, v *graph.Value) *graph.Value { return x.gelu(v, x.o.Attrs.Str("approximate")) },
	"FastGelu":   func(x *kernelOp, v *graph.Value) *graph.Value { return x.swish(v, 1.702) },
	"FastGeluV2": func(x *kernelOp, v *graph.Value) *graph.Value { return x.swish(v, 1.702) },
	"Swish":      func(x *kernelOp, v *graph.Value) *graph.Value { return x.swish(v, x.o.Attrs.Float("scale", 1)) },
	"Muls": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("Mul", nil, v, x.scalar(x.o.Attrs.Float("value", 1), v))
	},
	"Adds": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("Add", nil, v, x.scalar(x.o.Attrs.Float("value", 0), v))
	},
	"Power": func(x *kernelOp, v *graph.Value) *graph.Value { return x.caffePower(v) },
	"Expm1": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.precise(v, func(v *graph.Value) *graph.Value { return x.emit("Sub", nil, x.emit("Exp", nil, v), x.scalar(1, v)) })
	},
	"Log1p": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.precise(v, func(v *graph.Value) *graph.Value { return x.emit("Log", nil, x.emit("Add", nil, v, x.scalar(1, v))) })
	},
	"ThresholdedReLU": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("ThresholdedRelu", kernels.Attrs{"alpha": x.o.Attrs.Float("alpha", 1)}, v)
	},
	"HardShrink": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("Shrink", kernels.Attrs{"lambd": x.o.Attrs.Float("lambd", 0.5), "bias": float32(0)}, v)
	},
	"SoftShrink": func(x *kernelOp, v *graph.Value) *graph.Value {
		l := x.o.Attrs.Float("lambd", 0.5)
		return x.emit("Shrink", kernels.Attrs{"lambd": l, "bias": l}, v)
	},
	"Celu": func(x *kernelOp, v *graph.Value) *graph.Value {
		return x.emit("Celu", kernels.Attrs{"alpha": x.o.Attrs.Float("alpha1", x.o.Attrs.Float("alpha", 1))}, v)
	},
}

// precise computes in float32 and rounds once.
func (x *kernelOp) precise(v *graph.Value, f func(v *graph.Value) *graph.Value) *graph.Value {
	t := v.DType
	return x.cast(f(x.cast(v, float32Type)), t)
}

// power is base^(scale·x+shift), or the logarithm to a base; base -1 is e.
func (x *kernelOp) power(op string, v *graph.Value) *graph.Value {
	a := x.o.Attrs
	base, scale, shift := a.Float("base", -1), a.Float("scale", 1), a.Float("shift", 0)
	if base != -1 || scale != 1 || shift != 0 {
		return x.bad(x.errorf("%s with base %g, scale %g, shift %g", op, base, scale, shift))
	}
	return x.emit(op, nil, v)
}

func (x *kernelOp) leaky(v *graph.Value) *graph.Value {
	return x.emit("LeakyRelu", kernels.Attrs{"alpha": x.o.Attrs.Float("negative_slope", 0)}, v)
}

func (x *kernelOp) hardSigmoid(v *graph.Value) *graph.Value {
	return x.emit("HardSigmoid", kernels.Attrs{"alpha": x.o.Attrs.Float("alpha", 0.16666666), "beta": x.o.Attrs.Float("beta", 0.5)}, v)
}

func (x *kernelOp) clip(v *graph.Value, lo, hi float32) *graph.Value {
	return x.emit("Clip", nil, v, x.scalar(lo, v), x.scalar(hi, v))
}

func (x *kernelOp) gelu(v *graph.Value, approximate string) *graph.Value {
	if approximate == "" {
		approximate = "none"
	}
	return x.emit("Gelu", kernels.Attrs{"approximate": approximate}, v)
}

// swish is x·sigmoid(scale·x), computed in float32.
func (x *kernelOp) swish(v *graph.Value, scale float32) *graph.Value {
	return x.precise(v, func(v *graph.Value) *graph.Value {
		s := v
		if scale != 1 {
			s = x.emit("Mul", nil, v, x.scalar(scale, v))
		}
		return x.emit("Mul", nil, v, x.emit("Sigmoid", nil, s))
	})
}

// caffePower is (shift + scale·x)^power.
func (x *kernelOp) caffePower(v *graph.Value) *graph.Value {
	a := x.o.Attrs
	p, scale, shift := a.Float("power", 1), a.Float("scale", 1), a.Float("shift", 0)
	return x.precise(v, func(v *graph.Value) *graph.Value {
		v = x.emit("Add", nil, x.emit("Mul", nil, v, x.scalar(scale, v)), x.scalar(shift, v))
		if p == 1 {
			return v
		}
		return x.emit("Pow", nil, v, x.scalar(p, v))
	})
}

// isPair says that an operator takes two tensors that broadcast.
func isPair(t string) bool {
	switch t {
	case "NotEqual", "FloorDiv", "SquaredDifference", "BiasAdd", "Bias", "Mod":
		return true
	}
	return pairs[t] != ""
}

// pair applies an operator of two inputs.
func (x *kernelOp) pair(t string, a, b *graph.Value) *graph.Value {
	if x.err != nil {
		return a
	}
	if a.DType != b.DType && a.DType.Float() && b.DType.Float() {
		want := a.DType
		return x.cast(x.pair(t, x.cast(a, float32Type), x.cast(b, float32Type)), want)
	}
	if op := pairs[t]; op != "" {
		return x.emit(op, nil, a, b)
	}
	switch t {
	case "NotEqual":
		return x.emit("Not", nil, x.emit("Equal", nil, a, b))
	case "FloorDiv":
		if a.DType.Float() {
			return x.emit("Floor", nil, x.emit("Div", nil, a, b))
		}
		return x.bad(x.errorf("FloorDiv of integers"))
	case "SquaredDifference":
		d := x.emit("Sub", nil, a, b)
		return x.emit("Mul", nil, d, d)
	case "BiasAdd", "Bias":
		return x.emit("Add", nil, a, b)
	case "Mod":
		return x.emit("Mod", kernels.Attrs{"fmod": int64(1)}, a, b)
	}
	return x.bad(x.errorf("%s is not known", t))
}
