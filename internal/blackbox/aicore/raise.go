package aicore

// Condition is an error that a core of the simulated device meets.
type Condition int

// Conditions.
const (
	MoveRefused    Condition = iota // a move from or to global memory
	BufferOverrun                   // the computation reaches beyond UB (vector) or L0C (cube)
	ScalarDivide                    // division by zero of the scalar unit
	VectorDivide                    // and of the vector unit
	IllegalCommand                  // an instruction that the core does not have
)

// Kinds of answers of the bus to a refused move, as in the info words.
const (
	ReadBus     = 2 // the page refuses
	ReadDecode  = 3 // no such address
	WriteBus    = 6
	WriteDecode = 7
)

// FamilyOfChip is the family of a chip by its short name (Short_SoC_version), and the number of its device type.
func FamilyOfChip(short string) (f Family, devType uint32) {
	switch short {
	case "Ascend310":
		return Legacy, 0
	case "Ascend910":
		return Legacy, 1
	case "Ascend310P":
		return Legacy, 4
	case "Ascend310B":
		return Legacy, 7
	case "Ascend950", "Ascend350":
		return V200, 15
	}
	return V100, 5
}

// Raised is what a core reports of an error: words or codes, by the family, and the info words.
type Raised struct {
	Words Words
	Codes []int
	Infos Infos
}

// Raise is what a core of the family reports when the instruction at pc meets the condition; addr and bus are of a
// refused move. It is the inverse of Repair and of the address fragments.
func Raise(f Family, c Condition, vector bool, pc, addr uint64, bus int) Raised {
	if f == V200 || f == V300 {
		return raise950(c, vector, pc)
	}
	var r Raised
	bit := func(n int) { r.Words[n/64] |= 1 << (n % 64) }
	low, high := pc>>2&0xff, pc>>10&0xff
	in := &r.Infos
	switch {
	case c == MoveRefused:
		bit(23)
		in.MTE = high<<32 | uint64(bus)<<24 | addr>>5&0x7fff<<8 | low
	case c == BufferOverrun && !vector:
		bit(19)
		in.Cube = high<<24 | low
	case c == BufferOverrun:
		bit(62)
		in.Vec = high<<32 | low
	case c == VectorDivide:
		bit(52)
		in.Vec = high<<32 | low
	case c == ScalarDivide:
		bit(3)
		in.CCU = high<<23 | low
	case c == IllegalCommand:
		bit(4)
		in.CCU = high<<23 | low
	}
	if f == Legacy { // one register a unit
		in.MTE, in.Vec = in.MTE&0xffffffff, in.Vec&0xffffffff
	}
	return r
}

func raise950(c Condition, vector bool, pc uint64) Raised {
	var r Raised
	at := pc >> 2 & 0xffff
	in := &r.Infos
	switch {
	case c == MoveRefused:
		r.Codes, in.MTE = []int{95}, at
	case c == BufferOverrun && !vector:
		r.Codes, in.Cube = []int{7}, at<<32
	case c == BufferOverrun || c == VectorDivide:
		if r.Codes = []int{341}; c == VectorDivide {
			r.Codes = []int{337}
		}
		in.Vec, in.VecT02, in.HasVecT02 = pc<<32, uint32(pc>>32)&0x1ffff, true
	case c == ScalarDivide:
		r.Codes, in.SU = []int{258}, at
	case c == IllegalCommand:
		r.Codes, in.SU = []int{259}, at
	}
	return r
}

// Bits names what was raised.
func (r *Raised) Bits(f Family) []Bit {
	if f != V200 && f != V300 {
		return r.Words.Bits()
	}
	out := make([]Bit, len(r.Codes))
	for i, c := range r.Codes {
		out[i], _ = BitAt(f, c)
	}
	return out
}

// ErrorRegister is an error register of a core file.
type ErrorRegister struct {
	Addr  uint64
	Value uint32
}

// ErrorRegisters are the registers that hold what a core has raised, in ascending order.
func ErrorRegisters(f Family, r Raised) []ErrorRegister {
	var out []ErrorRegister
	add := func(addr uint64, v uint64) { out = append(out, ErrorRegister{addr, uint32(v)}) }
	pair := func(low, high uint64, v uint64) { add(low, v); add(high, v>>32) }
	in := &r.Infos
	if f == V200 || f == V300 {
		words := map[string]uint64{}
		for _, c := range r.Codes {
			b, _ := BitAt(f, c)
			words[b.Unit] |= 1 << (b.Pos + 32*b.Word)
		}
		add(0x4700, words["SC"])
		pair(0x4730, 0x4734, in.SC)
		add(0x5700, words["SU"])
		pair(0x5730, 0x5734, in.SU)
		add(0x6700, words["MTE"])
		pair(0x6718, 0x671c, in.MTE)
		pair(0x7700, 0x7708, words["VEC"])
		pair(0x7730, 0x7734, in.Vec)
		add(0x7738, uint64(in.VecT02))
		pair(0x8700, 0x8704, words["CUBE"])
		pair(0x8730, 0x8734, in.Cube)
		pair(0xa700, 0xa704, words["L1/FIXP"])
		pair(0xa718, 0xa71c, in.L1)
		return out
	}
	pair(0x700, 0x704, r.Words[0])
	if f == Legacy {
		add(0x710, in.BIU)
		add(0x718, in.CCU)
		add(0x720, in.Cube)
		add(0x728, in.IFU)
		add(0x730, in.MTE)
		add(0x738, in.Vec)
		return out
	}
	pair(0x710, 0x714, in.BIU)
	pair(0x718, 0x71c, in.CCU)
	add(0x720, in.Cube)
	pair(0x728, 0x72c, in.IFU)
	pair(0x730, 0x734, in.MTE)
	pair(0x738, 0x73c, in.Vec)
	pair(0x760, 0x764, r.Words[1])
	pair(0x780, 0x790, r.Words[2])
	pair(0x78c, 0x7c8, uint64(in.FIXP1)<<32|uint64(in.FIXP0))
	return out
}

// GeneralRegister is the address of register X n in a core file.
func GeneralRegister(f Family, n int) uint64 {
	if f == V200 || f == V300 {
		return PCAddress(f)&^0xff | uint64(n)
	}
	return uint64(n)
}

// SpecialRegister is the address of special register n, from 0.
func SpecialRegister(f Family, n int) uint64 {
	if f == V200 || f == V300 {
		return PCAddress(f)&^0xff | uint64(0x80+n)
	}
	return uint64(66 + n)
}
