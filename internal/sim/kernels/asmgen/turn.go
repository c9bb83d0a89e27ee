package main

// turn transposes blocks of eight rows by eight columns; there is a form for AVX2 alone, which has all that it takes.
func turn(w *writer) {
	if w.reg == "Z" {
		return
	}
	w.function("turn", "dst dststep src srcstep rows cols", "DI", "R8", "SI", "R9", "R10", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R8)(R8*2), R13")
	w.op("LEAQ (R9)(R9*2), BX")
	row, col, next, done := w.fresh("row"), w.fresh("col"), w.fresh("next"), w.fresh("done")
	w.label(row)
	w.op("SUBQ $8, R10")
	w.op("JLT %s", done)
	w.op("MOVQ DI, DX")
	w.op("MOVQ SI, AX")
	w.op("MOVQ R11, CX")
	w.label(col)
	w.op("SUBQ $8, CX")
	w.op("JLT %s", next)
	// line is line i of a block at r, whose fourth line is at r4; step and step3 are the distances.
	line := func(i int, r, r4, step, step3 string) string {
		if i >= 4 {
			r = r4
		}
		return [...]string{"(" + r + ")", "(" + r + ")(" + step + "*1)", "(" + r + ")(" + step + "*2)", "(" + r + ")(" + step3 + "*1)"}[i%4]
	}
	w.op("LEAQ (AX)(R9*4), R12")
	for i := range 8 {
		w.op("VMOVUPS %s, Y%d", line(i, "AX", "R12", "R9", "BX"), i)
	}
	for i := 0; i < 8; i += 2 { // pairs of elements of two rows
		w.op("VUNPCKLPS Y%d, Y%d, Y%d", i+1, i, 8+i)
		w.op("VUNPCKHPS Y%d, Y%d, Y%d", i+1, i, 9+i)
	}
	for h := range 2 { // of four rows
		for i := range 4 {
			w.op("VSHUFPS $%#x, Y%d, Y%d, Y%d", 0x44+i%2*0xaa, 10+4*h+i/2, 8+4*h+i/2, 4*h+i)
		}
	}
	w.op("LEAQ (DX)(R8*4), R12")
	for i := range 8 {
		w.op("VPERM2F128 $%#x, Y%d, Y%d, Y8", 0x20+i/4*0x11, 4+i%4, i%4)
		w.op("VMOVUPS Y8, %s", line(i, "DX", "R12", "R8", "R13"))
	}
	w.op("ADDQ $32, AX")
	w.op("LEAQ (DX)(R8*8), DX")
	w.op("JMP %s", col)
	w.label(next)
	w.op("ADDQ $32, DI")
	w.op("LEAQ (SI)(R9*8), SI")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}
