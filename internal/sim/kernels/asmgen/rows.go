package main

// rows are the functions that go through the rows of a part of a tensor. Steps from row to row come in elements.
func rows(w *writer) {
	padRows(w, "padRows", 1)
	padRows(w, "padSecond", 2)
	clampRows(w)
	blendRow(w)
}

// tailMask prepares the mask of the last CX%n elements of a row, n elements to a vector: K1, or register 7.
// It clobbers AX and R15 and leaves the rest in R15.
func (w *writer) tailMask(count string) {
	w.op("MOVQ %s, R15", count)
	w.op("ANDQ $%d, R15", w.width/4-1)
	if w.reg == "Z" {
		w.op("MOVQ R15, CX")
		w.op("MOVL $1, AX")
		w.op("SHLL CX, AX")
		w.op("DECL AX")
		w.op("KMOVW AX, K1")
		return
	}
	w.op("LEAQ masks<>+32(SB), AX")
	w.op("MOVQ R15, CX")
	w.op("SHLQ $2, CX")
	w.op("SUBQ CX, AX")
	w.op("VMOVDQU (AX), Y7")
}

func (w *writer) maskedLoad(from string, to int) {
	if w.reg == "Z" {
		w.op("VMOVUPS.Z %s, K1, Z%d", from, to)
	} else {
		w.op("VMASKMOVPS %s, Y7, Y%d", from, to)
	}
}

func (w *writer) maskedStore(from int, to string) {
	if w.reg == "Z" {
		w.op("VMOVUPS Z%d, K1, %s", from, to)
	} else {
		w.op("VMASKMOVPS Y%d, Y7, %s", from, to)
	}
}

// padRows copies rows of n elements of src, every step-th, with left times pad before and right times behind. What it
// writes beyond the end of a row, less than a vector, belongs to the next.
func padRows(w *writer, name string, step int) {
	w.function(name, "dst dststep src srcstep rows left n right PAD", "DI", "R8", "SI", "R9", "R10", "R11", "R12", "R13")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	if step == 2 {
		if w.reg == "Z" {
			w.op("VMOVDQU32 evens<>(SB), Z4")
		}
	} else {
		w.tailMask("R12")
	}
	pads := func(count string) {
		loop, done := w.fresh("pads"), w.fresh("data")
		w.op("MOVQ %s, CX", count)
		w.op("MOVQ DX, AX")
		w.label(loop)
		w.op("CMPQ CX, $0")
		w.op("JLE %s", done)
		w.op("VMOVUPS %s, (AX)", w.v(15))
		w.op("ADDQ $%d, AX", w.width)
		w.op("SUBQ $%d, CX", w.width/4)
		w.op("JMP %s", loop)
		w.label(done)
		w.op("LEAQ (DX)(%s*4), DX", count)
	}
	row, done := w.fresh("row"), w.fresh("done")
	w.label(row)
	w.op("TESTQ R10, R10")
	w.op("JEQ %s", done)
	w.op("MOVQ DI, DX")
	pads("R11")
	w.op("MOVQ DX, AX")
	w.op("MOVQ SI, BX")
	w.op("MOVQ R12, CX")
	loop, rest, end := w.fresh("loop"), w.fresh("rest"), w.fresh("end")
	w.label(loop)
	if step == 1 {
		w.op("CMPQ CX, $%d", w.width/4)
		w.op("JLT %s", rest)
		w.op("VMOVUPS (BX), %s", w.v(0))
	} else {
		w.op("CMPQ CX, $%d", w.width/4+1) // the last pair may be half
		w.op("JLT %s", rest)
		w.op("VMOVUPS (BX), %s", w.v(2))
		w.op("VMOVUPS %d(BX), %s", w.width, w.v(3))
		if w.reg == "Z" {
			w.op("VMOVAPS Z4, Z0")
			w.op("VPERMI2PS Z3, Z2, Z0")
		} else {
			w.op("VSHUFPS $0x88, Y3, Y2, Y0")
			w.op("VPERMPD $0xd8, Y0, Y0")
		}
	}
	w.op("VMOVUPS %s, (AX)", w.v(0))
	w.op("ADDQ $%d, AX", w.width)
	w.op("ADDQ $%d, BX", step*w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", loop)
	w.label(rest)
	if step == 1 {
		w.op("TESTQ R15, R15")
		w.op("JEQ %s", end)
		w.maskedLoad("(BX)", 0)
		w.op("VMOVUPS %s, (AX)", w.v(0))
	} else {
		one := w.fresh("one")
		w.op("TESTQ CX, CX")
		w.op("JEQ %s", end)
		w.label(one)
		w.op("MOVL (BX), R15")
		w.op("MOVL R15, (AX)")
		w.op("ADDQ $8, BX")
		w.op("ADDQ $4, AX")
		w.op("DECQ CX")
		w.op("JNE %s", one)
	}
	w.label(end)
	w.op("LEAQ (DX)(R12*4), DX")
	pads("R13")
	w.op("ADDQ R8, DI")
	w.op("ADDQ R9, SI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}

// clampRows is biasClamp for rows of n elements.
func clampRows(w *writer) {
	w.function("clampRows", "dst dststep src srcstep rows n BIAS LO HI", "DI", "R8", "SI", "R9", "R10", "R12")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.tailMask("R12")
	body := func() {
		w.op("VADDPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.clamp(w.v(14), w.v(13))
	}
	row, loop, rest, end, done := w.fresh("row"), w.fresh("loop"), w.fresh("rest"), w.fresh("end"), w.fresh("done")
	w.label(row)
	w.op("TESTQ R10, R10")
	w.op("JEQ %s", done)
	w.op("MOVQ DI, AX")
	w.op("MOVQ SI, BX")
	w.op("MOVQ R12, CX")
	w.label(loop)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JLT %s", rest)
	w.op("VMOVUPS (BX), %s", w.v(0))
	body()
	w.op("VMOVUPS %s, (AX)", w.v(0))
	w.op("ADDQ $%d, AX", w.width)
	w.op("ADDQ $%d, BX", w.width)
	w.op("JMP %s", loop)
	w.label(rest)
	w.op("TESTQ R15, R15")
	w.op("JEQ %s", end)
	w.maskedLoad("(BX)", 0)
	body()
	w.maskedStore(0, "(AX)")
	w.label(end)
	w.op("ADDQ R8, DI")
	w.op("ADDQ R9, SI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}
