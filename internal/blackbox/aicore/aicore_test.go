package aicore

import (
	"testing"
)

func TestTablesComplete(t *testing.T) {
	if n := len(All(V100)); n != 176 && n != 177 {
		t.Errorf("910B table has %d bits", n)
	}
	if n := len(All(V200)); n != 187 {
		t.Errorf("950 table has %d codes, expected 187", n)
	}
	for _, b := range All(V100) {
		// the flat index and the position in errcode:(A, B, C) must agree with Words.Indexes
		var w Words
		if b.ErrCode > 2 {
			t.Fatalf("bit %d in word %d", b.Index, b.ErrCode)
		}
		w[b.ErrCode] = b.Value
		got := w.Indexes()
		if len(got) != 1 || got[0] != b.Index {
			t.Errorf("bit %d (%s): errcode %d value 0x%x reads as %v", b.Index, b.Name, b.ErrCode, b.Value, got)
		}
		if w2 := WordsOf(regs(b.Word, b.Pos)); w2 != w && b.Index < 145 {
			t.Errorf("bit %d: register %d bit %d gives %x, errcode says %x", b.Index, b.Word, b.Pos, w2, w)
		}
	}
}

func regs(word, pos int) (r [6]uint32) {
	r[word] = 1 << pos
	return r
}

// Cases worked out by hand from the register layout, and two from public logs.
func TestRepair(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     Family
		raw   uint64
		words Words
		codes []int
		in    Infos
		want  uint64
		unit  string
	}{
		{"mte write overflow", V100, 0x12c0c002e5e8, Words{0x200000000}, nil, Infos{MTE: 0xb90000006a}, 0x12c0c002e5a8, "MTE"},
		{"firmware's own repair", V100, 0x1240c00188ec, Words{0x800000, 0x4000}, nil, Infos{MTE: 0x6206000034, CCU: 0x818d058031000034}, 0x1240c00188d0, "MTE"},
		{"ccu", V100, 0x1240c011695c, Words{0, 0x8000}, nil, Infos{CCU: 0x140057c2d000150}, 0x1240c0116940, "CCU"},
		{"no bit", V100, 0x12c042d75b18, Words{}, nil, Infos{MTE: 0x5003000031}, 0, ""},
		{"old chip", Legacy, 0x124080131304, Words{0x10}, nil, Infos{CCU: 0x9001000c10088}, 0, ""},
		{"950 scalar", V200, 0x1000409003c0, Words{}, []int{74, 259}, Infos{SU: 0xe8, MTE: 0x2000000000000e4}, 0x1000409003a0, "SU"},
	} {
		var bits []Bit
		if c.f == V200 {
			for _, n := range c.codes {
				b, _ := BitAt(V200, n)
				bits = append(bits, b)
			}
		} else {
			bits = c.words.Bits()
		}
		got := Repair(c.f, c.raw, bits, c.in)
		switch {
		case c.want == 0 && len(got) != 0:
			t.Errorf("%s: repaired to %v, expected none", c.name, got)
		case c.want != 0 && (len(got) == 0 || got[0].Value != c.want || got[0].Unit != c.unit):
			t.Errorf("%s: %+v, expected 0x%x by %s", c.name, got, c.want, c.unit)
		}
	}
	if p := Repair(V100, 0x1000, Words{0x800000}.Bits(), Infos{MTE: 0xff}); p[0].Doubtful != "" && p[0].Value > 0x1000 {
		t.Errorf("unexpected %+v", p)
	}
	if p := Repair(V100, 0x40004, Words{0x800000}.Bits(), Infos{MTE: 0xff000000ff}); p[0].Doubtful == "" {
		t.Errorf("a counter after the raw one must be doubtful: %+v", p)
	}
}

// Locate against the definition: an address with the fragment's bits, searched one by one.
func TestLocateAgainstSearch(t *testing.T) {
	regions := []Region{{"a", 0x12c041200000, 96, false}, {"b", 0x12c0410fff10, 300, false}, {"c", 0x12c0dead0000, 128, true}, {"d", 0x1000, 3 << 20, false}}
	for v := uint64(0); v < 1<<15; v += 77 {
		f := Fragment{"MTE", 5, 19, v}
		got := map[string]bool{}
		for _, m := range Locate(regions, f) {
			if m.Inside {
				got[m.Region.Name] = true
			}
		}
		for _, r := range regions {
			want := false
			for a := r.Addr; a < r.Addr+r.Size; a++ {
				if a>>5&0x7fff == v {
					want = true
					break
				}
			}
			if got[r.Name] != want {
				t.Fatalf("bits 0x%x, region %s: inside=%v, expected %v", v, r.Name, got[r.Name], want)
			}
		}
	}
}

func TestOwner(t *testing.T) {
	regions := []Region{{"a", 1000, 10, false}, {"b", 2000, 10, false}}
	if m, ok := Owner(regions, 2005); !ok || !m.Inside || m.Offset != 5 {
		t.Errorf("inside: %+v %v", m, ok)
	}
	if m, ok := Owner(regions, 2012); !ok || m.Inside || m.Region.Name != "b" || m.Offset != 2 {
		t.Errorf("past: %+v %v", m, ok)
	}
	if _, ok := Owner(regions, 5); ok {
		t.Error("an address before every region has no owner")
	}
}
