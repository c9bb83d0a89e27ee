package aicore

import (
	"fmt"
	"strings"
	"sync"
)

var registerTable = sync.OnceValue(func() map[Family]map[uint64]string {
	m := map[Family]map[uint64]string{V100: {}, V200: {}, V300: {}}
	for _, r := range rows(csvRegisters) {
		if len(r) < 4 {
			continue
		}
		f := V100
		switch {
		case strings.HasPrefix(r[0], "950"):
			f = V200
		case strings.HasPrefix(r[0], "next"):
			f = V300
		}
		m[f][number(r[1])] = r[3]
	}
	return m
})

// PCAddress is the register that holds the program counter in a core file.
func PCAddress(f Family) uint64 {
	if f == V200 || f == V300 {
		return 0x0010000000000040
	}
	return 64
}

// RegisterName names a register of a core file: error registers by the table, the others by their unit and number.
func RegisterName(f Family, addr uint64) string {
	table := registerTable()[f]
	if f == Legacy {
		table = registerTable()[V100] // the same numbers, fewer of them
	}
	if n, ok := table[addr]; ok {
		return n
	}
	high, low := addr>>48, addr&mask48
	if f == V200 || f == V300 {
		return name950(high, low, addr)
	}
	switch {
	case high == 0 && low < 32:
		return fmt.Sprintf("X%d", low)
	case high == 0 && low == 64:
		return "PC"
	case high == 0:
		return fmt.Sprintf("SPR%d", low)
	case high == 256 && low < 2:
		return [...]string{"MASK", "CMPMASK"}[low]
	case high == 256:
		return fmt.Sprintf("VEC%d", low)
	case high == 257:
		return fmt.Sprintf("VA%d", low)
	case high == 515:
		return fmt.Sprintf("MTE%d", low)
	case high == 768:
		return fmt.Sprintf("CUBE_0x%x", low)
	}
	return fmt.Sprintf("0x%x", addr)
}

func name950(high, low, addr uint64) string {
	switch {
	case high == 0:
		return "STATUS_" + unit950(low) + fmt.Sprintf("_0x%x", low)
	case high == 0x10 && low < 32:
		return fmt.Sprintf("X%d", low)
	case high == 0x10 && low == 0x40:
		return "PC"
	case high == 0x10, high == 0x15, high == 0x16:
		return fmt.Sprintf("SU_%x_0x%x", high, low)
	case high >= 0x21 && high <= 0x24:
		return fmt.Sprintf("MTE_%x_0x%x", high, low)
	case high == 0x32:
		return fmt.Sprintf("VREG_0x%x", low)
	case high == 0x39:
		return fmt.Sprintf("VBUF_0x%x", low)
	case high == 0x40:
		return fmt.Sprintf("CUBE_0x%x", low)
	case high >= 0x60 && high <= 0x67:
		return fmt.Sprintf("L1_%x_0x%x", high, low)
	}
	return fmt.Sprintf("0x%x", addr)
}

func unit950(low uint64) string {
	switch low >> 12 {
	case 4:
		return "SC"
	case 5:
		return "SU"
	case 6:
		return "MTE"
	case 7:
		return "VEC"
	case 8:
		return "CUBE"
	case 0xa:
		return "L1"
	}
	return "OTHER"
}

// FamilyOfDevType maps the devType of a core file (and the chip type of the driver) to a family.
func FamilyOfDevType(t uint32) (Family, string) {
	switch t {
	case 0:
		return Legacy, "310"
	case 1:
		return Legacy, "910"
	case 4:
		return Legacy, "310P"
	case 5:
		return V100, "910B/A3"
	case 7:
		return Legacy, "310B"
	case 13:
		return V100, "910B class (type 13)"
	case 15:
		return V200, "950"
	case 16:
		return V300, "after 950"
	}
	return FamilyUnknown, fmt.Sprintf("unknown(%d)", t)
}

// VectorBase is the number that a core file adds to the id of a vector core.
func VectorBase(f Family) int {
	switch f {
	case V200, V300:
		return 36
	case Legacy:
		return 64 // only simulated devices of this family leave core files
	}
	return 25
}

// RegisterValue is a named 32-bit error register.
type RegisterValue struct {
	Name  string
	Value uint32
}

// Collect turns named error registers of a core into words, codes, infos. It takes the names of core files
// (MTE_ERR_INFO_0) and of firmware text dumps (MTE_ERR_INFO, 64-bit values split by the caller).
func Collect(f Family, regs []RegisterValue) (words Words, codes []int, in Infos) {
	var aic [6]uint32
	for _, r := range regs {
		v := uint64(r.Value)
		switch {
		case strings.HasPrefix(r.Name, "AIC_ERROR_") && len(r.Name) == 11 && r.Name[10] >= '0' && r.Name[10] <= '5':
			aic[r.Name[10]-'0'] = r.Value
		case r.Name == "BIU_ERR_INFO_0":
			in.BIU |= v
		case r.Name == "BIU_ERR_INFO_1":
			in.BIU |= v << 32
		case r.Name == "CCU_ERR_INFO_0":
			in.CCU |= v
		case r.Name == "CCU_ERR_INFO_1":
			in.CCU |= v << 32
		case r.Name == "IFU_ERR_INFO_0":
			in.IFU |= v
		case r.Name == "IFU_ERR_INFO_1":
			in.IFU |= v << 32
		case r.Name == "MTE_ERR_INFO_0", r.Name == "MTE_ERR_INFO_T0_0":
			in.MTE |= v
		case r.Name == "MTE_ERR_INFO_1", r.Name == "MTE_ERR_INFO_T0_1":
			in.MTE |= v << 32
		case r.Name == "VEC_ERR_INFO_0", r.Name == "VEC_ERR_INFO_T0_0":
			in.Vec |= v
		case r.Name == "VEC_ERR_INFO_1", r.Name == "VEC_ERR_INFO_T0_1":
			in.Vec |= v << 32
		case r.Name == "VEC_ERR_INFO_T0_2":
			in.VecT02, in.HasVecT02 = r.Value, true
		case r.Name == "FIXP_ERR_INFO_0":
			in.FIXP0 = r.Value
		case r.Name == "FIXP_ERR_INFO_1":
			in.FIXP1 = r.Value
		case r.Name == "CUBE_ERR_INFO", r.Name == "CUBE_ERR_INFO_T0_0":
			in.Cube |= v
		case r.Name == "CUBE_ERR_INFO_T0_1":
			in.Cube |= v << 32
		case r.Name == "SU_ERR_INFO_T0_0":
			in.SU |= v
		case r.Name == "SU_ERR_INFO_T0_1":
			in.SU |= v << 32
		case r.Name == "L1_ERR_INFO_T0_0":
			in.L1 |= v
		case r.Name == "L1_ERR_INFO_T0_1":
			in.L1 |= v << 32
		case r.Name == "SC_ERR_INFO_T0_0":
			in.SC |= v
		}
		codes = append(codes, codes950(r)...)
	}
	if f == V200 || f == V300 {
		return Words{}, codes, in
	}
	return WordsOf(aic), nil, in
}

func codes950(r RegisterValue) []int {
	switch r.Name {
	case "CUBE_ERROR_T0_0":
		return CodesOf("CUBE", 0, r.Value)
	case "CUBE_ERROR_T0_1":
		return CodesOf("CUBE", 1, r.Value)
	case "MTE_ERROR_T0_0":
		return CodesOf("MTE", 0, r.Value)
	case "L1_ERROR_T0_0":
		return CodesOf("L1/FIXP", 0, r.Value)
	case "L1_ERROR_T0_1":
		return CodesOf("L1/FIXP", 1, r.Value)
	case "SC_ERROR_T0_0":
		return CodesOf("SC", 0, r.Value)
	case "SU_ERROR_T0_0":
		return CodesOf("SU", 0, r.Value)
	case "SU_ERROR_T0_1":
		return CodesOf("SU", 1, r.Value)
	case "VEC_ERROR_T0_0":
		return CodesOf("VEC", 0, r.Value)
	case "VEC_ERROR_T0_2":
		return CodesOf("VEC", 1, r.Value)
	}
	return nil
}
