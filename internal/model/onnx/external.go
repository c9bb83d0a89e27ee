package onnx

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// external reads the data of a tensor that lie in another file: location (relative to the model's folder, which it
// may not leave, not even by a symbolic link), offset and length.
func (d *decoder) external(entries []Property, want int) ([]byte, error) {
	var location string
	var offset int64
	length := int64(want)
	for _, e := range entries {
		var err error
		switch e.Key {
		case "location":
			location = e.Value
		case "offset":
			offset, err = strconv.ParseInt(e.Value, 10, 64)
		case "length":
			length, err = strconv.ParseInt(e.Value, 10, 64)
		}
		if err != nil || offset < 0 || length < 0 {
			return nil, fmt.Errorf("external data: %s is %q", e.Key, e.Value)
		}
	}
	if location == "" {
		return nil, fmt.Errorf("external data without a location")
	}
	location = filepath.FromSlash(location)
	if !filepath.IsLocal(location) {
		return nil, fmt.Errorf("external data in %q: a path out of the model's folder is refused", location)
	}
	if length != int64(want) {
		return nil, fmt.Errorf("external data in %q: the shape needs %d bytes, length is %d", location, want, length)
	}
	if d.dir == "" {
		return nil, fmt.Errorf("external data in %q, but the model was not read from a folder", location)
	}
	if d.root == nil {
		root, err := os.OpenRoot(d.dir)
		if err != nil {
			return nil, fmt.Errorf("external data: %w", err)
		}
		d.root = root
	}
	st, err := d.root.Stat(location)
	if err != nil {
		return nil, fmt.Errorf("external data: %w (put the file beside the model)", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("external data in %q: no regular file", location)
	}
	if offset > st.Size() || length > st.Size()-offset {
		return nil, fmt.Errorf("external data in %q: %d bytes at offset %d, the file has %d", location, length, offset, st.Size())
	}
	f, err := d.root.Open(location)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	defer f.Close()
	b := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, length), b); err != nil {
		return nil, fmt.Errorf("external data in %q at offset %d: %w", location, offset, err)
	}
	return b, nil
}
