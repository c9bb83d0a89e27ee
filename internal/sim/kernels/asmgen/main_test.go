package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFiles_upToDate(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: go run ./internal/sim/kernels/asmgen", name)
		}
	}
}
