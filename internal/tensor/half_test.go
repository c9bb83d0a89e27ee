package tensor

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"
)

// small is a float format under test, described by its parameters alone; decode and round below know no bit tricks.
type small struct {
	name      string
	ebits     int
	mbits     int
	fn        bool // no infinity, only the all-ones pattern is NaN
	widen     func(uint16) float32
	narrow    func(float32) uint16
	saturated func(float32) uint16
}

var smalls = []small{
	{"float16", 5, 10, false, HalfToFloat32, Float32ToHalf, nil},
	{"bfloat16", 8, 7, false, BFloat16ToFloat32, Float32ToBFloat16, nil},
	{"e4m3fn", 4, 3, true, func(u uint16) float32 { return E4M3ToFloat32(uint8(u)) },
		func(f float32) uint16 { return uint16(Float32ToE4M3(f, false)) },
		func(f float32) uint16 { return uint16(Float32ToE4M3(f, true)) }},
	{"e5m2", 5, 2, false, func(u uint16) float32 { return E5M2ToFloat32(uint8(u)) },
		func(f float32) uint16 { return uint16(Float32ToE5M2(f, false)) },
		func(f float32) uint16 { return uint16(Float32ToE5M2(f, true)) }},
}

func (s *small) width() int   { return 1 + s.ebits + s.mbits }
func (s *small) signBit() int { return 1 << (s.ebits + s.mbits) }

// value decodes a non-negative pattern by the definition of the format.
func (s *small) value(p int) float64 {
	e, m := p>>s.mbits, p&(1<<s.mbits-1)
	bias := 1<<(s.ebits-1) - 1
	if top := 1<<s.ebits - 1; e == top {
		if s.fn && m == 1<<s.mbits-1 || !s.fn && m != 0 {
			return math.NaN()
		}
		if !s.fn {
			return math.Inf(1)
		}
	}
	if e == 0 {
		return math.Ldexp(float64(m), 1-bias-s.mbits)
	}
	return math.Ldexp(float64(m+1<<s.mbits), e-bias-s.mbits)
}

// round is the oracle: the nearest pattern by exact arithmetic, ties to the even one. One step beyond the largest
// finite value stands for everything too large.
func (s *small) round(f float32, finite []*big.Float) int {
	sign := 0
	if math.Signbit(float64(f)) {
		sign = s.signBit()
	}
	nan := 1<<(s.ebits+s.mbits) - 1
	if math.IsNaN(float64(f)) {
		return nan | sign
	}
	over := len(finite) - 1 // index of the first value that does not exist
	if math.IsInf(float64(f), 0) {
		return over | sign
	}
	x := new(big.Float).SetPrec(400).SetFloat64(math.Abs(float64(f)))
	i := sort.Search(len(finite), func(i int) bool { return finite[i].Cmp(x) >= 0 })
	if i == len(finite) {
		return over | sign
	}
	if i == 0 {
		return sign
	}
	lo := new(big.Float).SetPrec(400).Sub(x, finite[i-1])
	hi := new(big.Float).SetPrec(400).Sub(finite[i], x)
	switch c := lo.Cmp(hi); {
	case c < 0 || c == 0 && (i-1)%2 == 0:
		return i - 1 | sign
	}
	return i | sign
}

// finite lists the values of the non-negative finite patterns and the one that would follow.
func (s *small) finite() []*big.Float {
	var out []*big.Float
	var last, step float64
	for p := 0; ; p++ {
		v := s.value(p)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break
		}
		step, last = v-last, v
		out = append(out, new(big.Float).SetPrec(400).SetFloat64(v))
	}
	return append(out, new(big.Float).SetPrec(400).SetFloat64(last+step))
}

func TestSmallFloats_widenAll(t *testing.T) {
	for _, s := range smalls {
		for p := range 1 << s.width() {
			want := s.value(p &^ s.signBit())
			if p&s.signBit() != 0 {
				want = -want
			}
			got := float64(s.widen(uint16(p)))
			if math.IsNaN(want) != math.IsNaN(got) || !math.IsNaN(want) && math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s %#x: %v, want %v", s.name, p, got, want)
			}
			if back := s.narrow(s.widen(uint16(p))); !math.IsNaN(want) && back != uint16(p) {
				t.Fatalf("%s %#x comes back as %#x", s.name, p, back)
			}
		}
	}
}

func TestSmallFloats_round(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range smalls {
		finite := s.finite()
		check := func(f float32) {
			want, got := s.round(f, finite), int(s.narrow(f))
			if math.IsNaN(float64(f)) {
				if !math.IsNaN(float64(s.widen(uint16(got)))) || got&s.signBit() != want&s.signBit() {
					t.Fatalf("%s: NaN %#x becomes %#x", s.name, math.Float32bits(f), got)
				}
			} else if got != want {
				t.Fatalf("%s: %v (%#x) becomes %#x, want %#x", s.name, f, math.Float32bits(f), got, want)
			}
			if s.saturated == nil {
				return
			}
			if want&^s.signBit() >= len(finite)-1 && !math.IsNaN(float64(f)) {
				want = len(finite) - 2 | want&s.signBit()
			}
			if got := int(s.saturated(f)); !math.IsNaN(float64(f)) && got != want {
				t.Fatalf("%s: %v saturates to %#x, want %#x", s.name, f, got, want)
			}
		}
		// Around every value and every midpoint, from both sides.
		for i := 0; i+1 < len(finite); i++ {
			a, _ := finite[i].Float64()
			b, _ := finite[i+1].Float64()
			for _, v := range []float64{a, (a + b) / 2, b} {
				for d := int32(-2); d <= 2; d++ {
					f := math.Float32frombits(uint32(int32(math.Float32bits(float32(v))) + d))
					check(f)
					check(-f)
				}
			}
		}
		for range 200000 {
			check(math.Float32frombits(rng.Uint32()))
		}
		for _, b := range []uint32{0, 1, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x007fffff} {
			check(math.Float32frombits(b))
			check(math.Float32frombits(b | 1<<31))
		}
	}
}

func TestSmallFloats_slices(t *testing.T) {
	f := []float32{0, 1, -2.5, 1e-6, 70000, float32(math.Inf(-1))}
	h, b, out := make([]uint16, len(f)), make([]uint8, len(f)), make([]float32, len(f))
	same := func(name string, one func(float32) float32) {
		t.Helper()
		for i := range f {
			if w := one(f[i]); out[i] != w && !(out[i] != out[i] && w != w) {
				t.Errorf("%s of %v: %v, want %v", name, f[i], out[i], w)
			}
		}
	}
	allocs := testing.AllocsPerRun(10, func() {
		Float32ToHalfs(h, f)
		HalfToFloat32s(out, h)
	})
	same("float16", func(x float32) float32 { return HalfToFloat32(Float32ToHalf(x)) })
	Float32ToBFloat16s(h, f)
	BFloat16ToFloat32s(out, h)
	same("bfloat16", func(x float32) float32 { return BFloat16ToFloat32(Float32ToBFloat16(x)) })
	Float32ToE4M3s(b, f, true)
	E4M3ToFloat32s(out, b)
	same("e4m3", func(x float32) float32 { return E4M3ToFloat32(Float32ToE4M3(x, true)) })
	Float32ToE5M2s(b, f, false)
	E5M2ToFloat32s(out, b)
	same("e5m2", func(x float32) float32 { return E5M2ToFloat32(Float32ToE5M2(x, false)) })
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestInt4(t *testing.T) {
	src := []byte{0x70, 0x8f, 0x0a}
	s, u := make([]int8, 5), make([]uint8, 5)
	UnpackInt4(s, src)
	UnpackUint4(u, src)
	for i, w := range []int8{0, 7, -1, -8, -6} {
		if s[i] != w || u[i] != uint8(w)&15 {
			t.Errorf("element %d: %d and %d, want %d and %d", i, s[i], u[i], w, uint8(w)&15)
		}
	}
	back := []byte{0xff, 0xff, 0xff}
	PackInt4(back, s)
	for i := range src {
		if back[i] != src[i] {
			t.Errorf("byte %d: %#x, want %#x", i, back[i], src[i])
		}
	}
}

func BenchmarkHalfToFloat32s(b *testing.B) {
	h, f := make([]uint16, 1<<14), make([]float32, 1<<14)
	b.SetBytes(1 << 16)
	for b.Loop() {
		HalfToFloat32s(f, h)
	}
}

func BenchmarkFloat32ToHalfs(b *testing.B) {
	h, f := make([]uint16, 1<<14), make([]float32, 1<<14)
	for i := range f {
		f[i] = float32(i) / 77
	}
	b.SetBytes(1 << 16)
	for b.Loop() {
		Float32ToHalfs(h, f)
	}
}
