package kernels

// turn256 needs rows and cols to be multiples of eight.
//
//go:noescape
func turn256(dst *float32, dststep int, src *float32, srcstep, rows, cols int)

// turnBlocks transposes whole blocks; it says how many rows and columns that were.
func turnBlocks(dst []float32, dstStep int, src []float32, srcStep, rows, cols int) (r, c int) {
	if r, c = rows&^7, cols&^7; r == 0 || c == 0 || !hasAVX2() {
		return 0, 0
	}
	turn256(&dst[0], dstStep, &src[0], srcStep, r, c)
	return r, c
}
