package chrome

import (
	"encoding/binary"
	"math/bits"
)

// eight is v, of at most eight digits, as a digit a byte, the first in the lowest. All are found at once: first two numbers of
// four digits, then four of two, then eight of one, each with a multiplication instead of a division.
func eight(v uint32) uint64 {
	x := uint64(v/10000) | uint64(v%10000)<<32
	q := x * 10486 >> 20 & 0x7f_0000_007f // by 100
	x = q | (x-100*q)<<16
	q = x * 103 >> 10 & 0x000f_000f_000f_000f // by 10
	return q | (x-10*q)<<8
}

const (
	zeros = 0x3030303030303030 // eight digits 0
	most  = 1e8
	pairs = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849" +
		"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"
)

// appendUint writes v in digits. Most of a trace is numbers, and most of those are short.
func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 10:
		return append(b, byte('0'+v))
	case v < 100:
		return append(b, pairs[2*v], pairs[2*v+1])
	case v >= most:
		b = appendUint(b, v/most)
		return put(b, eight(uint32(v%most))|zeros, 8)
	}
	x := eight(uint32(v))
	leading := bits.TrailingZeros64(x|1<<56) / 8 // the last digit stays
	return put(b, (x|zeros)>>(8*leading), 8-leading)
}

// put appends the lowest n bytes of x.
func put(b []byte, x uint64, n int) []byte {
	from := len(b)
	if cap(b)-from < 8 {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	binary.LittleEndian.PutUint64(b[from:from+8], x)
	return b[:from+n]
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
