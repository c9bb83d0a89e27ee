package chrome

import "math/bits"

// pairs is all numbers of two digits.
const pairs = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849" +
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// tens is the powers of ten that 64 bits hold.
var tens = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// digits is how many digits v has.
func digits(v uint64) int {
	n := bits.Len64(v|1) * 1233 >> 12 // log10(2)
	if v >= tens[n] {
		n++
	}
	return n
}

// appendUint writes v in digits, in place: most of a trace is numbers, and a number is most of them short.
func appendUint(b []byte, v uint64) []byte {
	if v < 10 {
		return append(b, byte('0'+v))
	}
	from, n := len(b), digits(v)
	if cap(b)-from < n {
		b = append(b, make([]byte, n)...)
	}
	b = b[:from+n]
	d := b[from:]
	for v >= 100 {
		q := v / 100
		r := 2 * (v - q*100)
		n -= 2
		d[n], d[n+1] = pairs[r], pairs[r+1]
		v = q
	}
	if v >= 10 {
		d[0], d[1] = pairs[2*v], pairs[2*v+1]
	} else {
		d[0] = byte('0' + v)
	}
	return b
}

func appendInt(b []byte, v int64) []byte {
	if v < 0 {
		return appendUint(append(b, '-'), -uint64(v))
	}
	return appendUint(b, uint64(v))
}

// appendMicros writes ns as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b, u = append(b, '-'), -u
	}
	q := u / 1000
	f := u - q*1000
	b = appendUint(b, q)
	p := 2 * (f / 10)
	return append(b, '.', pairs[p], pairs[p+1], byte('0'+f%10))
}
