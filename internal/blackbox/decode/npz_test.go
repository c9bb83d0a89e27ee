package decode

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/tensor"
)

// npyOf is a .npy file of float32 numbers; descr replaces their type.
func npyOf(t *testing.T, descr string, data []byte, n int) []byte {
	t.Helper()
	head, err := tensor.NPYHeader(tensor.Float32, tensor.Shape{n})
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Replace(head, []byte("'<f4'"), []byte(descr), 1), data...)
}

// The arrays of an archive are shown one by one; what cannot be read is said beside them.
func TestNPZ(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range []struct {
		name string
		data []byte
	}{
		{"../up.npy", npyOf(t, "'<f4'", []byte{0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f}, 2)},
		{"text.npy", npyOf(t, "'<U1'", make([]byte, 8), 2)},
		{"short.npy", npyOf(t, "'<f4'", make([]byte, 4), 2)},
	} {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "in", "a.npz")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := File(context.Background(), path, Options{Out: filepath.Join(dir, "out"), Format: "bin"})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Tensors) != 1 || len(rep.Problems) != 1 || len(rep.Notes) != 2 {
		t.Fatalf("%+v", rep)
	}
	if !strings.Contains(rep.Problems[0].Text, "short") || !strings.Contains(rep.Notes[0], "text") {
		t.Errorf("%v %v", rep.Problems, rep.Notes)
	}
	if _, err := os.Stat(filepath.Join(dir, "up.npy")); !os.IsNotExist(err) {
		t.Error("an entry left its folder")
	}

	// Numbers that were not looked at are unknown, not none.
	x := rep.Tensors[0]
	if x.Name != "../up" || x.NaN != nil || x.Elements != nil {
		t.Errorf("%+v", x)
	}
	rep, err = File(context.Background(), path, Options{NoStats: true})
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(rep.Tensors[0])
	if err != nil || !bytes.Contains(j, []byte(`"nan":null`)) || !bytes.Contains(j, []byte(`"zeros":null`)) {
		t.Errorf("%s %v", j, err)
	}
	rep, err = File(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x := rep.Tensors[0]; x.NaN == nil || *x.NaN != 1 || *x.Elements != 2 || *x.Zeros != 0 {
		t.Errorf("%+v", x)
	}
}
