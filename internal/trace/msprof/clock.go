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
//
// Its arithmetic is that of the vendor's tools, digit by digit, so that the same record has the same time here and there:
// the ticks since zero are divided as floats into microseconds, rounded to six decimals, and added to base in decimals.
type clock struct {
	zero uint64  // count at base
	mhz  float64 // of the counter; 0 when counts are nanoseconds already
	base int64
}

const never = math.MaxInt64 / 4 // no time of this world

// newClock makes a clock of a counter of so many hertz.
func newClock(zero uint64, hz, base int64) clock {
	return clock{zero: zero, mhz: float64(hz) / 1e6, base: base}
}

// exact is the time of count in nanoseconds and thousandths of one, in decimals. Counts before zero give times before base.
func (c *clock) exact(count uint64) (ns, ps int64) {
	if c.mhz == 0 {
		return c.base + int64(count-c.zero), 0
	}
	if count < c.zero {
		if ns, ps = elapsed(c.zero-count, c.mhz); ps > 0 {
			return c.base - ns - 1, 1000 - ps
		}
		return c.base - ns, 0
	}
	ns, ps = elapsed(count-c.zero, c.mhz)
	return c.base + ns, ps
}

// elapsed is how long so many ticks last.
func elapsed(ticks uint64, mhz float64) (ns, ps int64) {
	us := float64(ticks) / mhz
	if us > never/1000 {
		return never, 0
	}
	whole := int64(us)
	part := sixDecimals(us - float64(whole))
	return whole*1000 + part/1000, part % 1000
}

// sixDecimals is the millionths in x, from 0 to 1, rounded as decimal text is: halves to even.
func sixDecimals(x float64) int64 {
	p := float64(x * 1e6)
	down := math.Floor(p)
	switch part := p - down; {
	case part < 0.5:
		return int64(down)
	case part > 0.5:
		return int64(down) + 1
	}
	// The product may have been rounded to this half.
	if rest := math.FMA(x, 1e6, -p); rest > 0 || rest == 0 && int64(down)&1 == 1 {
		down++
	}
	return int64(down)
}

// at is the time of count, cut off to nanoseconds.
func (c *clock) at(count uint64) int64 {
	ns, _ := c.exact(count)
	return ns
}

// span is the times of a task's start and end. On its way into the vendor's databases a task's time is a float for a while,
// which moves some last nanoseconds.
func (c *clock) span(start, end uint64) (from, to int64) {
	from, part := c.exact(start)
	to, rest := c.exact(end)
	if plain(from, part) && plain(to, rest) && to/2 < from { // the duration is exact, then
		return from, to
	}
	return throughFloats(from, part, to, rest)
}

// plain says whether a float, summed up digit by digit, holds this time well enough to be cut off to the same nanosecond.
func plain(ns, ps int64) bool {
	if ns <= 0 || ns >= 1<<53 {
		return ns == 0 && ps == 0
	}
	slack := int64(4<<bits.Len64(uint64(ns))>>43) + 4 // thousandths of a nanosecond: four times the float's last place
	return ps == 0 || ps > slack && ps < 1000-slack
}

// throughFloats is the times of a start and an end after the start and the duration were floats.
func throughFloats(start, startPs, end, endPs int64) (from, to int64) {
	if start < 0 || end < start {
		return start, end
	}
	f := digits(start, startPs)
	d := digits(end, endPs) - f
	whole, part := splitDecimals(f)
	more, rest := splitDecimals(d)
	return whole + part/1e6, whole + more + (part+rest)/1e6
}

func splitDecimals(x float64) (whole, millionths int64) {
	if x <= 0 || x > math.MaxInt64/4 {
		return 0, 0
	}
	whole = int64(x)
	return whole, sixDecimals(x - float64(whole))
}

// digits is the float that adding up the decimal digits from the last to the first gives.
func digits(ns, ps int64) float64 {
	sum := float64(float64(ps%10) * 0.001)
	sum += float64(float64(ps/10%10) * 0.01)
	sum += float64(float64(ps/100) * 0.1)
	unit := 1.0
	for v := uint64(ns); v > 0; v /= 10 {
		sum += float64(float64(v%10) * unit)
		unit *= 10
	}
	return sum
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
	return newClock(uint64(start["cntvct"]), cpuHz, start["clock_monotonic_raw"])
}

// deviceClock is the clock of device records: the device's count at its start goes with the host's time then.
func deviceClock(counterHz, cpuHz int64, host, dev map[string]int64) clock {
	c := newClock(uint64(dev["cntvct"]), counterHz, host["clock_monotonic_raw"])
	if diff := host["cntvct_diff"]; diff > 0 && diff < math.MaxInt64/1000 && cpuHz > 0 {
		c.base += int64(float64(diff*1000) / (float64(cpuHz) / 1e6))
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
	return Clock{newClock(zero, ascend.Frequency(mhz), base), offset}
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
