package ipc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// makePipe makes a named pipe and opens both its ends, so that it never ends.
func makePipe(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("run directory: %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
}

func openPipe(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// pokePipe leaves a byte; a full pipe has enough of them.
func pokePipe(f *os.File) error {
	_, err := unix.Write(int(f.Fd()), []byte{1})
	if errors.Is(err, unix.EAGAIN) {
		return nil
	}
	return err
}

// SharedFile makes an unnamed file of n bytes of memory whose size is fixed, and maps it.
func SharedFile(n int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("npu shared", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "npu shared")
	b, err := mapFile(f, n)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("a memory file: %w", err)
	}
	return f, b, nil
}

// MapShared maps a file that another process has made with SharedFile. One that could shrink is refused.
func MapShared(f *os.File, n int) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 || st.Size() != int64(n) {
		return nil, fmt.Errorf("%w: its memory has the wrong size", ErrReply)
	}
	return mapFile(f, n)
}

// Unmap undoes MapShared and SharedFile's mapping.
func Unmap(b []byte) { unmap(b) }
