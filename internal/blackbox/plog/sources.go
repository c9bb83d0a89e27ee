package plog

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"npu/internal/plaintext"
	"npu/internal/problem"
)

// Walk opens every log below the paths and hands it to fn: plain files, gzip, bzip2, zstd, tar, zip and
// these nested (at most three deep), also in UTF-16 and with CR as the end of lines. A directory is read in the order of names; files in it that are no text are left out. "-" is stdin. The
// reader that fn gets streams; nothing is unpacked to disk.
func Walk(paths []string, stdin io.Reader, fn func(name string, r io.Reader) error) error {
	for _, p := range paths {
		if p == "-" {
			if err := open("standard input", stdin, 0, true, fn); err != nil {
				return err
			}
			continue
		}
		st, err := os.Stat(p)
		if err != nil {
			return problem.Mark(problem.Damaged, fmt.Errorf("read log: %w", err))
		}
		if !st.IsDir() {
			if err := openFile(p, true, fn); err != nil {
				return err
			}
			continue
		}
		var files []string
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return problem.Mark(problem.Damaged, fmt.Errorf("read folder %s: %w", p, err))
		}
		slices.Sort(files)
		for _, f := range files {
			if err := openFile(f, false, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func openFile(path string, named bool, fn func(string, io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		if !named {
			return nil // a file of a folder that may not be read
		}
		return problem.Mark(problem.Damaged, fmt.Errorf("read log: %w", err))
	}
	defer f.Close()
	return open(path, f, 0, named, fn)
}

// maxDepth is how deep packed files are opened inside others.
const maxDepth = 3

// open looks at the first bytes and unpacks what is packed. named: the user asked for this very file, so it is read
// even if it does not look like a log.
func open(name string, r io.Reader, depth int, named bool, fn func(string, io.Reader) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(512)
	if depth < maxDepth {
		inner := func(r io.Reader) error { return damaged(name, open(name, r, depth+1, named, fn)) }
		switch how := Packing(head); how {
		case "":
		case "gzip":
			z, err := gzip.NewReader(br)
			if err != nil {
				return problem.Damagedf("read %s: gzip header damaged: %w", name, err)
			}
			defer z.Close()
			return inner(z)
		case "bzip2":
			return inner(bzip2.NewReader(br))
		case "zstd":
			z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1))
			if err != nil {
				return problem.Damagedf("read %s: zstd header damaged: %w", name, err)
			}
			defer z.Close()
			return inner(z)
		case "zip":
			return openZip(name, br, depth, fn)
		case "tar":
			return openTar(name, br, depth, fn)
		default:
			if named {
				return problem.Damagedf("read %s: packed with %s: unpack it first", name, how)
			}
			return nil
		}
	}
	if text := plaintext.Decoded(head, br); text != nil {
		return fn(name, text)
	}
	if !named && !looksText(head, name) {
		return nil
	}
	return fn(name, br)
}

// Packing names how a file is packed by its first bytes; empty: not at all.
func Packing(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return "gzip"
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2"
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "zip"
	case isTar(head):
		return "tar"
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "xz"
	case bytes.HasPrefix(head, []byte("7z\xbc\xaf\x27\x1c")):
		return "7-Zip"
	case bytes.HasPrefix(head, []byte("Rar!\x1a\x07")):
		return "RAR"
	}
	return ""
}

func openTar(name string, r io.Reader, depth int, fn func(string, io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return problem.Damagedf("read %s: archive damaged: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := open(name+":"+h.Name, t, depth+1, false, fn); err != nil {
			return err
		}
	}
}

// maxZip bounds a zip archive, whose directory is at its end, so that it is read whole.
const maxZip = 512 << 20

func openZip(name string, r io.Reader, depth int, fn func(string, io.Reader) error) error {
	b, err := io.ReadAll(io.LimitReader(r, maxZip+1))
	if err != nil {
		return damaged(name, err)
	}
	if len(b) > maxZip {
		return problem.Damagedf("read %s: a zip archive of more than %d MiB: unpack it first", name, maxZip>>20)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return problem.Damagedf("read %s: archive damaged: %w", name, err)
	}
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return problem.Damagedf("read %s:%s: %w", name, f.Name, err)
		}
		err = damaged(name, open(name+":"+f.Name, in, depth+1, false, fn))
		in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// damaged marks errors of unpacking.
func damaged(name string, err error) error {
	var bz bzip2.StructuralError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) ||
		errors.Is(err, zstd.ErrCRCMismatch) || errors.Is(err, zstd.ErrMagicMismatch) || errors.As(err, &bz) {
		return problem.Damagedf("read %s: %w (file cut short?)", name, err)
	}
	return err
}

func isTar(head []byte) bool {
	return len(head) >= 262 && bytes.Equal(head[257:262], []byte("ustar"))
}

func looksText(head []byte, name string) bool {
	if len(head) == 0 || bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("\x7fELF")) {
		return false
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".csv", ".py", ".md", ".c", ".h", ".cpp", ".o", ".npy", ".xml", ".yaml", ".yml":
		return false
	}
	return true
}
