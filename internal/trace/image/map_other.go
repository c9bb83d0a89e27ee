//go:build !linux

package image

import (
	"io"
	"os"
	"slices"
)

// mapFile reads the file where it cannot be mapped.
func mapFile(f *os.File) ([]byte, error) {
	b, err := io.ReadAll(f)
	return slices.Clip(b), err
}
