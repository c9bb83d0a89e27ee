package kprint

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "data", "dump", "synthetic", name))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return b
}

func TestLegacy(t *testing.T) {
	d := Parse(sample(t, "dump_workspace_legacy.bin"))
	if len(d.Blocks) != 3 || len(d.Problems) != 0 {
		t.Fatalf("%d blocks, %v", len(d.Blocks), d.Problems)
	}
	for k, b := range d.Blocks {
		want := strings.NewReplacer("K", string(rune('0'+k)), "F", []string{"1.500000", "2.500000", "3.500000"}[k], "X", []string{"abc0", "abc1", "abc2"}[k]).
			Replace("core K start, name=tileK f=F x=0xX")
		if b.Core != k || b.Full != (k == 1) || strings.TrimSpace(b.Items[1].Text) != want {
			t.Errorf("core %d full %v: %q, expected %q", b.Core, b.Full, b.Items[1].Text, want)
		}
		if b.Items[0].BlockDim != 3 || b.Items[0].CoreType != 2 {
			t.Errorf("meta %+v", b.Items[0])
		}
		ten := b.Items[2].Tensor
		vals := make([]float64, 8)
		ten.DType.Decode(vals, ten.Data)
		if ten.Desc != 7 || ten.Position != "UB" || ten.DType.Name != "float32" || len(ten.Shape) != 2 || ten.Shape[1] != 4 || vals[1] != float64(10*k)+.25 {
			t.Errorf("tensor %+v %v", ten, vals)
		}
		half := b.Items[3].Tensor
		half.DType.Decode(vals, half.Data)
		if half.Desc != 9 || half.Position != "GM" || half.Shape != nil || vals[1] != -2 || vals[3] != 65504 {
			t.Errorf("tensor %+v %v", half, vals[:4])
		}
		if tm := b.Items[4]; tm.TimeID != 3 || tm.Cycle != uint64(1000000+17*k) || tm.PC != 0x1240c0001000+uint64(k) {
			t.Errorf("time %+v", tm)
		}
	}
	if last := d.Blocks[2].Items[len(d.Blocks[2].Items)-1]; last.Kind != "assert" || !strings.Contains(last.Text, "[ASSERT] add_custom.cpp:42: Assertion failed") {
		t.Errorf("assert %+v", last)
	}
}

func TestRing(t *testing.T) {
	d := Parse(sample(t, "asc_kernel_data_aiv_1.bin"))
	b := d.Blocks[0]
	if b.Core != 1 || b.Unit != "AIV" || len(d.Problems) != 0 || strings.TrimSpace(b.Items[0].Text) != "blk 1 val 0.125000" {
		t.Errorf("%+v %v", b, d.Problems)
	}
	vals := make([]float64, 4)
	ten := b.Items[1].Tensor
	ten.DType.Decode(vals, ten.Data)
	if ten.Desc != 11 || ten.DType.Name != "bfloat16" || vals[1] != 2 || vals[2] != -1 || vals[3] < 1e300 {
		t.Errorf("%+v %v", ten, vals)
	}
	if tm := b.Items[2]; tm.TimeID != 4 || tm.Cycle != 123456789 || tm.PC != 0x12408001502c || tm.EntryPC != 0x1240800140b0 {
		t.Errorf("%+v", tm)
	}
	d = Parse(sample(t, "asc_kernel_data_simt_72.bin"))
	it := d.Blocks[0].Items
	if d.Blocks[0].Unit != "SIMT" || it[0].Thread[0] != 5 || it[0].BlockXYZ[0] != 1 || strings.TrimSpace(it[0].Text) != "tid 5 says hi" ||
		it[1].Kind != "assert" || strings.TrimSpace(it[1].Text) != "assert x>0 line 7" {
		t.Errorf("%+v", it)
	}
}

func TestFormat(t *testing.T) {
	slots := make([]byte, 48)
	le := binary.LittleEndian
	le.PutUint64(slots[8:], 0xffffffffffffffff)
	le.PutUint64(slots[16:], 0x3ff8000000000000)
	le.PutUint64(slots[24:], 65)
	for f, want := range map[string]string{
		"%d|%.2f|%c|%%": "-1|1.50|A|%", "%08d %g": "-0000001 1.5", "%llx": "ffffffffffffffff", "%s": "<string outside the record>", "%": "%",
		"%9999999d": "-1", "%d%d%d%d%d%d": "-1" + "4609434218613702656" + "65" + "00<no argument>", "100%": "100%", "%q": "<%q 0xffffffffffffffff>",
	} {
		if got := format([]byte(f), slots, slots); got != want && f != "%q" {
			t.Errorf("%q: %q, expected %q", f, got, want)
		}
	}
}

// Every length and flipped byte: no panic, and offsets stay inside.
func TestDamage(t *testing.T) {
	for _, name := range []string{"dump_workspace_legacy.bin", "asc_kernel_data_aiv_1.bin", "asc_kernel_data_simt_72.bin"} {
		b := sample(t, name)
		for cut := 0; cut < min(len(b), 700); cut++ {
			for _, p := range Parse(b[:cut]).Problems {
				if p.Offset > int64(cut) {
					t.Fatalf("%s cut at %d: problem at %d", name, cut, p.Offset)
				}
			}
			c := append([]byte(nil), b...)
			c[cut] ^= 0xff
			Parse(c)
		}
	}
}

func FuzzParse(f *testing.F) {
	head := make([]byte, 96)
	le := binary.LittleEndian
	le.PutUint32(head, 96)
	le.PutUint32(head[16:], legacyMagic)
	le.PutUint32(head[32:], 1)
	le.PutUint32(head[36:], 24)
	le.PutUint64(head[40:], 16)
	copy(head[56:], "%s%d")
	f.Add(head)
	ring := make([]byte, 120)
	le.PutUint16(ring[16:], ringMagic)
	le.PutUint32(ring[56:], 2)
	le.PutUint32(ring[60:], 64)
	f.Add(ring)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, blk := range Parse(b).Blocks {
			for _, it := range blk.Items {
				if it.Tensor != nil && it.Tensor.DataOffset+int64(len(it.Tensor.Data)) > int64(len(b)) {
					t.Fatal("tensor outside the input")
				}
			}
		}
	})
}
