package ipc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// private refuses a directory that is a link, belongs to another user, or that others may enter.
func private(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("run directory %s: %w", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%w: %s is no directory (remove it, or set NPU_RUN_DIR)", ErrNotPrivate, path)
	case st.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%w: %s belongs to user %d (set NPU_RUN_DIR)", ErrNotPrivate, path, st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%w: %s has mode %04o, others may enter (chmod 700 it, or set NPU_RUN_DIR)", ErrNotPrivate, path, st.Mode&0o7777)
	}
	return nil
}

// mapFile makes f at least size bytes long and maps it.
func mapFile(f *os.File, size int) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < int64(size) {
		if err := f.Truncate(int64(size)); err != nil {
			return nil, err
		}
	}
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}

// lock takes the lock of a slot file without waiting.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// held says whether somebody holds the lock of a slot file.
func held(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	unlock(f)
	return false
}

// exists says whether there is a process of this pid.
func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
