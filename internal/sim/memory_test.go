package sim

import "testing"

// fill sets every byte of its slice and none beside it, at all sizes around its pieces.
func TestFill(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 64, 1000, 16<<10 - 1, 16 << 10, 16<<10 + 1, 50_001} {
		b := make([]byte, n+2)
		fill(b[1:n+1], 0xa5)
		for i, got := range b {
			want := byte(0xa5)
			if i == 0 || i == n+1 {
				want = 0
			}
			if got != want {
				t.Fatalf("size %d: byte %d is 0x%x, want 0x%x", n, i-1, got, want)
			}
		}
	}
}
