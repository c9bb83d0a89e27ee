package timeline

import (
	"strconv"
	"strings"
	"time"
)

// units of time, the longest first.
var units = []struct {
	name string
	ns   int64
}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}

// dur is a duration with four significant digits.
func dur(ns int64) string {
	if ns < 0 {
		return "-" + dur(-ns)
	}
	for _, u := range units {
		if ns < u.ns {
			continue
		}
		v := float64(ns) / float64(u.ns)
		digits := 3
		switch {
		case u.ns == 1 || v >= 1000:
			digits = 0
		case v >= 100:
			digits = 1
		case v >= 10:
			digits = 2
		}
		return trim(strconv.FormatFloat(v, 'f', digits, 64)) + " " + u.name
	}
	return "0 ns"
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// clock is a time since the start of the trace, so exact that two columns differ when each is step wide.
func clock(ns, step int64) string {
	if ns < 0 {
		return "-" + clock(-ns, step)
	}
	u := units[len(units)-1]
	for _, c := range units {
		if ns >= c.ns {
			u = c
			break
		}
	}
	digits := 0
	for at := u.ns; at > max(step, 1) && digits < 9; at /= 10 {
		digits++
	}
	return strconv.FormatFloat(float64(ns)/float64(u.ns), 'f', digits, 64) + " " + u.name
}

// epoch is the time from which on a clock counts from 1970 and not from the start of a device.
const epoch = int64(1_000_000_000_000_000_000)

// absolute is a time as the source counts it.
func absolute(ns int64) string {
	if ns > epoch {
		return time.Unix(0, ns).UTC().Format("15:04:05.000000000")
	}
	return strconv.FormatInt(ns, 10)
}

// when is a time as the axis shows it.
func (m *model) when(at int64) string {
	if m.absolute {
		return absolute(at)
	}
	return clock(at-m.d.Zero, max(1, (m.to-m.from)/int64(max(m.columns(), 1))))
}

// exact is a time to the nanosecond.
func (m *model) exact(at int64) string {
	if m.absolute {
		return absolute(at)
	}
	return clock(at-m.d.Zero, 1)
}

// size is a number of bytes with a unit.
func size(n float64) string {
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && i < len(names)-1; i++ {
		n /= 1024
	}
	return trim(strconv.FormatFloat(n, 'f', 1, 64)) + " " + names[i]
}

// number is a figure of a counter in the unit that its name ends in.
func number(name string, v float64) string {
	if strings.Contains(name, "(bytes)") {
		return size(v)
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

// has reports whether s holds one of the words, which are lower case.
func has(s string, words ...string) bool {
	s = strings.ToLower(s)
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// parseTime reads 12.4ms, 250us, 3s or nanoseconds.
func parseTime(s string) (int64, bool) {
	s = strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil && ns > -1<<62 && ns < 1<<62 {
		return ns, true
	}
	d, err := time.ParseDuration(s)
	return d.Nanoseconds(), err == nil
}
