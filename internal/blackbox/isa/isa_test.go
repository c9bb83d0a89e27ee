package isa

import "testing"

// A block comes to each of its moves as often as it has tiles, with the address of its own part.
func TestRun_addresses(t *testing.T) {
	p := Build(Kernel{Blocks: 4, Operands: []Operand{{Bytes: 1 << 20}, {Bytes: 1 << 20}, {Bytes: 1 << 18, Out: true}}})
	args := []uint64{0x1000000, 0x2000000, 0x3000000}
	seen := map[uint64]bool{}
	for block := range 4 {
		for turn := 0; ; turn++ {
			s, ok := p.Run(block, args, p.Moves[0], turn)
			if !ok {
				if turn != p.Turns {
					t.Errorf("block %d moves %d times, want %d", block, turn, p.Turns)
				}
				break
			}
			a := s.X[1]
			if seen[a] || a < args[0] || a >= args[0]+1<<20 || s.X[RegBlock] != uint64(block) {
				t.Errorf("block %d turn %d at 0x%x, block register %d", block, turn, a, s.X[RegBlock])
			}
			seen[a] = true
		}
	}
	if want := 4 * p.Turns; len(seen) != want || len(seen)*32*p.Steps[0] < 1<<20 {
		t.Errorf("%d moves of %d bytes do not cover 1 MiB", len(seen), 32*p.Steps[0])
	}
}

// An operand that is too small to be shared out is read whole by every block.
func TestRun_smallOperand(t *testing.T) {
	p := Build(Kernel{Blocks: 40, Operands: []Operand{{Bytes: 1 << 20}, {Bytes: 4}, {Bytes: 1000}, {Bytes: 1 << 20, Out: true}}})
	args := []uint64{0x1000000, 0x2000000, 0x3000000, 0x4000000}
	for _, block := range []int{0, 20, 39} {
		s, ok := p.Run(block, args, p.Compute, 0)
		if !ok || s.X[2] != args[1] || s.X[3] != args[2] || s.X[1] != args[0]+uint64(32*p.Steps[0]*p.Turns*block) {
			t.Errorf("block %d: %v, addresses 0x%x 0x%x 0x%x", block, ok, s.X[1], s.X[2], s.X[3])
		}
	}
	if p.Lens[1] != 1 || p.Lens[2] != 32 || p.Steps[1] != 0 {
		t.Errorf("moves of %v, steps %v", p.Lens, p.Steps)
	}
}

func TestDecode_allWords(t *testing.T) {
	for _, cube := range []bool{false, true} {
		p := Build(Kernel{Cube: cube, Blocks: 24, Operands: make([]Operand, 30)})
		if !IsKernel(p.Words[0]) {
			t.Error("no tag")
		}
		for at, w := range p.Words {
			i, ok := Decode(w)
			if !ok || i.Word() != w || i.String() != Disassemble(w) {
				t.Errorf("word %d: 0x%08x is %v %v", at, w, i, ok)
			}
		}
	}
	if s := Disassemble(0xdeadbeef); s != ".word 0xdeadbeef (illegal)" {
		t.Error(s)
	}
	if i, _ := Decode(Inst{Op: Mov, D: 31, A: 1, Imm: -5}.Word()); i != (Inst{Op: Mov, D: 31, A: 1, Imm: -5}) {
		t.Error(i)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(0x7e000001))
	f.Fuzz(func(t *testing.T, w uint32) {
		if i, ok := Decode(w); ok && i.Word() != w {
			t.Errorf("0x%08x decodes to %v", w, i)
		}
		_ = Disassemble(w)
	})
}
