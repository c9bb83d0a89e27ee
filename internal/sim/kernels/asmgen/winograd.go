package main

// winograd are the two transforms around the products of a Winograd convolution (winograd_plain.go says what they
// compute). The lanes of a vector are adjacent tiles of a row of tiles.
func winograd(w *writer) {
	winogradIn(w)
	winogradOut(w)
	winograd4(w)
	panelTile(w)
}

// winogradIn reads two vectors of each of the four rows of its tiles, and the same two elements further, which gives
// the four columns as the even and odd elements of each pair.
func winogradIn(w *writer) {
	w.function("winogradIn", "dst dstplane src srcstep rows n", "DI", "R8", "SI", "R9", "R10", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R8)(R8*2), R14")
	if w.reg == "Z" {
		w.op("VMOVDQU32 evens<>(SB), Z30")
		w.op("VMOVDQU32 odds<>(SB), Z31")
	}
	row, chunk, next, done := w.fresh("row"), w.fresh("chunk"), w.fresh("next"), w.fresh("done")
	w.label(row)
	w.op("TESTQ R10, R10")
	w.op("JEQ %s", done)
	w.op("MOVQ SI, BX")
	w.op("MOVQ DI, DX")
	w.op("MOVQ R11, CX")
	w.label(chunk)
	w.op("CMPQ CX, $0")
	w.op("JLE %s", next)
	w.op("LEAQ (BX)(R9*2), R12")
	w.op("MOVQ DX, AX")
	rows := []string{"(BX)", "(BX)(R9*1)", "(R12)", "(R12)(R9*1)"}
	for i, c := range []struct {
		op   string
		a, b int
	}{{"VSUBPS", 0, 2}, {"VADDPS", 1, 2}, {"VSUBPS", 2, 1}, {"VSUBPS", 1, 3}} {
		for q, off := range []int{0, w.width, 8, w.width + 8} {
			w.op("VMOVUPS %d%s, %s", off, rows[c.a], w.v(q))
			w.op("%s %d%s, %s, %s", c.op, off, rows[c.b], w.v(q), w.v(q))
		}
		w.columns(0, 1, 4, 5)
		w.columns(2, 3, 6, 7)
		w.op("VSUBPS %s, %s, %s", w.v(6), w.v(4), w.v(0))
		w.op("VADDPS %s, %s, %s", w.v(6), w.v(5), w.v(1))
		w.op("VSUBPS %s, %s, %s", w.v(5), w.v(6), w.v(2))
		w.op("VSUBPS %s, %s, %s", w.v(7), w.v(5), w.v(3))
		for q, at := range []string{"(AX)", "(AX)(R8*1)", "(AX)(R8*2)", "(AX)(R14*1)"} {
			w.op("VMOVUPS %s, %s", w.v(q), at)
		}
		if i < 3 {
			w.op("LEAQ (AX)(R8*4), AX")
		}
	}
	w.op("ADDQ $%d, BX", 2*w.width)
	w.op("ADDQ $%d, DX", w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("LEAQ (SI)(R9*2), SI")
	w.op("LEAQ (DI)(R11*4), DI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// columns splits the elements of a and b into the even and the odd ones. For AVX-512 the table for them is in
// registers 30 and 31.
func (w *writer) columns(a, b, even, odd int) {
	if w.reg == "Z" {
		w.op("VMOVAPS Z30, Z%d", even)
		w.op("VPERMI2PS Z%d, Z%d, Z%d", b, a, even)
		w.op("VMOVAPS Z31, Z%d", odd)
		w.op("VPERMI2PS Z%d, Z%d, Z%d", b, a, odd)
		return
	}
	w.op("VSHUFPS $0x88, Y%d, Y%d, Y%d", b, a, even)
	w.op("VPERMPD $0xd8, Y%d, Y%d", even, even)
	w.op("VSHUFPS $0xdd, Y%d, Y%d, Y%d", b, a, odd)
	w.op("VPERMPD $0xd8, Y%d, Y%d", odd, odd)
}

// winogradOut goes column by column of the sixteen products; their two sums stay in registers 0 to 7.
func winogradOut(w *writer) {
	w.function("winogradOut", "dst dststep src srcplane rows n width BIAS LO HI", "DI", "R8", "SI", "R9", "R10", "R11", "R12")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R9*4), R13")
	w.op("LEAQ (R13)(R13*2), R14")
	if w.reg == "Z" {
		w.op("VMOVDQU32 lows<>(SB), Z30")
		w.op("VMOVDQU32 highs<>(SB), Z31")
	}
	row, chunk, next, done := w.fresh("row"), w.fresh("chunk"), w.fresh("next"), w.fresh("done")
	w.label(row)
	w.op("CMPQ R10, $0")
	w.op("JLE %s", done)
	w.op("MOVQ SI, BX")
	w.op("MOVQ DI, DX")
	w.op("MOVQ R12, CX")
	w.label(chunk)
	w.op("CMPQ CX, $0")
	w.op("JLE %s", next)
	w.op("MOVQ BX, AX")
	for c := range 4 {
		w.op("VMOVUPS (AX)(R13*1), %s", w.v(8))
		w.op("VMOVUPS (AX)(R13*2), %s", w.v(9))
		w.op("VADDPS (AX), %s, %s", w.v(8), w.v(c))
		w.op("VADDPS %s, %s, %s", w.v(9), w.v(c), w.v(c))
		w.op("VSUBPS %s, %s, %s", w.v(9), w.v(8), w.v(4+c))
		w.op("VSUBPS (AX)(R14*1), %s, %s", w.v(4+c), w.v(4+c))
		if c < 3 {
			w.op("ADDQ R9, AX")
		}
	}
	if w.reg == "Z" {
		w.op("MOVQ $-1, R15") // which of the two vectors' elements are stored
		w.op("MOVL $32, AX")
		w.op("CMPQ CX, AX")
		w.op("CMOVQLT CX, AX")
		w.op("BZHIQ AX, R15, R15")
		w.op("KMOVW R15, K1")
		w.op("SHRQ $16, R15")
		w.op("KMOVW R15, K2")
	}
	last := w.fresh("last")
	for r := range 2 {
		s := 4 * r
		if r == 1 {
			w.op("CMPQ R10, $1")
			w.op("JEQ %s", last)
		}
		w.op("VADDPS %s, %s, %s", w.v(s+1), w.v(s), w.v(8))
		w.op("VADDPS %s, %s, %s", w.v(s+2), w.v(8), w.v(8))
		w.op("VSUBPS %s, %s, %s", w.v(s+2), w.v(s+1), w.v(9))
		w.op("VSUBPS %s, %s, %s", w.v(s+3), w.v(9), w.v(9))
		for _, v := range []int{8, 9} {
			w.op("VADDPS %s, %s, %s", w.v(15), w.v(v), w.v(v))
			w.op("VMAXPS %s, %s, %s", w.v(v), w.v(14), w.v(v))
			w.op("VMINPS %s, %s, %s", w.v(v), w.v(13), w.v(v))
		}
		w.interleave(8, 9, 10, 11)
		at := []string{"(DX)", "(DX)(R8*1)"}[r]
		if w.reg == "Z" {
			w.op("VMOVUPS Z10, K1, %s", at)
			w.op("VMOVUPS Z11, K2, 64%s", at)
			continue
		}
		part, half, stored := w.fresh("part"), w.fresh("half"), w.fresh("stored")
		w.op("CMPQ CX, $16")
		w.op("JLT %s", part)
		w.op("VMOVUPS Y10, %s", at)
		w.op("VMOVUPS Y11, 32%s", at)
		w.op("JMP %s", stored)
		w.label(part)
		w.op("LEAQ masks<>+32(SB), R15")
		w.op("MOVQ CX, AX")
		w.op("ANDQ $7, AX")
		w.op("SHLQ $2, AX")
		w.op("SUBQ AX, R15")
		w.op("VMOVDQU (R15), Y12")
		w.op("CMPQ CX, $8")
		w.op("JLT %s", half)
		w.op("VMOVUPS Y10, %s", at)
		w.op("VMASKMOVPS Y11, Y12, 32%s", at)
		w.op("JMP %s", stored)
		w.label(half)
		w.op("VMASKMOVPS Y10, Y12, %s", at)
		w.label(stored)
	}
	w.label(last)
	w.op("ADDQ $%d, BX", w.width)
	w.op("ADDQ $%d, DX", 2*w.width)
	w.op("SUBQ $%d, CX", w.width/2)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("LEAQ (DI)(R8*2), DI")
	w.op("LEAQ (SI)(R11*4), SI")
	w.op("SUBQ $2, R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// interleave is the inverse of columns.
func (w *writer) interleave(even, odd, a, b int) {
	if w.reg == "Z" {
		w.op("VMOVAPS Z30, Z%d", a)
		w.op("VPERMI2PS Z%d, Z%d, Z%d", odd, even, a)
		w.op("VMOVAPS Z31, Z%d", b)
		w.op("VPERMI2PS Z%d, Z%d, Z%d", odd, even, b)
		return
	}
	w.op("VUNPCKLPS Y%d, Y%d, Y%d", odd, even, a)
	w.op("VUNPCKHPS Y%d, Y%d, Y%d", odd, even, b)
	w.op("VPERM2F128 $0x31, Y%d, Y%d, Y%d", b, a, odd)
	w.op("VPERM2F128 $0x20, Y%d, Y%d, Y%d", b, a, a)
	w.op("VMOVAPS Y%d, Y%d", odd, b)
}

// panelTile goes along eight rows of products, three vectors at a time. What is needed of the next panel of A is fetched
// meanwhile: filters are read once for each block, often from memory.
func panelTile(w *writer) {
	w.function("panelTile", "vecs k a b ldb c ldc", "R9", "R8", "R10", "R11", "R15", "DI", "DX")
	w.op("SHLQ $2, R15")
	w.op("SHLQ $2, DX")
	w.op("LEAQ (R15)(R15*2), R14")
	next := w.fresh("next")
	loop := w.fresh("vecs")
	for vecs := w.vecs; vecs >= 1; vecs-- {
		if vecs == w.vecs {
			w.label(loop)
		} else {
			w.label(next)
			next = w.fresh("next")
		}
		w.op("CMPQ R9, $%d", vecs)
		w.op("JLT %s", next)
		for row := 0; row < panelRows; row += w.mr {
			panelBlock(w, row, vecs)
		}
		w.op("ADDQ $%d, DI", vecs*w.width)
		w.op("ADDQ $%d, R11", vecs*w.width)
		w.op("SUBQ $%d, R9", vecs)
		if vecs == w.vecs {
			w.op("JMP %s", loop)
		} else if vecs > 1 {
			w.op("JMP %s", next) // nothing is left
		}
	}
	w.label(next)
	w.ret()
}

const panelRows = 8

// panelBlock is a tile of w.mr rows from row on.
func panelBlock(w *writer, row, vecs int) {
	const unroll = 4
	acc := func(i, v int) int { return i*vecs + v }
	b := w.mr * w.vecs // registers of B, then those of A
	for i := range w.mr * vecs {
		w.zero(i)
	}
	w.op("MOVQ R8, CX")
	w.op("LEAQ %d(R10), AX", 4*row)
	w.op("MOVQ R11, BX")
	step := func(k int) {
		at := []string{"(BX)", "(BX)(R15*1)", "(BX)(R15*2)", "(BX)(R14*1)"}[k]
		for v := range vecs {
			w.op("VMOVUPS %d%s, %s", v*w.width, at, w.v(b+v))
		}
		for i := range w.mr {
			a := b + w.vecs
			if w.reg == "Z" {
				a += i % 4
			}
			w.op("VBROADCASTSS %d(AX), %s", 4*(k*panelRows+i), w.v(a))
			for v := range vecs {
				w.op("VFMADD231PS %s, %s, %s", w.v(a), w.v(b+v), w.v(acc(i, v)))
			}
		}
	}
	advance := func(k int) {
		w.op("ADDQ $%d, AX", 4*k*panelRows)
		if k == 1 {
			w.op("ADDQ R15, BX")
		} else {
			w.op("LEAQ (BX)(R15*%d), BX", k)
		}
	}
	overTerms(w, unroll, step, advance, func() {
		if row == 0 {
			w.op("PREFETCHT0 %d(AX)", panelAhead)
			w.op("PREFETCHT0 %d(AX)", panelAhead+64)
		}
	})
	w.op("MOVQ DI, CX")
	if row > 0 {
		w.op("LEAQ (CX)(DX*%d), CX", row)
	}
	for i := range w.mr {
		for v := range vecs {
			w.op("VMOVUPS %s, %d(CX)", w.v(acc(i, v)), v*w.width)
		}
		if i+1 < w.mr {
			w.op("ADDQ DX, CX")
		}
	}
}

// panelAhead is how many bytes ahead A is fetched.
const panelAhead = 4096
