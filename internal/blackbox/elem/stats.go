package elem

import (
	"math"

	"npu/internal/tensor"
)

// Stats describes the numbers of a tensor. Min and Max are over finite numbers; for complex types over both parts.
type Stats struct {
	Count        int64   // numbers
	Min, Max     float64 // NaN if no number is finite
	Mean, Std    float64 // over finite numbers
	L2           float64
	NaN          int64
	PosInf       int64
	NegInf       int64
	Zeros        int64
	Denormals    int64 // nonzero numbers below the smallest normal of float32 or float16
	FirstBad     int64 // element number of the first NaN or Inf; -1 if there is none
	finite       int64
	sum, squares float64
}

// Accumulator takes statistics of a stream of bytes. Chunks must hold whole elements, except the last.
type Accumulator struct {
	t     Type
	s     Stats
	hist  []int64 // by bit pattern, for types of 8 and 16 bits
	seen  int64   // elements
	buf   []float64
	value []float64 // of each pattern
}

// NewAccumulator starts statistics for a type; a type that is not numeric counts nothing.
func NewAccumulator(t Type) *Accumulator {
	a := &Accumulator{t: t, s: Stats{Min: math.Inf(1), Max: math.Inf(-1), FirstBad: -1}}
	switch {
	case !t.Numeric():
	case t.Bits == 8 || t.Bits == 16:
		n := 1 << t.Bits
		pattern := make([]byte, n*t.Bits/8)
		for i := range n {
			if t.Bits == 8 {
				pattern[i] = byte(i)
			} else {
				pattern[2*i], pattern[2*i+1] = byte(i), byte(i>>8)
			}
		}
		a.hist, a.value = make([]int64, n), make([]float64, n)
		t.Decode(a.value, pattern)
	default:
		a.buf = make([]float64, 2048)
	}
	return a
}

// Add takes the next bytes.
func (a *Accumulator) Add(b []byte) {
	switch {
	case !a.t.Numeric():
		return
	case a.hist != nil && a.t.Bits == 8:
		a.scan(len(b), func(i int) uint16 { return uint16(b[i]) })
		for _, v := range b {
			a.hist[v]++
		}
		a.seen += int64(len(b))
	case a.hist != nil:
		v := tensor.View[uint16](b)
		a.scan(len(v), func(i int) uint16 { return v[i] })
		for _, x := range v {
			a.hist[x]++
		}
		a.seen += int64(len(v))
	case a.t.DType() == tensor.Float32:
		v := tensor.View[float32](b)
		a.float32s(v)
		a.seen += int64(len(v))
	default:
		a.numbers(b)
	}
}

// scan looks for the first bad element of a chunk; only until one was found, and only for types that can have some.
func (a *Accumulator) scan(n int, at func(int) uint16) {
	if a.s.FirstBad >= 0 || !a.canBeBad() {
		return
	}
	for i := range n {
		if v := a.value[at(i)]; v != v || math.IsInf(v, 0) {
			a.s.FirstBad = a.seen + int64(i)
			return
		}
	}
}

func (a *Accumulator) canBeBad() bool {
	return a.t.DType().Float() || a.t.code == hif8 || a.t.code == e8m0
}

// float32s is the hot path of big dumps: finite numbers take four independent sums.
func (a *Accumulator) float32s(v []float32) {
	const lanes = 4
	var sum, sq [lanes]float64
	lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
	zeros, bad := 0, 0
	for i, x := range v {
		bits := math.Float32bits(x)
		if bits&0x7f800000 == 0x7f800000 {
			bad++
			continue
		}
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
		if bits<<1 == 0 {
			zeros++
		}
		f := float64(x)
		sum[i&(lanes-1)] += f
		sq[i&(lanes-1)] += f * f
	}
	s := &a.s
	s.finite += int64(len(v) - bad)
	s.Zeros += int64(zeros)
	for i := range lanes {
		s.sum += sum[i]
		s.squares += sq[i]
	}
	s.Min, s.Max = min(s.Min, float64(lo)), max(s.Max, float64(hi))
	if bad == 0 {
		return
	}
	for i, x := range v {
		if f := float64(x); f != f || math.IsInf(f, 0) {
			a.bad(f, a.seen+int64(i))
		}
	}
}

func (a *Accumulator) bad(f float64, at int64) {
	s := &a.s
	switch {
	case f != f:
		s.NaN++
	case f > 0:
		s.PosInf++
	default:
		s.NegInf++
	}
	if s.FirstBad < 0 {
		s.FirstBad = at
	}
}

// numbers is the general path.
func (a *Accumulator) numbers(b []byte) {
	k := a.t.Numbers()
	piece := len(a.buf) / k * a.t.Bits / 8
	for len(b) > 0 {
		p := b[:min(piece, len(b))]
		b = b[len(p):]
		n := a.t.Decode(a.buf, p)
		if n == 0 {
			return
		}
		for i, f := range a.buf[:n] {
			a.one(f, 1, a.seen+int64(i/k))
		}
		a.seen += int64(n / k)
	}
}

func (a *Accumulator) one(f float64, times int64, at int64) {
	s := &a.s
	if f != f || math.IsInf(f, 0) {
		a.bad(f, at)
		return
	}
	s.finite += times
	s.sum += f * float64(times)
	s.squares += f * f * float64(times)
	s.Min, s.Max = min(s.Min, f), max(s.Max, f)
	if f == 0 {
		s.Zeros += times
	}
}

// Stats finishes.
func (a *Accumulator) Stats() Stats {
	first := a.s.FirstBad
	for p, n := range a.hist {
		if n == 0 {
			continue
		}
		f := a.value[p]
		switch {
		case f != f:
			a.s.NaN += n
		case math.IsInf(f, 1):
			a.s.PosInf += n
		case math.IsInf(f, -1):
			a.s.NegInf += n
		default:
			a.one(f, n, 0)
			if a.t.DType() == tensor.Float16 && f != 0 && math.Abs(f) < 0x1p-14 {
				a.s.Denormals += n
			}
		}
	}
	a.hist = nil
	s := a.s
	s.FirstBad = first
	s.Count = s.finite + s.NaN + s.PosInf + s.NegInf
	if s.finite == 0 {
		s.Min, s.Max, s.Mean, s.Std = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		return s
	}
	n := float64(s.finite)
	s.Mean = s.sum / n
	s.Std = math.Sqrt(max(0, s.squares/n-s.Mean*s.Mean))
	s.L2 = math.Sqrt(s.squares)
	return s
}
