package corewrite_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"testing"

	"npu/internal/blackbox/coredump"
	"npu/internal/blackbox/corewrite"
)

func sample() *corewrite.File {
	reg := func(addr uint64, b ...byte) corewrite.Register { return corewrite.Register{Addr: addr, Value: b} }
	return &corewrite.File{
		Device: 3, DevType: corewrite.Core910B, Kernel: "Add_1", KernelJSON: []byte(`{"kernelName":"Add_1"}`),
		Regions: []corewrite.Region{
			{Type: corewrite.Arguments, Addr: 0x100, Size: 16, Data: make([]byte, 16)},
			{Type: corewrite.Input, Addr: 0x2000, Size: 24, Shape: []uint64{2, 3}, Data: bytes.Repeat([]byte{5}, 24)},
			{Type: corewrite.Output, Addr: 0xdead0000, Size: 10000}, // could not be read
			{Type: corewrite.KernelObject, Addr: 0x8000, Size: 8, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		},
		Cores: []corewrite.Core{
			{ID: 2, Registers: []corewrite.Register{reg(64, 4, 0x80, 0, 0, 0, 0, 0, 0)}},
			{ID: 6, Vector: true, Registers: []corewrite.Register{reg(64, 4, 0x80, 0, 0, 0, 0, 0, 0), reg(0x700, 0, 0, 0x80, 0)},
				Locals: []corewrite.Local{{Type: corewrite.UB, Data: []byte("scratch")}}},
		},
	}
}

// The reader of real core files reads what is written, and so does the standard library.
func TestWrite_isRead(t *testing.T) {
	var b bytes.Buffer
	if err := corewrite.Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	f, err := coredump.Parse(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(f.Problems) > 0 {
		t.Fatalf("%v %v", err, f.Problems)
	}
	if f.Device != 3 || f.DevType != 5 || f.Kernel != "Add_1" || string(f.KernelJSON) != `{"kernelName":"Add_1"}` || len(f.Cores) != 2 || len(f.Regions) != 4 {
		t.Fatalf("%+v", f)
	}
	if aic, aiv := f.StoppedCores(); aic != 1 || aiv != 1 {
		t.Errorf("%d AIC and %d AIV cores", aic, aiv)
	}
	in, out := f.Regions[1], f.Regions[2]
	if in.Name != "input 0" || in.Unreadable || len(in.Shape) != 2 || in.Have != 24 || b.Bytes()[in.Offset] != 5 || !out.Unreadable || out.Size != 10000 {
		t.Errorf("regions %+v %+v", in, out)
	}
	if words, _, _ := f.Code(0x8004, 1, 0); len(words) != 2 || words[0] != 0x04030201 {
		t.Errorf("code %x", words)
	}
	c, v := f.Cores[0], f.Cores[1]
	if c.Type != "AIC" || c.ID != 2 || c.Failed() || v.Type != "AIV" || v.ID != 6 || v.PC != 0x8004 || v.Words[0] != 0x800000 {
		t.Errorf("cores %+v %+v", c, v)
	}
	if l := v.Locals[0]; l.Memory != "UB" || string(b.Bytes()[l.Offset:l.Offset+int64(l.Have)]) != "scratch" {
		t.Errorf("local memory %+v", l)
	}
	e, err := elf.NewFile(bytes.NewReader(b.Bytes()))
	if err != nil || e.Type != elf.ET_CORE || e.Machine != 0x1029 || e.Section(".ascend.regs.31") == nil {
		t.Errorf("standard library: %v %+v", err, e)
	}
}

type full struct{ left int }

var errFull = errors.New("no space")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A disk that fills up is an error wherever that happens.
func TestWrite_diskFull(t *testing.T) {
	var b bytes.Buffer
	if err := corewrite.Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < b.Len(); n += 97 {
		if err := corewrite.Write(&full{n}, sample()); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", n, b.Len(), err)
		}
	}
}
