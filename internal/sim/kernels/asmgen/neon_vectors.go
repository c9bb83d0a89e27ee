package main

import (
	"fmt"
	"log"
	"regexp"
	"strconv"
	"strings"
)

// neon is the isa of arm64. The element-wise functions are written once, in the three-operand form of AVX2 (the last
// operand is the result); here each of their instructions becomes one to three of NEON, which do the same to vectors of
// four. Registers 16 to 18 are for what an instruction needs on the way.
var neon = isa{name: "NEON", reg: "Y", width: 16}

// More instructions on vectors of four; see neonAdd.
const (
	neonSub      = 0x4ea0d400
	neonDiv      = 0x6e20fc00
	neonFma      = 0x4e20cc00 // Vd = Vd + Vn · Vm
	neonGreater  = 0x6ea0e400 // all ones where Vn > Vm
	neonAtLeast  = 0x6e20e400
	neonEqual    = 0x4e20e400
	neonSelect   = 0x6e601c00 // Vd = Vd ? Vn : Vm, by bits
	neonAddInt   = 0x4ea08400
	neonSubInt   = 0x6ea08400
	neonAnd      = 0x4e201c00
	neonOr       = 0x4ea01c00
	neonXor      = 0x6e201c00
	neonNot      = 0x6e205800 // of Vn, like the next two
	neonSqrt     = 0x6ea1f800
	neonToFloat  = 0x4e21d800
	neonShiftUp  = 0x4f205400 // Vd = Vn shifted by the number at bit 16
	neonShiftArt = 0x4f200400 // arithmetic, by 32 less that number
)

// words are the integer registers and instructions of arm64 for those of amd64.
var words = strings.NewReplacer("DI", "R0", "SI", "R1", "BX", "R2", "R8", "R3", "CX", "R4",
	"MOVQ", "MOVD", "SUBQ", "SUBS", "ADDQ", "ADD", "JMP", "B", "JLT", "BLT", "JGE", "BGE")

// constantsAt is the register with the address of the constants.
const constantsAt = "R20"

var vectorRegister = regexp.MustCompile(`^Y(\d+)$`)

// translate writes an instruction of AVX2 in those of NEON.
func (w *writer) translate(line string) {
	name, rest, _ := strings.Cut(line, " ")
	var args []string
	if rest != "" {
		args = strings.Split(rest, ", ")
	}
	switch {
	case name == "VZEROUPPER":
		return
	case !strings.HasPrefix(name, "V"):
		w.raw(words.Replace(line))
		return
	case name == "VBROADCASTSS":
		w.raw(fmt.Sprintf("FMOVS %s, F16", args[0]))
		w.raw(fmt.Sprintf("VDUP V16.S[0], V%d.S4", number(args[1])))
		return
	}
	last := args[len(args)-1]
	if name == "VMOVUPS" && !vectorRegister.MatchString(last) {
		w.raw(fmt.Sprintf("FMOVQ F%d, %s", number(args[0]), words.Replace(last)))
		return
	}
	d := number(last)
	v := make([]int, len(args))
	for i, a := range args[:len(args)-1] {
		switch {
		case strings.HasPrefix(a, "$"):
			n, err := strconv.Atoi(a[1:])
			if err != nil {
				log.Fatalf("%s: %v", line, err)
			}
			v[i] = n
		case vectorRegister.MatchString(a):
			v[i] = number(a)
		default:
			v[i] = 16
			w.load(a, 16)
		}
	}
	three := func(code uint32, what string) { w.word(code, d, v[1], v[0], what) }
	choose := func(mask uint32, n, m, yes, no int) { // by way of 17: the operands may be the result
		w.word(mask, 17, n, m, "FCM")
		w.word(neonSelect, 17, yes, no, "BSL")
		w.word(neonOr, d, 17, 17, "MOV")
	}
	switch name {
	case "VMOVUPS", "VMOVAPS":
		w.word(neonOr, d, v[0], v[0], "MOV")
	case "VADDPS":
		three(neonAdd, "FADD")
	case "VSUBPS":
		three(neonSub, "FSUB")
	case "VMULPS":
		three(neonMul, "FMUL")
	case "VDIVPS":
		three(neonDiv, "FDIV")
	case "VPADDD":
		three(neonAddInt, "ADD")
	case "VPSUBD":
		three(neonSubInt, "SUB")
	case "VANDPS":
		three(neonAnd, "AND")
	case "VORPS":
		three(neonOr, "ORR")
	case "VXORPS":
		three(neonXor, "EOR")
	case "VSQRTPS":
		w.word(neonSqrt, d, v[0], 0, "FSQRT")
	case "VCVTDQ2PS":
		w.word(neonToFloat, d, v[0], 0, "SCVTF")
	case "VPSLLD":
		w.raw(fmt.Sprintf("WORD $%#08x // SHL $%d, V%d, V%d", neonShiftUp|v[0]<<16|v[1]<<5|d, v[0], v[1], d))
	case "VPSRAD":
		w.raw(fmt.Sprintf("WORD $%#08x // SSHR $%d, V%d, V%d", neonShiftArt|(32-v[0])<<16|v[1]<<5|d, v[0], v[1], d))
	case "VFMADD213PS": // d = d·v1 + v0
		w.word(neonOr, 18, v[0], v[0], "MOV")
		w.word(neonFma, 18, d, v[1], "FMLA")
		w.word(neonOr, d, 18, 18, "MOV")
	case "VMAXPS": // v0 where either is NaN or both are zero
		choose(neonGreater, v[1], v[0], v[1], v[0])
	case "VMINPS":
		choose(neonGreater, v[0], v[1], v[1], v[0])
	case "VCMPPS":
		w.compare(v[0], d, v[2], v[1])
	case "VBLENDVPS": // where v0, v1, else v2
		w.word(neonOr, 17, v[0], v[0], "MOV")
		w.word(neonSelect, 17, v[1], v[2], "BSL")
		w.word(neonOr, d, 17, 17, "MOV")
	default:
		log.Fatalf("no NEON for %q", line)
	}
}

// compare sets register d to the mask of a comparison, by its number in AVX.
func (w *writer) compare(how, d, a, b int) {
	switch how {
	case 1:
		w.word(neonGreater, d, b, a, "FCMGT")
	case 3: // a is b: where it is NaN
		w.word(neonEqual, d, a, b, "FCMEQ")
		w.word(neonNot, d, d, 0, "NOT")
	case atLeast:
		w.word(neonAtLeast, d, a, b, "FCMGE")
	default:
		log.Fatalf("no NEON for comparison %d", how)
	}
}

// load loads a vector from memory, which may be a constant.
func (w *writer) load(from string, to int) {
	if at, ok := strings.CutPrefix(from, "constants<>+"); ok {
		w.raw(fmt.Sprintf("FMOVQ %s(%s), F%d", strings.TrimSuffix(at, "(SB)"), constantsAt, to))
		return
	}
	w.raw(fmt.Sprintf("FMOVQ %s, F%d", words.Replace(from), to))
}

// number is that of a vector register.
func number(register string) int {
	m := vectorRegister.FindStringSubmatch(register)
	if m == nil {
		log.Fatalf("%q is no vector register", register)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		log.Fatal(err)
	}
	return n
}
