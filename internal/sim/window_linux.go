package sim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// window is a reserved range of memory whose pages appear on first touch. A device address is base plus an offset.
type window struct {
	base   uint64
	mem    []byte
	others others
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
		w.others.close()
	}
}

// lock keeps a range in memory; it touches the range.
func (w *window) lock(off, n int64) error { return LockBytes(w.mem[off : off+n]) }

func (w *window) unlock(off, n int64) { _ = unix.Munlock(w.mem[off : off+n]) }

// LockBytes keeps host memory of the program from being paged out. The error says what forbids it, and what to do.
func LockBytes(b []byte) error {
	err := unix.Mlock(b)
	if err == nil {
		return nil
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return fmt.Errorf("%d bytes of host memory cannot be locked: %w", len(b), err)
	}
	return fmt.Errorf("%d bytes of host memory cannot be locked: %w: this process may lock %d in all; raise that (ulimit -l) or give it CAP_IPC_LOCK", len(b), err, limit.Cur)
}

// UnlockBytes undoes LockBytes.
func UnlockBytes(b []byte) { _ = unix.Munlock(b) }

// memoryFile makes an unnamed file of n bytes of memory whose size is fixed.
func memoryFile(n int64) (int, error) {
	fd, err := unix.MemfdCreate("npu memory", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("%w: a memory file: %w", ErrNoMemory, err)
	}
	if err = unix.Ftruncate(fd, n); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%w: a memory file of %d bytes: %w", ErrNoMemory, n, err)
	}
	return fd, nil
}

func closeFile(fd int) { _ = unix.Close(fd) }

// reserveHost reserves n bytes of host addresses that nothing can touch.
func reserveHost(n int64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%w: reserving %d bytes of addresses: %w", ErrNoMemory, n, err)
	}
	return b, nil
}

func releaseHost(b []byte) { _ = unix.Munmap(b) }
