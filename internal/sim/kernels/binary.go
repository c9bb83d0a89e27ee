package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// binaryOp describes an element-wise operator of two operands.
type binaryOp struct {
	ge    string                   // type in the graph engine
	instr int                      // vector instructions an element
	types func(tensor.DType) bool  // element types of the operands
	truth bool                     // the result is bool
	geInt string                   // type for integers, where it differs
	check func(s *Spec) error      // more conditions, may be nil
	name  func(s *Spec) (k string) // key of the loops, nil: the operator's name
}

// binaryOps are the element-wise operators of two operands with NumPy broadcasting.
func binaryOps() map[string]*Op {
	comparable := func(t tensor.DType) bool { return numeric(t) || t == tensor.Bool }
	truthy := func(t tensor.DType) bool { return t == tensor.Bool }
	unsigned := func(t tensor.DType) bool {
		return t == tensor.Uint8 || t == tensor.Uint16 || t == tensor.Uint32 || t == tensor.Uint64
	}
	table := map[string]binaryOp{
		"Add":            {ge: "Add", instr: 1, types: numeric},
		"Sub":            {ge: "Sub", instr: 1, types: numeric},
		"Mul":            {ge: "Mul", instr: 1, types: numeric},
		"Div":            {ge: "RealDiv", geInt: "Div", instr: 2, types: numeric},
		"Mod":            {ge: "FloorMod", instr: 5, types: numeric, name: modKey},
		"Pow":            {ge: "Pow", instr: 12, types: numeric},
		"PRelu":          {ge: "PRelu", instr: 3, types: numeric, check: narrowing},
		"Equal":          {ge: "Equal", instr: 1, types: comparable, truth: true},
		"Less":           {ge: "Less", instr: 1, types: numeric, truth: true},
		"LessOrEqual":    {ge: "LessEqual", instr: 1, types: numeric, truth: true},
		"Greater":        {ge: "Greater", instr: 1, types: numeric, truth: true},
		"GreaterOrEqual": {ge: "GreaterEqual", instr: 1, types: numeric, truth: true},
		"And":            {ge: "LogicalAnd", instr: 1, types: truthy, truth: true},
		"Or":             {ge: "LogicalOr", instr: 1, types: truthy, truth: true},
		"Xor":            {ge: "BitwiseXor", instr: 1, types: truthy, truth: true},
		"BitwiseAnd":     {ge: "BitwiseAnd", instr: 1, types: integral},
		"BitwiseOr":      {ge: "BitwiseOr", instr: 1, types: integral},
		"BitwiseXor":     {ge: "BitwiseXor", instr: 1, types: integral},
		"BitShift":       {ge: "LeftShift", instr: 1, types: unsigned, check: shiftDirection, name: shiftKey},
	}
	ops := map[string]*Op{}
	for n, o := range table {
		ops[n] = define(o.infer, o.build)
	}
	return ops
}

func modKey(s *Spec) string {
	if s.Attrs.Int("fmod", 0) != 0 {
		return "Fmod"
	}
	return "Mod"
}

func shiftKey(s *Spec) string {
	if s.Attrs.Str("direction", "") == "LEFT" {
		return "LeftShift"
	}
	return "RightShift"
}

func shiftDirection(s *Spec) error {
	if d := s.Attrs.Str("direction", ""); d != "LEFT" && d != "RIGHT" {
		return fmt.Errorf("direction %q, must be LEFT or RIGHT", d)
	}
	return nil
}

// narrowing is the broadcast of PRelu: the slope takes the shape of the input, never the other way.
func narrowing(s *Spec) error {
	b, err := broadcast(s.In[0].Shape, secondShape(s))
	if err == nil && (len(b) != len(s.In[0].Shape) || s.In[0].Shape.Static() && b.Static() && !b.Equal(s.In[0].Shape)) {
		err = fmt.Errorf("slope of shape %v does not broadcast to %v", s.In[1].Shape, s.In[0].Shape)
	}
	return err
}

// secondShape is the shape of the second operand as it broadcasts. Up to opset 6 it is aligned at an axis of the
// first, for PRelu at the channels, instead of at the right.
func secondShape(s *Spec) tensor.Shape {
	a, b := s.In[0].Shape, s.In[1].Shape
	if s.Opset >= 7 || s.Opset == 0 || len(b) == 0 {
		return b
	}
	at := s.Attrs.Int("axis", len(a)-len(b))
	if s.Op == "PRelu" && len(b) == 1 {
		at = 1
	}
	if at < 0 || at > len(a)-len(b) {
		return b
	}
	b = b.Clone()
	for len(b) < len(a)-at {
		b = append(b, 1)
	}
	return b
}

func (o binaryOp) infer(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	a, b := s.In[0], s.In[1]
	if s.Op != "Pow" {
		if err := s.sameType(0, 1); err != nil {
			return err
		}
	}
	for _, t := range []tensor.DType{a.DType, b.DType} {
		if err := wantType(t, o.types); err != nil {
			return err
		}
	}
	if o.check != nil {
		if err := o.check(s); err != nil {
			return err
		}
	}
	shape, err := broadcast(a.Shape, secondShape(s))
	if err != nil {
		return err
	}
	out := Desc{DType: a.DType, Shape: shape}
	if o.truth {
		out.DType = tensor.Bool
	}
	return s.results(out)
}

func (o binaryOp) build(s *Spec) (*Kernel, error) {
	key := s.Op
	if o.name != nil {
		key = o.name(s)
	}
	ge := o.ge
	switch {
	case key == "RightShift":
		ge = "RightShift"
	case key == "Fmod":
		ge = "Mod"
	case o.geInt != "" && s.In[0].DType.Int():
		ge = o.geInt
	}
	w := newPairWalk(s.Out[0].Shape, s.In[0].Shape, secondShape(s))
	body := pairBody(key, w, s.In[0].DType, s.In[1].DType)
	if body == nil {
		return nil, fmt.Errorf("element type %v: %w", s.In[0].DType, ErrUnsupported)
	}
	run := parallel(w.total, 1, body)
	if t := s.In[1].DType; t.Int() && (s.Op == "Div" || s.Op == "Mod") {
		run = faultingDivision(run, t)
	}
	return s.kernel(ge, cost.AIV, o.instr, []int{0, 1}, run), nil
}

// pairBody picks the loop of a binary operator for its element type.
func pairBody(key string, w *pairWalk, a, b tensor.DType) func(x *Exec, lo, hi int) {
	if a != b {
		return mixedPow(w, a, b)
	}
	switch a {
	case tensor.Float32:
		return floatBody[float32](key, w)
	case tensor.Float64:
		return floatBody[float64](key, w)
	case tensor.Float16, tensor.BFloat16:
		if compares(key) {
			return halfWalk(w, a, compareLoops[float32](key))
		}
		return halfWalk(w, a, floatLoops[float32](key))
	case tensor.Int8:
		return intBody[int8](key, w)
	case tensor.Int16:
		return intBody[int16](key, w)
	case tensor.Int32:
		return intBody[int32](key, w)
	case tensor.Int64:
		return intBody[int64](key, w)
	case tensor.Uint8:
		return intBody[uint8](key, w)
	case tensor.Uint16:
		return intBody[uint16](key, w)
	case tensor.Uint32:
		return intBody[uint32](key, w)
	case tensor.Uint64:
		return intBody[uint64](key, w)
	case tensor.Bool:
		return plainWalk(w, logicLoops(key))
	}
	return nil
}

func compares(key string) bool {
	switch key {
	case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual":
		return true
	}
	return false
}

func floatBody[T float32 | float64](key string, w *pairWalk) func(x *Exec, lo, hi int) {
	if compares(key) {
		return plainWalk(w, compareLoops[T](key))
	}
	return plainWalk(w, floatLoops[T](key))
}

func floatLoops[T float32 | float64](key string) binLoops[T, T] {
	switch key {
	case "Add", "Sum":
		return addLoops[T]()
	case "Sub":
		return subLoops[T]()
	case "Mul":
		return mulLoops[T]()
	case "Div":
		return divLoops[T]()
	case "Max":
		return maxLoops[T]()
	case "Min":
		return minLoops[T]()
	case "Mod", "Fmod":
		return floatModLoops[T](key == "Fmod")
	case "PRelu":
		return preluFloatLoops[T]()
	}
	return powLoops[T]()
}

func intBody[T integer](key string, w *pairWalk) func(x *Exec, lo, hi int) {
	if compares(key) {
		return plainWalk(w, compareLoops[T](key))
	}
	return plainWalk(w, intLoops[T](key))
}

func intLoops[T integer](key string) binLoops[T, T] {
	switch key {
	case "Add", "Sum":
		return addLoops[T]()
	case "Sub":
		return subLoops[T]()
	case "Mul":
		return mulLoops[T]()
	case "Div":
		return intDivLoops[T]()
	case "Max":
		return maxLoops[T]()
	case "Min":
		return minLoops[T]()
	case "Mod", "Fmod":
		return intModLoops[T](key == "Fmod")
	case "Pow":
		return apply(intPow[T])
	case "PRelu":
		return preluLoops[T]()
	}
	return bitLoops[T](key)
}

func preluLoops[T tensor.Number]() binLoops[T, T] {
	return apply(func(x, slope T) T {
		if x < 0 {
			return x * slope
		}
		return x
	})
}

// preluFloatLoops avoid a branch on the data for float32.
func preluFloatLoops[T float32 | float64]() binLoops[T, T] {
	single := binLoops[float32, float32]{func(d, x, slope []float32) {
		x, slope = x[:len(d)], slope[:len(d)]
		for i, v := range x {
			d[i] = math.Float32frombits(pick(v < 0, v*slope[i], v))
		}
	}, func(d, x []float32, slope float32) {
		leakyVector(slope)(d, x)
	}, preluLoops[float32]().sv}
	if l, ok := any(single).(binLoops[T, T]); ok {
		return l
	}
	return preluLoops[T]()
}

// powLoops computes through float64. The square and the root, which models use most, give the same bits directly.
func powLoops[T float32 | float64]() binLoops[T, T] {
	l := apply(func(a, b T) T { return T(math.Pow(float64(a), float64(b))) })
	general := l.vs
	l.vs = func(d, a []T, b T) {
		a = a[:len(d)]
		switch b {
		case 2:
			for i, x := range a {
				d[i] = x * x
			}
		case 0.5:
			for i, x := range a {
				d[i] = T(math.Sqrt(float64(x)))
			}
		default:
			general(d, a, b)
		}
	}
	return l
}
