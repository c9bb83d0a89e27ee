//go:build !linux

package sim

import (
	"errors"
	"fmt"
)

// window is a range of memory. Without a way to reserve address space it is taken from the Go heap, and small.
type window struct {
	base   uint64
	mem    []byte
	others others
}

const fallbackWindow = 2 << 30

func newWindow(base uint64, size int64) (*window, error) {
	if size <= 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrNoMemory, size)
	}
	return &window{base: base, mem: make([]byte, min(size, fallbackWindow))}, nil
}

func (w *window) huge(int64, int64) {}

func (w *window) close() {
	if w != nil {
		w.mem = nil
		w.others.close()
	}
}

var errNoLock = errors.New("locking memory needs Linux")

func (w *window) lock(int64, int64) error { return errNoLock }

func (w *window) unlock(int64, int64) {}

// LockBytes keeps host memory of the program from being paged out.
func LockBytes([]byte) error { return errNoLock }

// UnlockBytes undoes LockBytes.
func UnlockBytes([]byte) {}

func memoryFile(int64) (int, error) {
	return -1, fmt.Errorf("%w: virtual memory management needs Linux", ErrNoMemory)
}

func closeFile(int) {}

func reserveHost(n int64) ([]byte, error) { return make([]byte, n), nil }

func releaseHost([]byte) {}

func place([]byte, int) error { return errNoLock }

func vacate([]byte) error { return nil }
