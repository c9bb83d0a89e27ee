package decode

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// place makes a file that appears under its name when it is complete: it is written beside it and renamed, so that an
// interrupted decode leaves no half file. It does not force the bytes to the disk: dumps can be decoded again, and
// waiting for the disk would make a big export several times slower than a copy.
func place(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".npu-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	b := bufio.NewWriterSize(f, 64<<10) // hands big copies through to the file
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
