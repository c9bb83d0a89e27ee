package kernels

// The functions in assembly are written by asmgen; their names end in NEON, which every arm64 has. They compute the bits
// of the plain Go form, which takes what is left over.

// wholeVectors is how many of n elements are in whole vectors, wholeLanes in whole sets of 16 lanes.
func wholeVectors(n int) int { return n &^ 3 }
func wholeLanes(n int) int   { return n &^ 15 }
