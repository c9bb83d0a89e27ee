//go:build !linux

package sim

import "fmt"

// window is a range of memory. Without a way to reserve address space it is taken from the Go heap, and small.
type window struct {
	base uint64
	mem  []byte
}

const fallbackWindow = 2 << 30

func newWindow(base uint64, size int64) (*window, error) {
	if size <= 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrNoMemory, size)
	}
	return &window{base: base, mem: make([]byte, min(size, fallbackWindow))}, nil
}

func (w *window) huge(int64, int64) {}

func (w *window) close() { w.mem = nil }
