//go:build linux

package sim

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// place puts a memory file over a part of reserved host addresses.
func place(b []byte, fd int) error {
	_, err := unix.MmapPtr(fd, 0, unsafe.Pointer(&b[0]), uintptr(len(b)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	return err
}

// vacate takes away what place has put there.
func vacate(b []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&b[0]), uintptr(len(b)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED)
	return err
}
