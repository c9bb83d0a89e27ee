package elem

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		t    Type
		name string
		bits int
	}{
		{Proto(1), "float32", 32}, {Proto(2), "float16", 16}, {Proto(27), "bfloat16", 16}, {Proto(29), "uint1", 1}, {Proto(33), "hifloat8", 8},
		{Proto(18), "qint8", 8}, {Proto(35), "float8_e4m3fn", 8}, {Proto(0), "undefined", 0}, {Proto(99), "unknown(99)", 0},
		{GE(0), "float32", 32}, {GE(1), "float16", 16}, {GE(27), "bfloat16", 16}, {GE(30), "uint1", 1}, {GE(40), "float4_e2m1", 4}, {GE(-1), "unknown(-1)", 0},
	} {
		if c.t.Name != c.name || c.t.Bits != c.bits {
			t.Errorf("%+v, expected %s of %d bits", c.t, c.name, c.bits)
		}
	}
	for s, want := range map[string]string{"DT_FLOAT": "float32", "fp16": "float16", "bf16": "bfloat16", "double": "float64", "hif8": "hifloat8"} {
		if ty, ok := Parse(s); !ok || ty.Name != want {
			t.Errorf("%s reads as %+v", s, ty)
		}
	}
	if _, ok := Parse("float7"); ok {
		t.Error("float7 is no type")
	}
}

// Values by hand from the definition of the formats.
func TestSpecialFormats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		t    string
		in   []byte
		want []float64
	}{
		{"hifloat8", []byte{0x00, 0x80, 0x6f, 0xef, 0x08, 0x10, 0x18, 0x88, 0x0c, 0x01, 0x07, 0x20, 0x6e}, []float64{0, nan, inf, -inf, 1, 2, .5, -1, 1.5, math.Ldexp(1, -22), math.Ldexp(1, -16), 4, 32768}},
		{"float8_e8m0", []byte{0x00, 0x7f, 0x80, 0xff}, []float64{math.Ldexp(1, -127), 1, 2, nan}},
		{"float4_e2m1", []byte{0x21, 0xf7}, []float64{.5, 1, 6, -6}},
		{"float4_e1m2", []byte{0x21, 0xf7}, []float64{.25, .5, 1.75, -1.75}},
		{"uint1", []byte{0xde}, []float64{1, 1, 0, 1, 1, 1, 1, 0}},
		{"int2", []byte{0b11_10_01_00}, []float64{0, 1, -2, -1}},
		{"uint2", []byte{0b11_10_01_00}, []float64{0, 1, 2, 3}},
		{"float8_e4m3fn", []byte{0x38, 0x40, 0x7e, 0x01, 0x7f}, []float64{1, 2, 448, math.Ldexp(1, -9), nan}},
		{"complex32", []byte{0x00, 0x3c, 0x00, 0xc0}, []float64{1, -2}},
	} {
		ty, ok := Parse(c.t)
		got := make([]float64, len(c.want))
		if n := ty.Decode(got, c.in); !ok || n != len(c.want) {
			t.Errorf("%s: %d numbers", c.t, n)
		}
		for i := range got {
			if got[i] != c.want[i] && !(got[i] != got[i] && c.want[i] != c.want[i]) {
				t.Errorf("%s: number %d is %v, expected %v", c.t, i, got[i], c.want[i])
			}
		}
	}
}

// Statistics against a naive computation, whatever the chunks.
func TestStats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"float32", "float16", "bfloat16", "float8_e5m2", "int8", "uint16", "int32", "int64", "float64", "hifloat8", "uint1", "complex64", "int4"} {
		ty, _ := Parse(name)
		raw := make([]byte, 48000)
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		if name == "float32" {
			for i := 0; i < len(raw); i += 4 {
				binary.LittleEndian.PutUint32(raw[i:], math.Float32bits(float32(r.NormFloat64())))
			}
			binary.LittleEndian.PutUint32(raw[400:], 0x7f800000)
			binary.LittleEndian.PutUint32(raw[404:], 0x7fc00000)
			binary.LittleEndian.PutUint32(raw[408:], 0)
		}
		vals := make([]float64, int(ty.Count(48000))*ty.Numbers())
		ty.Decode(vals, raw)
		var nan, zero, infs, n, first int64
		first = -1
		lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
		for i, v := range vals {
			switch {
			case v != v || math.IsInf(v, 0):
				if v != v {
					nan++
				} else {
					infs++
				}
				if first < 0 {
					first = int64(i / ty.Numbers())
				}
				continue
			case v == 0:
				zero++
			}
			n++
			lo, hi, sum = min(lo, v), max(hi, v), sum+v
		}
		a := NewAccumulator(ty)
		for at := 0; at < len(raw); {
			k := min(16*(1+r.IntN(300)), len(raw)-at)
			a.Add(raw[at : at+k])
			at += k
		}
		s := a.Stats()
		if s.NaN != nan || s.Zeros != zero || s.PosInf+s.NegInf != infs || s.Min != lo || s.Max != hi || s.FirstBad != first || s.Count != int64(len(vals)) ||
			math.Abs(s.Mean-sum/float64(n)) > 1e-9*math.Abs(sum/float64(n))+1e-12 {
			t.Errorf("%s: %+v\nexpected nan %d zero %d inf %d min %v max %v mean %v first %d", name, s, nan, zero, infs, lo, hi, sum/float64(n), first)
		}
	}
	if s := NewAccumulator(Type{Name: "undefined"}).Stats(); s.Count != 0 || s.Min == s.Min {
		t.Errorf("no numbers: %+v", s)
	}
}

func TestWiden(t *testing.T) {
	for _, name := range []string{"float32", "float16", "bfloat16", "float8_e4m3fn", "hifloat8", "int4", "uint1", "complex32", "bool", "float4_e2m1"} {
		ty, _ := Parse(name)
		src := make([]byte, 64)
		for i := range src {
			src[i] = byte(i * 37)
		}
		want := make([]float64, int(ty.Count(64))*ty.Numbers())
		ty.Decode(want, src)
		out := ty.Widen(nil, src)
		got := make([]float64, len(want))
		if err := tensor.DecodeFloats(got, ty.Out(), out, 0); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range want {
			if name == "bool" {
				continue // any nonzero byte counts as true
			}
			if got[i] != want[i] && !(got[i] != got[i] && want[i] != want[i]) {
				t.Errorf("%s: number %d is %v, expected %v", name, i, got[i], want[i])
			}
		}
	}
}

func BenchmarkStats(b *testing.B) {
	for _, name := range []string{"float32", "float16", "bfloat16", "int8", "int64"} {
		ty, _ := Parse(name)
		raw := make([]byte, 8<<20)
		for i := 0; i < len(raw); i += 4 {
			binary.LittleEndian.PutUint32(raw[i:], math.Float32bits(float32(i)*.25))
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				a := NewAccumulator(ty)
				a.Add(raw)
				a.Stats()
			}
		})
	}
}
