//go:build !linux

package ipc

import "os"

func private(string) error { return ErrUnsupported }

func mapFile(*os.File, int) ([]byte, error) { return nil, ErrUnsupported }

func unmap([]byte) {}

func lock(*os.File) error { return ErrUnsupported }

func unlock(*os.File) {}

func held(*os.File) bool { return false }

func exists(int) bool { return false }
