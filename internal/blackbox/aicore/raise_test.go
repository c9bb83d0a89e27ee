package aicore

import (
	"slices"
	"testing"
)

// What a core raises is read back by the rules that read real cores: the bit, the program counter, the address, also by
// way of the registers of a core file.
func TestRaise_isRepaired(t *testing.T) {
	const pc, raw, addr = 0x1240c0018530, 0x1240c0018540, 0x12c041207fe0
	for _, f := range []Family{Legacy, V100, V200} {
		for _, vector := range []bool{false, true} {
			for c, want := range map[Condition]string{MoveRefused: "mte_biu_rdwr_resp", BufferOverrun: "", ScalarDivide: "ccu_div0", VectorDivide: "", IllegalCommand: "illegal_instr"} {
				r := Raise(f, c, vector, pc, addr, ReadDecode)
				bits := r.Bits(f)
				if len(bits) != 1 || bits[0].Class == "unknown" {
					t.Fatalf("%v, condition %d: bits %+v", f, c, bits)
				}
				if name := bits[0].Name; want != "" && f != V200 && name != want && name != "ccu_"+want {
					t.Errorf("%v, condition %d: %s", f, c, name)
				}
				var named []RegisterValue
				for _, e := range ErrorRegisters(f, r) {
					named = append(named, RegisterValue{RegisterName(f, e.Addr), e.Value})
				}
				words, codes, in := Collect(f, named)
				if words != r.Words || !slices.Equal(codes, r.Codes) {
					t.Errorf("%v, condition %d: registers give %x %v, raised %x %v", f, c, words, codes, r.Words, r.Codes)
				}
				fixed := Repair(f, raw, bits, in)
				switch {
				case f == Legacy && len(fixed) != 0:
					t.Errorf("%v repairs %v", f, fixed)
				case f != Legacy && (len(fixed) != 1 || fixed[0].Value != pc || fixed[0].Doubtful != ""):
					t.Errorf("%v, condition %d: repaired to %+v, want 0x%x", f, c, fixed, uint64(pc))
				}
				if c == MoveRefused && f == V100 {
					fr := FragmentsV100(bits, in)
					if len(fr) != 1 || fr[0].Value != addr>>5&0x7fff || BusError(in.MTE) != "read decode error" {
						t.Errorf("fragments %v, bus %q", fr, BusError(in.MTE))
					}
				}
				if c == ScalarDivide && len(FragmentsV100(bits, in)) != 0 {
					t.Errorf("%v: a division comes with an address", f)
				}
			}
		}
	}
}

func TestFamilyOfChip(t *testing.T) {
	for name, want := range map[string]uint32{"Ascend310": 0, "Ascend910": 1, "Ascend310P": 4, "Ascend910B": 5, "Ascend910_93": 5, "Ascend310B": 7, "Ascend950": 15} {
		f, devType := FamilyOfChip(name)
		if back, _ := FamilyOfDevType(devType); devType != want || back != f {
			t.Errorf("%s: %v, type %d, which is %v", name, f, devType, back)
		}
	}
}
