package main

import "fmt"

// depthRows goes through the vectors of rows of results, two at a time; for each it sums over the taps in fours.
func depthRows(w *writer, stride int) {
	w.function(fmt.Sprintf("depthRows%dx", stride), "dst dststep src srcstep rows n taps weights count BIAS LO HI",
		"DI", "R8", "SI", "R9", "R10", "R12", "R13", "DX", "R11")
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.tailMask("R12") // K1 or register 7
	w.op("MOVQ DX, R15")
	const acc, sum, product, factor, evens = 0, 2, 4, 6, 8
	if stride == 2 && w.reg == "Z" {
		w.op("VMOVDQU32 evens<>(SB), Z%d", evens)
	}
	// tap multiplies n vectors with tap DX+k.
	tap := func(k, n, to int) {
		w.op("MOVQ %d(R13)(DX*8), R14", 8*k)
		w.op("VBROADCASTSS %d(R15)(DX*4), %s", 4*k, w.v(factor))
		for v := range n {
			from := fmt.Sprintf("%d(BX)(R14*4)", v*stride*w.width)
			if stride == 2 {
				high := fmt.Sprintf("%d(BX)(R14*4)", (v*stride+1)*w.width)
				w.op("VMOVUPS %s, %s", from, w.v(9))
				if w.reg == "Z" {
					w.op("VMOVAPS Z%d, Z10", evens)
					w.op("VPERMI2PS %s, Z9, Z10", high)
				} else {
					w.op("VSHUFPS $0x88, %s, Y9, Y10", high)
					w.op("VPERMPD $0xd8, Y10, Y10")
				}
				from = w.v(10)
			}
			w.op("VMULPS %s, %s, %s", from, w.v(factor), w.v(to+v))
		}
	}
	group := func(k, n int) {
		tap(0, n, sum)
		for t := 1; t < k; t++ {
			tap(t, n, product)
			for v := range n {
				w.op("VADDPS %s, %s, %s", w.v(product+v), w.v(sum+v), w.v(sum+v))
			}
		}
		for v := range n {
			w.op("VADDPS %s, %s, %s", w.v(sum+v), w.v(acc+v), w.v(acc+v))
		}
	}
	row, pair, one, part, end, done := w.fresh("row"), w.fresh("pair"), w.fresh("one"), w.fresh("part"), w.fresh("end"), w.fresh("done")
	// vectors sums n vectors and limits them.
	vectors := func(n int) {
		loop, rest, ready := w.fresh("fours"), w.fresh("rest"), w.fresh("ready")
		for v := range n {
			w.zero(acc + v)
		}
		w.op("XORQ DX, DX")
		w.label(loop)
		w.op("LEAQ 4(DX), R14")
		w.op("CMPQ R14, R11")
		w.op("JGT %s", rest)
		group(4, n)
		w.op("ADDQ $4, DX")
		w.op("JMP %s", loop)
		w.label(rest)
		for k := 1; k <= 3; k++ {
			next := w.fresh("next")
			w.op("LEAQ %d(DX), R14", k)
			w.op("CMPQ R14, R11")
			w.op("JNE %s", next)
			group(k, n)
			w.op("JMP %s", ready)
			w.label(next)
		}
		w.label(ready)
		for v := range n {
			x := w.v(acc + v)
			w.op("VADDPS %s, %s, %s", w.v(15), x, x)
			w.op("VMAXPS %s, %s, %s", x, w.v(14), x)
			w.op("VMINPS %s, %s, %s", x, w.v(13), x)
		}
	}
	store := func(n int) {
		for v := range n {
			w.op("VMOVUPS %s, %d(AX)", w.v(acc+v), v*w.width)
		}
		w.op("ADDQ $%d, AX", n*w.width)
		w.op("ADDQ $%d, BX", n*stride*w.width)
		w.op("SUBQ $%d, CX", n*w.width/4)
	}
	w.label(row)
	w.op("TESTQ R10, R10")
	w.op("JEQ %s", done)
	w.op("MOVQ DI, AX")
	w.op("MOVQ SI, BX")
	w.op("MOVQ R12, CX")
	w.label(pair)
	w.op("CMPQ CX, $%d", 2*w.width/4)
	w.op("JLT %s", one)
	vectors(2)
	store(2)
	w.op("JMP %s", pair)
	w.label(one)
	w.op("TESTQ CX, CX")
	w.op("JLE %s", end)
	vectors(1)
	w.op("CMPQ CX, $%d", w.width/4)
	w.op("JLT %s", part)
	store(1)
	w.op("JMP %s", one)
	w.label(part)
	w.maskedStore(acc, "(AX)")
	w.label(end)
	w.op("ADDQ R8, DI")
	w.op("ADDQ R9, SI")
	w.op("DECQ R10")
	w.op("JMP %s", row)
	w.label(done)
	w.ret()
}
