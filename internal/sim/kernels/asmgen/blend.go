package main

// blendRow is a row of a bilinear resize: the four inputs of each result, those of the row above at a and at a+n, those
// of the row below at b and at b+n, times the weights x and x+n along the row and W1 and W2 across.
func blendRow(w *writer) {
	w.function("blendRow", "dst a b x n W1 W2", "DI", "SI", "BX", "R8", "R9")
	w.tailMask("R9")
	w.op("LEAQ (SI)(R9*4), R11")
	w.op("LEAQ (BX)(R9*4), R12")
	w.op("LEAQ (R8)(R9*4), R13")
	w.op("XORQ AX, AX")
	body := func(load func(from string, to int)) {
		load("(R8)(AX*1)", 1)
		load("(R13)(AX*1)", 2)
		for i, in := range []string{"(SI)(AX*1)", "(R11)(AX*1)", "(BX)(AX*1)", "(R12)(AX*1)"} {
			to := 3
			if i == 0 {
				to = 0
			}
			w.op("VMULPS %s, %s, %s", w.v(15-i/2), w.v(1+i%2), w.v(to))
			load(in, 4)
			w.op("VMULPS %s, %s, %s", w.v(4), w.v(to), w.v(to))
			if i > 0 {
				w.op("VADDPS %s, %s, %s", w.v(3), w.v(0), w.v(0))
			}
		}
	}
	loop, rest, done := w.fresh("loop"), w.fresh("rest"), w.fresh("done")
	w.label(loop)
	w.op("SUBQ $%d, R9", w.width/4)
	w.op("JLT %s", rest)
	body(func(from string, to int) { w.op("VMOVUPS %s, %s", from, w.v(to)) })
	w.op("VMOVUPS %s, (DI)(AX*1)", w.v(0))
	w.op("ADDQ $%d, AX", w.width)
	w.op("JMP %s", loop)
	w.label(rest)
	w.op("TESTQ R15, R15")
	w.op("JEQ %s", done)
	body(w.maskedLoad)
	w.maskedStore(0, "(DI)(AX*1)")
	w.label(done)
	w.ret()
}
