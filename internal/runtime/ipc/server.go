package ipc

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// server hands out what a slot exports.
type server struct {
	slot   *Slot
	listen *net.UnixListener
	done   sync.WaitGroup

	mu      sync.Mutex
	exports map[key]*Export
	conns   map[*net.UnixConn]bool
	closed  bool
}

// Bounds on what peers can ask of a server.
const (
	maxConns   = 4096
	askTimeout = 2 * time.Second // for the request after connecting
)

// serve starts the slot's server with its first use.
func (s *Slot) serve() (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil || s.closed {
		return s.server, nil
	}
	addr, done, err := s.dir.socket(s.index)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unixpacket", addr)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	l.SetUnlinkOnClose(false) // Slot.Close removes it, by its name
	srv := &server{slot: s, listen: l, exports: map[key]*Export{}, conns: map[*net.UnixConn]bool{}}
	s.server = srv
	srv.done.Go(srv.accept)
	return srv, nil
}

func (srv *server) add(x *Export) {
	srv.mu.Lock()
	srv.exports[x.key] = x
	srv.mu.Unlock()
}

func (srv *server) drop(x *Export) {
	srv.mu.Lock()
	delete(srv.exports, x.key)
	srv.mu.Unlock()
}

func (srv *server) find(k key) *Export {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.exports[k]
}

func (srv *server) accept() {
	for {
		c, err := srv.listen.AcceptUnix()
		if err != nil {
			srv.mu.Lock()
			closed := srv.closed
			srv.mu.Unlock()
			if closed {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors
			continue
		}
		srv.mu.Lock()
		refuse := srv.closed || len(srv.conns) >= maxConns
		if !refuse {
			srv.conns[c] = true
			srv.done.Go(func() { srv.talk(c) })
		}
		srv.mu.Unlock()
		if refuse {
			c.Close()
		}
	}
}

// talk answers one request; then the connection is the importer's life line: its end ends the import.
func (srv *server) talk(c *net.UnixConn) {
	defer func() {
		srv.mu.Lock()
		delete(srv.conns, c)
		srv.mu.Unlock()
		c.Close()
	}()
	pid, uid, err := peerOf(c)
	if err != nil || uid != os.Geteuid() {
		return
	}
	var buf [requestBytes + 1]byte
	_ = c.SetDeadline(time.Now().Add(askTimeout))
	n, err := c.Read(buf[:])
	if err != nil {
		return
	}
	k, ok := parseRequest(buf[:n])
	if !ok {
		_, _ = c.Write(putReply(statusMalformed, Info{}))
		return
	}
	x := srv.find(k)
	if x == nil {
		_, _ = c.Write(putReply(statusNoKey, Info{}))
		return
	}
	f, status := x.admit(pid)
	if f == nil {
		_, _ = c.Write(putReply(status, Info{}))
		return
	}
	err = sendFile(c, putReply(statusOK, x.info), f)
	f.Close()
	if err == nil {
		_ = c.SetDeadline(time.Time{})
		_, _ = c.Read(buf[:]) // blocks until the importer lets go
	}
	x.leave(pid)
}

func (srv *server) close() {
	srv.mu.Lock()
	srv.closed = true
	srv.listen.Close()
	for c := range srv.conns {
		c.Close()
	}
	exports := srv.exports
	srv.exports = map[key]*Export{}
	srv.mu.Unlock()
	srv.done.Wait()
	for _, x := range exports {
		x.Close()
	}
}
