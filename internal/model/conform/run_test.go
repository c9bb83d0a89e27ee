package conform

import (
	"os"
	"path/filepath"
	"testing"

	"npu/internal/model"
	"npu/internal/sim/soc"
)

// data finds a file of the ONNX project's test data beside the repository.
func data(t *testing.T, name string) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "data", "onnx-backend", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no ONNX backend cases at %s", path)
	}
	return path
}

// TestRun_suites holds the whole way of a model against the ONNX project's cases, in both modes. No case may fail: what is
// not computed is refused.
func TestRun_suites(t *testing.T) {
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		name  string
		least int
	}{{"node.zip", 1450}, {"simple.zip", 12}, {"pytorch-converted.zip", 69}, {"pytorch-operator.zip", 33}} {
		for _, mode := range []model.Mode{model.Sunk, model.Eager} {
			t.Run(file.name+" "+string(mode), func(t *testing.T) {
				s, err := Open(data(t, file.name))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				passed := 0
				for i := range s.Cases {
					switch r := s.Run(t.Context(), &s.Cases[i], Options{Chip: chip, Mode: mode, Threads: 1}); r.Status {
					case Passed:
						passed++
					case Failed:
						t.Errorf("%s: %s", r.Name, r.Reason)
					default:
						t.Logf("%s is not supported: %s", r.Name, r.Reason)
					}
				}
				t.Logf("%d of %d cases pass", passed, len(s.Cases))
				if passed < file.least {
					t.Errorf("%d cases pass, expected at least %d", passed, file.least)
				}
			})
		}
	}
}
