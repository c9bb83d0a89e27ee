package telemetry

import (
	"sync/atomic"
	"unsafe"
)

// wordsOf sees mapped memory as words for atomic access; it is page-aligned, and the hosts are little-endian.
func wordsOf(b []byte) []atomic.Uint64 {
	if len(b) < 8 {
		return nil
	}
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}
