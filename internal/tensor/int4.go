package tensor

// Two 4-bit elements lie in a byte, the first in the low nibble; an odd count leaves the last high nibble unused.

// UnpackInt4 sign-extends len(dst) elements. It panics when src is shorter than (len(dst)+1)/2 bytes.
func UnpackInt4(dst []int8, src []byte) {
	for i := range dst {
		dst[i] = int8(src[i/2]>>(i&1*4)<<4) >> 4
	}
}

// UnpackUint4 zero-extends len(dst) elements.
func UnpackUint4(dst []uint8, src []byte) {
	for i := range dst {
		dst[i] = src[i/2] >> (i & 1 * 4) & 15
	}
}

// PackInt4 stores the low nibble of each element; it serves int4 and uint4. An unused nibble becomes zero. It panics
// when dst is shorter than (len(src)+1)/2 bytes.
func PackInt4[T ~int8 | ~uint8](dst []byte, src []T) {
	for i, v := range src {
		if i&1 == 0 {
			dst[i/2] = byte(v) & 15
		} else {
			dst[i/2] |= byte(v) << 4
		}
	}
}
