package runtime

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/corewrite"
	"npu/internal/sim"
	"npu/internal/sim/kernels"
)

// maxRegion bounds a piece of memory in a core file.
const maxRegion = 256 << 20

// kernelOf is the handle of a failing kernel, nil if it has been unloaded. Under Port.Call.
func (d *Device) kernelOf(f *sim.Fault) *Kernel {
	for _, c := range d.contexts {
		for _, k := range c.kernels {
			if k.id == f.Func {
				return k
			}
		}
	}
	return nil
}

// operandsOf are the operands of a failing kernel; of one that says nothing of them each argument word is one.
func (rt *Runtime) operandsOf(d *Device, e *Exception) []sim.Operand {
	if !e.Kind.Kernel() {
		return nil
	}
	if k := d.kernelOf(e.Fault); k != nil && k.run != nil {
		return k.operands()
	}
	out := make([]sim.Operand, len(e.Args))
	for i, a := range e.Args {
		out[i] = sim.Operand{Role: "argument", Index: i}
		if b, ok := d.memory.pool.At(a); ok {
			out[i].Bytes = int64(b.Bytes)
		}
	}
	return out
}

// coreFile gives what writes the core file of a fault. Under Port.Call, as what it gives.
func (rt *Runtime) coreFile(d *Device, e *Exception) func(io.Writer) error {
	f := e.Fault
	family, devType := aicore.FamilyOfChip(d.hw.Chip().Short)
	out := &corewrite.File{Device: uint32(e.Device), DevType: devType, Kernel: cmp.Or(e.Kernel, "kernel")}
	space := d.memory.shared.space
	if k := d.kernelOf(f); k != nil {
		space = k.ctx.pages.space
	}
	region := func(kind uint16, addr, size uint64) {
		r := corewrite.Region{Type: kind, Addr: addr, Size: min(size, maxRegion)}
		if b, bad := space.Resolve(addr, int(r.Size), sim.Read); bad == nil {
			r.Data = b
		}
		out.Regions = append(out.Regions, r)
	}
	region(corewrite.Arguments, f.Args, uint64(8*len(e.Args)))
	kinds := map[string]uint16{"input": corewrite.Input, "output": corewrite.Output, "workspace": corewrite.Workspace, "argument": corewrite.Input}
	var tiles [][]byte // of the inputs, for the buffers of the core
	for i, o := range rt.operandsOf(d, e) {
		if i >= len(e.Args) || o.Bytes <= 0 {
			continue
		}
		region(kinds[o.Role], e.Args[i], uint64(o.Bytes))
		if r := &out.Regions[len(out.Regions)-1]; !o.Out {
			tiles = append(tiles, r.Data[:min(len(r.Data), tileBytes)])
		}
	}
	if k := d.kernelOf(f); k != nil && k.run != nil {
		out.KernelJSON = k.describe(out.Kernel, f.Blocks, out.Regions)
	}
	text := make([]byte, 0, 4*len(f.Text))
	for _, w := range f.Text {
		text = binary.LittleEndian.AppendUint32(text, w)
	}
	out.Regions = append(out.Regions, corewrite.Region{Type: corewrite.KernelObject, Addr: f.TextAddr, Size: uint64(len(text)), Data: text})
	for i := range f.Cores {
		if c := &f.Cores[i]; !c.Vector && c.ID >= aicore.VectorBase(family) && !c.Failed {
			continue // its number in the file would be that of a vector core
		}
		out.Cores = append(out.Cores, coreOf(&f.Cores[i], d, family, tiles))
	}
	return func(w io.Writer) error { return corewrite.Write(w, out) }
}

// parameter is an operand in the kernel's description.
type parameter struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Format string `json:"format"`
	Shape  []int  `json:"shape"`
}

// describe is the description of the kernel (the .json of a real one), and puts shapes to the regions that hold whole
// tensors.
func (k *Kernel) describe(name string, blocks uint32, regions []corewrite.Region) []byte {
	next := map[uint16]int{}
	params := map[uint16][]parameter{}
	lists := map[uint16][]kernels.Desc{corewrite.Input: present(k.inDesc, k.in), corewrite.Output: present(k.outDesc, k.out)}
	for i := range regions {
		r := &regions[i]
		list, n := lists[r.Type], next[r.Type]
		next[r.Type]++
		if n >= len(list) {
			continue
		}
		d := list[n]
		params[r.Type] = append(params[r.Type], parameter{fmt.Sprintf("operand %d", n), d.DType.String(), d.Format.String(), d.Shape})
		if uint64((d.Shape.Count()*d.DType.Bits()+7)/8) == r.Size {
			for _, x := range d.Shape {
				r.Shape = append(r.Shape, uint64(x))
			}
		}
	}
	b, err := json.Marshal(map[string]any{
		"kernelName": name, "binFileName": name, "blockDim": blocks, "coreType": k.kind.String(),
		"supportInfo": map[string]any{"inputs": params[corewrite.Input], "outputs": params[corewrite.Output]},
	})
	if err != nil {
		return nil // strings and numbers only: it cannot fail
	}
	return b
}

// present drops the operands that are left out or empty, as the argument block and the regions do.
func present(list []kernels.Desc, sizes []int) []kernels.Desc {
	var out []kernels.Desc
	for i, d := range list {
		if i < len(sizes) && sizes[i] > 0 {
			out = append(out, d)
		}
	}
	return out
}

// tileBytes is what a move carries at most.
const tileBytes = 32 << 10

// coreOf is a core for the file: the failed one with its error registers and buffers.
func coreOf(c *sim.CoreState, d *Device, family aicore.Family, tiles [][]byte) corewrite.Core {
	out := corewrite.Core{Vector: c.Vector, ID: c.ID}
	reg := func(addr uint64, n int, v uint64) {
		b := binary.LittleEndian.AppendUint64(nil, v)
		out.Registers = append(out.Registers, corewrite.Register{Addr: addr, Value: b[:n]})
	}
	for i, v := range c.X {
		reg(aicore.GeneralRegister(family, i), 8, v)
	}
	reg(aicore.PCAddress(family), 8, c.PC)
	for i, v := range []uint64{c.LR, c.Args, uint64(c.Block), c.Executed} {
		reg(aicore.SpecialRegister(family, i), 8, v)
	}
	if !c.Failed {
		return out
	}
	for _, r := range aicore.ErrorRegisters(family, c.Raised) {
		reg(r.Addr, 4, uint64(r.Value))
	}
	chip := d.hw.Chip()
	local := func(kind uint32, n int, fill bool) {
		if n <= 0 {
			return
		}
		b := make([]byte, n)
		for i, t := range tiles {
			if fill && (i+1)*tileBytes <= n {
				copy(b[i*tileBytes:], t)
			}
		}
		out.Locals = append(out.Locals, corewrite.Local{Type: kind, Data: b})
	}
	if c.Vector {
		local(corewrite.UB, cmp.Or(chip.VecUB, chip.UB), true)
		return out
	}
	local(corewrite.L0A, chip.L0A, false)
	local(corewrite.L0B, chip.L0B, false)
	local(corewrite.L0C, chip.L0C, false)
	local(corewrite.L1, chip.L1, true)
	return out
}
