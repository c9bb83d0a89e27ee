//go:build linux

package runtime

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full: one clear line, no half file, and what fits is written. A limit on the size of files stands in for
// the disk; it holds for the whole process, so that a child has it.
func TestDumpExceptions_fullDisk(t *testing.T) {
	if dir := os.Getenv("NPU_TEST_FULL"); dir != "" {
		r := newRig(t, Config{})
		r.ok(r.DumpExceptions(dir), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20 << 10, Max: 20 << 10}))
		r.ok(r.LaunchKernel(r.boom, nil, nil))
		r.code("fault", r.SynchronizeStream(nil), VectorException)
		_, err := r.rt.Dumps()
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), ".bbox was not written: file too large: make room") {
			t.Errorf("error %v", err)
		}
		return
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestDumpExceptions_fullDisk$")
	c.Env = append(os.Environ(), "NPU_TEST_FULL="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], "plog-") {
		t.Errorf("%v: left %v, want the log alone", err, names)
	}
}
