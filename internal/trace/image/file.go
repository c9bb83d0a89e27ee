package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"
)

// File is an image that is mapped.
type File struct {
	b    []byte      // the sections
	hash uint64      // of them
	from io.ReaderAt // the same, to read without mapping what nobody looks at
}

// Errors of images. A caller makes the image anew.
var (
	ErrDamaged = errors.New("the image is damaged")
	ErrOther   = errors.New("the image is of another version")
)

// Open maps the image at path and decodes its description. The file must not change while it is open; replacing and removing
// it is fine.
func Open(path string, version uint64, description any) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := mapFile(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	out, err := open(b, f, version, description)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func open(b []byte, from io.ReaderAt, version uint64, description any) (*File, error) {
	if len(b) < footer {
		return nil, fmt.Errorf("it ends after %d bytes: %w", len(b), ErrDamaged)
	}
	at := uint64(len(b) - footer)
	f := b[at:]
	if string(f[:8]) != magic {
		return nil, ErrOther
	}
	var v [6]uint64
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(f[8+8*i:])
	}
	end, end2 := v[0], v[2]
	switch {
	case v[5] != xxhash.Sum64(f[:footer-8]), end2 != at, end > end2, xxhash.Sum64(b[end:end2]) != v[3]:
		return nil, ErrDamaged
	case v[4] != version:
		return nil, ErrOther
	}
	if err := gob.NewDecoder(bytes.NewReader(b[end:end2])).Decode(description); err != nil {
		return nil, errors.Join(ErrOther, err)
	}
	return &File{b: b[:end:end], hash: v[1], from: from}, nil
}

// Bytes is the size of the sections.
func (f *File) Bytes() int64 { return int64(len(f.b)) }

// Check reads all sections and says whether they are what was written.
func (f *File) Check(ctx context.Context) error {
	h, buf := xxhash.New(), make([]byte, 1<<20)
	for at := 0; at < len(f.b); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.from.ReadAt(buf[:min(len(buf), len(f.b)-at)], int64(at))
		if n == 0 {
			return errors.Join(ErrDamaged, err)
		}
		_, _ = h.Write(buf[:n])
		at += n
	}
	if h.Sum64() != f.hash {
		return ErrDamaged
	}
	return nil
}

// Get gives the rows of a section. They must not be changed.
func Get[T any](f *File, r Ref) ([]T, error) {
	layout, err := layoutOf[T]()
	if err != nil {
		return nil, err
	}
	size := uint64(sizeOf[T]())
	switch {
	case layout != r.Layout:
		return nil, ErrOther
	case r.Rows == 0:
		return nil, nil
	case r.Off%align != 0, r.Off > uint64(len(f.b)), r.Rows > (uint64(len(f.b))-r.Off)/size:
		return nil, ErrDamaged
	}
	return rowsOf[T](f.b[r.Off:r.Off+r.Rows*size], int(r.Rows)), nil
}

// GetText gives strings, which share the memory of the image.
func GetText(f *File, t Text) ([]string, error) {
	ends, err := Get[uint64](f, t.Ends)
	if err != nil {
		return nil, err
	}
	all, err := Get[byte](f, t.Bytes)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(ends))
	text, from := stringOf(all), uint64(0)
	for i, to := range ends {
		if to < from || to > uint64(len(text)) {
			return nil, ErrDamaged
		}
		out[i], from = text[from:to], to
	}
	return out, nil
}
