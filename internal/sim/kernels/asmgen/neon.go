package main

import (
	"fmt"
	"strings"
)

// The tiles of matrix products for arm64, whose vector unit (NEON) every such processor has: vectors of four, 32
// registers. Go's assembler lacks most of its arithmetic on float32, which is therefore written as words.

// Instructions on vectors of four float32; Vd is in the low bits, Vn at bit 5, Vm at bit 16.
const (
	neonAdd   = 0x4e20d400 // Vd = Vn + Vm
	neonMul   = 0x6e20dc00
	neonMulBy = 0x4f809000 // Vd = Vn · Vm[element]
	neonFmaBy = 0x4f801000 // Vd = fma(Vn, Vm[element], Vd)
)

// word writes an instruction, with what it is beside it.
func (w *writer) word(code uint32, d, n, m int, what string) {
	w.raw(fmt.Sprintf("WORD $%#08x // %s V%d, V%d, V%d", code|uint32(m)<<16|uint32(n)<<5|uint32(d), what, m, n, d))
}

// by is word for an instruction that takes element e of Vm.
func (w *writer) by(code uint32, d, n, m, e int, what string) {
	code |= uint32(e&1)<<21 | uint32(e>>1)<<11
	w.raw(fmt.Sprintf("WORD $%#08x // %s V%d.S[%d], V%d, V%d", code|uint32(m)<<16|uint32(n)<<5|uint32(d), what, m, e, n, d))
}

// neonFunction starts a function whose arguments are words, loaded into the registers in turn.
func (w *writer) neonFunction(name, args string, regs ...string) {
	list := strings.Fields(args)
	fmt.Fprintf(&w.text, "\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, 8*len(list))
	for i, a := range list {
		w.op("MOVD %s+%d(FP), %s", a, 8*i, regs[i])
	}
}

// vecList names n registers from first on.
func vecList(first, n int) string {
	var v []string
	for i := range n {
		v = append(v, fmt.Sprintf("V%d.S4", first+i))
	}
	return "[" + strings.Join(v, ", ") + "]"
}

func (w *writer) neonZero(i int) { w.op("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i) }

// neonProducts are the functions of gemm_arm64.s.
func neonProducts(w *writer) {
	neonFmaTile(w)
	neonQuadRow(w)
	neonLaneTile(w)
}

// neonRows are the registers that hold the addresses of rows of A.
var neonRows = []string{"R11", "R12", "R13", "R14", "R15", "R19", "R20", "R21"}

// neonFmaTile has a loop over tiles of two vectors for each number of rows, and a tile of one vector behind it.
func neonFmaTile(w *writer) {
	w.neonFunction("fmaTileNEON", "rows vecs k a lda b offsets step c ldc add", "R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10")
	for _, r := range []string{"R4", "R7", "R9"} {
		w.op("LSL $2, %s", r)
	}
	name := func(rows int) string { return fmt.Sprintf("rows%d", rows) }
	for rows := len(neonRows); rows > 1; rows-- {
		w.op("CMP $%d, R0", rows)
		w.op("BEQ %s", name(rows))
	}
	for rows := 1; rows <= len(neonRows); rows++ {
		last, done := w.fresh("last"), w.fresh("done")
		w.label(name(rows))
		w.op("CMP $2, R1")
		w.op("BLT %s", last)
		neonFmaBlock(w, rows, 2)
		w.op("SUB $2, R1")
		w.op("ADD R7, R5")
		w.op("ADD $32, R8")
		w.op("B %s", name(rows))
		w.label(last)
		w.op("CBZ R1, %s", done)
		neonFmaBlock(w, rows, 1)
		w.label(done)
		w.op("RET")
	}
}

// neonFmaBlock is a tile: sums in registers 0 to 15, four k of each row of A in 16 to 23, rows of B from 24 on.
func neonFmaBlock(w *writer, rows, vecs int) {
	const unroll = 4
	acc := func(i, v int) int { return i*vecs + v }
	w.op("MOVD R3, %s", neonRows[0])
	for i := 1; i < rows; i++ {
		w.op("ADD R4, %s, %s", neonRows[i-1], neonRows[i])
	}
	for i := range rows * vecs {
		w.neonZero(i)
	}
	w.op("MOVD R6, R22")
	w.op("MOVD R2, R24")
	step := func(k int) {
		b := 24 + k*2
		w.op("MOVD.P 8(R22), R23")
		w.op("ADD R23<<2, R5, R23")
		w.op("VLD1 (R23), %s", vecList(b, vecs))
		for i := range rows {
			for v := range vecs {
				w.by(neonFmaBy, acc(i, v), b+v, 16+i, k, "FMLA")
			}
		}
	}
	loop, rest, one, done := w.fresh("loop"), w.fresh("rest"), w.fresh("one"), w.fresh("sums")
	w.op("SUBS $%d, R24", unroll)
	w.op("BLT %s", rest)
	w.label(loop)
	for i := range rows {
		w.op("VLD1.P 16(%s), [V%d.S4]", neonRows[i], 16+i)
	}
	for k := range unroll {
		step(k)
	}
	w.op("SUBS $%d, R24", unroll)
	w.op("BGE %s", loop)
	w.label(rest)
	w.op("ADDS $%d, R24", unroll)
	w.op("BEQ %s", done)
	w.label(one)
	for i := range rows {
		w.op("FMOVS.P 4(%s), F%d", neonRows[i], 16+i)
	}
	step(0)
	w.op("SUBS $1, R24")
	w.op("BNE %s", one)
	w.label(done)
	store := w.fresh("store")
	w.op("CBZ R10, %s", store)
	w.op("MOVD R8, R25")
	for i := range rows {
		w.op("VLD1 (R25), %s", vecList(24, vecs))
		w.op("ADD R9, R25")
		for v := range vecs {
			w.word(neonAdd, acc(i, v), acc(i, v), 24+v, "FADD")
		}
	}
	w.label(store)
	w.op("MOVD R8, R25")
	for i := range rows {
		w.op("VST1 %s, (R25)", vecList(acc(i, 0), vecs))
		w.op("ADD R9, R25")
	}
}

// neonQuadRow goes along the row in blocks of vectors.
func neonQuadRow(w *writer) {
	w.neonFunction("quadRowNEON", "vecs k a b offsets c add", "R0", "R1", "R2", "R3", "R4", "R5", "R6")
	for n := 4; n >= 1; n /= 2 {
		loop, next := w.fresh("vecs"), w.fresh("next")
		w.label(loop)
		w.op("CMP $%d, R0", n)
		w.op("BLT %s", next)
		neonQuadBlock(w, n)
		w.op("ADD $%d, R5", 16*n)
		w.op("ADD $%d, R3", 16*n)
		w.op("SUB $%d, R0", n)
		w.op("B %s", loop)
		w.label(next)
	}
	w.op("RET")
}

// neonQuadBlock computes n vectors at R5. Result, sum of four, product and row of B start at registers 0, 4, 8, 12; 16
// has the factors.
func neonQuadBlock(w *writer, n int) {
	const acc, sum, product, b, factor = 0, 4, 8, 12, 16
	group := func(k int) {
		if k == 4 {
			w.op("VLD1.P 16(R7), [V%d.S4]", factor)
		}
		for t := range k {
			e := t
			if k < 4 {
				w.op("FMOVS.P 4(R7), F%d", factor)
				e = 0
			}
			w.op("MOVD.P 8(R8), R9")
			w.op("ADD R9<<2, R3, R9")
			w.op("VLD1 (R9), %s", vecList(b, n))
			for v := range n {
				if t == 0 {
					w.by(neonMulBy, sum+v, b+v, factor, e, "FMUL")
					continue
				}
				w.by(neonMulBy, product+v, b+v, factor, e, "FMUL")
				w.word(neonAdd, sum+v, sum+v, product+v, "FADD")
			}
		}
		for v := range n {
			w.word(neonAdd, acc+v, acc+v, sum+v, "FADD")
		}
	}
	start, loop, rest, done := w.fresh("start"), w.fresh("quad"), w.fresh("rest"), w.fresh("store")
	for v := range n {
		w.neonZero(acc + v)
	}
	w.op("CBZ R6, %s", start)
	w.op("VLD1 (R5), %s", vecList(acc, n))
	w.label(start)
	w.op("MOVD R2, R7")
	w.op("MOVD R4, R8")
	w.op("MOVD R1, R10")
	w.label(loop)
	w.op("SUBS $4, R10")
	w.op("BLT %s", rest)
	group(4)
	w.op("B %s", loop)
	w.label(rest)
	w.op("ADD $4, R10")
	for k := 1; k <= 3; k++ {
		next := w.fresh("next")
		w.op("CMP $%d, R10", k)
		w.op("BNE %s", next)
		group(k)
		w.op("B %s", done)
		w.label(next)
	}
	w.label(done)
	w.op("VST1 %s, (R5)", vecList(acc, n))
}

// neonLaneTile keeps the eight sums in registers 0 to 7.
func neonLaneTile(w *writer) {
	w.neonFunction("laneTileNEON", "k a b offsets c add", "R0", "R1", "R2", "R3", "R4", "R5")
	for l := range 8 {
		w.neonZero(l)
	}
	lane := func(l int) {
		r := 8 + l%4*2
		w.op("FMOVS.P 4(R1), F%d", r)
		w.op("MOVD.P 8(R3), R6")
		w.op("ADD R6<<2, R2, R6")
		w.op("VLD1 (R6), [V%d.S4]", r+1)
		w.by(neonMulBy, r+1, r+1, r, 0, "FMUL")
		w.word(neonAdd, l, l, r+1, "FADD")
	}
	loop, rest, sum, store := w.fresh("lanes"), w.fresh("rest"), w.fresh("sum"), w.fresh("store")
	w.op("SUBS $8, R0")
	w.op("BLT %s", rest)
	w.label(loop)
	for l := range 8 {
		lane(l)
	}
	w.op("SUBS $8, R0")
	w.op("BGE %s", loop)
	w.label(rest)
	w.op("ADD $8, R0")
	for l := range 7 {
		w.op("CMP $%d, R0", l)
		w.op("BEQ %s", sum)
		lane(l)
	}
	w.label(sum)
	for l := 1; l < 4; l++ {
		w.word(neonAdd, 0, 0, l, "FADD")
		w.word(neonAdd, 4, 4, 4+l, "FADD")
	}
	w.word(neonAdd, 0, 0, 4, "FADD")
	w.op("CBZ R5, %s", store)
	w.op("VLD1 (R4), [V8.S4]")
	w.word(neonAdd, 0, 0, 8, "FADD")
	w.label(store)
	w.op("VST1 [V0.S4], (R4)")
	w.op("RET")
}
