package tensor

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of an .npz archive.
const (
	npzEntries = 1 << 16
	npzRatio   = 1100    // no deflate stream grows more than 1032 times
	npzUnpack  = 8 << 30 // bytes of all arrays that one NPZ hands out
)

// NPZ is an opened .npz archive: a zip file of .npy files. Arrays are read when asked for.
type NPZ struct {
	names   []string
	entries map[string]*zip.File
	left    uint64
}

// OpenNPZ reads the directory of an archive of size bytes.
func OpenNPZ(r io.ReaderAt, size int64) (*NPZ, error) {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are only keys here
		return nil, fmt.Errorf("npz: %w", err)
	}
	if len(z.File) > npzEntries {
		return nil, fmt.Errorf("npz: %d entries, at most %d are read", len(z.File), npzEntries)
	}
	a := &NPZ{entries: make(map[string]*zip.File), left: npzUnpack}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if name == f.Name {
			continue // no array
		}
		if a.entries[name] != nil {
			return nil, fmt.Errorf("npz: two arrays are named %q", name)
		}
		a.names, a.entries[name] = append(a.names, name), f
	}
	return a, nil
}

// Names lists the arrays in the order of the archive, without .npy.
func (a *NPZ) Names() []string { return a.names }

// Size is how many bytes an array says that it has unpacked, with its header.
func (a *NPZ) Size(name string) uint64 {
	if f := a.entries[name]; f != nil {
		return f.UncompressedSize64
	}
	return 0
}

// Read returns one array. An entry that claims to grow more than deflate can, or beyond 8 GiB for all arrays read from
// this NPZ, is refused.
func (a *NPZ) Read(name string) (*Tensor, error) {
	f := a.entries[name]
	if f == nil {
		return nil, fmt.Errorf("npz: no array %q (has %s)", name, strings.Join(a.names, ", "))
	}
	n := f.UncompressedSize64
	if n > a.left || n/npzRatio > f.CompressedSize64 {
		return nil, fmt.Errorf("npz: array %q claims %d bytes from %d", name, n, f.CompressedSize64)
	}
	a.left -= n
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("npz: array %q: %w", name, err)
	}
	defer r.Close()
	t, err := ReadNPY(r, int64(n))
	if err != nil {
		return nil, fmt.Errorf("npz: array %q: %w", name, err)
	}
	// Reading on to the end checks the entry's CRC.
	if rest, err := io.Copy(io.Discard, r); err != nil {
		return nil, fmt.Errorf("npz: array %q: %w", name, err)
	} else if rest > 0 {
		return nil, fmt.Errorf("npz: array %q: %d bytes behind the array", name, rest)
	}
	return t, nil
}
