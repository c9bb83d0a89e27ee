package msprof

import (
	"math"
	"math/bits"
)

// clock turns counts into nanoseconds: monotonic ones, and with the offset of the collection's start Unix ones.
type clock struct {
	zero uint64 // count at base
	hz   int64  // of the counter; 0 when counts are nanoseconds already
	base int64
}

// at is the time of count. Counts before zero give times before base. The difference alone is multiplied, in integers:
// floats do not hold Unix nanoseconds, and an hour of ticks at 49.999001 MHz is not one at 50.
func (c *clock) at(count uint64) int64 {
	switch {
	case c.hz == 0:
		return c.base + int64(count-c.zero)
	case count < c.zero:
		ns, _ := scale(c.zero-count, c.hz)
		return c.base - ns
	}
	ns, rest := scale(count-c.zero, c.hz)
	// The vendor's tools add base in floats, whose steps at that time make some last nanoseconds whole. People compare
	// with their numbers.
	t := c.base + ns
	if part := float64(rest) / float64(c.hz); part > 0.9 && c.base > 0 && t > 0 && part >= 1-math.Ldexp(1, bits.Len64(uint64(t))-54) {
		t++
	}
	return t
}

// scale is ticks of so many hertz in nanoseconds, cut off, and what is left over in parts of hz.
func scale(ticks uint64, hz int64) (ns, rest int64) {
	const never = math.MaxInt64 / 4 // no time of this world
	hi, lo := bits.Mul64(ticks, 1_000_000_000)
	if hi >= uint64(hz) {
		return never, 0
	}
	q, r := bits.Div64(hi, lo, uint64(hz))
	if q > never {
		return never, 0
	}
	return int64(q), int64(r)
}

// unixOffset is what turns monotonic times into Unix times; ok is false when the collection does not say.
func (s *stamps) unixOffset() (int64, bool) {
	begin, ok := s.Begin.int()
	mono, also := s.Monotonic.int()
	if !ok || !also || begin <= 0 || begin > math.MaxInt64/2000 {
		return 0, false
	}
	return begin*1000 - mono, true
}

// hostClock is the clock of host records. Hosts without a counter of a known frequency stamp nanoseconds.
func hostClock(cpuHz int64, start map[string]int64) clock {
	if cpuHz == 0 || cpuHz == 1000_000_000 {
		return clock{}
	}
	return clock{zero: uint64(start["cntvct"]), hz: cpuHz, base: start["clock_monotonic_raw"]}
}

// deviceClock is the clock of device records: the device's count at its start goes with the host's time then.
func deviceClock(counterHz, cpuHz int64, host, dev map[string]int64) clock {
	c := clock{zero: uint64(dev["cntvct"]), hz: counterHz, base: host["clock_monotonic_raw"]}
	if diff := host["cntvct_diff"]; diff > 0 && cpuHz > 0 {
		ns, _ := scale(uint64(diff), cpuHz)
		c.base += ns
	}
	return c
}
