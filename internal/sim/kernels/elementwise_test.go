package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"npu/internal/tensor"
)

func numericTypes() []tensor.DType {
	return []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int16,
		tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64}
}

// wrap is what a result outside of an integer type becomes there.
func wrap(dt tensor.DType, x float64) float64 {
	if !dt.Int() || dt == tensor.Int64 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	m := math.Ldexp(1, dt.Bits())
	x = x - m*math.Floor(x/m)
	if dt == tensor.Int8 || dt == tensor.Int16 || dt == tensor.Int32 || dt == tensor.Int64 {
		if x >= m/2 {
			x -= m
		}
	}
	return x
}

// broadcastPair makes two shapes that broadcast, and the shape of the result.
func broadcastPair(r *rand.Rand) (a, b, out []int) {
	out = randomShape(r, r.IntN(5), 5)
	part := func() []int {
		s := append([]int{}, out[r.IntN(len(out)+1):]...)
		for i := range s {
			if r.IntN(3) == 0 {
				s[i] = 1
			}
		}
		return s
	}
	a, b = part(), append([]int{}, out...)
	if r.IntN(2) == 0 {
		a, b = b, a
	}
	return a, b, out
}

func TestBinary_againstNaive(t *testing.T) {
	mod := func(a, b float64) float64 { return a - b*math.Floor(a/b) }
	cases := []struct {
		op    string
		attrs Attrs
		f     func(a, b float64) float64
		only  func(tensor.DType) bool
		safe  bool // the second operand must not be zero
	}{
		{"Add", nil, func(a, b float64) float64 { return a + b }, numeric, false},
		{"Sub", nil, func(a, b float64) float64 { return a - b }, numeric, false},
		{"Mul", nil, func(a, b float64) float64 { return a * b }, numeric, false},
		{"Div", nil, func(a, b float64) float64 { return a / b }, floating, false},
		{"Div", nil, func(a, b float64) float64 { return math.Trunc(a / b) }, integral, true},
		{"Mod", nil, mod, integral, true},
		{"Mod", Attrs{"fmod": int64(1)}, math.Mod, numeric, true},
		{"Max", nil, math.Max, numeric, false},
		{"Min", nil, math.Min, numeric, false},
		{"Pow", nil, math.Pow, floating, false},
		{"Equal", nil, func(a, b float64) float64 { return float64(bit(a == b)) }, numeric, false},
		{"Less", nil, func(a, b float64) float64 { return float64(bit(a < b)) }, numeric, false},
		{"LessOrEqual", nil, func(a, b float64) float64 { return float64(bit(a <= b)) }, numeric, false},
		{"Greater", nil, func(a, b float64) float64 { return float64(bit(a > b)) }, numeric, false},
		{"GreaterOrEqual", nil, func(a, b float64) float64 { return float64(bit(a >= b)) }, numeric, false},
		{"And", nil, func(a, b float64) float64 { return a * b }, isBool, false},
		{"Or", nil, math.Max, isBool, false},
		{"Xor", nil, func(a, b float64) float64 { return float64(bit(a != b)) }, isBool, false},
		{"BitwiseAnd", nil, func(a, b float64) float64 { return float64(int64(a) & int64(b)) }, integral, false},
		{"BitwiseXor", nil, func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) }, integral, false},
	}
	for _, c := range cases {
		for _, dt := range append(numericTypes(), tensor.Bool) {
			if !c.only(dt) {
				continue
			}
			t.Run(fmt.Sprint(c.op, c.attrs, dt), func(t *testing.T) {
				rounds(t, 12, func(r *rand.Rand) {
					sa, sb, so := broadcastPair(r)
					a, b := randomTensor(t, r, dt, sa...), randomTensor(t, r, dt, sb...)
					x, y := fromTensor(t, a), fromTensor(t, b)
					if c.safe {
						for i := range y.v {
							if y.v[i] == 0 {
								y.v[i] = 3
							}
						}
						b = toTensor(t, dt, y)
					}
					want := newArray(so...)
					want.each(func(i int, at []int) { want.v[i] = wrap(dt, c.f(x.get(at), y.get(at))) })
					got := compute(t, c.op, 18, 1, c.attrs, a, b)[0]
					if dt != tensor.Bool && got.DType == tensor.Bool {
						got.DType = tensor.Uint8
					}
					equal(t, c.op, got, want, 1e-6)
				})
			})
		}
	}
}

// TestBinary_paths runs each form of broadcast on tensors that several threads share.
func TestBinary_paths(t *testing.T) {
	forms := map[string][2][]int{
		"same":    {{4, 8, 33, 65}, {4, 8, 33, 65}},
		"scalar":  {{4, 8, 33, 65}, {}},
		"first":   {{1}, {4, 8, 33, 65}},
		"channel": {{4, 8, 33, 65}, {1, 8, 1, 1}},
		"row":     {{4, 8, 33, 65}, {65}},
		"column":  {{4, 8, 33, 65}, {33, 1}},
		"outer":   {{4, 1, 33, 1}, {1, 8, 1, 65}},
		"middle":  {{4, 8, 33, 65}, {4, 1, 1, 65}},
	}
	w := NewWorkers(3)
	defer w.Close()
	for name, f := range forms {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32} {
			r := rand.New(rand.NewPCG(1, 2))
			a, b := randomTensor(t, r, dt, f[0]...), randomTensor(t, r, dt, f[1]...)
			x, y := fromTensor(t, a), fromTensor(t, b)
			want := newArray(4, 8, 33, 65)
			want.each(func(i int, at []int) { want.v[i] = x.get(at) - y.get(at) })
			s := &Spec{Op: "Sub", Opset: 14, In: []Desc{{DType: dt, Shape: a.Shape}, {DType: dt, Shape: b.Shape}}}
			k, err := Compile(s)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := tensor.New(dt, want.shape)
			if err := k.Run(&Exec{In: [][]byte{a.Data, b.Data}, Out: [][]byte{out.Data}, Workers: w}); err != nil {
				t.Fatal(err)
			}
			equal(t, name, out, want, 0)
		}
	}
}

func TestVariadic_againstNaive(t *testing.T) {
	cases := map[string]func(v []float64) float64{
		"Max": func(v []float64) float64 { return max(v[0], v[1], v[2]) },
		"Min": func(v []float64) float64 { return min(v[0], v[1], v[2]) },
		"Sum": func(v []float64) float64 { return v[0] + v[1] + v[2] },
		"Mean": func(v []float64) float64 {
			return float64(float32(v[0]+v[1]+v[2]) / 3)
		},
	}
	for op, f := range cases {
		for _, dt := range numericTypes() {
			if (op == "Sum" || op == "Mean") && !floating(dt) {
				continue
			}
			rounds(t, 8, func(r *rand.Rand) {
				sa, sb, so := broadcastPair(r)
				in := []*tensor.Tensor{randomTensor(t, r, dt, sa...), randomTensor(t, r, dt, sb...), randomTensor(t, r, dt, 1)}
				if len(so) == 0 {
					so = []int{1}
				}
				want := newArray(so...)
				want.each(func(i int, at []int) {
					v := make([]float64, 3)
					for k := range v {
						v[k] = fromTensor(t, in[k]).get(at)
					}
					want.v[i] = f(v)
				})
				equal(t, op, compute(t, op, 13, 1, nil, in...)[0], want, 1e-6)
			})
		}
	}
}

func TestUnary_againstNaive(t *testing.T) {
	sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	softplus := func(x float64) float64 { return math.Log1p(math.Exp(x)) }
	cases := []struct {
		op    string
		attrs Attrs
		f     func(float64) float64
	}{
		{"Abs", nil, math.Abs}, {"Neg", nil, func(x float64) float64 { return -x }}, {"Sqrt", nil, math.Sqrt},
		{"Reciprocal", nil, func(x float64) float64 { return 1 / x }}, {"Exp", nil, math.Exp}, {"Log", nil, math.Log},
		{"Ceil", nil, math.Ceil}, {"Floor", nil, math.Floor}, {"Round", nil, math.RoundToEven}, {"Sin", nil, math.Sin},
		{"Cos", nil, math.Cos}, {"Tan", nil, math.Tan}, {"Sinh", nil, math.Sinh}, {"Cosh", nil, math.Cosh}, {"Asin", nil, math.Asin},
		{"Acos", nil, math.Acos}, {"Atan", nil, math.Atan}, {"Asinh", nil, math.Asinh}, {"Acosh", nil, math.Acosh},
		{"Atanh", nil, math.Atanh}, {"Erf", nil, math.Erf}, {"Relu", nil, func(x float64) float64 { return math.Max(x, 0) }},
		{"Sigmoid", nil, sig}, {"Tanh", nil, math.Tanh}, {"Softplus", nil, softplus},
		{"Softsign", nil, func(x float64) float64 { return x / (1 + math.Abs(x)) }},
		{"Mish", nil, func(x float64) float64 { return x * math.Tanh(softplus(x)) }},
		{"HardSwish", nil, func(x float64) float64 { return x * math.Max(0, math.Min(1, x/6+0.5)) }},
		{"Silu", nil, func(x float64) float64 { return x * sig(x) }},
		{"Swish", Attrs{"alpha": float32(0.5)}, func(x float64) float64 { return x * sig(x/2) }},
		{"Gelu", nil, func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) }},
		{"LeakyRelu", Attrs{"alpha": float32(0.25)}, func(x float64) float64 { return math.Max(x, x/4) }},
		{"Elu", Attrs{"alpha": float32(2)}, func(x float64) float64 {
			if x > 0 {
				return x
			}
			return 2 * (math.Exp(x) - 1)
		}},
		{"Celu", Attrs{"alpha": float32(2)}, func(x float64) float64 {
			return math.Max(0, x) + math.Min(0, 2*(math.Exp(x/2)-1))
		}},
		{"Selu", nil, func(x float64) float64 {
			if x > 0 {
				return 1.0507009873554805 * x
			}
			return 1.0507009873554805 * 1.6732632423543772 * (math.Exp(x) - 1)
		}},
		{"ThresholdedRelu", Attrs{"alpha": float32(1.5)}, func(x float64) float64 {
			if x > 1.5 {
				return x
			}
			return 0
		}},
		{"HardSigmoid", nil, func(x float64) float64 { return math.Max(0, math.Min(1, x/5+0.5)) }},
		{"Clip", Attrs{"min": float32(-1), "max": float32(2)}, func(x float64) float64 { return math.Min(math.Max(x, -1), 2) }},
		{"Sign", nil, func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return math.Copysign(1, x)
		}},
	}
	tol := map[tensor.DType]float64{tensor.Float32: 1e-6, tensor.Float64: 1e-7, tensor.Float16: 1.0 / 1024, tensor.BFloat16: 1.0 / 128}
	for _, c := range cases {
		for dt, tol := range tol {
			rounds(t, 4, func(r *rand.Rand) {
				in := randomTensor(t, r, dt, 1+r.IntN(40), 1+r.IntN(40))
				want := fromTensor(t, in)
				for i, x := range want.v {
					want.v[i] = c.f(x)
				}
				equal(t, c.op, compute(t, c.op, 10, 1, c.attrs, in)[0], want, tol)
			})
		}
	}
}

func TestCast_everyPair(t *testing.T) {
	numbers := map[tensor.DType]int64{}
	for n, dt := range onnxTypes {
		numbers[dt] = int64(n)
	}
	types := append(numericTypes(), tensor.Bool, tensor.Int4, tensor.Uint4, tensor.Float8E4M3, tensor.Float8E5M2)
	for _, from := range types {
		for _, to := range types {
			rounds(t, 3, func(r *rand.Rand) {
				a := newArray(1 + r.IntN(1100))
				for i := range a.v {
					a.v[i] = float64(r.IntN(8)) // every type holds these
				}
				if from == tensor.Bool || to == tensor.Bool {
					for i := range a.v {
						a.v[i] = math.Min(a.v[i], 1)
					}
				}
				got := compute(t, "Cast", 21, 1, Attrs{"to": numbers[to]}, toTensor(t, from, a))[0]
				if got.DType != to {
					t.Fatalf("%v to %v gives %v", from, to, got.DType)
				}
				equal(t, fmt.Sprint(from, " to ", to), got, a, 0)
			})
		}
	}
}

// TestCast_edges pins what happens where the target cannot hold the value.
func TestCast_edges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		from, to tensor.DType
		in, want float64
	}{
		{tensor.Float32, tensor.Int8, 300, 127}, {tensor.Float32, tensor.Int8, -300, -128}, {tensor.Float32, tensor.Int32, nan, 0},
		{tensor.Float32, tensor.Int64, inf, 9223372036854775807}, {tensor.Float64, tensor.Uint8, -1.5, 0},
		{tensor.Float32, tensor.Int32, -2.7, -2}, {tensor.Int32, tensor.Int8, 300, 44}, {tensor.Int64, tensor.Uint8, -1, 255},
		{tensor.Float32, tensor.Float16, 1e6, inf}, {tensor.Float64, tensor.Float16, 2049, 2048}, {tensor.Float32, tensor.Bool, 0.1, 1},
		{tensor.Float32, tensor.Float8E4M3, 1000, 448}, {tensor.Float64, tensor.Float8E4M3, inf, 448}, {tensor.Float32, tensor.Float8E5M2, inf, 57344},
		{tensor.Uint64, tensor.Float32, 1 << 63, 1 << 63}, {tensor.Float16, tensor.Float8E4M3, nan, nan},
		// halfway between two bfloat16 numbers and a little more, which float32 cannot hold
		{tensor.Float64, tensor.BFloat16, 1 + 1.0/256 + 1.0/(1<<40), 1 + 1.0/128},
	}
	for _, c := range cases {
		n := 0
		for i, dt := range onnxTypes {
			if dt == c.to {
				n = i
			}
		}
		got := compute(t, "Cast", 21, 1, Attrs{"to": int64(n)}, toTensor(t, c.from, array{[]int{1}, []float64{c.in}}))[0]
		if g := fromTensor(t, got).v[0]; g != c.want && !(math.IsNaN(g) && math.IsNaN(c.want)) {
			t.Errorf("%v(%g) to %v is %g, want %g", c.from, c.in, c.to, g, c.want)
		}
	}
}

// TestInteger_zeroDivisor: an integer division by zero is a fault; the least number by -1 is none.
func TestInteger_zeroDivisor(t *testing.T) {
	a := intList(t, 5, -5, math.MinInt64)
	for op, want := range map[string]float64{"Div": math.MinInt64, "Mod": 0} {
		got := fromTensor(t, compute(t, op, 14, 1, nil, a, intList(t, 1, 1, -1))[0])
		if got.v[2] != want {
			t.Errorf("%s of the least number by -1 is %g, want %g", op, got.v[2], want)
		}
		d := Desc{DType: tensor.Int64, Shape: tensor.Shape{3}}
		k, err := Compile(&Spec{Op: op, Opset: 14, In: []Desc{d, d}, Out: []Desc{d}})
		if err != nil {
			t.Fatal(err)
		}
		x := &Exec{In: [][]byte{a.Data, intList(t, 1, 0, 1).Data}, Out: [][]byte{make([]byte, 24)}}
		if err := k.Run(x); err == nil || !strings.Contains(err.Error(), "zero: element 1") {
			t.Errorf("%s by zero: error %v", op, err)
		}
	}
}
