package aicore

import (
	"cmp"
	"fmt"
	"slices"
)

// Region is a piece of device memory that is known to the dump or the log.
type Region struct {
	Name       string // "input 0", "workspace 1", "stack of core 3"
	Addr, Size uint64
	Unreadable bool // the dump could not read it: the pointer is bad or the memory is gone
}

// Fragment is what a unit keeps of the address that failed: the bits Hi..Lo.
type Fragment struct {
	Unit   string
	Lo, Hi int
	Value  uint64 // the bits, shifted down to bit 0
}

func (f Fragment) String() string {
	return fmt.Sprintf("%s kept address bits %d to %d = 0x%x", f.Unit, f.Hi, f.Lo, f.Value<<f.Lo)
}

// Full says that the fragment is a whole address.
func (f Fragment) Full() bool { return f.Lo <= 2 && f.Hi >= 46 }

// FragmentsV100 takes the address fragments out of the info words for the units that reported a bit.
func FragmentsV100(bits []Bit, in Infos) []Fragment {
	var out []Fragment
	seen := map[string]bool{}
	for _, b := range bits {
		if seen[b.Unit] || !b.addressed() {
			continue
		}
		seen[b.Unit] = true
		switch b.Unit {
		case "MTE":
			out = append(out, Fragment{"MTE", 5, 19, in.MTE >> 8 & 0x7fff})
		case "FIXP":
			out = append(out, Fragment{"FIXP", 5, 19, uint64(in.FIXP0) >> 8 & 0x7fff})
		case "CCU":
			out = append(out, Fragment{"CCU", 3, 17, in.CCU >> 8 & 0x7fff})
		case "CUBE":
			out = append(out, Fragment{"CUBE", 9, 17, in.Cube >> 8 & 0x1ff})
		case "IFU":
			out = append(out, Fragment{"IFU", 2, 47, in.IFU >> 2 & (1<<46 - 1)})
		}
	}
	return out
}

// addressed says that an error of this class comes with an address: a division or an illegal instruction has none.
func (b Bit) addressed() bool {
	switch b.Class {
	case "data", "code", "config", "sync":
		return b.Unit == "IFU"
	}
	return true
}

// Match says how a region and a fragment fit.
type Match struct {
	Region Region
	Inside bool
	Offset uint64 // inside: bytes from its start; else bytes past its end
}

func (m Match) String() string {
	if m.Inside {
		return fmt.Sprintf("fits %s at +0x%x (0x%x, %d bytes)", m.Region.Name, m.Offset, m.Region.Addr, m.Region.Size)
	}
	return fmt.Sprintf("fits %d bytes past the end of %s (0x%x, %d bytes)", m.Offset, m.Region.Name, m.Region.Addr, m.Region.Size)
}

// Short is the match without the region's place.
func (m Match) Short() string {
	if m.Inside {
		return fmt.Sprintf("%s at +0x%x", m.Region.Name, m.Offset)
	}
	return fmt.Sprintf("%d bytes past the end of %s", m.Offset, m.Region.Name)
}

// Locate lists the regions that an address with these bits can lie in, unreadable ones first, then the closest
// ends before it (at most 64 KiB past an end). A fragment repeats every 2^(Hi+1) bytes, so several can fit.
func Locate(regions []Region, f Fragment) []Match {
	period := uint64(1) << (f.Hi + 1)
	grain := uint64(1) << f.Lo
	var out []Match
	for _, r := range regions {
		start := r.Addr &^ (grain - 1)
		d := (f.Value<<f.Lo - start) & (period - 1) // from start to the first address with these bits
		size := r.Size + (r.Addr - start)
		switch {
		case d < size:
			off := uint64(0)
			if d > r.Addr-start {
				off = d - (r.Addr - start)
			}
			out = append(out, Match{r, true, off})
		case d-size < 64<<10:
			out = append(out, Match{r, false, d - size})
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

func rank(m Match) int {
	switch {
	case m.Region.Unreadable && m.Inside:
		return 0
	case m.Inside:
		return 1
	case m.Region.Unreadable:
		return 2
	}
	return 3
}

// Owner finds the region that holds a whole address, or the one whose end lies closest before it.
func Owner(regions []Region, addr uint64) (Match, bool) {
	best, found := Match{}, false
	for _, r := range regions {
		switch {
		case addr >= r.Addr && addr-r.Addr < r.Size:
			return Match{r, true, addr - r.Addr}, true
		case addr >= r.Addr:
			if past := addr - r.Addr - r.Size; !found || past < best.Offset {
				best, found = Match{r, false, past}, true
			}
		}
	}
	return best, found
}
