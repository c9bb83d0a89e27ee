//go:build !linux

package ipc

import (
	"errors"
	"net"
	"os"
)

func (d *Dir) socket(int) (*net.UnixAddr, func(), error) { return nil, nil, ErrUnsupported }

func peerOf(*net.UnixConn) (int, int, error) { return 0, 0, ErrUnsupported }

// Duplicate needs Linux.
func Duplicate(*os.File) (*os.File, error) { return nil, ErrUnsupported }

func sendFile(*net.UnixConn, []byte, *os.File) error { return ErrUnsupported }

func receiveFile(*net.UnixConn, int) ([]byte, *os.File, error) { return nil, nil, ErrUnsupported }

func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }
