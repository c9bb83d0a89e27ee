package atrace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sample(t testing.TB) []byte {
	t.Helper()
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
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "data", "dump", "writer", "atrace", "schedule_tracer_runtime_stream.bin"))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return b
}

func TestWriterSample(t *testing.T) {
	f, err := Parse(sample(t))
	if err != nil || len(f.Problems) != 0 {
		t.Fatal(err, f.Problems)
	}
	if f.Version != 3 || f.Freq != 2094763 || len(f.Structs) != 2 || f.Structs[0].Name != "task_submit" || len(f.Structs[0].Items) != 8 || len(f.Messages) != 7 {
		t.Fatalf("%+v", f)
	}
	stamps := []string{"04:43:00.432159", "04:43:00.433828", "04:43:00.435453", "04:43:00.437078", "04:43:00.438707", "04:43:00.440312", "04:43:00.441938"}
	for i, m := range f.Messages {
		// The expected stamps were computed in float64, whose steps are 256 ns here: a microsecond of doubt.
		want, err := time.Parse("2006-01-02 15:04:05.000000", "2026-11-30 "+stamps[i])
		if d := m.Time.Sub(want); err != nil || d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("message %d at %s, expected %s", i, m.Time, stamps[i])
		}
	}
	get := func(i int, name string) string {
		for _, f := range f.Messages[i].Fields {
			if strings.Contains(f[0], name) {
				return f[1]
			}
		}
		return "?"
	}
	t.Log(f.Messages[5])
	if get(5, "tid") != "1005" || get(5, "stream") != "2" || get(5, "ret") != "507015" || get(4, "ret") != "0" || get(5, "addr") != "0x12c0c0005000" || get(5, "flags") != "0b100000" || get(5, "delta") != "-5" || get(5, "dev") != "5,2" {
		t.Errorf("%v", f.Messages[5])
	}
	if !strings.Contains(f.Messages[6].String(), "stream 2 aborted after error") {
		t.Errorf("%v", f.Messages[6])
	}
}

func TestDamage(t *testing.T) {
	b := sample(t)
	whole, _ := Parse(b)
	for cut := range b {
		f, err := Parse(b[:cut])
		if err == nil && len(f.Problems) == 0 {
			t.Fatalf("cut at %d of %d: no problem reported", cut, len(b))
		}
		if err == nil && len(f.Messages) > len(whole.Messages) {
			t.Fatal("a cut file has more messages")
		}
		c := bytes.Clone(b)
		c[cut] ^= 0xff
		Parse(c)
	}
}

func FuzzParse(f *testing.F) {
	h := make([]byte, 48+40+40+40+16+32)
	h[0], h[1], h[4] = 0x28, 0xd9, 3
	h[12], h[48] = 120, 1
	h[88+32] = 1
	h[128+32], h[128+34] = 8, 8
	h[168], h[176] = 32, 1
	h[184], h[192] = 9, 8
	f.Add(h)
	f.Fuzz(func(t *testing.T, b []byte) {
		if f, err := Parse(b); err == nil {
			for _, m := range f.Messages {
				if m.Offset > int64(len(b)) || m.String() == "" {
					t.Fatal("message outside the file")
				}
			}
		}
	})
}
