package ipc

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"npu/internal/runtime/telemetry"
)

// Slot is a process's place in a run directory.
type Slot struct {
	dir   *Dir
	index int
	file  *os.File // holds the lock
	page  []byte

	mu     sync.Mutex
	closed bool
	server *server // nil until something is exported
	links  links
}

// Join takes a place for the calling process. It keeps the place until Close or until it dies, however it dies.
func (d *Dir) Join() (*Slot, error) {
	for i := range Slots {
		f, err := os.OpenFile(d.name(i, "slot"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("run directory: %w", err)
		}
		if lock(f) != nil {
			f.Close()
			continue
		}
		page, err := mapFile(f, telemetry.PageBytes)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("run directory: %s: %w", f.Name(), err)
		}
		s := &Slot{dir: d, index: i, file: f, page: page}
		d.table.clear(i)
		_ = os.Remove(d.name(i, "sock"))
		_ = os.Remove(d.name(i, "poke"))
		_ = os.Remove(d.name(i, "live"))
		row := d.table.slot(i)
		row[slotGeneration].Add(1)
		row[slotPID].Store(uint64(os.Getpid()))
		return s, nil
	}
	return nil, fmt.Errorf("run directory %s: %w: end one", d.path, ErrFull)
}

// Index is the number of the place.
func (s *Slot) Index() int { return s.index }

// Page is the process's telemetry page.
func (s *Slot) Page() []byte { return s.page }

// Clock is the row of clock words of slot i.
func (s *Slot) Clock(i int) []atomic.Uint64 { return s.dir.table.slot(i)[slotClock:] }

// Close gives the place up.
func (s *Slot) Close() {
	s.mu.Lock()
	was, srv := s.closed, s.server
	s.closed = true
	s.mu.Unlock()
	if was {
		return
	}
	if srv != nil {
		srv.close()
	}
	s.links.close()
	s.dir.table.clear(s.index)
	_ = os.Remove(s.dir.name(s.index, "sock")) // there need not be one
	_ = os.Remove(s.dir.name(s.index, "poke"))
	_ = os.Remove(s.dir.name(s.index, "live"))
	unmap(s.page)
	s.page = nil
	s.file.Close()
}
