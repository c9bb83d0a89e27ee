package ipc

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// exporter is a slot that exports one file to everybody.
func exporter(t testing.TB) (*Slot, *Export) {
	t.Helper()
	d := openDir(t)
	s := join(t, d)
	f, mem, err := SharedFile(4096)
	if err != nil {
		t.Skip("no memory files: ", err)
	}
	copy(mem, "shared")
	Unmap(mem)
	x, err := s.Export(Memory, f, Info{4096, 7}, true)
	if err != nil {
		t.Fatal(err)
	}
	return s, x
}

// A key is good for importers as long as it is not destroyed; whoever has imported keeps what it has.
func TestExport_life(t *testing.T) {
	s, x := exporter(t)
	im, err := s.Import(Memory, x.Key(), nil)
	if err != nil || im.Info != (Info{4096, 7}) {
		t.Fatal(err, im)
	}
	defer im.File.Close()
	if x.Users() != 1 {
		t.Errorf("%d users", x.Users())
	}
	if _, err := s.Import(Event, x.Key(), nil); !errors.Is(err, ErrBadKey) {
		t.Errorf("a key of another kind: %v", err)
	}
	wrong := []byte(x.Key())
	wrong[50] ^= 1
	if _, err := s.Import(Memory, string(wrong), nil); err == nil {
		t.Error("a guessed key was accepted")
	}
	im.Close()
	for end := time.Now().Add(5 * time.Second); x.Users() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the user does not leave")
		}
	}
	x.Close()
	x.Close()
	if _, err := s.Import(Memory, x.Key(), nil); !errors.Is(err, ErrNoKey) {
		t.Errorf("a key that is destroyed: %v", err)
	}
	mem, err := MapShared(im.File, 4096)
	if err != nil || !bytes.HasPrefix(mem, []byte("shared")) {
		t.Fatal("the memory is gone: ", err)
	}
	Unmap(mem)
}

func TestExport_denied(t *testing.T) {
	d := openDir(t)
	s := join(t, d)
	f, mem, err := SharedFile(4096)
	if err != nil {
		t.Skip("no memory to share here: ", err)
	}
	Unmap(mem)
	x, err := s.Export(Memory, f, Info{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(Memory, x.Key(), nil); !errors.Is(err, ErrDenied) {
		t.Errorf("a process that is not named: %v", err)
	}
	x.Allow(os.Getpid())
	im, err := s.Import(Memory, x.Key(), nil)
	if err != nil {
		t.Fatal(err)
	}
	im.File.Close()
	im.Close()
}

// A process that dies is told to its importers.
func TestImport_lost(t *testing.T) {
	s, x := exporter(t)
	other := join(t, s.dir)
	gone := make(chan bool)
	im, err := other.Import(Memory, x.Key(), func() { close(gone) })
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-gone
	im.File.Close()
	im.Close()
}

// Paths that are too long for a socket work.
func TestSocket_longPath(t *testing.T) {
	long := t.TempDir()
	for len(long) < 200 {
		long = filepath.Join(long, "a-folder-with-a-long-name")
	}
	d, err := Open(long)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	s := join(t, d)
	f, mem, err := SharedFile(4096)
	if err != nil {
		t.Skip("no memory to share here: ", err)
	}
	Unmap(mem)
	x, err := s.Export(Notify, f, Info{}, true)
	if err != nil {
		t.Fatal(err)
	}
	im, err := s.Import(Notify, x.Key(), nil)
	if err != nil {
		t.Fatal(err)
	}
	im.File.Close()
	im.Close()
}

func FuzzMessages(f *testing.F) {
	f.Add(putRequest(key{byte(Memory)}))
	f.Add(putReply(statusOK, Info{1, 2, 3, 4}))
	f.Add(putReply(99, Info{}))
	f.Add([]byte("6d00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, ok := parseRequest(b); ok && !bytes.Equal(putRequest(k), b) {
			t.Error("a request changes when it is read and written")
		}
		if info, err := parseReply(b); err == nil && !bytes.Equal(putReply(statusOK, info), b) {
			t.Error("a reply changes when it is read and written")
		}
		if k, err := parseKey(string(b)); err == nil {
			if again, err := parseKey(k.String()); err != nil || again != k {
				t.Error("a key changes when it is read and written")
			}
		}
	})
}

// Whatever a peer sends, with whatever descriptors, the owner answers or hangs up, and goes on serving others.
func FuzzServer(f *testing.F) {
	s, x := exporter(f)
	good, _ := parseKey(x.Key())
	f.Add(putRequest(good), 0)
	f.Add(putRequest(key{byte(Memory), 1}), 1)
	f.Add(putReply(statusOK, Info{}), 3)
	f.Add([]byte{}, 2)
	f.Add(bytes.Repeat([]byte{0xff}, 5000), 20)
	f.Fuzz(func(t *testing.T, b []byte, fds int) {
		addr, done, err := s.dir.socket(s.index)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		c, err := net.DialUnix("unixpacket", nil, addr)
		if err != nil {
			t.Fatal("the owner does not accept any more: ", err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_ = sendMany(c, b, fds%20) // a packet may be too large
		var reply [replyBytes + 1]byte
		if len(b) > 0 {
			n, _ := c.Read(reply[:])
			if info, err := parseReply(reply[:n]); err == nil && (info != x.info || !bytes.Equal(b, putRequest(good))) {
				t.Errorf("%x was answered with %v", b, info)
			}
		}
		im, err := s.Import(Memory, x.Key(), nil)
		if err != nil {
			t.Fatal("the owner serves nobody any more: ", err)
		}
		im.File.Close()
		im.Close()
	})
}
