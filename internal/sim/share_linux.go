package sim

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNotMemory is returned for a descriptor that is no memory file of a fixed size.
var ErrNotMemory = errors.New("the descriptor is no memory file of the size that was said")

// Share moves whole pages of the device's memory into a memory file, at the same address and with the same content.
// Only that file is ever handed to others. Call it from Port.Call.
func (d *Device) Share(addr uint64, n int64) (*Physical, error) {
	off := int64(addr - d.hbm.base)
	p, err := NewPhysical(n)
	if err != nil {
		return nil, err
	}
	from := d.hbm.mem[off : off+n]
	if err = copyPages(p.fd, from); err == nil {
		err = place(from, p.fd)
	}
	if err != nil {
		p.Drop()
		return nil, fmt.Errorf("%w: sharing %d bytes at 0x%x: %w", ErrNoMemory, n, addr, err)
	}
	return p, nil
}

// copyPages writes the pages that were ever touched; the rest of the file is zero.
func copyPages(fd int, from []byte) error {
	const step = 64 << 10
	zero := make([]byte, step)
	for off := 0; off < len(from); off += step {
		part := from[off:min(off+step, len(from))]
		if string(part) == string(zero[:len(part)]) {
			continue
		}
		for done := 0; done < len(part); {
			n, err := unix.Pwrite(fd, part[done:], int64(off+done))
			if err != nil {
				return err
			}
			done += n
		}
	}
	return nil
}

// Unshare gives the pages that Share has moved back to the device: they are its own again, and empty. Others keep what
// they have mapped. Call it from Port.Call.
func (d *Device) Unshare(addr uint64, n int64) error {
	off := int64(addr - d.hbm.base)
	return renew(d.hbm.mem[off : off+n])
}

// AdoptPhysical takes over a memory file of n bytes that another process has made. A file that could shrink under a
// mapping is refused.
func AdoptPhysical(f *os.File, n int64) (*Physical, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 || st.Size() != n || n <= 0 || n%Page != 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrNotMemory, n)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Physical{fd: fd, bytes: n, refs: 1}, nil
}

// File is a descriptor of the memory, the caller's to close.
func (p *Physical) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "device memory"), nil
}
