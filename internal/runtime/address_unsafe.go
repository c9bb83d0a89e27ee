package runtime

import "unsafe"

// addressOf is where the program's memory begins, to compare slices by place.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
