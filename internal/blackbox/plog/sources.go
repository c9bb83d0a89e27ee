package plog

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"npu/internal/problem"
)

// Walk opens every log below the paths and hands it to fn: plain files, gzip, tar and both nested (at most three
// deep). A directory is read in the order of names; files in it that are no text are left out. "-" is stdin. The
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

// open looks at the first bytes and unpacks what is packed. named: the user asked for this very file, so it is read
// even if it does not look like a log.
func open(name string, r io.Reader, depth int, named bool, fn func(string, io.Reader) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(512)
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b && depth < 3:
		z, err := gzip.NewReader(br)
		if err != nil {
			return problem.Damagedf("read %s: gzip header damaged: %w", name, err)
		}
		defer z.Close()
		return damaged(name, open(name, z, depth+1, named, fn))
	case isTar(head) && depth < 3:
		t := tar.NewReader(br)
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
	case !named && !looksText(head, name):
		return nil
	}
	return fn(name, br)
}

// damaged marks errors of unpacking.
func damaged(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
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
