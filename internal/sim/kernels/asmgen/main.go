// Command asmgen writes the assembly of package kernels: go run ./internal/sim/kernels/asmgen in the root of the
// repository. What each function computes is said where kernels has it in plain Go: simd_plain.go, gemm_micro.go, gemm_across.go, pool_rows.go.
//
// Each function has two forms, whose names end in the width of their registers: 512 needs AVX-512, 256 needs AVX2 and
// FMA. Both do the same operations in the same order. Those for arm64 end in NEON.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join("internal", "sim", "kernels", name), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// files are the generated files by name.
func files() map[string][]byte {
	out := map[string][]byte{}
	for name, gen := range map[string]func(w *writer){
		"gemm_amd64.s": products, "pool_amd64.s": pools, "across_amd64.s": across, "rows_amd64.s": rows, "turn_amd64.s": turn, "vector_amd64.s": vectors,
		"winograd_amd64.s": winograd,
	} {
		w := newWriter()
		for _, i := range []isa{avx512, avx2} {
			w.isa = i
			gen(w)
		}
		out[name] = w.finish()
		if w.wrappers.Len() > 0 {
			out["vector_amd64.go"] = w.goFile()
		}
	}
	w := newWriter()
	neonProducts(w)
	out["gemm_arm64.s"] = w.finish()
	w = newWriter()
	w.isa, w.translates = neon, true
	vectors(w)
	out["vector_arm64.s"], out["vector_arm64.go"] = w.finish(), w.goFile()
	return out
}
