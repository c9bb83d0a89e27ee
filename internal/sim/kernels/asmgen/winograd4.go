package main

import "math"

// winograd4 are the transforms of larger tiles, each in two functions: what goes down the columns goes element by
// element, what goes along the rows splits or joins them.
func winograd4(w *writer) {
	winogradInDown(w)
	winogradInAlong(w)
	winogradOutDown(w)
	winogradOutAlong(w)
}

var half, twice = float32(math.Sqrt(0.5)), float32(math.Sqrt(2)) // the points besides 0

// six transforms registers 0 to 5 and hands each of the six results, in its register, to store.
func (w *writer) six(store func(i, reg int)) {
	sum := func(to, a, b, middle int) {
		w.op("VADDPS %s, %s, %s", w.v(b), w.v(a), w.v(to))
		w.op("VFNMADD231PS %s, %s, %s", w.constant(2.5), w.v(middle), w.v(to))
	}
	sum(6, 0, 4, 2)
	store(0, 6)
	sum(7, 1, 5, 3)
	store(5, 7)
	for i, p := range []struct{ point, square float32 }{{half, 2}, {twice, 0.5}} {
		w.op("VMOVAPS %s, %s", w.v(4), w.v(8))
		w.op("VFNMADD231PS %s, %s, %s", w.constant(p.square), w.v(2), w.v(8))
		w.op("VMOVAPS %s, %s", w.v(3), w.v(9))
		w.op("VFNMADD231PS %s, %s, %s", w.constant(p.square), w.v(1), w.v(9))
		w.op("VMOVAPS %s, %s", w.v(8), w.v(10))
		w.op("VFMADD231PS %s, %s, %s", w.constant(p.point), w.v(9), w.v(8))
		store(1+2*i, 8)
		w.op("VFNMADD231PS %s, %s, %s", w.constant(p.point), w.v(9), w.v(10))
		store(2+2*i, 10)
	}
}

// four is the way back: six registers become numbers 0, 1, 2 and 5.
func (w *writer) four() {
	w.op("VADDPS %s, %s, %s", w.v(2), w.v(1), w.v(6))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(1), w.v(7))
	w.op("VADDPS %s, %s, %s", w.v(4), w.v(3), w.v(8))
	w.op("VSUBPS %s, %s, %s", w.v(4), w.v(3), w.v(9))
	w.op("VADDPS %s, %s, %s", w.v(6), w.v(0), w.v(0))
	w.op("VADDPS %s, %s, %s", w.v(8), w.v(0), w.v(0))
	w.op("VMULPS %s, %s, %s", w.constant(half), w.v(7), w.v(1))
	w.op("VFMADD231PS %s, %s, %s", w.constant(twice), w.v(9), w.v(1))
	w.op("VMULPS %s, %s, %s", w.constant(0.5), w.v(6), w.v(2))
	w.op("VFMADD231PS %s, %s, %s", w.constant(2), w.v(8), w.v(2))
	w.op("VFMADD231PS %s, %s, %s", w.constant(half/2), w.v(7), w.v(5))
	w.op("VFMADD231PS %s, %s, %s", w.constant(2*twice), w.v(9), w.v(5))
}

// winogradInDown transforms the columns of rows of tiles, each four rows of input below the one before: six rows become
// six.
func winogradInDown(w *writer) {
	w.function("winogradInDown", "dst dststep src srcstep rows n", "DI", "R8", "SI", "R9", "R10", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R8)(R8*2), R12")
	w.op("LEAQ (R8)(R8*4), R13")
	w.op("LEAQ (R9)(R9*2), R14")
	w.op("LEAQ (R9)(R9*4), R15")
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
	for i, at := range []string{"(BX)", "(BX)(R9*1)", "(BX)(R9*2)", "(BX)(R14*1)", "(BX)(R9*4)", "(BX)(R15*1)"} {
		w.op("VMOVUPS %s, %s", at, w.v(i))
	}
	w.six(func(i, reg int) {
		w.op("VMOVUPS %s, %s", w.v(reg), []string{"(DX)", "(DX)(R8*1)", "(DX)(R8*2)", "(DX)(R12*1)", "(DX)(R8*4)", "(DX)(R13*1)"}[i])
	})
	w.op("ADDQ $%d, BX", w.width)
	w.op("ADDQ $%d, DX", w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("LEAQ (SI)(R9*4), SI")
	w.op("LEAQ (DI)(R12*2), DI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// winogradInAlong splits each of the six rows of a row of tiles into the columns 0 to 3 of the tiles; columns 4 and 5
// are 0 and 1 of the next tile.
func winogradInAlong(w *writer) {
	w.function("winogradInAlong", "dst dstplane src srcstep rows n", "DI", "R8", "SI", "R9", "R10", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R8)(R8*2), R12")
	w.op("LEAQ (R8)(R8*4), R13")
	w.op("LEAQ (R9)(R9*2), R14")
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
	w.op("MOVQ DX, AX")
	w.op("MOVQ BX, R15")
	for i := range 6 {
		for q := range 4 {
			w.op("VMOVUPS %d(R15), %s", q*w.width, w.v(8+q))
		}
		w.columns(8, 9, 12, 13)
		w.columns(10, 11, 14, 15)
		w.columns(12, 14, 0, 2)
		w.columns(13, 15, 1, 3)
		for q := range 2 {
			w.op("VBROADCASTSS %d(R15), %s", 4*w.width+4*q, w.v(8))
			if w.reg == "Z" {
				w.op("VALIGND $1, Z%d, Z8, Z%d", q, 4+q)
			} else {
				w.op("VPERM2F128 $0x21, Y8, Y%d, Y9", q)
				w.op("VPALIGNR $4, Y%d, Y9, Y%d", q, 4+q)
			}
		}
		w.six(func(j, reg int) {
			w.op("VMOVUPS %s, %s", w.v(reg), []string{"(AX)", "(AX)(R8*1)", "(AX)(R8*2)", "(AX)(R12*1)", "(AX)(R8*4)", "(AX)(R13*1)"}[j])
		})
		if i < 5 {
			w.op("LEAQ (AX)(R12*2), AX")
			w.op("ADDQ R9, R15")
		}
	}
	w.op("ADDQ $%d, BX", 4*w.width)
	w.op("ADDQ $%d, DX", w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("LEAQ (SI)(R14*2), SI")
	w.op("LEAQ (DI)(R11*4), DI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// winogradOutDown goes along n tiles for each of six columns: six rows of products become four.
func winogradOutDown(w *writer) {
	w.function("winogradOutDown", "dst dststep src srcplane n", "DI", "R8", "SI", "R9", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R8)(R8*2), R12")
	w.op("ADDQ R12, R12") // from a row of results to the next
	w.op("LEAQ (R12)(R12*2), R13")
	w.op("LEAQ (R9)(R9*2), R10")
	w.op("ADDQ R10, R10")
	w.op("LEAQ (R10)(R10*2), R14")
	w.op("LEAQ (R10)(R10*4), R15")
	w.op("MOVQ $6, AX")
	column, chunk, next := w.fresh("column"), w.fresh("chunk"), w.fresh("next")
	w.label(column)
	w.op("MOVQ SI, BX")
	w.op("MOVQ DI, DX")
	w.op("MOVQ R11, CX")
	w.label(chunk)
	w.op("CMPQ CX, $0")
	w.op("JLE %s", next)
	for i, at := range []string{"(BX)", "(BX)(R10*1)", "(BX)(R10*2)", "(BX)(R14*1)", "(BX)(R10*4)", "(BX)(R15*1)"} {
		w.op("VMOVUPS %s, %s", at, w.v(i))
	}
	w.four()
	for i, at := range []string{"(DX)", "(DX)(R12*1)", "(DX)(R12*2)", "(DX)(R13*1)"} {
		w.op("VMOVUPS %s, %s", w.v([]int{0, 1, 2, 5}[i]), at)
	}
	w.op("ADDQ $%d, BX", w.width)
	w.op("ADDQ $%d, DX", w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("ADDQ R9, SI")
	w.op("ADDQ R8, DI")
	w.op("DECQ AX")
	w.op("JNE %s", column)
	w.ret()
}

// winogradOutAlong makes four results of six columns and joins them: rows of width results, four of a row of tiles.
func winogradOutAlong(w *writer) {
	w.function("winogradOutAlong", "dst dststep src srcstep rows n width BIAS LO HI", "DI", "R8", "SI", "R9", "R10", "R11", "R12")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R9)(R9*2), R13")
	if w.reg == "Z" {
		w.op("VMOVDQU32 lows<>(SB), Z30")
		w.op("VMOVDQU32 highs<>(SB), Z31")
	}
	tiles, row, chunk, next, done := w.fresh("tiles"), w.fresh("row"), w.fresh("chunk"), w.fresh("next"), w.fresh("done")
	w.label(tiles)
	w.op("MOVQ SI, R15") // the first column of a row of results
	w.op("MOVQ $4, R11") // rows of the tiles that are left
	w.label(row)
	w.op("CMPQ R10, $0")
	w.op("JLE %s", done)
	w.op("MOVQ R15, BX")
	w.op("MOVQ DI, DX")
	w.op("MOVQ R12, CX")
	w.label(chunk)
	w.op("CMPQ CX, $0")
	w.op("JLE %s", next)
	w.op("LEAQ (BX)(R9*4), AX")
	for i, at := range []string{"(BX)", "(BX)(R9*1)", "(BX)(R9*2)", "(BX)(R13*1)", "(AX)", "(AX)(R9*1)"} {
		w.op("VMOVUPS %s, %s", at, w.v(i))
	}
	w.four()
	for _, v := range []int{0, 1, 2, 5} {
		w.op("VADDPS %s, %s, %s", w.v(15), w.v(v), w.v(v))
		w.op("VMAXPS %s, %s, %s", w.v(v), w.v(14), w.v(v))
		w.op("VMINPS %s, %s, %s", w.v(v), w.v(13), w.v(v))
	}
	w.interleave(0, 2, 6, 7)
	w.interleave(1, 5, 8, 9)
	w.interleave(6, 8, 10, 11)
	w.interleave(7, 9, 12, 3)
	part, stored := w.fresh("part"), w.fresh("stored")
	w.op("CMPQ CX, $%d", w.width)
	w.op("JLT %s", part)
	for q, v := range []int{10, 11, 12, 3} {
		w.op("VMOVUPS %s, %d(DX)", w.v(v), q*w.width)
	}
	w.op("JMP %s", stored)
	w.label(part)
	w.firstStored([]int{10, 11, 12, 3}, stored)
	w.label(stored)
	w.op("ADDQ $%d, BX", w.width)
	w.op("ADDQ $%d, DX", 4*w.width)
	w.op("SUBQ $%d, CX", w.width)
	w.op("JMP %s", chunk)
	w.label(next)
	w.op("ADDQ R8, DI")
	w.op("LEAQ (R15)(R13*2), R15")
	w.op("DECQ R10")
	w.op("DECQ R11")
	w.op("JNE %s", row)
	w.op("MOVQ n+40(FP), R11")
	w.op("LEAQ (SI)(R11*4), SI")
	w.op("JMP %s", tiles)
	w.label(done)
	w.ret()
}

// firstStored stores the first CX elements of vectors, fewer than they have, at DX.
func (w *writer) firstStored(vectors []int, done string) {
	if w.reg == "Z" {
		w.op("MOVQ $1, AX")
		w.op("SHLQ CX, AX")
		w.op("DECQ AX")
		for q, v := range vectors {
			w.op("KMOVW AX, K1")
			w.op("VMOVUPS Z%d, K1, %d(DX)", v, 64*q)
			w.op("SHRQ $16, AX")
		}
		return
	}
	w.op("LEAQ masks<>+32(SB), AX")
	w.op("MOVQ CX, R14")
	w.op("ANDQ $7, R14")
	w.op("SHLQ $2, R14")
	w.op("SUBQ R14, AX")
	w.op("VMOVDQU (AX), Y0")
	for q, v := range vectors {
		whole := w.fresh("whole")
		w.op("CMPQ CX, $%d", 8*q+8)
		w.op("JGE %s", whole)
		w.op("VMASKMOVPS Y%d, Y0, %d(DX)", v, 32*q)
		w.op("JMP %s", done)
		w.label(whole)
		w.op("VMOVUPS Y%d, %d(DX)", v, 32*q)
	}
}
