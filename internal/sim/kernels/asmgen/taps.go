package main

// taps is tapRows, the sums of a depthwise convolution: rows of vectors of results, each the sum over taps of a weight
// times the input at the tap's offset, four taps at a time.
func taps(w *writer) {
	const most = 4 // vectors that are computed together
	w.function("tapRows", "dst dststep src srcstep offsets weights taps vecs rows",
		"DI", "R14", "SI", "R13", "R12", "R11", "R10", "R9", "R8")
	w.op("SHLQ $2, R14")
	w.op("SHLQ $2, R13")
	w.op("SHLQ $3, R10")
	row, done := "taprow"+w.name, "tapdone"+w.name
	w.label(row)
	w.op("TESTQ R8, R8")
	w.op("JEQ %s", done)
	w.op("MOVQ DI, DX") // of the vectors in turn
	w.op("MOVQ SI, BX")
	w.op("MOVQ R9, CX")
	for n := most; n >= 1; n /= 2 {
		loop, next := w.fresh("tapvec"), w.fresh("tapnext")
		w.label(loop)
		w.op("CMPQ CX, $%d", n)
		w.op("JLT %s", next)
		tapBlock(w, n)
		w.op("ADDQ $%d, DX", n*w.width)
		w.op("ADDQ $%d, BX", n*w.width)
		w.op("SUBQ $%d, CX", n)
		w.op("JMP %s", loop)
		w.label(next)
	}
	w.op("ADDQ R14, DI")
	w.op("ADDQ R13, SI")
	w.op("DECQ R8")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// tapBlock sums n vectors at BX and stores them at DX.
func tapBlock(w *writer, n int) {
	const acc, sum, product, weight = 0, 4, 8, 12
	for v := range n {
		w.zero(acc + v)
	}
	// AX goes through offsets and weights, both 8 bytes apart.
	group := func(taps int) {
		for t := range taps {
			w.op("MOVQ %d(R12)(AX*1), R15", 8*t)
			w.op("VBROADCASTSS %d(R11)(AX*1), %s", 8*t, w.v(weight))
			for v := range n {
				to := product + v
				if t == 0 {
					to = sum + v
				}
				w.op("VMULPS %d(BX)(R15*4), %s, %s", v*w.width, w.v(weight), w.v(to))
				if t > 0 {
					w.op("VADDPS %s, %s, %s", w.v(product+v), w.v(sum+v), w.v(sum+v))
				}
			}
		}
		for v := range n {
			w.op("VADDPS %s, %s, %s", w.v(sum+v), w.v(acc+v), w.v(acc+v))
		}
	}
	loop, rest, done := w.fresh("quad"), w.fresh("rest"), w.fresh("store")
	w.op("XORQ AX, AX")
	w.label(loop)
	w.op("LEAQ 32(AX), R15")
	w.op("CMPQ R15, R10")
	w.op("JGT %s", rest)
	group(4)
	w.op("ADDQ $32, AX")
	w.op("JMP %s", loop)
	w.label(rest)
	for taps := 1; taps <= 3; taps++ {
		next := w.fresh("taps")
		w.op("LEAQ %d(AX), R15", 8*taps)
		w.op("CMPQ R15, R10")
		w.op("JNE %s", next)
		group(taps)
		w.op("JMP %s", done)
		w.label(next)
	}
	w.label(done)
	for v := range n {
		w.op("VMOVUPS %s, %d(DX)", w.v(acc+v), v*w.width)
	}
}
