package export

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func TestWrite_suffixPicksTheFormat(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 50})
	dir := t.TempDir()
	starts := map[string]string{"x.npt": "\x89NPT", "x.json": "{\"displayTimeUnit\"", "a.b.json.gz": "\x1f\x8b", "x.pb.gz": "\x1f\x8b", "x.csv": "device,", "x.pftrace": "\x0a", "x.parquet": "PAR1", "x.db": "SQLite format 3\x00"}
	for name, start := range starts {
		path := filepath.Join(dir, name)
		if err := Write(path, tr); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(got, []byte(start)) {
			t.Errorf("%s: %v, starts with %.20q", name, err, got)
		}
		if err := Write(path, tr); err != nil {
			t.Error(err)
		}
		if again, _ := os.ReadFile(path); !bytes.Equal(got, again) {
			t.Errorf("%s: written twice, the bytes differ", name)
		}
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != len(starts) {
		t.Errorf("%d files, want %d: %v", len(entries), len(starts), entries)
	}
}

func TestWrite_gzipHoldsTheSameJSON(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 50})
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "x.json"), filepath.Join(dir, "x.json.gz")
	if err := errors.Join(Write(plain, tr), Write(packed, tr)); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(packed)
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	want, _ := os.ReadFile(plain)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %d bytes, want %d", err, len(got), len(want))
	}
}

func TestWrite_errorsLeaveNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.npt")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := Format{"broken", ".npt", func(w io.Writer, _ *trace.Trace) error { w.Write([]byte("half")); return errors.New("no") }}
	if err := File(path, nil, broken); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file became %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := Write(filepath.Join(dir, "x.xyz"), nil); problem.ClassOf(err) != problem.Usage {
		t.Errorf("unknown suffix: %v", err)
	}
	if err := Write(filepath.Join(dir, "no", "x.csv"), nil); err == nil || problem.ClassOf(err) != problem.Failed {
		t.Errorf("no such directory: %v", err)
	}
}

func TestFile_devicesAreWrittenInPlace(t *testing.T) {
	if err := File(os.DevNull, gen.Trace(gen.Options{}), Formats()[0]); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v %v", os.DevNull, st, err)
	}
}

func TestByName(t *testing.T) {
	if f, err := ByName("chrome", "a.json.gz"); err != nil || f.Suffix != ".json.gz" {
		t.Errorf("%v %v", f.Suffix, err)
	}
	if f, err := ByName("chrome", "-"); err != nil || f.Suffix != ".json" {
		t.Errorf("%v %v", f.Suffix, err)
	}
	for path, suffix := range map[string]string{"a.json": ".json", "a.db": ".db", "-": ".json"} {
		if f, err := ByName("msprof", path); err != nil || f.Suffix != suffix || f.Name != "msprof" {
			t.Errorf("msprof, %s: %v %v", path, f, err)
		}
	}
	if _, err := ByName("xyz", "a.json"); problem.ClassOf(err) != problem.Usage {
		t.Errorf("%v", err)
	}
}
