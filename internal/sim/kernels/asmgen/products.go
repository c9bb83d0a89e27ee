package main

import "fmt"

// products are the tiles of matrix products (gemm_micro.go says what they compute).
func products(w *writer) {
	fmaTile(w)
	quadTile(w)
	laneTile(w)
}

// fmaTile: one block of code for each number of rows and of vectors.
func fmaTile(w *writer) {
	w.function("fmaTile", "rows vecs k a lda b c ldc add", "R8", "R9", "CX", "AX", "R10", "BX", "DI", "DX", "SI")
	w.op("SHLQ $2, DX")
	w.op("SHLQ $2, R10")
	w.op("LEAQ (R10)(R10*2), R12") // rows 3 to 5 start at R11, 6 and 7 at R12
	w.op("LEAQ (AX)(R12*1), R11")
	w.op("ADDQ R11, R12")
	name := func(rows, vecs int) string { return fmt.Sprintf("tile%s_%dx%d", w.name, rows, vecs) }
	for vecs := w.vecs; vecs >= 1; vecs-- {
		next := w.fresh("next")
		w.op("CMPQ R9, $%d", vecs)
		w.op("JNE %s", next)
		for rows := w.mr; rows > 1; rows-- {
			w.op("CMPQ R8, $%d", rows)
			w.op("JEQ %s", name(rows, vecs))
		}
		w.op("JMP %s", name(1, vecs))
		w.label(next)
	}
	w.op("RET")
	for vecs := w.vecs; vecs >= 1; vecs-- {
		for rows := w.mr; rows >= 1; rows-- {
			w.label(name(rows, vecs))
			fmaBlock(w, rows, vecs)
		}
	}
}

func fmaBlock(w *writer, rows, vecs int) {
	const unroll = 4
	acc := func(i, v int) int { return i*vecs + v }
	b := w.mr * w.vecs // registers of B, then those of A
	for i := range rows * vecs {
		w.zero(i)
	}
	step := func(k int) {
		for v := range vecs {
			w.op("VMOVUPS %d(BX), %s", (k*w.vecs+v)*w.width, w.v(b+v))
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
		w.op("ADDQ $%d, BX", k*w.vecs*w.width)
	}
	loop, rest, one, done := w.fresh("loop"), w.fresh("rest"), w.fresh("one"), w.fresh("done")
	w.op("SUBQ $%d, CX", unroll)
	w.op("JLT %s", rest)
	w.label(loop)
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
	store := w.fresh("store")
	w.op("TESTQ SI, SI")
	w.op("JEQ %s", store)
	w.op("MOVQ DI, BX")
	for i := range rows {
		for v := range vecs {
			w.op("VADDPS %d(BX), %s, %s", v*w.width, w.v(acc(i, v)), w.v(acc(i, v)))
		}
		if i+1 < rows {
			w.op("ADDQ DX, BX")
		}
	}
	w.label(store)
	for i := range rows {
		for v := range vecs {
			w.op("VMOVUPS %s, %d(DI)", w.v(acc(i, v)), v*w.width)
		}
		if i+1 < rows {
			w.op("ADDQ DX, DI")
		}
	}
	w.ret()
}

// quadVecs is the number of vectors in a panel of quadTile.
const quadVecs = 4

func quadTile(w *writer) {
	w.function("quadTile", "k a b c add", "CX", "AX", "BX", "DI", "SI")
	for v := range quadVecs {
		w.zero(v)
	}
	w.op("TESTQ SI, SI")
	w.op("JEQ quads%s", w.name)
	for v := range quadVecs {
		w.op("VMOVUPS %d(DI), %s", v*w.width, w.v(v))
	}
	w.label("quads" + w.name)
	group := func(n int) {
		for k := range n {
			w.op("VBROADCASTSS %d(AX), %s", 4*k, w.v(12))
			for v := range quadVecs {
				t := 4 + v
				if k > 0 {
					t = 8 + v
				}
				w.op("VMULPS %d(BX), %s, %s", (k*quadVecs+v)*w.width, w.v(12), w.v(t))
				if k > 0 {
					w.op("VADDPS %s, %s, %s", w.v(t), w.v(4+v), w.v(4+v))
				}
			}
		}
		for v := range quadVecs {
			w.op("VADDPS %s, %s, %s", w.v(4+v), w.v(v), w.v(v))
		}
		w.op("ADDQ $%d, AX", 4*n)
		w.op("ADDQ $%d, BX", n*quadVecs*w.width)
	}
	w.op("SUBQ $4, CX")
	w.op("JLT quadrest%s", w.name)
	w.label("quadloop" + w.name)
	group(4)
	w.op("SUBQ $4, CX")
	w.op("JGE quadloop%s", w.name)
	w.label("quadrest" + w.name)
	for n := 3; n > 0; n-- {
		next := w.fresh("quadnext")
		w.op("CMPQ CX, $%d", n-4)
		w.op("JNE %s", next)
		group(n)
		w.label(next)
	}
	for v := range quadVecs {
		w.op("VMOVUPS %s, %d(DI)", w.v(v), v*w.width)
	}
	w.ret()
}

func laneTile(w *writer) {
	w.function("laneTile", "k a b c add", "CX", "AX", "BX", "DI", "SI")
	for l := range 8 {
		w.zero(l)
	}
	lane := func(l int) {
		w.op("VBROADCASTSS %d(AX), %s", 4*l, w.v(8+l%4))
		w.op("VMULPS %d(BX), %s, %s", l*w.width, w.v(8+l%4), w.v(8+l%4))
		w.op("VADDPS %s, %s, %s", w.v(8+l%4), w.v(l), w.v(l))
	}
	w.op("SUBQ $8, CX")
	w.op("JLT lanerest%s", w.name)
	w.label("laneloop" + w.name)
	for l := range 8 {
		lane(l)
	}
	w.op("ADDQ $32, AX")
	w.op("ADDQ $%d, BX", 8*w.width)
	w.op("SUBQ $8, CX")
	w.op("JGE laneloop%s", w.name)
	w.label("lanerest" + w.name)
	w.op("ADDQ $8, CX")
	for l := range 7 {
		w.op("CMPQ CX, $%d", l)
		w.op("JEQ lanesum%s", w.name)
		lane(l)
	}
	w.label("lanesum" + w.name)
	for l := 1; l < 4; l++ {
		w.op("VADDPS %s, %s, %s", w.v(l), w.v(0), w.v(0))
		w.op("VADDPS %s, %s, %s", w.v(4+l), w.v(4), w.v(4))
	}
	w.op("VADDPS %s, %s, %s", w.v(4), w.v(0), w.v(0))
	w.op("TESTQ SI, SI")
	w.op("JEQ lanestore%s", w.name)
	w.op("VADDPS (DI), %s, %s", w.v(0), w.v(0))
	w.label("lanestore" + w.name)
	w.op("VMOVUPS %s, (DI)", w.v(0))
	w.ret()
}
