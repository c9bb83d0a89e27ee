package sim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// window is a reserved range of memory whose pages appear on first touch. A device address is base plus an offset.
type window struct {
	base uint64
	mem  []byte
}

// newWindow reserves size bytes. Where the system's limits refuse that much, half of it is tried until 256 MiB; the
// caller sees from len(mem) how much it got.
func newWindow(base uint64, size int64) (*window, error) {
	var err error
	for s := size; s >= min(size, 256<<20); s /= 2 {
		var b []byte
		b, err = unix.Mmap(-1, 0, int(s), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err == nil {
			return &window{base: base, mem: b}, nil
		}
	}
	return nil, fmt.Errorf("%w: reserving %d bytes: %w", ErrNoMemory, size, err)
}

// huge asks for 2 MiB pages in a range: touching memory for the first time is then an order of magnitude cheaper.
func (w *window) huge(off, n int64) {
	_ = unix.Madvise(w.mem[off:off+n], unix.MADV_HUGEPAGE)
}

func (w *window) close() {
	if w != nil && w.mem != nil {
		_ = unix.Munmap(w.mem)
		w.mem = nil
	}
}
