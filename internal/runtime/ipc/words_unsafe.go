package ipc

import (
	"sync/atomic"
	"unsafe"
)

// wordsOf sees mapped memory as words for atomic access; a mapping is page-aligned.
func wordsOf(b []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}
