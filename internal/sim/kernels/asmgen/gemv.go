package main

// fmaRow is a single row of an inSequence product: three panels of three vectors, STEP apart. Nine sums hide what one
// waits for another; the rows of B are read once and need no registers.
func fmaRow(w *writer) {
	const panels, unroll = 3, 4
	w.function("fmaRow", "k a b offsets step c add", "CX", "AX", "BX", "R13", "R15", "DI", "SI")
	w.op("SHLQ $2, R15")
	w.op("LEAQ (BX)(R15*1), R11")
	w.op("LEAQ (R11)(R15*1), R12")
	sums := panels * w.vecs
	each := func(f func(sum, panel, at int)) {
		for p := range panels {
			for v := range w.vecs {
				f(p*w.vecs+v, p, v*w.width)
			}
		}
	}
	for i := range sums {
		w.zero(i)
	}
	step := func(k int) {
		w.op("MOVQ %d(R13), R14", 8*k)
		w.op("VBROADCASTSS %d(AX), %s", 4*k, w.v(sums))
		each(func(sum, panel, at int) {
			w.op("VFMADD231PS %d(%s)(R14*4), %s, %s", at, []string{"BX", "R11", "R12"}[panel], w.v(sums), w.v(sum))
		})
	}
	advance := func(k int) {
		w.op("ADDQ $%d, AX", 4*k)
		w.op("ADDQ $%d, R13", 8*k)
	}
	overTerms(w, unroll, step, advance, func() {})
	store := w.fresh("store")
	place := func(panel, at int) int { return panel*w.vecs*w.width + at }
	w.op("TESTQ SI, SI")
	w.op("JEQ %s", store)
	each(func(sum, panel, at int) { w.op("VADDPS %d(DI), %s, %s", place(panel, at), w.v(sum), w.v(sum)) })
	w.label(store)
	each(func(sum, panel, at int) { w.op("VMOVUPS %s, %d(DI)", w.v(sum), place(panel, at)) })
	w.ret()
}
