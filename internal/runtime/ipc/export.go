package ipc

import (
	"maps"
	"os"
	"slices"
	"sync"
)

// Export is a thing that other processes may import under a key.
type Export struct {
	slot *Slot
	key  key
	file *os.File
	info Info

	mu    sync.Mutex // guards below
	open  bool       // to every process of this user
	pids  map[int]bool
	users map[int]int // imports that are alive, by pid
	gone  bool
}

// maxUsers is how many importers one exported thing can have.
const maxUsers = 1024

// Export offers f, which it takes over, under a new key. open lets every process of this user import it; otherwise
// only those that Allow names.
func (s *Slot) Export(kind Kind, f *os.File, info Info, open bool) (*Export, error) {
	srv, err := s.serve()
	if err == nil && srv == nil {
		err = os.ErrClosed
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	k, err := newKey(kind, s.index)
	if err != nil {
		f.Close()
		return nil, err
	}
	x := &Export{slot: s, key: k, file: f, info: info, open: open, pids: map[int]bool{}, users: map[int]int{}}
	srv.add(x)
	return x, nil
}

// Key is the text to be handed to other processes.
func (x *Export) Key() string { return x.key.String() }

// Exported is what this slot exports under a key, or nil.
func (s *Slot) Exported(text string) *Export {
	k, err := parseKey(text)
	s.mu.Lock()
	srv := s.server
	s.mu.Unlock()
	if err != nil || srv == nil {
		return nil
	}
	return srv.find(k)
}

// Allow adds processes, by the pid that the kernel knows them by.
func (x *Export) Allow(pids ...int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range pids {
		x.pids[p] = true
	}
}

// Users is how many imports of it are alive.
func (x *Export) Users() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count()
}

// count is Users, under x.mu.
func (x *Export) count() int {
	n := 0
	for _, k := range x.users {
		n += k
	}
	return n
}

// Importers are the pids of the processes that have it, in ascending order.
func (x *Export) Importers() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.users))
}

// MayGrow says whether a process that lives, but does not have one of these places, may still import it: one that is
// allowed by its pid, or, if it is open to all, one of the run directory.
func (x *Export) MayGrow(members []int) bool {
	t := x.slot.dir.table
	member := map[int]bool{}
	for _, i := range members {
		member[int(t.slot(i)[slotPID].Load())] = true
	}
	x.mu.Lock()
	open, pids := x.open, slices.Collect(maps.Keys(x.pids))
	x.mu.Unlock()
	if open {
		for i := range Slots {
			if pid := int(t.slot(i)[slotPID].Load()); pid != 0 && !member[pid] && x.slot.dir.Alive(i) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(pids, func(pid int) bool { return !member[pid] && exists(pid) })
}

// Close destroys the key. Importers keep what they have.
func (x *Export) Close() {
	x.slot.server.drop(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.gone {
		x.gone = true
		x.file.Close()
	}
}

// admit takes one more user, or says why not. With ok, f is a descriptor of the caller's own.
func (x *Export) admit(pid int) (f *os.File, status uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.gone:
		return nil, statusNoKey
	case !x.open && !x.pids[pid]:
		return nil, statusDenied
	case x.count() >= maxUsers:
		return nil, statusTooMany
	}
	f, err := Duplicate(x.file)
	if err != nil {
		return nil, statusTooMany
	}
	x.users[pid]++
	return f, statusOK
}

func (x *Export) leave(pid int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.users[pid]--; x.users[pid] == 0 {
		delete(x.users, pid)
	}
}
