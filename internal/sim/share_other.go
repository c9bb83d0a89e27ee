//go:build !linux

package sim

import (
	"errors"
	"os"
)

// ErrNotMemory is returned for a descriptor that is no memory file of a fixed size.
var ErrNotMemory = errors.New("memory files need Linux")

// Share needs memory files.
func (d *Device) Share(uint64, int64) (*Physical, error) { return nil, ErrNotMemory }

// Unshare has nothing to undo.
func (d *Device) Unshare(uint64, int64) error { return ErrNotMemory }

// AdoptPhysical needs memory files.
func AdoptPhysical(*os.File, int64) (*Physical, error) { return nil, ErrNotMemory }

// File needs memory files.
func (p *Physical) File() (*os.File, error) { return nil, ErrNotMemory }
