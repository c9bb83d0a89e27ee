package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA computes without a limit to the precision and rounds once.
func exactFMA(a, b, c float32) float32 {
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(x)) }
	r, _ := new(big.Float).SetPrec(600).Add(new(big.Float).SetPrec(600).Mul(f(a), f(b)), f(c)).Float32()
	return r
}

func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	any := func() float32 {
		for {
			x := math.Float32frombits(r.Uint32())
			if x-x == 0 {
				return x
			}
		}
	}
	check := func(a, b, c float32) {
		t.Helper()
		if got, want := fma32(a, b, c), exactFMA(a, b, c); got != want {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
	for range 20_000 {
		check(any(), any(), any())
		near := func(e int) float32 { return float32(math.Ldexp(1+float64(r.IntN(1<<23))/(1<<23), e)) }
		e := r.IntN(60) - 30
		check(near(e), near(-e-r.IntN(30)), -near(r.IntN(3)))
		// The product ends the sum in the middle of two float32, and a little more or less.
		a, b := math.Nextafter32(1, 2), math.Nextafter32(1, float32(r.IntN(3)))
		check(a*float32(math.Ldexp(1, -24)), b, near(0))
		check(-a*float32(math.Ldexp(1, -24)), b, near(0))
		check(near(-75), near(-75), near(-127-r.IntN(20)))
		check(near(-75), -near(-75), near(-127-r.IntN(20)))
	}
	inf := float32(math.Inf(1))
	for _, c := range [][4]float32{{0, 0, 0, 0}, {1, inf, 1, inf}, {1, 1, -inf, -inf}, {math.MaxFloat32, 2, 0, inf}, {2, 3, -6, 0}} {
		if got := fma32(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("fma32(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
	if got := fma32(inf, 0, 1); got == got {
		t.Errorf("fma32(inf, 0, 1) = %v, want NaN", got)
	}
}
