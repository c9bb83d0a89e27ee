// Package aicore knows what an AI core leaves behind when it fails: the error words and what each bit means, the
// error-info words of the units (program counter and address fragments), the rule that repairs the program
// counter, and which known memory region a fragment of an address can belong to. It reads no files; the decoders
// of logs and dumps give it numbers.
package aicore

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Family is a generation of AI cores: it decides which error words exist and how the program counter is repaired.
type Family uint8

// Families. Legacy is the time before separate vector cores (310, 310P, 910): one register a unit, no repair.
const (
	FamilyUnknown Family = iota
	Legacy               // 310, 310P, 910
	V100                 // 910B, 910_93 (A2, A3)
	V200                 // 950
	V300                 // the generation after the 950
)

var familyNames = [...]string{"unknown", "310/310P/910", "910B/A3", "950", "after 950"}

func (f Family) String() string {
	if int(f) < len(familyNames) {
		return familyNames[f]
	}
	return fmt.Sprintf("family(%d)", uint8(f))
}

// Bit is one condition an AI core can report.
type Bit struct {
	Index   int    // flat index over the three 64-bit words of the log (910B), or the decimal code (950)
	Word    int    // number of the 32-bit error register (910B); register of the unit (950)
	Pos     int    // bit in that register
	ErrCode int    // which of the three values of errcode:(A, B, C) holds it (910B)
	Value   uint64 // its value there
	Unit    string // CCU, MTE, CUBE, VEC, FIXP, IFU, BIU, SC, SU, L1/FIXP
	Name    string
	Class   string // address, align, code, config, data, hang, hardware, sync, trap
	Meaning string
}

//go:embed tables/aicore_error_bits_v100.csv
var csvV100 string

//go:embed tables/aicore_error_bits_950.csv
var csv950 string

//go:embed tables/core_error_registers.csv
var csvRegisters string

var (
	tableV100 = sync.OnceValue(parseV100)
	table950  = sync.OnceValue(parse950)
)

// Rows reads an embedded table without its header. The tables are part of the program, so damage is a bug.
func rows(text string) [][]string {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil || len(all) < 2 {
		return nil
	}
	return all[1:]
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(s), 0, 64)
	return n
}

func parseV100() map[int]Bit {
	m := map[int]Bit{}
	for _, r := range rows(csvV100) {
		if len(r) < 9 {
			continue
		}
		b := Bit{Index: int(number(r[0])), Word: int(number(r[1])), Pos: int(number(r[2])), ErrCode: int(number(r[3])),
			Value: number(r[4]), Unit: r[5], Name: r[6], Class: r[7], Meaning: r[8]}
		m[b.Index] = b
	}
	return m
}

func parse950() map[int]Bit {
	m := map[int]Bit{}
	for _, r := range rows(csv950) {
		if len(r) < 7 {
			continue
		}
		b := Bit{Index: int(number(r[0])), Unit: r[1], Word: int(number(r[2])), Pos: int(number(r[3])),
			Name: r[4], Class: r[5], Meaning: r[6]}
		b.Value = 1 << b.Pos
		m[b.Index] = b
	}
	return m
}

// BitAt is the entry of one bit (910B and older: flat index) or code (950). Unknown ones come back with the name
// "unknown(N)" and false.
func BitAt(f Family, index int) (Bit, bool) {
	t := tableV100()
	if f == V200 || f == V300 {
		t = table950()
	}
	if b, ok := t[index]; ok {
		return b, true
	}
	return Bit{Index: index, Name: fmt.Sprintf("unknown(%d)", index), Unit: "?", Class: "unknown", Meaning: "no entry in the tables"}, false
}

// Words are the three 64-bit values of errcode:(A, B, C) on the 910B: A = AIC_ERROR_1:AIC_ERROR_0, B = 3:2, C = 5:4.
type Words [3]uint64

// WordsOf joins the six 32-bit error registers.
func WordsOf(reg [6]uint32) Words {
	return Words{uint64(reg[1])<<32 | uint64(reg[0]), uint64(reg[3])<<32 | uint64(reg[2]), uint64(reg[5])<<32 | uint64(reg[4])}
}

// Zero says that no bit is set: a time-out, a trap, or a core that was only stopped.
func (w Words) Zero() bool { return w == Words{} }

// Indexes lists the flat indexes of the set bits. Of the third word only the low 17 bits and the upper half are
// used: 128 to 144 and 145 to 176.
func (w Words) Indexes() []int {
	out := []int{}
	for i, v := range w {
		for b := 0; b < 64; b++ {
			if v>>b&1 == 0 {
				continue
			}
			switch {
			case i < 2:
				out = append(out, i*64+b)
			case b < 32:
				out = append(out, 128+b)
			default:
				out = append(out, 145+b-32)
			}
		}
	}
	return out
}

// Bits names the set bits.
func (w Words) Bits() []Bit {
	idx := w.Indexes()
	out := make([]Bit, len(idx))
	for i, n := range idx {
		out[i], _ = BitAt(V100, n)
	}
	return out
}

// CodesOf reads the error register of one 950 unit: the decimal codes of its set bits.
func CodesOf(unit string, register int, value uint32) []int {
	base := map[string]int{"CUBE": 0, "MTE": 64, "L1/FIXP": 128, "SC": 192, "SU": 256, "VEC": 320}
	b, ok := base[unit]
	if !ok {
		return nil
	}
	var out []int
	for i := 0; i < 32; i++ {
		if value>>i&1 != 0 {
			out = append(out, b+register*32+i)
		}
	}
	return out
}

// All lists the table of a family in the order of the index.
func All(f Family) []Bit {
	last := 176
	if f == V200 || f == V300 {
		last = 383
	}
	var out []Bit
	for i := 0; i <= last; i++ {
		if b, ok := BitAt(f, i); ok {
			out = append(out, b)
		}
	}
	return out
}
