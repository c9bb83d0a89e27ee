package main

import "fmt"

// products are the tiles of matrix products (gemm_micro.go says what they compute).
func products(w *writer) {
	fmaTile(w)
	fmaRow(w)
	quadRow(w)
	laneTile(w)
}

// fmaTile has a loop over tiles of three vectors for each number of rows, and one narrower tile behind it.
func fmaTile(w *writer) {
	w.function("fmaTile", "rows vecs k a lda b offsets step c ldc how tail bias across z lo:4 hi:4",
		"R8", "R9", "CX", "AX", "R10", "BX", "R13", "R15", "DI", "DX", "SI")
	w.op("SHLQ $2, DX")
	w.op("SHLQ $2, R10")
	w.op("SHLQ $2, R15")
	name := func(rows int) string { return fmt.Sprintf("rows%s_%d", w.name, rows) }
	for rows := w.mr; rows > 1; rows-- {
		w.op("CMPQ R8, $%d", rows)
		w.op("JEQ %s", name(rows))
	}
	w.op("JMP %s", name(1))
	for rows := w.mr; rows >= 1; rows-- {
		next, done := w.fresh("next"), w.fresh("done")
		for vecs := w.vecs; vecs >= 1; vecs-- {
			if vecs == w.vecs {
				w.label(name(rows))
			} else {
				w.label(next)
				next = w.fresh("next")
			}
			w.op("CMPQ R9, $%d", vecs)
			w.op("JLT %s", next)
			fmaBlock(w, rows, vecs)
			if vecs < w.vecs {
				w.op("JMP %s", done)
				continue
			}
			w.op("SUBQ $%d, R9", vecs)
			w.op("ADDQ R15, b+40(FP)")
			w.op("ADDQ $%d, c+64(FP)", vecs*w.width)
			w.op("ADDQ $%d, z+112(FP)", vecs*w.width)
			w.op("MOVQ across+104(FP), CX")
			w.op("ADDQ CX, bias+96(FP)")
			w.op("MOVQ k+16(FP), CX")
			w.op("MOVQ a+24(FP), AX")
			w.op("MOVQ b+40(FP), BX")
			w.op("MOVQ offsets+48(FP), R13")
			w.op("MOVQ c+64(FP), DI")
			w.op("JMP %s", name(rows))
		}
		w.label(next)
		w.label(done)
		w.ret()
	}
}

// fmaBlock is a tile. Rows 3 to 5 of A start at R11, 6 and 7 at R12.
func fmaBlock(w *writer, rows, vecs int) {
	const unroll = 4
	acc := func(i, v int) int { return i*vecs + v }
	b := w.mr * w.vecs // registers of B, then those of A
	w.op("LEAQ (R10)(R10*2), R12")
	w.op("LEAQ (AX)(R12*1), R11")
	w.op("ADDQ R11, R12")
	for i := range rows * vecs {
		w.zero(i)
	}
	step := func(k int) {
		w.op("MOVQ %d(R13), R14", 8*k)
		for v := range vecs {
			w.op("VMOVUPS %d(BX)(R14*4), %s", v*w.width, w.v(b+v))
		}
		for i := range rows {
			a := b + w.vecs
			if w.reg == "Z" {
				a += i % 4
			}
			row := fmt.Sprintf("%d(%s)", 4*k, []string{"AX", "R11", "R12"}[i/3])
			if i%3 > 0 {
				row += fmt.Sprintf("(R10*%d)", i%3)
			}
			w.op("VBROADCASTSS %s, %s", row, w.v(a))
			for v := range vecs {
				w.op("VFMADD231PS %s, %s, %s", w.v(a), w.v(b+v), w.v(acc(i, v)))
			}
		}
	}
	advance := func(k int) {
		for i, r := range []string{"AX", "R11", "R12"} {
			if rows > 3*i {
				w.op("ADDQ $%d, %s", 4*k, r)
			}
		}
		w.op("ADDQ $%d, R13", 8*k)
	}
	overTerms(w, unroll, step, advance, func() {})
	fmaEnd(w, rows, vecs, acc)
}

// overTerms does the CX terms of a sum: unroll of them at a time, with what ahead writes before each such turn, and then one by
// one. step writes term k of a turn, advance moves the pointers on by k terms.
func overTerms(w *writer, unroll int, step, advance func(k int), ahead func()) {
	loop, rest, one, done := w.fresh("loop"), w.fresh("rest"), w.fresh("one"), w.fresh("done")
	w.op("SUBQ $%d, CX", unroll)
	w.op("JLT %s", rest)
	w.label(loop)
	ahead()
	for k := range unroll {
		step(k)
	}
	advance(unroll)
	w.op("SUBQ $%d, CX", unroll)
	w.op("JGE %s", loop)
	w.label(rest)
	w.op("ADDQ $%d, CX", unroll)
	w.op("JEQ %s", done)
	w.label(one)
	step(0)
	advance(1)
	w.op("DECQ CX")
	w.op("JNE %s", one)
	w.label(done)
}

// fmaEnd adds what the bits of SI say to a tile, limits it and stores it: 1 what is there, 2 a number for each row,
// 4 one for each column, 8 a tile like this; 16 limits it. Of the last vector the columns that do not count stay.
func fmaEnd(w *writer, rows, vecs int, acc func(i, v int) int) {
	free := w.mr * w.vecs // the registers behind those of the tile
	low, high, temp, mask := w.v(free), w.v(free+1), w.v(free+2), w.v(free+3)
	full := w.fresh("full")
	w.op("MOVQ $%d, CX", w.width/4)
	w.op("CMPQ R9, $%d", vecs)
	w.op("JNE %s", full)
	w.op("MOVQ tail+88(FP), CX")
	w.label(full)
	if w.reg == "Z" {
		w.op("MOVL $1, AX")
		w.op("SHLL CX, AX")
		w.op("DECL AX")
		w.op("KMOVW AX, K1")
	} else {
		w.op("LEAQ masks<>+32(SB), AX")
		w.op("SHLQ $2, CX")
		w.op("SUBQ CX, AX")
		w.op("VMOVDQU (AX), %s", mask)
	}
	add := func(from string, i, v int) {
		to := w.v(acc(i, v))
		switch {
		case v+1 < vecs:
			w.op("VADDPS %s, %s, %s", from, to, to)
		case w.reg == "Z":
			w.op("VADDPS %s, %s, K1, %s", from, to, to)
		default:
			w.op("VMASKMOVPS %s, %s, %s", from, mask, temp)
			w.op("VADDPS %s, %s, %s", temp, to, to)
		}
	}
	// each adds what lies like the tile.
	each := func(bit int, from string) {
		next := w.fresh("next")
		w.op("TESTQ $%d, SI", bit)
		w.op("JEQ %s", next)
		w.op("MOVQ %s, BX", from)
		for i := range rows {
			for v := range vecs {
				add(fmt.Sprintf("%d(BX)", v*w.width), i, v)
			}
			if i+1 < rows {
				w.op("ADDQ DX, BX")
			}
		}
		w.label(next)
	}
	each(1, "DI")
	columns, z, store := w.fresh("columns"), w.fresh("z"), w.fresh("store")
	w.op("MOVQ bias+96(FP), CX")
	w.op("TESTQ $2, SI")
	w.op("JEQ %s", columns)
	for i := range rows {
		w.op("VBROADCASTSS %d(CX), %s", 4*i, temp)
		for v := range vecs {
			w.op("VADDPS %s, %s, %s", temp, w.v(acc(i, v)), w.v(acc(i, v)))
		}
	}
	w.label(columns)
	w.op("TESTQ $4, SI")
	w.op("JEQ %s", z)
	for v := range vecs {
		for i := range rows {
			add(fmt.Sprintf("%d(CX)", v*w.width), i, v)
		}
	}
	w.label(z)
	each(8, "z+112(FP)")
	w.op("TESTQ $16, SI")
	w.op("JEQ %s", store)
	w.op("VBROADCASTSS lo+120(FP), %s", low)
	w.op("VBROADCASTSS hi+124(FP), %s", high)
	for i := range rows {
		for v := range vecs {
			x := w.v(acc(i, v))
			w.op("VMAXPS %s, %s, %s", x, low, x)
			w.op("VMINPS %s, %s, %s", x, high, x)
		}
	}
	w.label(store)
	for i := range rows {
		for v := range vecs {
			to := fmt.Sprintf("%d(DI)", v*w.width)
			switch {
			case v+1 < vecs:
				w.op("VMOVUPS %s, %s", w.v(acc(i, v)), to)
			case w.reg == "Z":
				w.op("VMOVUPS %s, K1, %s", w.v(acc(i, v)), to)
			default:
				w.op("VMASKMOVPS %s, %s, %s", w.v(acc(i, v)), mask, to)
			}
		}
		if i+1 < rows {
			w.op("ADDQ DX, DI")
		}
	}
}

// quadRow goes along the row in blocks of vectors.
func quadRow(w *writer) {
	w.function("quadRow", "vecs k a b offsets c add", "CX", "R10", "R11", "BX", "R12", "DX", "SI")
	for n := 4; n >= 1; n /= 2 {
		loop, next := w.fresh("vecs"), w.fresh("next")
		w.label(loop)
		w.op("CMPQ CX, $%d", n)
		w.op("JLT %s", next)
		quadBlock(w, n)
		w.op("ADDQ $%d, DX", n*w.width)
		w.op("ADDQ $%d, BX", n*w.width)
		w.op("SUBQ $%d, CX", n)
		w.op("JMP %s", loop)
		w.label(next)
	}
	w.ret()
}

// quadBlock computes n vectors at DX.
func quadBlock(w *writer, n int) {
	const acc, sum, product, factor = 0, 4, 8, 12
	// AX counts k.
	group := func(k int) {
		for t := range k {
			w.op("MOVQ %d(R12)(AX*8), R13", 8*t)
			w.op("VBROADCASTSS %d(R11)(AX*4), %s", 4*t, w.v(factor))
			for v := range n {
				to := product + v
				if t == 0 {
					to = sum + v
				}
				w.op("VMULPS %d(BX)(R13*4), %s, %s", v*w.width, w.v(factor), w.v(to))
				if t > 0 {
					w.op("VADDPS %s, %s, %s", w.v(product+v), w.v(sum+v), w.v(sum+v))
				}
			}
		}
		for v := range n {
			w.op("VADDPS %s, %s, %s", w.v(sum+v), w.v(acc+v), w.v(acc+v))
		}
	}
	start, loop, rest, done := w.fresh("start"), w.fresh("quad"), w.fresh("rest"), w.fresh("store")
	for v := range n {
		w.zero(acc + v)
	}
	w.op("TESTQ SI, SI")
	w.op("JEQ %s", start)
	for v := range n {
		w.op("VMOVUPS %d(DX), %s", v*w.width, w.v(acc+v))
	}
	w.label(start)
	w.op("XORQ AX, AX")
	w.label(loop)
	w.op("LEAQ 4(AX), R14")
	w.op("CMPQ R14, R10")
	w.op("JGT %s", rest)
	group(4)
	w.op("MOVQ R14, AX")
	w.op("JMP %s", loop)
	w.label(rest)
	for k := 1; k <= 3; k++ {
		next := w.fresh("next")
		w.op("LEAQ %d(AX), R14", k)
		w.op("CMPQ R14, R10")
		w.op("JNE %s", next)
		group(k)
		w.op("JMP %s", done)
		w.label(next)
	}
	w.label(done)
	for v := range n {
		w.op("VMOVUPS %s, %d(DX)", w.v(acc+v), v*w.width)
	}
}

// laneTile keeps the eight sums in registers 0 to 7.
func laneTile(w *writer) {
	w.function("laneTile", "k a b offsets c add", "CX", "AX", "BX", "R13", "DI", "SI")
	for l := range 8 {
		w.zero(l)
	}
	lane := func(l int) {
		w.op("MOVQ %d(R13), R14", 8*l)
		w.op("VBROADCASTSS %d(AX), %s", 4*l, w.v(8+l%4))
		w.op("VMULPS (BX)(R14*4), %s, %s", w.v(8+l%4), w.v(8+l%4))
		w.op("VADDPS %s, %s, %s", w.v(8+l%4), w.v(l), w.v(l))
	}
	loop, rest, sum, store := w.fresh("lanes"), w.fresh("rest"), w.fresh("sum"), w.fresh("store")
	w.op("SUBQ $8, CX")
	w.op("JLT %s", rest)
	w.label(loop)
	for l := range 8 {
		lane(l)
	}
	w.op("ADDQ $32, AX")
	w.op("ADDQ $64, R13")
	w.op("SUBQ $8, CX")
	w.op("JGE %s", loop)
	w.label(rest)
	w.op("ADDQ $8, CX")
	for l := range 7 {
		w.op("CMPQ CX, $%d", l)
		w.op("JEQ %s", sum)
		lane(l)
	}
	w.label(sum)
	for l := 1; l < 4; l++ {
		w.op("VADDPS %s, %s, %s", w.v(l), w.v(0), w.v(0))
		w.op("VADDPS %s, %s, %s", w.v(4+l), w.v(4), w.v(4))
	}
	w.op("VADDPS %s, %s, %s", w.v(4), w.v(0), w.v(0))
	w.op("TESTQ SI, SI")
	w.op("JEQ %s", store)
	w.op("VADDPS (DI), %s, %s", w.v(0), w.v(0))
	w.label(store)
	w.op("VMOVUPS %s, (DI)", w.v(0))
	w.ret()
}
