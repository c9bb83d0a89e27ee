package ipc

import (
	"fmt"
	"os"
)

// Records maps the file NNN.live of the process, which is new, of size bytes and all zero: what another process may follow
// while this one runs. What is never written takes no memory. It stays mapped until ReleaseRecords.
func (s *Slot) Records(size int) ([]byte, error) {
	name := s.dir.name(s.index, "live")
	_ = os.Remove(name) // of one that died
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	defer f.Close() // the mapping stays
	b, err := mapFile(f, size)
	if err != nil {
		return nil, fmt.Errorf("run directory: %s: %w", name, err)
	}
	return b, nil
}

// ReleaseRecords unmaps what Records gave. Who follows it has the file still.
func ReleaseRecords(b []byte) { unmap(b) }

// OpenRecords opens the file that the process of a slot hands its records out in.
func (d *Dir) OpenRecords(slot int) (*os.File, error) {
	f, err := os.OpenFile(d.name(slot, "live"), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	return f, nil
}
