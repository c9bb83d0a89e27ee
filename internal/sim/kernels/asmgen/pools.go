package main

import "fmt"

// pools are the rows of results of a pooling, maxima and quotients of sums, and of a depthwise convolution.
func pools(w *writer) {
	for stride := 1; stride <= 2; stride++ {
		poolRows(w, "max", stride)
		poolRows(w, "sum", stride)
		depthRows(w, stride)
	}
}

// poolRows goes through the vectors of each row; for each it goes through the taps.
func poolRows(w *writer, kind string, stride int) {
	name := fmt.Sprintf("%sRows%dx", kind, stride)
	if kind == "max" {
		w.function(name, "dst dststep src srcstep rows n taps count", "DI", "R8", "SI", "R9", "R10", "R12", "R13", "R11")
	} else {
		w.function(name, "dst dststep src srcstep rows n taps count div divstep", "DI", "R8", "SI", "R9", "R10", "R12", "R13", "R11")
	}
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.tailMask("R12") // K1 or register 7, R15 elements
	if stride == 2 && w.reg == "Z" {
		w.op("VMOVDQU32 evens<>(SB), Z4")
	}
	load := func(to int) {
		w.op("MOVQ (R13)(DX*8), R14")
		if stride == 1 {
			w.op("VMOVUPS (BX)(R14*4), %s", w.v(to))
			return
		}
		w.op("VMOVUPS (BX)(R14*4), %s", w.v(2))
		if w.reg == "Z" {
			w.op("VMOVAPS Z4, Z%d", to)
			w.op("VPERMI2PS %d(BX)(R14*4), Z2, Z%d", w.width, to)
		} else {
			w.op("VMOVUPS %d(BX)(R14*4), Y3", w.width)
			w.op("VSHUFPS $0x88, Y3, Y2, Y%d", to)
			w.op("VPERMPD $0xd8, Y%d, Y%d", to, to)
		}
	}
	row, vec, tap, divide, part, end, done := w.fresh("row"), w.fresh("vec"), w.fresh("tap"), w.fresh("divide"), w.fresh("part"), w.fresh("end"), w.fresh("done")
	w.label(row)
	w.op("TESTQ R10, R10")
	w.op("JEQ %s", done)
	w.op("MOVQ DI, AX")
	w.op("MOVQ SI, BX")
	w.op("MOVQ R12, CX")
	w.label(vec)
	w.op("TESTQ CX, CX")
	w.op("JLE %s", end)
	w.op("XORQ DX, DX")
	load(0)
	w.label(tap)
	w.op("INCQ DX")
	w.op("CMPQ DX, R11")
	w.op("JGE %s", divide)
	load(1)
	switch {
	case kind == "sum":
		w.op("VADDPS %s, %s, %s", w.v(1), w.v(0), w.v(0))
	case w.reg == "Z": // NaN comes through
		w.op("VCMPPS $3, Z1, Z1, K2")
		w.op("VMAXPS Z0, Z1, Z0")
		w.op("VMOVAPS Z1, K2, Z0")
	default:
		w.op("VCMPPS $3, Y1, Y1, Y5")
		w.op("VMAXPS Y0, Y1, Y0")
		w.op("VBLENDVPS Y5, Y1, Y0, Y0")
	}
	w.op("JMP %s", tap)
	w.label(divide)
	w.op("CMPQ CX, $%d", w.width/4)
	w.op("JLT %s", part)
	if kind == "sum" {
		w.op("MOVQ CX, R14")
		w.op("NEGQ R14")
		w.op("ADDQ R12, R14")
		w.op("MOVQ div+64(FP), DX")
		w.op("VDIVPS (DX)(R14*4), %s, %s", w.v(0), w.v(0))
	}
	w.op("VMOVUPS %s, (AX)", w.v(0))
	w.op("ADDQ $%d, AX", w.width)
	w.op("ADDQ $%d, BX", stride*w.width)
	w.op("SUBQ $%d, CX", w.width/4)
	w.op("JMP %s", vec)
	w.label(part)
	if kind == "sum" {
		w.op("MOVQ CX, R14")
		w.op("NEGQ R14")
		w.op("ADDQ R12, R14")
		w.op("MOVQ div+64(FP), DX")
		w.maskedLoad("(DX)(R14*4)", 6)
		w.op("VDIVPS %s, %s, %s", w.v(6), w.v(0), w.v(0))
	}
	w.maskedStore(0, "(AX)")
	w.label(end)
	w.op("ADDQ R8, DI")
	w.op("ADDQ R9, SI")
	if kind == "sum" {
		w.op("MOVQ divstep+72(FP), DX")
		w.op("SHLQ $2, DX")
		w.op("ADDQ DX, div+64(FP)")
	}
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}
