package errring

import (
	"encoding/binary"
	"reflect"
	"testing"

	"npu/internal/blackbox/aicore"
)

func sample(total int) *Box { return sampleOf(aicore.V100, total) }

func sampleOf(family aicore.Family, total int) *Box {
	b := &Box{Family: family, Pid: 77, Total: uint64(total)}
	raised := aicore.Raised{Words: aicore.Words{1 << 23, 2, 3}, Infos: aicore.Infos{Vec: 1, MTE: 2, IFU: 3, CCU: 4, Cube: 5, BIU: 6, FIXP0: 7, FIXP1: 8}}
	if family == aicore.V200 {
		raised.Words, raised.Codes = aicore.Words{}, []int{0, 63, 64, 95, 341, 383}
		raised.Infos.SC, raised.Infos.SU, raised.Infos.L1, raised.Infos.VecT02, raised.Infos.HasVecT02 = 12, 13, 14, 15, true
	}
	for i := max(0, total-FormOf(family).Slots); i < total; i++ {
		b.Elements = append(b.Elements, Element{Pid: 77, Type: AIVector, Serial: uint64(i + 1), Stream: 3, Task: uint32(i), Code: 0x31, Blocks: 2,
			Cores: []Core{{ID: 1, Vector: true, Block: 9, Raised: raised, PCStart: 0x1000, PC: 0x1040, Mask: 9, ParaBase: 10, Reached: 11, SubError: 4}}})
	}
	b.Sections = []Section{{"tasks", "one\ntwo\n"}, {"empty", ""}}
	return b
}

// What is written is read, from one error to more than the ring holds.
func TestRoundTrip(t *testing.T) {
	for _, family := range []aicore.Family{aicore.Legacy, aicore.V100, aicore.V200} {
		for _, n := range []int{0, 1, 9, 10, 11, 25, 30, 31} {
			want := sampleOf(family, n)
			got, bad, err := Parse(Encode(want))
			if err != nil || len(bad) > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%v, %d errors: %v %v\n%+v\n%+v", family, n, err, bad, got, want)
			}
		}
	}
}

// The fields of the documented layout stand where they should.
func TestEncode_layout(t *testing.T) {
	b := Encode(sample(12))
	le := binary.LittleEndian
	if n := len(Encode(&Box{Family: aicore.V200})); n != 32+30*48128+len(tail)+4 {
		t.Errorf("an empty box of the 950 has %d bytes", n)
	}
	for _, c := range []struct{ at, want int }{{0, Magic}, {4, 2}, {8, 2}, {12, 10}, {16, 77}, {24, 12288}} {
		if got := int(le.Uint32(b[c.at:])); got != c.want {
			t.Errorf("offset %d: 0x%x, want 0x%x", c.at, got, c.want)
		}
	}
	if serial := le.Uint64(b[32+16:]); serial != 11 { // slot 0 holds the eleventh
		t.Errorf("serial of slot 0: %d", serial)
	}
}

// A ring as a real device has it: no count, records in an arrangement that is not public.
func TestParse_realRing(t *testing.T) {
	le := binary.LittleEndian
	b := make([]byte, headSize+10*12288)
	le.PutUint32(b, Magic)
	le.PutUint32(b[4:], 9)
	le.PutUint32(b[8:], 1)
	le.PutUint32(b[12:], 10)
	le.PutUint32(b[24:], 12288)
	for i, at := range []int{headSize + 9*12288, headSize} {
		le.PutUint64(b[at:], 4711)
		le.PutUint32(b[at+8:], 200)
		le.PutUint32(b[at+12:], uint32(i))
		le.PutUint64(b[at+16:], uint64(5+i))
		b[at+headSize] = 0xab
	}
	x, bad, err := Parse(b)
	if err != nil || len(bad) > 0 || len(x.Elements) != 2 || x.Total != 6 {
		t.Fatalf("%v %v %+v", err, bad, x)
	}
	for i, e := range x.Elements {
		if e.Serial != uint64(5+i) || e.Type != uint32(i) || e.Pid != 4711 || len(e.Raw) != 200 || e.Raw[0] != 0xab {
			t.Errorf("element %d: %+v", i, e)
		}
	}
	le.PutUint32(b[headSize+8:], 1<<30)
	if _, bad, _ := Parse(b); len(bad) != 1 {
		t.Errorf("damage %v", bad)
	}
}

func FuzzParse(f *testing.F) {
	b := Encode(sample(2))
	f.Add(b[:200])
	f.Add(b[len(b)-40:])
	f.Add([]byte{0x20, 0x20, 0x5a, 0xa5})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, _, err := Parse(b)
		if (err == nil) != (x != nil) {
			t.Fatal(x, err)
		}
		n := 0
		for _, s := range x.sectionsOrNil() {
			n += len(s.Lines)
		}
		if n > len(b) {
			t.Errorf("%d bytes of sections from %d", n, len(b))
		}
	})
}

func (x *Box) sectionsOrNil() []Section {
	if x == nil {
		return nil
	}
	return x.Sections
}

// A file that was cut anywhere says so, and gives what it has.
func TestParse_cut(t *testing.T) {
	b := Encode(sample(2))
	for _, n := range []int{32, 100, headSize + 12288 + 5, len(b) - 50, len(b) - 3} {
		x, bad, err := Parse(b[:n])
		if err != nil || x == nil || len(bad) == 0 {
			t.Errorf("%d bytes: %v, damage %v", n, err, bad)
		}
	}
}
