package msprof

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestClock(t *testing.T) {
	c := newClock(1000, 49_999_001, 5)
	hour := uint64(49_999_001) * 3600
	if got := c.at(1000 + hour); got != 5+3600*1_000_000_000 {
		t.Errorf("an hour is %d ns", got-5)
	}
	if got := c.at(1000 - 50); got != 5-1001 { // 1000.02 ns before
		t.Errorf("%d", got)
	}
	c.at(0)
	c.at(^uint64(0))
	c.span(0, ^uint64(0))
	c.span(^uint64(0), 0)
	(&clock{base: 3}).at(^uint64(0))
	tiny := newClock(0, 1, 0)
	tiny.span(1, ^uint64(0))
}

// byText does with decimal text what the vendor's tools do, and what clock does with integers.
func byText(c *clock, start, end uint64) (from, to int64) {
	decimal := func(count uint64) *big.Rat {
		sign, diff := int64(1), count-c.zero
		if count < c.zero {
			sign, diff = -1, c.zero-count
		}
		us, _ := new(big.Rat).SetString(fmt.Sprintf("%.6f", float64(diff)/c.mhz))
		us.Mul(us, big.NewRat(sign*1000, 1))
		return us.Add(us, big.NewRat(c.base, 1))
	}
	float := func(r *big.Rat) float64 {
		text := strings.TrimRight(r.FloatString(3), "0")
		whole, part, _ := strings.Cut(text, ".")
		sum := 0.0
		for i := len(part) - 1; i >= 0; i-- {
			sum += float64(float64(part[i]-'0') * []float64{0.1, 0.01, 0.001}[i])
		}
		unit := 1.0
		for i := len(whole) - 1; i >= 0; i-- {
			sum += float64(float64(whole[i]-'0') * unit)
			unit *= 10
		}
		return sum
	}
	s, e := float(decimal(start)), float(decimal(end))
	text := func(v float64) *big.Rat {
		r, _ := new(big.Rat).SetString(fmt.Sprintf("%.6f", v))
		return r
	}
	cut := func(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }
	return cut(text(s)), cut(new(big.Rat).Add(text(s), text(e-s)))
}

func TestClock_isThatOfTheVendorsTools(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	for range n {
		hz := []int64{49_999_001, 50_000_000, 100_000_000, 48_123_457, 24_000_000, 999_999_999}[rng.IntN(6)]
		base := rng.Int64N(1 << (20 + rng.IntN(34))) // up to half a year
		c := newClock(uint64(rng.Int64N(1<<45)), hz, base)
		start := c.zero + uint64(rng.Int64N(1<<(4+rng.IntN(40))))
		if rng.IntN(4) == 0 {
			start = c.zero - uint64(rng.Int64N(min(base/100, int64(c.zero))+1))
		}
		end := start + uint64(rng.Int64N(1<<(1+rng.IntN(30))))
		from, to := c.span(start, end)
		wantFrom, wantTo := byText(&c, start, end)
		if from != wantFrom || to != wantTo {
			t.Fatalf("%+v: %d to %d is %d to %d, want %d to %d", c, start, end, from, to, wantFrom, wantTo)
		}
		if from != c.at(start) || to != c.at(end) {
			moved++
		}
	}
	if moved == 0 {
		t.Error("no float moved a nanosecond: the test does not test")
	}
}

func BenchmarkClock(b *testing.B) {
	c := newClock(1000, 49_999_001, 82133488943335)
	n := uint64(0)
	for b.Loop() {
		n += 1234567
		c.span(n, n+500)
	}
}
