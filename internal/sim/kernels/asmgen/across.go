package main

import (
	"fmt"
	"math/bits"
)

// across are the tiles of products whose columns are output channels (gemm_across.go says what they compute).
func across(w *writer) {
	fmaAcross(w)
	turnRows(w)
}

// fmaAcross has a tile for each number of rows and vectors.
func fmaAcross(w *writer) {
	w.function("fmaAcross", "rows cols k a offsets b ldb c add ahead", "R8", "R9", "CX", "AX", "R13", "BX", "R15", "DI", "SI", "R12")
	w.op("SHLQ $2, R15")
	w.op("LEAQ (R15)(R15*2), R11")
	// the mask of the last vector; R9 becomes the number of vectors
	n := w.width / 4
	w.op("MOVQ CX, DX")
	w.op("LEAQ -1(R9), CX")
	w.op("MOVQ CX, R9")
	w.op("ANDQ $%d, CX", n-1)
	w.op("INCQ CX")
	w.op("SHRQ $%d, R9", bits.Len(uint(n))-1)
	w.op("INCQ R9")
	if w.reg == "Z" {
		w.op("MOVL $1, R10")
		w.op("SHLL CX, R10")
		w.op("DECL R10")
		w.op("KMOVW R10, K1")
	} else {
		w.op("LEAQ masks<>+32(SB), R10")
		w.op("SHLQ $2, CX")
		w.op("SUBQ CX, R10")
		w.op("VMOVDQU (R10), Y15")
	}
	w.op("MOVQ DX, CX")
	name := func(rows, vecs int) string { return fmt.Sprintf("across%s_%d_%d", w.name, rows, vecs) }
	for vecs := w.wide; vecs >= 1; vecs-- {
		next := w.fresh("next")
		if vecs > 1 {
			w.op("CMPQ R9, $%d", vecs)
			w.op("JNE %s", next)
		}
		for rows := w.tall; rows > 1; rows-- {
			w.op("CMPQ R8, $%d", rows)
			w.op("JEQ %s", name(rows, vecs))
		}
		w.op("JMP %s", name(1, vecs))
		w.label(next)
	}
	for vecs := w.wide; vecs >= 1; vecs-- {
		for rows := w.tall; rows >= 1; rows-- {
			w.label(name(rows, vecs))
			acrossBlock(w, rows, vecs)
			w.ret()
		}
	}
}

func acrossBlock(w *writer, rows, vecs int) {
	const unroll = 4
	acc := func(i, v int) int { return i*vecs + v }
	b := w.tall * w.wide // registers of B, then those of A
	for i := range rows * vecs {
		w.zero(i)
	}
	step := func(k int) {
		w.op("MOVQ %d(R13), R14", 8*k)
		for v := range vecs {
			from := fmt.Sprintf("%d(BX)%s", v*w.width, []string{"", "(R15*1)", "(R15*2)", "(R11*1)"}[k])
			switch {
			case v+1 < vecs:
				w.op("VMOVUPS %s, %s", from, w.v(b+v))
			case w.reg == "Z":
				w.op("VMOVUPS.Z %s, K1, %s", from, w.v(b+v))
			default:
				w.op("VMASKMOVPS %s, Y15, %s", from, w.v(b+v))
			}
		}
		for i := range rows {
			a := b + w.wide
			if w.reg == "Z" {
				a += i % 2
			}
			w.op("VBROADCASTSS %d(AX)(R14*4), %s", 4*i, w.v(a))
			for v := range vecs {
				w.op("VFMADD231PS %s, %s, %s", w.v(a), w.v(b+v), w.v(acc(i, v)))
			}
		}
	}
	advance := func(k int) {
		w.op("LEAQ (BX)(R15*%d), BX", k)
		w.op("ADDQ $%d, R13", 8*k)
	}
	overTerms(w, unroll, step, advance, func() {
		w.op("PREFETCHT1 (R12)")
		w.op("PREFETCHT1 64(R12)")
		w.op("ADDQ $128, R12")
	})
	store := w.fresh("store")
	at := func(i, v int) string { return fmt.Sprintf("%d(DI)", (i*w.wide+v)*w.width) }
	w.op("TESTQ SI, SI")
	w.op("JEQ %s", store)
	for i := range rows {
		for v := range vecs {
			w.op("VADDPS %s, %s, %s", at(i, v), w.v(acc(i, v)), w.v(acc(i, v)))
		}
	}
	w.label(store)
	for i := range rows {
		for v := range vecs {
			w.op("VMOVUPS %s, %s", w.v(acc(i, v)), at(i, v))
		}
	}
}

// turnRows goes through squares of one vector of rows by one of columns.
func turnRows(w *writer) {
	n := w.width / 4
	w.function("turnRows", "dst dststep src srcstep rows n how bias z lo:4 hi:4", "DI", "R8", "SI", "R9", "R10", "R12", "R13", "R11", "R15")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	// R12 columns are left; the square's are masked
	square, done, full := w.fresh("square"), w.fresh("done"), w.fresh("full")
	w.label(square)
	w.op("TESTQ R12, R12")
	w.op("JLE %s", done)
	w.op("MOVQ $%d, CX", n)
	w.op("CMPQ R12, CX")
	w.op("JGE %s", full)
	w.op("MOVQ R12, CX")
	w.label(full)
	mask := 15
	if w.reg == "Z" {
		w.op("MOVL $1, AX")
		w.op("SHLL CX, AX")
		w.op("DECL AX")
		w.op("KMOVW AX, K1")
	}
	w.op("MOVQ SI, BX")
	for i := range n {
		w.op("VMOVUPS (BX), %s", w.v(i))
		if i+1 < n {
			w.op("ADDQ R9, BX")
		}
	}
	out := w.exchange(n)
	free := 0 // registers 0 to n-1, where the result is not
	if out[0] < n {
		free = n
	}
	low, high, temp := w.v(free), w.v(free+1), w.v(free+2)
	if w.reg == "Y" {
		mask = free + 3
		w.op("LEAQ masks<>+32(SB), AX")
		w.op("SHLQ $2, CX")
		w.op("SUBQ CX, AX")
		w.op("VMOVDQU (AX), %s", w.v(mask))
	}
	w.op("VBROADCASTSS lo+72(FP), %s", low)
	w.op("VBROADCASTSS hi+76(FP), %s", high)
	w.op("MOVQ DI, DX")
	w.op("MOVQ R15, R14")
	stored := w.fresh("stored")
	for i := range n {
		x := w.v(out[i])
		w.op("CMPQ R10, $%d", i)
		w.op("JLE %s", stored)
		bias, z, limit := w.fresh("bias"), w.fresh("z"), w.fresh("limit")
		w.op("TESTQ $2, R13")
		w.op("JEQ %s", bias)
		w.op("VBROADCASTSS %d(R11), %s", 4*i, temp)
		w.op("VADDPS %s, %s, %s", temp, x, x)
		w.label(bias)
		w.op("TESTQ $8, R13")
		w.op("JEQ %s", z)
		if w.reg == "Z" {
			w.op("VADDPS (R14), %s, K1, %s", x, x)
		} else {
			w.op("VMASKMOVPS (R14), %s, %s", w.v(mask), temp)
			w.op("VADDPS %s, %s, %s", temp, x, x)
		}
		w.op("ADDQ R8, R14")
		w.label(z)
		w.op("TESTQ $16, R13")
		w.op("JEQ %s", limit)
		w.op("VMAXPS %s, %s, %s", x, low, x)
		w.op("VMINPS %s, %s, %s", x, high, x)
		w.label(limit)
		if w.reg == "Z" {
			w.op("VMOVUPS %s, K1, (DX)", x)
		} else {
			w.op("VMASKMOVPS %s, %s, (DX)", x, w.v(mask))
		}
		w.op("ADDQ R8, DX")
	}
	w.label(stored)
	w.op("ADDQ $%d, DI", w.width)
	w.op("ADDQ $%d, R15", w.width)
	w.op("MOVQ R9, AX")
	w.op("IMULQ $%d, AX", n)
	w.op("ADDQ AX, SI")
	w.op("SUBQ $%d, R12", n)
	w.op("JMP %s", square)
	w.label(done)
	w.ret()
}

// exchange swaps the rows and columns of the square in registers 0 to n-1, and says where the new rows are.
func (w *writer) exchange(n int) []int {
	const lo, hi = 0, 1
	// pairs, then quadruples of rows within each 128 bits
	for g := 0; g < n; g += 2 {
		w.op("VUNPCKLPS %s, %s, %s", w.v(g+1), w.v(g), w.v(n+g+lo))
		w.op("VUNPCKHPS %s, %s, %s", w.v(g+1), w.v(g), w.v(n+g+hi))
	}
	for g := 0; g < n; g += 4 {
		for c := range 4 {
			op := []string{"VUNPCKLPD", "VUNPCKHPD"}[c%2]
			w.op("%s %s, %s, %s", op, w.v(n+g+2+c/2), w.v(n+g+c/2), w.v(g+c))
		}
	}
	// register g+c has, at 128 bits number q, column 4q+c of rows g to g+3
	out := make([]int, n)
	if w.reg == "Y" {
		for c := range 4 {
			for q := range 2 {
				out[4*q+c] = n + 4*q + c
				w.op("VPERM2F128 $%#x, %s, %s, %s", 0x20+0x11*q, w.v(4+c), w.v(c), w.v(out[4*q+c]))
			}
		}
		return out
	}
	for c := range 4 {
		for half := range 2 { // rows 8·half on
			for odd, sel := range []int{0x88, 0xdd} {
				w.op("VSHUFF32X4 $%#x, %s, %s, %s", sel, w.v(8*half+4+c), w.v(8*half+c), w.v(n+4*c+2*half+odd))
			}
		}
	}
	for c := range 4 {
		for odd := range 2 {
			for i, sel := range []int{0x88, 0xdd} {
				q := odd + 2*i
				out[4*q+c] = 4*q + c
				w.op("VSHUFF32X4 $%#x, %s, %s, %s", sel, w.v(n+4*c+2+odd), w.v(n+4*c+odd), w.v(out[4*q+c]))
			}
		}
	}
	return out
}
