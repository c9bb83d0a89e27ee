package tensor

import (
	"math"
	"testing"
)

func TestFloats_everyType(t *testing.T) {
	v := []float64{0, 1, 2, -1, 3.7, 300, -1e30, math.Inf(1), math.NaN(), 5, 1e19}
	top := map[DType][2]float64{ // clamped ends of the integer types
		Int4: {-8, 7}, Uint4: {0, 15}, Int8: {-128, 127}, Uint8: {0, 255}, Int16: {math.MinInt16, math.MaxInt16},
		Uint16: {0, math.MaxUint16}, Int32: {math.MinInt32, math.MaxInt32}, Uint32: {0, math.MaxUint32},
		Int64: {math.MinInt64, 1 << 63}, Uint64: {0, 1 << 64}, Int2: {-2, 1}, Uint2: {0, 3},
	}
	for dt := Float32; dt < dtypeCount; dt++ {
		if dt == String || dt == Complex64 || dt == Complex128 {
			continue
		}
		x, err := New(dt, Shape{len(v)})
		if err != nil {
			t.Fatal(err)
		}
		if err := EncodeFloats(x.Data, dt, 0, v); err != nil {
			t.Fatal(err)
		}
		got, err := Floats(x)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range v {
			var want float64
			switch {
			case dt == Bool:
				want = map[bool]float64{true: 1}[f != 0]
			case dt.Int() && f != f:
				want = 0
			case dt.Int():
				want = min(max(math.Trunc(f), top[dt][0]), top[dt][1])
			case dt == Float64:
				want = f
			case dt == Float32:
				want = float64(float32(f))
			default: // values above: all representable or rounded below a tie by both ways
				want = roundVia(dt, float32(f))
			}
			if got[i] != want && !(got[i] != got[i] && want != want) {
				t.Errorf("%v: %v reads %v, want %v", dt, f, got[i], want)
			}
		}
	}
}

func roundVia(dt DType, f float32) float64 {
	switch dt {
	case Float16:
		return float64(HalfToFloat32(Float32ToHalf(f)))
	case BFloat16:
		return float64(BFloat16ToFloat32(Float32ToBFloat16(f)))
	case Float8E4M3:
		return float64(E4M3ToFloat32(Float32ToE4M3(f, false)))
	case Float8E4M3FNUZ:
		return nearestOf(f, 3, 8, 240, math.NaN(), math.NaN())
	case Float8E5M2FNUZ:
		return nearestOf(f, 2, 16, 57344, math.NaN(), math.NaN())
	case Float4E2M1:
		return nearestOf(f, 1, 1, 6, 6, 0)
	case Float8E8M0:
		switch a := math.Abs(float64(f)); {
		case a == 0:
			return 0x1p-127
		case math.IsInf(a, 0) || a != a:
			return math.NaN()
		default: // the power of two whose distance is least, upwards on a tie
			lo := math.Exp2(math.Floor(math.Log2(a)))
			if a >= 1.5*lo {
				return 2 * lo
			}
			return lo
		}
	}
	return float64(E5M2ToFloat32(Float32ToE5M2(f, false)))
}

// 1+2^-11 is a tie of float16; a hair above it, too small for float32, decides.
func TestEncodeFloats_noDoubleRounding(t *testing.T) {
	for _, c := range []struct{ in, want float64 }{
		{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10}, {1 + 0x1p-11, 1}, {1 + 3*0x1p-11 - 0x1p-40, 1 + 0x1p-10},
		{0x1p-25 + 0x1p-60, 0x1p-24}, {0x1p-25, 0}, {1e300, math.Inf(1)}, {-1e-300, 0},
	} {
		x, _ := New(Float16, Shape{})
		if err := EncodeFloats(x.Data, Float16, 0, []float64{c.in}); err != nil {
			t.Fatal(err)
		}
		if got, _ := Floats(x); got[0] != c.want {
			t.Errorf("%v becomes %v, want %v", c.in, got[0], c.want)
		}
	}
}

func TestFloats_streamAndErrors(t *testing.T) {
	v := make([]float32, 2500)
	for i := range v {
		v[i] = float32(i)
	}
	x, err := FromFloat32s(Shape{50, 50}, v)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = x.EachFloats(func(at int, f []float64) error {
		for i := range f {
			if f[i] != float64(at+i) {
				t.Fatalf("number %d is %v", at+i, f[i])
			}
		}
		seen += len(f)
		return nil
	})
	if err != nil || seen != 2500 {
		t.Errorf("%d numbers, %v", seen, err)
	}
	x.Data = x.Data[:len(x.Data)-1]
	for _, bad := range []*Tensor{x, {DType: String, Shape: Shape{0}}, {DType: Float32, Shape: Shape{-1}}} {
		if _, err := Floats(bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if err := DecodeFloats(make([]float64, 3), Int4, []byte{1}, 0); err == nil {
		t.Error("no error for three nibbles of one byte")
	}
	if _, err := FromInt64s(Shape{2}, []int64{1}); err == nil {
		t.Error("no error for one value in shape 2")
	}
}

func TestAs(t *testing.T) {
	x, _ := FromFloat32s(Shape{2, 2}, []float32{1.5, -2, 300, 0})
	for _, dt := range []DType{Float16, Int8, Uint4, Bool} {
		y, err := x.As(dt)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := Floats(y)
		want := map[DType][]float64{Float16: {1.5, -2, 300, 0}, Int8: {1, -2, 127, 0}, Uint4: {1, 0, 15, 0}, Bool: {1, 1, 1, 0}}[dt]
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%v: %v, want %v", dt, got, want)
				break
			}
		}
	}
	if _, err := x.As(Complex64); err == nil {
		t.Error("no error for complex64")
	}
	nz, _ := Convert(x, FractalNZ)
	if _, err := nz.As(Float16); err != nil {
		t.Error(err)
	}
	if _, err := nz.As(Int8); err == nil {
		t.Error("no error for FRACTAL_NZ with another C0")
	}
}

func TestReshape(t *testing.T) {
	x, _ := FromInt64s(Shape{2, 6}, make([]int64, 12))
	for _, c := range []struct {
		to   Shape
		want string
	}{{Shape{3, 4}, "3x4"}, {Shape{-1, 4}, "3x4"}, {Shape{12, 1, -1}, "12x1x1"}, {Shape{5, -1}, ""}, {Shape{-1, -1}, ""},
		{Shape{13}, ""}, {Shape{-2}, ""}, {Shape{0, -1}, ""}, {Shape{}, ""}} {
		y, err := x.Reshape(c.to)
		if (err != nil) != (c.want == "") || err == nil && y.Shape.String() != c.want {
			t.Errorf("%v: %v, %v, want %q", []int(c.to), y, err, c.want)
		}
	}
	e, _ := FromInt64s(Shape{0, 3}, nil)
	if y, err := e.Reshape(Shape{3, -1}); err != nil || y.Shape.String() != "3x0" {
		t.Errorf("%v, %v", y, err)
	}
}

// nearestOf rounds to a format of that many bits of mantissa and that exponent bias by trying its unit; beyond stands for
// what lies above the largest value.
func nearestOf(f float32, mantissa, bias int, largest, beyond, nan float64) float64 {
	if f != f {
		return nan
	}
	x, sign := math.Abs(float64(f)), math.Copysign(1, float64(f))
	_, e := math.Frexp(x)
	unit := math.Ldexp(1, max(e-1, 1-bias)-mantissa)
	if r := math.RoundToEven(x/unit) * unit; r <= largest {
		return sign * r
	}
	return sign * beyond
}

func TestMicrofloats_roundTrip(t *testing.T) {
	for b := range 256 {
		c := uint8(b)
		if got := Float32ToE4M3FNUZ(E4M3FNUZToFloat32(c), false); got != c {
			t.Errorf("e4m3fnuz %#x comes back as %#x", c, got)
		}
		if got := Float32ToE5M2FNUZ(E5M2FNUZToFloat32(c), false); got != c {
			t.Errorf("e5m2fnuz %#x comes back as %#x", c, got)
		}
		if got := Float32ToE2M1(E2M1ToFloat32(c & 15)); got != c&15 {
			t.Errorf("e2m1 %#x comes back as %#x", c&15, got)
		}
		for _, how := range []ScaleRounding{ScaleNearest, ScaleUp, ScaleDown} {
			if got := Float32ToE8M0(E8M0ToFloat32(c), how, false); got != c {
				t.Errorf("e8m0 %#x comes back as %#x (%d)", c, got, how)
			}
		}
	}
	if got := Float32ToE4M3FNUZ(1000, true); got != 0x7f {
		t.Errorf("saturated e4m3fnuz is %#x", got)
	}
	for _, c := range []struct {
		f        float32
		how      ScaleRounding
		saturate bool
		want     uint8
	}{{3, ScaleDown, false, 128}, {3, ScaleUp, false, 129}, {-3, ScaleNearest, false, 129}, {float32(math.Inf(1)), ScaleUp, true, 254}, {0x1.8p127, ScaleUp, false, 0xff}} {
		if got := Float32ToE8M0(c.f, c.how, c.saturate); got != c.want {
			t.Errorf("%v (%d) is %d, want %d", c.f, c.how, got, c.want)
		}
	}
}
