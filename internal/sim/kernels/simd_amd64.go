package kernels

import "golang.org/x/sys/cpu"

// The functions in assembly, in two forms each: 512 for AVX-512, 256 for AVX2 with FMA. asm_gen.go writes them. All
// compute the same bits as the plain Go beside them, which runs where neither extension is there.

// hasAVX512 and hasAVX2 say which form this machine runs.
func hasAVX512() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ }
func hasAVX2() bool   { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// fmaTile512 is the tile of an inSequence product: 1..8 rows, 1..3 vectors of a panel of 48 columns.
//
//go:noescape
func fmaTile512(rows, vecs, k int, a *float32, lda int, b, c *float32, ldc, add int)

// fmaTile256 has 1..4 rows and a panel of 24 columns.
//
//go:noescape
func fmaTile256(rows, vecs, k int, a *float32, lda int, b, c *float32, ldc, add int)

// quadTile512 is the tile of an inQuads product: one row, a panel of 64 columns.
//
//go:noescape
func quadTile512(k int, a, b, c *float32, add int)

// quadTile256 has a panel of 32 columns.
//
//go:noescape
func quadTile256(k int, a, b, c *float32, add int)

// laneTile512 is the tile of an inLanes product: one row, a panel of 16 columns.
//
//go:noescape
func laneTile512(k int, a, b, c *float32, add int)

// laneTile256 has a panel of 8 columns.
//
//go:noescape
func laneTile256(k int, a, b, c *float32, add int)
