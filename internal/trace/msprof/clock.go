package msprof

import (
	"maps"
	"math"
	"math/bits"
	"path/filepath"
	"slices"

	"npu/internal/trace/ascend"
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

// Clock turns the counts of a host into Unix times.
type Clock struct {
	clock
	offset int64
}

// NewClock makes the clock of a host whose counter of so many MHz stood at zero when the monotonic clock stood at base; offset
// leads from there to Unix time. All times are nanoseconds.
func NewClock(zero uint64, mhz string, base, offset int64) Clock {
	return Clock{clock{zero: zero, hz: ascend.Frequency(mhz), base: base}, offset}
}

// HostClock is the clock of the host folder in dir; ok is false when it does not say.
func HostClock(dir string) (c Clock, ok bool) {
	host := filepath.Join(dir, "host")
	var in info
	var start stamps
	if readJSON(host, &in, "info.json") != nil || readJSON(host, &start, "start_info") != nil {
		return c, false
	}
	log, err := readPairs(host, "host_start.log")
	if err != nil {
		return c, false
	}
	hz := int64(0)
	if len(in.CPU) > 0 {
		hz = in.CPU[0].Frequency.hertz()
	}
	c.clock = hostClock(hz, log)
	c.offset, ok = start.unixOffset()
	return c, ok
}

// Unix is the time of a count; of a monotonic time in nanoseconds where counted is false.
func (c *Clock) Unix(count uint64, counted bool) int64 {
	if !counted {
		return int64(count) + c.offset
	}
	return c.at(count) + c.offset
}

// FirstDevice is the smallest number of a device folder in dir.
func FirstDevice(dir string) (n uint16, ok bool) {
	_, devices, err := domains(dir)
	if err != nil || len(devices) == 0 {
		return 0, false
	}
	return uint16(slices.Min(slices.Collect(maps.Keys(devices)))), true
}
