package ascend

import (
	"math"
	"math/bits"
	"strings"
)

// Nanos reads a decimal number of units of so many nanoseconds (1000 for microseconds) exactly, without a float. It takes
// what exporters write around numbers: blanks, tabs and quotes. Digits below a nanosecond are cut off; ok is false for
// what is no number or too large for 64 bits.
func Nanos(text string, unit int64) (ns int64, ok bool) {
	s := strings.Trim(text, " \t\r\n\"'")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		if s, ok = plain(s[:at], s[at+1:]); !ok {
			return 0, false
		}
	}
	whole, part, _ := strings.Cut(s, ".")
	if whole == "" && part == "" {
		return 0, false
	}
	v := uint64(0)
	for _, c := range []byte(whole) {
		if c < '0' || c > '9' || v > (math.MaxInt64-9)/10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	hi, lo := bits.Mul64(v, uint64(unit))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	frac := int64(0)
	for scale, i := unit, 0; i < len(part); i++ {
		c := part[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		// The digits left below one nanosecond still have to be digits.
		if scale /= 10; scale > 0 {
			frac += int64(c-'0') * scale
		}
	}
	if ns = int64(lo) + frac; ns < 0 {
		return 0, false
	}
	if negative {
		ns = -ns
	}
	return ns, true
}

// plain writes a number with an exponent without one.
func plain(mantissa, exponent string) (string, bool) {
	e, sign := 0, 1
	if strings.HasPrefix(exponent, "-") {
		sign = -1
	}
	exponent = strings.TrimLeft(exponent, "+-")
	if exponent == "" || len(exponent) > 3 {
		return "", false
	}
	for _, c := range []byte(exponent) {
		if c < '0' || c > '9' {
			return "", false
		}
		e = e*10 + int(c-'0')
	}
	if e > 40 {
		return "", false
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	if sign > 0 {
		part += strings.Repeat("0", max(e-len(part), 0))
		return whole + part[:e] + "." + part[e:], true
	}
	whole = strings.Repeat("0", max(e-len(whole), 0)) + whole
	return whole[:len(whole)-e] + "." + whole[len(whole)-e:] + part, true
}

// Frequency reads a frequency in MHz as hertz, as "49.999001"; 0 when it is none.
func Frequency(text string) int64 {
	hz, ok := Nanos(text, 1_000_000)
	if !ok || hz < 0 {
		return 0
	}
	return hz
}

// Unix is the first time in nanoseconds that is taken for a date: clocks that count from the start of a machine stay far
// below it.
const Unix = 1e17
