//go:build !linux

package ipc

import "os"

func makePipe(string) (*os.File, error) { return nil, ErrUnsupported }

func openPipe(string) (*os.File, error) { return nil, ErrUnsupported }

func pokePipe(*os.File) error { return ErrUnsupported }

// SharedFile needs Linux.
func SharedFile(int) (*os.File, []byte, error) { return nil, nil, ErrUnsupported }

// MapShared needs Linux.
func MapShared(*os.File, int) ([]byte, error) { return nil, ErrUnsupported }

// Unmap has nothing to undo.
func Unmap([]byte) {}
