package sim

import "unsafe"

// wordsOf sees memory as 64-bit words, for copying arguments without a call. The hosts that this runs on are
// little-endian, as the device is.
func wordsOf(b []byte) []uint64 {
	if len(b) < 8 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}
