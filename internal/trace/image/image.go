// Package image keeps tables as they lie in memory, in a file that is mapped when it is needed again: opening takes as
// long for ten million rows as for ten, and rows that nobody looks at are never read. It is for caches of this program
// on this machine. Nothing is converted: a file from another build or machine whose tables look different is refused.
//
// A file is sections of 64 bytes and more, a description of them that the caller gives (encoded with gob), and a footer.
// The rows of a section hold no pointers. The description and the footer are verified when a file is opened, the sections
// by Check, which reads them all and belongs into the background.
//
// A mapping stays until the process ends: rows that were given out are slices of it.
package image

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"

	"github.com/cespare/xxhash/v2"
)

const (
	magic  = "NPUIMG01"
	footer = 56 // magic, u64 each: end of the sections, their hash, end of the description, its hash, version of the caller, hash of the footer so far
	align  = 64
)

// Ref is where the rows of a section lie.
type Ref struct {
	Off, Rows uint64
	Layout    uint32 // of a row
}

// Writer writes an image from front to end. After an error it writes nothing and keeps the error.
type Writer struct {
	w    io.Writer
	off  uint64
	hash *xxhash.Digest
	err  error
}

// NewWriter begins an image.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, hash: xxhash.New()} }

func (w *Writer) write(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	if _, w.err = w.w.Write(b); w.err == nil {
		w.off += uint64(len(b))
		_, _ = w.hash.Write(b)
	}
}

// Put writes rows as a section.
func Put[T any](w *Writer, rows []T) Ref { return PutParts(w, rows) }

// PutParts writes the rows of all parts as one section.
func PutParts[T any](w *Writer, parts ...[]T) Ref {
	layout, err := layoutOf[T]()
	if err != nil && w.err == nil {
		w.err = err
	}
	if over := w.off % align; over != 0 {
		w.write(make([]byte, align-over))
	}
	r := Ref{Off: w.off, Layout: layout}
	for _, p := range parts {
		w.write(bytesOf(p))
		r.Rows += uint64(len(p))
	}
	return r
}

// Text is where strings lie.
type Text struct{ Ends, Bytes Ref }

// PutText writes strings.
func PutText(w *Writer, list []string) Text {
	ends, all := make([]uint64, len(list)), []byte{}
	for i, s := range list {
		all = append(all, s...)
		ends[i] = uint64(len(all))
	}
	return Text{Put(w, ends), Put(w, all)}
}

// Close ends the image with the caller's description of its sections. version is the caller's own.
func (w *Writer) Close(description any, version uint64) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(description); err != nil && w.err == nil {
		w.err = fmt.Errorf("describe the sections of an image: %w", err)
	}
	end, hash := w.off, w.hash.Sum64()
	w.write(b.Bytes())
	f := append([]byte{}, magic...)
	for _, v := range []uint64{end, hash, w.off, xxhash.Sum64(b.Bytes()), version} {
		f = binary.LittleEndian.AppendUint64(f, v)
	}
	w.write(binary.LittleEndian.AppendUint64(f, xxhash.Sum64(f)))
	return w.err
}

var errPointers = errors.New("the rows of an image must not hold pointers")

// layoutOf is a hash of how a row lies in memory: kinds, names and places of its fields, and the order of bytes.
func layoutOf[T any]() (uint32, error) {
	h := fnv.New32a()
	one := uint16(1)
	_, _ = h.Write(bytesOf([]uint16{one}))
	if err := describe(h, reflect.TypeFor[T]()); err != nil {
		return 0, err
	}
	return h.Sum32(), nil
}

func describe(w io.Writer, t reflect.Type) error {
	fmt.Fprintf(w, "%s %d ", t.Kind(), t.Size())
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return nil
	case reflect.Array:
		return describe(w, t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "%s %d ", f.Name, f.Offset)
			if err := describe(w, f.Type); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s: %w", t, errPointers)
}
