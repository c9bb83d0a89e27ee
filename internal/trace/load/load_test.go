package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace/export"
	"npu/internal/trace/gen"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := filepath.Join(dir, "good.npt")
	tr := gen.Trace(gen.Options{Tasks: 100})
	if err := export.Write(good, tr); err != nil {
		t.Fatal(err)
	}
	if got, err := File(context.Background(), good); err != nil || got.Tasks.Len() != tr.Tasks.Len() {
		t.Fatalf("good capture: %v", err)
	}
	whole, _ := os.ReadFile(good)
	if got, err := File(context.Background(), put("cut.npt", string(whole[:len(whole)-3]))); got == nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "cut.npt") {
		t.Errorf("cut capture: %v, %v", got, err)
	}
	for name, tt := range map[string]struct{ content, want string }{
		"x.json":   {" {}", "no traceEvents"},
		"y.json":   {"[{\"ph\":\"X\"", "ends within the events"},
		"x.gz":     {"\x1f\x8b\x08", "gzip data"},
		"x.csv":    {"a,b\n1,2\n", "its columns are a, b"},
		"x.txt":    {"héllo\n", "looks like text"},
		"x.bin":    {"\x00\x01\x02", "starts with the bytes 00 01 02"},
		"x.html":   {"<!DOCTYPE HTML>\n<html>", "is a web page"},
		"x.pf":     {"\x0a\x05\x50\x01\x68\x01\x00", "as Perfetto traces are"},
		"x.db":     {"SQLite format 3\x00rest", "not a database"},
		"empty":    {"", "is empty"},
		"magic":    {"\x89NPT", "not an .npt capture"},
		"text.npt": {"\x89NPT\n\x1a\n" + strings.Repeat("x", 30), "not an .npt capture"},
	} {
		got, err := File(context.Background(), put(name, tt.content))
		if got != nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v, want %q", name, got, err, tt.want)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := File(context.Background(), path); problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := File(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
