package cache

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeBytes is how much a user may still write below dir, which need not be there yet.
func freeBytes(dir string) (n int64, known bool) {
	var st unix.Statfs_t
	for unix.Statfs(dir, &st) != nil {
		up := filepath.Dir(dir)
		if up == dir {
			return 0, false
		}
		dir = up
	}
	return int64(st.Bavail) * st.Bsize, true
}
