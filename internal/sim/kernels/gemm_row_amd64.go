package kernels

// fmaRow512 computes rowPanels panels of a single row of an inSequence product.
//
//go:noescape
func fmaRow512(k int, a, b *float32, offsets *int, step int, c *float32, add int)

//go:noescape
func fmaRow256(k int, a, b *float32, offsets *int, step int, c *float32, add int)

// singleRow is the row of a micro.
func singleRow(f func(k int, a, b *float32, offsets *int, step int, c *float32, add int), cols int) func(k int, a, b []float32, offsets []int, step int, c []float32, add bool) {
	return func(k int, a, b []float32, offsets []int, step int, c []float32, add bool) {
		if c = c[:cols]; k > 0 {
			f(k, &a[0], &b[0], &offsets[0], step, &c[0], number(add))
		}
	}
}
