//go:build amd64 || arm64

package trace

import "unsafe"

// prefetch asks for at least so many cache lines from p on, in order to write to them, and does not wait. Nothing needs to be
// there.
//
//go:noescape
func prefetch(p unsafe.Pointer, lines int)
