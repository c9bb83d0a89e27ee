// Package outfile writes result files so that a reader, or an interrupted command, never sees half of one.
// It imports nothing of this module.
package outfile

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
)

// Write makes the file at path from what write gives. The file appears under its name when it is complete; until then
// it is a temporary file beside it. What is no regular file, as /dev/stdout, is written in place.
func Write(path string, write func(io.Writer) error) (err error) {
	if st, e := os.Stat(path); e == nil && !st.Mode().IsRegular() {
		return inPlace(path, write)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = f.Cleanup() }() // does nothing once the file is in place
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func inPlace(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}
