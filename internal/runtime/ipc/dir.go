package ipc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"npu/internal/runtime/telemetry"
)

// Errors of the run directory.
var (
	ErrNotPrivate  = errors.New("the run directory is not private")
	ErrFull        = fmt.Errorf("all %d places for processes are taken", Slots)
	ErrUnsupported = errors.New("sharing devices between processes needs Linux")
)

// Dir is an open run directory.
type Dir struct {
	path  string
	table table
	mem   []byte

	mu    sync.Mutex
	files [Slots]*os.File // to look at the locks of others
}

// Open opens the run directory at path and makes it if need be.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	return open(path, true)
}

// Look opens a run directory only to look at it. It is nil without an error where there is none.
func Look(path string) (*Dir, error) {
	d, err := open(path, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return d, err
}

func open(path string, create bool) (*Dir, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	d := &Dir{path: path}
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(path, "table"), flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	defer f.Close() // the mapping stays
	if d.mem, err = mapFile(f, tableBytes); err != nil {
		return nil, fmt.Errorf("run directory: %s: %w", f.Name(), err)
	}
	d.table = wordsOf(d.mem)
	if !d.table[headMagic].CompareAndSwap(0, tableMagic) && d.table[headMagic].Load() != tableMagic {
		unmap(d.mem)
		return nil, fmt.Errorf("run directory: %s was made by another version: end its processes and remove it", f.Name())
	}
	return d, nil
}

// Close closes the directory. Slots of it must be closed.
func (d *Dir) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, f := range d.files {
		if f != nil {
			f.Close()
			d.files[i] = nil
		}
	}
	unmap(d.mem)
	d.mem, d.table = nil, nil
}

// Path is where the directory lies.
func (d *Dir) Path() string { return d.path }

func (d *Dir) name(slot int, kind string) string {
	return filepath.Join(d.path, fmt.Sprintf("%03d.%s", slot, kind))
}

// file is the cached slot file of a slot, for looking; nil if there is none. Under d.mu.
func (d *Dir) file(i int) *os.File {
	if d.files[i] == nil {
		if f, err := os.OpenFile(d.name(i, "slot"), os.O_RDWR, 0); err == nil {
			d.files[i] = f
		}
	}
	return d.files[i]
}

// Alive says whether the process of slot i lives.
func (d *Dir) Alive(i int) bool {
	if d.table.slot(i)[slotPID].Load() == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(i)
	return f != nil && held(f)
}

// reap removes what dead processes have left.
func (d *Dir) reap() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range Slots {
		if d.table.slot(i)[slotPID].Load() != 0 {
			d.reapOne(i)
		}
	}
}

// reapOne removes what the process of slot i has left if it is dead. Under d.mu.
func (d *Dir) reapOne(i int) {
	f := d.file(i)
	if f == nil || lock(f) != nil {
		return
	}
	d.table.clear(i)
	_ = os.Remove(d.name(i, "sock")) // there need not be one
	_ = os.Remove(d.name(i, "poke"))
	_ = os.Remove(d.name(i, "live"))
	unlock(f)
}

// Process is one live process of the directory.
type Process struct {
	Slot     int
	PID      int
	Snapshot *telemetry.Snapshot // nil with Err
	Err      error               // why its page cannot be read
}

// Processes are the live processes, by pid. Dead ones are removed on the way.
func (d *Dir) Processes() []Process {
	d.reap()
	var out []Process
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range Slots {
		pid := d.table.slot(i)[slotPID].Load()
		f := d.file(i)
		if pid == 0 || f == nil {
			continue
		}
		p := Process{Slot: i, PID: int(pid)}
		if p.Snapshot, p.Err = telemetry.Read(f); p.Err == nil {
			p.Snapshot.PID = p.PID
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Process) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Slot, b.Slot)) })
	return out
}
