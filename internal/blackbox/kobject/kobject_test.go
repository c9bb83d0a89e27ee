package kobject

import (
	"os"
	"path/filepath"
	"testing"
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
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "data", "dump", "writer", "core", "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0.o"))
	if err != nil {
		t.Skipf("real samples are not here: %v", err)
	}
	return b
}

func TestDemoKernel(t *testing.T) {
	o, err := Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Symbols) != 4 || !o.HasLines {
		t.Fatalf("%+v, lines %v, notes %v", o.Symbols, o.HasLines, o.Notes)
	}
	e, ok := o.Entry("DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0")
	if !ok || e.Addr != 0x30 {
		t.Errorf("entry %+v", e)
	}
	for addr, want := range map[uint64]string{
		0x14: "store_tile+0xd (demo_scatter.c:14)",
		0x58: "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0+0x28 (demo_scatter.c:21)",
		0x00: "load_index+0x0 (demo_scatter.c:7)",
	} {
		if l, ok := o.At(addr); !ok || l.String() != want {
			t.Errorf("0x%x: %s, expected %s", addr, l, want)
		}
	}
	if _, ok := o.At(0x10000); ok {
		t.Error("an address behind the text has no function")
	}
	if _, ok := o.Entry("something_else"); ok {
		t.Error("two entries: an unknown name must not get one of them")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[19], h[20] = 1, 0x29, 0x10, 1
	h[58], h[60] = 64, 1
	f.Add(h)
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Parse(b)
		if err == nil {
			o.At(0)
			o.At(1 << 40)
			o.Entry("x")
		}
	})
}
