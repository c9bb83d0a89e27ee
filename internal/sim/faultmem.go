package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// PoisonUnit is the granularity at which memory fails and is repaired: 4 KiB.
const PoisonUnit = 4096

// Poison makes the memory around an address uncorrectable: whoever touches it meets CodeMemoryECC. Call it from
// Port.Call or before anything runs.
func (d *Device) Poison(addr uint64) {
	addr &^= PoisonUnit - 1
	if !slices.Contains(d.poison, addr) {
		d.poison = append(d.poison, addr)
		slices.Sort(d.poison)
	}
}

// Poisoned lists the places of memory that fail, PoisonUnit bytes each. Call it as Poison.
func (d *Device) Poisoned() []uint64 { return slices.Clone(d.poison) }

// Repair replaces failing memory by good, with zeros in it, and says whether there was something to repair. Call it as
// Poison.
func (d *Device) Repair(addr uint64) bool {
	i, ok := slices.BinarySearch(d.poison, addr&^(PoisonUnit-1))
	if ok {
		clear(d.Bytes(d.poison[i], PoisonUnit))
		d.poison = slices.Delete(d.poison, i, i+1)
	}
	return ok
}

// LastFault is the latest error of a task on the device that nobody has dealt with; nil if there is none. Call it as
// Poison.
func (d *Device) LastFault() *Fault { return d.lastFault }

// ForgetFault says that the latest error has been dealt with. Call it as Poison.
func (d *Device) ForgetFault() { d.lastFault = nil }

// broken is the fault of touching memory that fails, nil if [addr, addr+n) does not.
func (d *Device) broken(addr uint64, n int) *Fault {
	i, _ := slices.BinarySearch(d.poison, addr&^(PoisonUnit-1))
	if i == len(d.poison) || d.poison[i] >= addr+uint64(n) {
		return nil
	}
	a := max(addr, d.poison[i])
	return &Fault{Code: CodeMemoryECC, Addr: a, HasAddr: true, cause: causeBus, Detail: fmt.Sprintf("uncorrectable memory in the page at 0x%x", d.poison[i])}
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
