package ipc

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Import is something of another process.
type Import struct {
	File *os.File // the importer's to close
	Info Info
	Slot int // of the exporter

	conn *net.UnixConn
	done sync.WaitGroup
}

// Import asks the exporter of a key for what it names. lost, which may be nil, is called from a goroutine of its own
// when the exporter ends while the import is in use.
func (s *Slot) Import(kind Kind, text string, lost func()) (*Import, error) {
	k, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	if Kind(k[0]) != kind {
		return nil, fmt.Errorf("%w: it names something else", ErrBadKey)
	}
	addr, done, err := s.dir.socket(int(k[1]))
	if err != nil {
		return nil, err
	}
	c, err := net.DialUnix("unixpacket", nil, addr)
	done()
	if err != nil {
		return nil, fmt.Errorf("%w: its process is gone (%v)", ErrNoKey, err)
	}
	im := &Import{Slot: int(k[1]), conn: c}
	if err := im.ask(k); err != nil {
		c.Close()
		return nil, err
	}
	im.done.Go(func() {
		var b [1]byte
		if _, err := c.Read(b[:]); err != nil && !isClosed(err) && lost != nil {
			lost()
		}
	})
	return im, nil
}

func (im *Import) ask(k key) error {
	if _, uid, err := peerOf(im.conn); err != nil || uid != os.Geteuid() {
		return fmt.Errorf("%w: the socket belongs to another user", ErrDenied)
	}
	_ = im.conn.SetDeadline(time.Now().Add(askTimeout))
	if _, err := im.conn.Write(putRequest(k)); err != nil {
		return fmt.Errorf("%w: %v", ErrNoKey, err)
	}
	b, f, err := receiveFile(im.conn, replyBytes+1)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrReply, err)
	}
	if im.Info, err = parseReply(b); err == nil && f == nil {
		err = fmt.Errorf("%w: no descriptor came with it", ErrReply)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return err
	}
	im.File = f
	_ = im.conn.SetDeadline(time.Time{})
	return nil
}

// Close tells the exporter that the import is no longer in use.
func (im *Import) Close() {
	im.conn.Close()
	im.done.Wait()
}
