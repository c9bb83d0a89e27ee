package ipc

import (
	"sync/atomic"
)

// Slots is how many processes can share a directory.
const Slots = 128

// The table is 64-bit words: a head, a row for each slot, a row for each device. A device is shared by the processes
// that simulate the same chip under the same number.
const (
	tableMagic = uint64(0x31_42_54_55_50_4e) // "NPUTB1"
	headWords  = 8
	slotWords  = 16
	devices    = 64
	devHead    = 8
	devWords   = devHead + Slots
	slotsAt    = headWords
	devicesAt  = slotsAt + Slots*slotWords
	tableWords = devicesAt + devices*devWords
	tableBytes = (tableWords*8 + 4095) &^ 4095
)

// Words of the head.
const (
	headMagic = iota
	headEpoch // raised by whoever lowers the clock word of another process
	headLinks // raised when two processes become peers
)

// Words of a slot's row. Those of the clock belong to the scheduler of the process, see package sim.
const (
	slotPID = iota
	slotGeneration
	slotPeerLow // the slots that share an event or a notify with this one
	slotPeerHigh
	slotClock // seven words
)

// ClockWords is how many words of its row a slot's scheduler has for itself.
const ClockWords = slotWords - slotClock

// table is the mapped table.
type table []atomic.Uint64

func (t table) slot(i int) []atomic.Uint64 {
	at := slotsAt + i*slotWords
	return t[at : at+slotWords]
}

func (t table) device(i int) []atomic.Uint64 {
	at := devicesAt + i*devWords
	return t[at : at+devWords]
}

// clear forgets what slot i claims and shares. The caller holds the slot's lock.
func (t table) clear(i int) {
	row := t.slot(i)
	row[slotPID].Store(0)
	for w := slotPeerLow; w < slotWords; w++ {
		row[w].Store(0)
	}
	for d := range devices {
		t.device(d)[devHead+i].Store(0)
	}
	for o := range Slots { // nobody is its peer any more
		t.slot(o)[slotPeerLow+i/64].And(^(uint64(1) << (i % 64)))
	}
	t[headLinks].Add(1)
}

// Share is the memory of one device that a process shares with the others.
type Share struct {
	dir   *Dir
	row   []atomic.Uint64
	slot  int
	total uint64
}

// Share finds the row of a device with so many bytes; nil if the table has no row left. key must not be 0.
func (s *Slot) Share(key, total uint64) *Share {
	for i := range devices {
		row := s.dir.table.device(i)
		if row[0].Load() == key || row[0].CompareAndSwap(0, key) || row[0].Load() == key {
			return &Share{dir: s.dir, row: row, slot: s.index, total: total}
		}
	}
	return nil
}

// Claim states how many bytes of the device this process holds. It says no, and changes nothing, if that is more than
// before and the processes together would hold more than there is.
func (s *Share) Claim(bytes uint64) bool {
	mine := &s.row[devHead+s.slot]
	old := mine.Swap(bytes) // first state, then look: of two who want the last bytes not both get them
	if bytes <= old || s.sum() <= s.total {
		return true
	}
	s.dir.reap() // a dead process may hold some
	if s.sum() <= s.total {
		return true
	}
	mine.Store(old)
	return false
}

func (s *Share) sum() uint64 {
	sum := uint64(0)
	for i := range Slots {
		sum += s.row[devHead+i].Load()
	}
	return sum
}

// InUse is what all processes hold together, this one included.
func (s *Share) InUse() uint64 { return s.sum() }

// Held is what all processes hold of all devices together.
func (d *Dir) Held() uint64 {
	sum := uint64(0)
	for i := range devices {
		words := d.table.device(i)[devHead:]
		for k := range words {
			sum += words[k].Load()
		}
	}
	return sum
}
