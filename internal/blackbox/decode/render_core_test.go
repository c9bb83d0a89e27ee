package decode

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/corewrite"
	"npu/internal/blackbox/errring"
	"npu/internal/blackbox/isa"
)

// coreFile writes a core file of the simulated core: core 2 of four failed at the first move, its address register is
// past the end of input 0.
func coreFile(t *testing.T, failed bool) string {
	t.Helper()
	const text, in = 0x133000010000, 0x124000300000
	p := isa.Build(isa.Kernel{Cube: true, Blocks: 4, Operands: []isa.Operand{{Bytes: 4096}, {Bytes: 4096, Out: true}}})
	code := []byte{}
	for _, w := range p.Words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	f := &corewrite.File{DevType: 5, Kernel: "k", Regions: []corewrite.Region{
		{Type: corewrite.Input, Addr: in, Size: 4096, Data: make([]byte, 4096)}, {Type: corewrite.KernelObject, Addr: text, Size: uint64(len(code)), Data: code}}}
	for id := range 4 {
		c := corewrite.Core{ID: id}
		reg := func(addr uint64, n int, v uint64) {
			c.Registers = append(c.Registers, corewrite.Register{Addr: addr, Value: binary.LittleEndian.AppendUint64(nil, v)[:n]})
		}
		pc := text + 4*uint64(p.Compute)
		for i := range 32 {
			v := uint64(0)
			if i == 1 {
				v = in + 4096 + 64
			}
			reg(uint64(i), 8, v)
		}
		if failed && id == 2 {
			at := text + 4*uint64(p.Moves[0])
			for _, r := range aicore.ErrorRegisters(aicore.V100, aicore.Raise(aicore.V100, aicore.MoveRefused, false, at, in+4096+64, aicore.ReadDecode)) {
				reg(r.Addr, 4, uint64(r.Value))
			}
			pc = at + 12
		}
		reg(64, 8, pc)
		f.Cores = append(f.Cores, c)
	}
	var b bytes.Buffer
	if err := corewrite.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "k.1.2.20260101120000000.core")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The core that failed comes first, with what its registers mean; the others are one entry. Without an error all are.
func TestWrite_cores(t *testing.T) {
	text, r := decodeText(t, coreFile(t, true), Options{})
	first, rest, _ := strings.Cut(text, "AIC 0, 1, 3  pc")
	for _, want := range []string{"AIC 2  pc 0x133000010", "repaired by MTE", "register X1 holds 0x124000301040, which has these bits: 64 bytes past the end of input 0", "=> 0x133000010",
		"mte2 l1.0, [x1], 1024", "x1 = 0x124000301040, 64 bytes past the end of input 0", "zero: X0, X2–X31, AIC_ERROR_1"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is missing before the others:\n%s", want, text)
		}
	}
	if !strings.Contains(rest, "3 cores stand here, bystanders") || strings.Contains(rest, "X1  ") || len(r.Cores) != 4 || len(r.Cores[0].Registers) != 33 {
		t.Errorf("the others:\n%s", rest)
	}
	text, _ = decodeText(t, coreFile(t, false), Options{})
	for _, want := range []string{"no core reported an error", "AIC 0–3  pc 0x133000010", "all 4 cores stand here; registers of AIC 0:", "=> 0x133000010", "mmad l0c, l0a, l0b", "zero: X0, X2–X31"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// A black box names the kernel, what its device code means, and what ran before on the core.
func TestErrorRing_tasks(t *testing.T) {
	raised := aicore.Raise(aicore.V100, aicore.ScalarDivide, true, 0x133000010010, 0, 0)
	box := &errring.Box{Family: aicore.V100, Pid: 7, Total: 1, Elements: []errring.Element{{Type: errring.AIVector, Serial: 1, Stream: 3, Task: 9, Code: 0x07010028, Blocks: 4,
		Cores: []errring.Core{{ID: 5, Vector: true, Raised: raised, PCStart: 0x133000010000, PC: 0x13300001001c}}}},
		Sections: []errring.Section{{Name: "fault", Lines: "KERNEL_AIVEC \"scatter\", stream 3, task 9\naddress 0x10: belongs to no operand\n"},
			{Name: "tasks", Lines: "1 to 2 ns: stream 3 task 5 KERNEL_AIVEC a on AIV 0 to 4\n2 to 3 ns: stream 3 task 6 KERNEL_AIVEC b on AIV 0 to 5\n3 to 4 ns: stream 3 task 7 KERNEL_AICORE c on AIC 0 to 9\n4 to 5 ns: stream 3 task 8 KERNEL_AIVEC d on AIV 0\n"}}}
	path := filepath.Join(t.TempDir(), "x.bbox")
	if err := os.WriteFile(path, errring.Encode(box), 0o600); err != nil {
		t.Fatal(err)
	}
	text, r := decodeText(t, path, Options{})
	if r.Kernel != "scatter" || !strings.Contains(text, "device code 0x7010028 (507054 multi-bit ECC error of the HBM)") {
		t.Errorf("%s", text)
	}
	if strings.Count(text, "ran before: ") != 1 || !strings.Contains(text, "ran before: 2 to 3 ns: stream 3 task 6 KERNEL_AIVEC b") || strings.Contains(text, "kept address") {
		t.Errorf("tasks before on AIV 5:\n%s", text)
	}
}

func TestRanges(t *testing.T) {
	for want, list := range map[string][]int{"0": {0}, "0, 1": {0, 1}, "0–2": {0, 1, 2}, "0–3, 5, 7, 8": {0, 1, 2, 3, 5, 7, 8}} {
		if got := ranges(list); got != want {
			t.Errorf("%v: %s, want %s", list, got, want)
		}
	}
	if got := strings.Join(names([]string{"X0", "X2", "X3", "X4", "PC", "A_0", "A_1", "SPR99999999"}), " "); got != "X0 X2–X4 PC A_0 A_1 SPR99999999" {
		t.Errorf("%s", got)
	}
}
