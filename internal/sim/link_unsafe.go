package sim

import (
	"sync/atomic"
	"unsafe"
)

// atomicWords sees mapped memory as words for atomic access; a mapping is page-aligned.
func atomicWords(b []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}
