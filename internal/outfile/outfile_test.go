package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	say := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error { _, _ = io.WriteString(w, s); return err }
	}
	if err := Write(path, say("one", nil)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Write(path, say("two", broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "one" {
		t.Errorf("a failed write left %q", b)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("%d files in the folder, want 1", len(list))
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", st.Mode())
	}
	if err := Write("/dev/null", say("x", nil)); err != nil {
		t.Errorf("a device: %v", err)
	}
	if err := Write(filepath.Join(dir, "no", "x"), say("x", nil)); err == nil {
		t.Error("a missing folder passes")
	}
}
