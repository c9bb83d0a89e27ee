package coredump

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/kobject"
)

func sample(t testing.TB, name string) []byte {
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
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "data", "dump", "writer", "core", name))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return b
}

const a2 = "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0.3.42.20261130044855761.core"

func parse(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestA2(t *testing.T) {
	f := parse(t, sample(t, a2))
	if len(f.Problems) != 0 || f.Sections != 44 || f.Device != 0 || f.DevType != 5 || f.Family != aicore.V100 || f.Kernel != "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0" {
		t.Fatalf("%+v", f.Problems)
	}
	want := []struct {
		typ  int
		addr uint64
		size uint64
		bad  bool
	}{{101, 0x12c100010000, 64, false}, {2, 0x12c041200000, 96, false}, {2, 0x12c041200200, 32, false}, {2, 0x12c041200400, 48, false}, {3, 0x12c041200600, 96, false},
		{7, 0x12c041202000, 72, false}, {2, 0x12c0dead0000, 128, true}, {4, 0x12c041201000, 256, false}, {102, 0x124090018000, 4096, false}, {102, 0x124090230000, 4096, false},
		{102, 0x124090238000, 4096, false}, {103, 0x124080014000, 181, false}}
	for i, w := range want {
		r := f.Regions[i]
		if r.Type != w.typ || r.Addr != w.addr || r.Size != w.size || r.Unreadable != w.bad {
			t.Errorf("region %d: %+v", i, r)
		}
	}
	if len(f.Cores) != 3 || len(f.Regions) != 12 {
		t.Fatalf("%d cores, %d regions", len(f.Cores), len(f.Regions))
	}
	aic, v6, v7 := f.Cores[0], f.Cores[1], f.Cores[2]
	if aic.Type != "AIC" || aic.ID != 3 || aic.Failed() || len(aic.Registers) != 102 || len(aic.Locals) != 8 {
		t.Errorf("AIC %+v", aic)
	}
	if v6.ID != 6 || v6.Type != "AIV" || v6.Words[0] != 0x800000 || v6.PC != 0x124080014028 || v6.Where() != 0x124080014014 || v6.Fixed[0].Unit != "MTE" || aicore.BusError(v6.Infos.MTE) != "write bus error" {
		t.Errorf("AIV 6 %+v", v6)
	}
	if v7.ID != 7 || v7.Bits[0].Index != 62 || v7.PC != 0x124080014070 || v7.Where() != 0x124080014058 {
		t.Errorf("AIV 7 %+v", v7)
	}
	if l := v6.Locals[0]; l.Memory != "UB" || l.Size != 192<<10 || l.Have != l.Size {
		t.Errorf("UB %+v", l)
	}
	for _, c := range f.Cores {
		for _, l := range c.Locals {
			if l.Memory == "ICACHE" && (l.Global < 0 || f.Regions[l.Global].Type != 103) {
				t.Errorf("icache copies %+v", l)
			}
			if _, n, err := f.Stale(l); n != 0 || err != nil {
				t.Errorf("%s of %s %d differs from its region in %d bytes, %v", l.Memory, c.Type, c.ID, n, err)
			}
		}
	}
	o, err := kobject.Parse(f.HostObject)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := f.Text()
	if l, _ := o.At(v6.Where() - text.Addr); l.String() != "store_tile+0xd (demo_scatter.c:14)" {
		t.Errorf("%s", l)
	}
	if l, _ := o.At(v7.Where() - text.Addr); l.String() != "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0+0x28 (demo_scatter.c:21)" {
		t.Errorf("%s", l)
	}
	words, start, at := f.Code(v6.Where(), 2, 2)
	if len(words) != 5 || start != 0x12408001400c || at != 2 {
		t.Errorf("code %x at 0x%x, %d", words, start, at)
	}
}

func Test950(t *testing.T) {
	f := parse(t, sample(t, "core950_DemoScatter.core"))
	if len(f.Problems) != 0 || f.Sections != 25 || f.Family != aicore.V200 || len(f.Cores) != 1 {
		t.Fatalf("%+v", f.Problems)
	}
	c := f.Cores[0]
	if c.Type != "AIV" || c.ID != 4 || len(c.Registers) != 6318 || c.PC != 0x124080014028 || len(c.Codes) != 1 || c.Codes[0] != 95 || c.Where() != 0x124080014014 || len(c.Double) != 0 {
		t.Errorf("%s %d pc 0x%x codes %v fixed %+v", c.Type, c.ID, c.PC, c.Codes, c.Fixed)
	}
	if l := c.Locals[0]; l.Memory != "UB" || l.Size != 253952 {
		t.Errorf("%+v", l)
	}
}

// A stale cache line must be seen: one byte of the cached copy is changed.
func TestStale(t *testing.T) {
	b := bytes.Clone(sample(t, a2))
	f := parse(t, b)
	l := f.Cores[1].Locals[2]
	b[l.Offset+5] ^= 0xff
	if at, n, err := f.Stale(l); at != 5 || n != 1 || err != nil {
		t.Errorf("%d differing bytes from %d: %v", n, at, err)
	}
}

func check(t *testing.T, b []byte) {
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	inside := func(off int64, n uint64) {
		if off < 0 || uint64(off)+n > uint64(len(b)) {
			t.Fatalf("0x%x bytes at 0x%x of a file of 0x%x", n, off, len(b))
		}
	}
	for _, r := range f.Regions {
		inside(r.Offset, r.Have)
	}
	for _, c := range f.Cores {
		for _, l := range c.Locals {
			inside(l.Offset, l.Have)
			f.Stale(l)
		}
		f.Code(c.Where(), 4, 4)
	}
}

func TestDamage(t *testing.T) {
	b := sample(t, "core950_DemoScatter.core")
	le := binary.LittleEndian
	table := int(le.Uint64(b[40:]))
	for at := 0; at < 64; at++ {
		c := bytes.Clone(b)
		c[at] ^= 0x5a
		check(t, c)
	}
	for at := table; at < len(b); at += 3 {
		c := bytes.Clone(b)
		c[at] ^= 0xa5
		check(t, c)
	}
	for _, cut := range []int{0, 1, 19, 20, 63, 64, 100, 5000, table, table + 64, len(b) - 1} {
		check(t, b[:cut])
	}
	f := parse(t, b[:table+64*10])
	if len(f.Problems) == 0 {
		t.Error("a cut section table must be reported")
	}
}

func FuzzParse(f *testing.F) {
	h := make([]byte, 64+64*3+300)
	le := binary.LittleEndian
	copy(h, "\x7fELF\x02\x01\x01")
	le.PutUint16(h[16:], 4)
	le.PutUint16(h[18:], kobject.Machine)
	le.PutUint64(h[40:], 64)
	le.PutUint16(h[58:], 64)
	le.PutUint16(h[60:], 3)
	le.PutUint16(h[62:], 2)
	for i, k := range []uint32{secAuxGlobal, secRegs} {
		s := h[64+64*(i+1):]
		le.PutUint32(s[4:], k)
		le.PutUint64(s[24:], 256)
		le.PutUint64(s[32:], 232)
		le.PutUint64(s[56:], 32)
	}
	copy(h[256:], ".ascend.regs.3")
	f.Add(h)
	f.Fuzz(func(t *testing.T, b []byte) { check(t, b) })
}
