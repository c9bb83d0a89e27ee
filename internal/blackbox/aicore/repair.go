package aicore

import (
	"fmt"
	"slices"
	"strings"
)

// Infos are the error-info words of a core. Each 64-bit value is INFO_1<<32 | INFO_0, as the log prints it.
type Infos struct {
	Vec, MTE, IFU, CCU, Cube, BIU uint64
	FIXP0, FIXP1                  uint32
	// 950 only: T0_1<<32 | T0_0 of each unit; Vec and MTE and Cube above are used as well.
	SC, SU, L1 uint64
	VecT02     uint32 // VEC_ERR_INFO_T0_2 (upper bits of the vector unit's program counter)
	HasVecT02  bool
}

// PC is a program counter that the repair rule produced.
type PC struct {
	Unit     string // the unit whose error-info word was used
	Value    uint64
	Doubtful string // why it may be wrong; empty if it looks right
}

// mask48 drops the tags that older chips keep in the upper 16 bits of an address.
const mask48 = 1<<48 - 1

// Mask48 is the address without tag bits.
func Mask48(a uint64) uint64 { return a & mask48 }

// Repair applies the rule of the family: the core runs on for some instructions after the fault, and the unit that
// met it keeps bits of its own program counter. The first candidate is the one to use, the others are further units
// that reported an error. No error bit of a unit that keeps a counter, or a family without such words, gives none:
// then the raw counter is all there is (and after a hang it is exact).
//
// On the 910B bits 17 to 2 are replaced, module order CUBE, CCU, MTE, VEC, FIXP inside error word 0, then word 1...
// On the 950 bits 17 to 2 of SU, MTE, CUBE, L1, and 48 bits of VEC.
func Repair(f Family, raw uint64, bits []Bit, in Infos) []PC {
	raw &= mask48
	switch f {
	case V100:
		return repairV100(raw, bits, in)
	case V200, V300:
		return repair950(raw, bits, in)
	}
	return nil
}

func repairV100(raw uint64, bits []Bit, in Infos) []PC {
	order := []string{"CUBE", "CCU", "MTE", "VEC", "FIXP"}
	// low gives pc[9:2], high pc[17:10].
	fields := map[string][2]uint64{
		"CUBE": {in.Cube & 0xff, in.Cube >> 24 & 0xff},
		"CCU":  {in.CCU & 0xff, in.CCU >> 23 & 0xff},
		"MTE":  {in.MTE & 0xff, in.MTE >> 32 & 0xff},
		"VEC":  {in.Vec & 0xff, in.Vec >> 32 & 0xff},
		"FIXP": {uint64(in.FIXP0) & 0xff, uint64(in.FIXP1) & 0xff},
	}
	var out []PC
	for word := 0; word < 6; word++ {
		for _, unit := range order {
			if !slices.ContainsFunc(bits, func(b Bit) bool { return b.Word == word && b.Unit == unit }) ||
				slices.ContainsFunc(out, func(p PC) bool { return p.Unit == unit }) {
				continue
			}
			fl := fields[unit]
			out = append(out, judge(PC{Unit: unit, Value: raw&^0x3fffc | fl[1]<<10 | fl[0]<<2}, raw))
		}
	}
	return out
}

func repair950(raw uint64, bits []Bit, in Infos) []PC {
	var out []PC
	for _, unit := range []string{"SU", "MTE", "CUBE", "L1/FIXP", "VEC"} {
		if !slices.ContainsFunc(bits, func(b Bit) bool { return b.Unit == unit }) {
			continue
		}
		var v uint64
		switch unit {
		case "SU":
			v = raw&^0x3fffc | (in.SU&0xffff)<<2
		case "MTE":
			v = raw&^0x3fffc | (in.MTE&0xffff)<<2
		case "CUBE":
			v = raw&^0x3fffc | (in.Cube>>32&0xffff)<<2
		case "L1/FIXP":
			v = raw&^0x3fffc | (in.L1>>32&0xffff)<<2
		case "VEC":
			v = raw&^0xffffffff | in.Vec>>32
			if in.HasVecT02 {
				v = uint64(in.VecT02&0x1ffff)<<32 | in.Vec>>32
			}
		}
		out = append(out, judge(PC{Unit: unit, Value: v & mask48}, raw))
	}
	return out
}

// judge marks a counter that lies after the raw one or far before it: bits above 17 come from the raw counter, and
// a 256 KiB border can lie between the two.
func judge(p PC, raw uint64) PC {
	switch {
	case p.Value > raw:
		p.Doubtful = fmt.Sprintf("0x%x after the counter that the core reported; a 256 KiB border may lie between them", p.Value-raw)
	case raw-p.Value > 1024:
		p.Doubtful = fmt.Sprintf("0x%x before the counter that the core reported, more than a core usually runs on", raw-p.Value)
	}
	return p
}

// BusError is the kind of bus answer in MTE_ERR_INFO_0 (also FIXP): "read bus error" and the like; empty if none.
func BusError(info uint64) string {
	switch info >> 24 & 7 {
	case 2:
		return "read bus error"
	case 3:
		return "read decode error"
	case 6:
		return "write bus error"
	case 7:
		return "write decode error"
	}
	return ""
}

// BusMeaning explains a BusError.
func BusMeaning(kind string) string {
	switch {
	case strings.HasSuffix(kind, "decode error"):
		return "no such address in the memory map of the chip: a garbage pointer"
	case strings.HasSuffix(kind, "bus error"):
		return "the address is in the memory map, but the page refused the access: never mapped, already freed, or remote memory or ECC"
	}
	return ""
}
