package image

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading. It stays mapped until the process ends.
func mapFile(f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
}
