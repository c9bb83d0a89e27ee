package ipc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what the kernel takes for the name of a socket.
const maxSocketPath = 100

// socket is the address of slot i's socket. done is called after use: a long path is reached through a descriptor.
func (d *Dir) socket(i int) (addr *net.UnixAddr, done func(), err error) {
	name := d.name(i, "sock")
	if len(name) <= maxSocketPath {
		return &net.UnixAddr{Name: name, Net: "unixpacket"}, func() {}, nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return nil, nil, fmt.Errorf("run directory: %w", err)
	}
	return &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%03d.sock", f.Fd(), i), Net: "unixpacket"}, func() { f.Close() }, nil
}

// peerOf is the process at the other end, as the kernel knows it.
func peerOf(c *net.UnixConn) (pid, uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var e error
	if err = raw.Control(func(fd uintptr) { cred, e = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err == nil {
		err = e
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Pid), int(cred.Uid), nil
}

// Duplicate is a second descriptor of f.
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func sendFile(c *net.UnixConn, b []byte, f *os.File) error {
	_, _, err := c.WriteMsgUnix(b, unix.UnixRights(int(f.Fd())), nil)
	return err
}

// receiveFile reads one packet of at most n bytes and the descriptor that may come with it; more descriptors than one
// are closed.
func receiveFile(c *net.UnixConn, n int) ([]byte, *os.File, error) {
	buf, oob := make([]byte, n), make([]byte, unix.CmsgSpace(4*16))
	n, on, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 && on == 0 {
		return nil, nil, io.EOF
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return buf[:n], nil, nil
	}
	var first *os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			if first == nil {
				first = os.NewFile(uintptr(fd), "import")
			} else {
				_ = unix.Close(fd)
			}
		}
	}
	return buf[:n], first, nil
}

// isClosed says of a read error that this side has closed the connection.
func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }
