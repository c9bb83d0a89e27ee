package kernels

// fma32 is a·b+c rounded once. The language lets a compiler fuse this expression, and for arm64 it does;
// TestFMA32 would notice if it stopped.
func fma32(a, b, c float32) float32 { return a*b + c }
