package decode

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/coredump"
	"npu/internal/blackbox/elem"
	"npu/internal/blackbox/kobject"
)

// core decodes an AI-core core file.
func (j *job) core() error {
	f, err := coredump.Parse(j.file, j.size)
	if err != nil {
		return err
	}
	r := j.rep
	r.Form, r.Chip, r.Kernel = "exception dump, level detail", f.Chip, Name(f.Kernel)
	for _, p := range f.Problems {
		r.problem(p.Offset, p.Text)
	}
	n := adump.ParseName(adump.Mapped(j.path))
	r.fact("device", fmt.Sprintf("%d, type %d (%s)", f.Device, f.DevType, f.Chip))
	if n.Stream >= 0 {
		r.fact("stream", fmt.Sprint(n.Stream))
		r.fact("task", fmt.Sprint(n.Task))
	}
	r.fact("time", n.Time)
	aic, aiv := f.StoppedCores()
	r.fact("stopped", fmt.Sprintf("%d AIC and %d AIV cores", aic, aiv))
	r.fact("sections", fmt.Sprint(f.Sections))
	obj, objName := j.object(f)
	params := j.params(f)
	if err := j.regions(f, params); err != nil {
		return err
	}
	for _, c := range f.Cores {
		j.coreOf(f, c, obj, objName)
	}
	j.coreCause(f)
	return j.coreExport(f)
}

// object parses the kernel that the core file carries.
func (j *job) object(f *coredump.File) (*kobject.Object, string) {
	for _, o := range []struct {
		name string
		b    []byte
	}{{"the kernel registered by the host", f.HostObject}, {"the kernel found on disk", f.FileObject}} {
		if len(o.b) == 0 {
			continue
		}
		k, err := kobject.Parse(o.b)
		if err != nil {
			j.rep.Notes = append(j.rep.Notes, o.name+": "+err.Error())
			continue
		}
		if len(f.HostObject) > 0 && len(f.FileObject) > 0 && string(f.HostObject) != string(f.FileObject) {
			j.rep.Notes = append(j.rep.Notes, "the kernel on disk differs from the one the host registered: the latter is used")
		}
		return k, o.name
	}
	return nil, ""
}

// params gives argument regions names and types from the kernel's description.
func (j *job) params(f *coredump.File) map[int]adump.Param {
	out := map[int]adump.Param{}
	if len(f.KernelJSON) == 0 {
		return out
	}
	k, err := adump.ParseKernel(f.KernelJSON)
	if err != nil {
		j.rep.Notes = append(j.rep.Notes, err.Error())
		return out
	}
	in, outN := 0, 0
	for i, r := range f.Regions {
		var p adump.Param
		switch {
		case r.Type == 2 && in < len(k.Support.Inputs):
			p = k.Support.Inputs[in]
			in++
		case r.Type == 3 && outN < len(k.Support.Outputs):
			p = k.Support.Outputs[outN]
			outN++
		default:
			continue
		}
		ty, ok := elem.Parse(p.DType)
		n, ok2 := adump.Elements(r.Shape)
		if need, ok3 := ty.Bytes(n); ok && ok2 && ok3 && len(r.Shape) > 0 && need == r.Size {
			out[i] = p
		}
	}
	return out
}

// regions shows global memory; arguments whose type is known are tensors.
func (j *job) regions(f *coredump.File, params map[int]adump.Param) error {
	for i, g := range f.Regions {
		r := Region{Name: g.Name, Addr: fmt.Sprintf("0x%x", g.Addr), Bytes: g.Size, Shape: g.Shape, Unreadable: g.Unreadable}
		p := payload{r: j.file, off: g.Offset, size: int64(g.Have), dtype: elem.Type{Name: "bytes"}}
		if param, ok := params[i]; ok && !g.Unreadable {
			ty, _ := elem.Parse(param.DType)
			p.dtype, p.shape, p.format = ty, g.Shape, param.Format
			x := Tensor{Name: strings.ReplaceAll(g.Name, " ", "."), Role: adump.TensorType(g.Type), Index: i, DType: ty.Name, Format: param.Format, Shape: g.Shape,
				Bytes: g.Size, Have: g.Have, Addr: r.Addr, Op: param.Name}
			if err := j.numbers(&x, p); err != nil {
				return err
			}
			r.File = x.File
			j.rep.Tensors = append(j.rep.Tensors, x)
		} else if j.o.Out != "" && j.o.Format != "npy" && !j.o.NoStats && !g.Unreadable {
			path, err := j.write(fmt.Sprintf("%s.%s.0x%x.bin", j.base, safeName(strings.ReplaceAll(g.Name, " ", ".")), g.Addr), func(w io.Writer) error { return j.copy(w, p) })
			if err != nil {
				return err
			}
			r.File = path
		}
		j.rep.Regions = append(j.rep.Regions, r)
	}
	return nil
}

func (j *job) coreOf(f *coredump.File, c *coredump.Core, obj *kobject.Object, objName string) {
	x := Core{ID: c.ID, Type: c.Type, Bits: []int{}, Registers: []Register{}, Bystander: !c.Failed()}
	if c.HasPC {
		x.PC = fmt.Sprintf("0x%x", c.PC)
	}
	fill(&x, f.Family, c.Words, c.Codes, c.Bits, c.Infos, c.Fixed)
	if text, ok := f.Text(); ok && c.HasPC && c.Where() >= text.Addr {
		off := c.Where() - text.Addr
		x.TextOffset = fmt.Sprintf("0x%x", off)
		if obj != nil {
			if e, ok := obj.Entry(f.Kernel); ok && off >= e.Addr {
				x.Offset = fmt.Sprintf("0x%x", off-e.Addr)
			}
			if l, ok := obj.At(off); ok {
				x.Source = l.String()
			}
		}
		words, start, at := f.Code(c.Where(), 4, 3)
		for i, w := range words {
			x.Code = append(x.Code, CodeWord{Addr: fmt.Sprintf("0x%x", start+uint64(4*i)), Word: fmt.Sprintf("%08x", w), Here: i == at})
		}
		if head, _, _ := f.Code(text.Addr, 0, 0); len(head) > 0 {
			disassemble(head[0], x.Code, words, general(f.Family, c), f.Named())
		}
	}
	if f.Family == aicore.V100 {
		for _, fr := range aicore.FragmentsV100(c.Bits, c.Infos) {
			x.Why = append(x.Why, addressText(f.Named(), fr, general(f.Family, c))...)
		}
	}
	for _, d := range c.Double {
		x.Why = append(x.Why, "register read twice with different values: "+d)
	}
	for _, l := range c.Locals {
		m := fmt.Sprintf("%s %d bytes", l.Memory, l.Size)
		if l.Global >= 0 {
			m += " (copy of " + f.Regions[l.Global].Name + ")"
			if at, n, err := f.Stale(l); err == nil && n > 0 {
				x.Why = append(x.Why, fmt.Sprintf("%s of this core differs from %s in %d bytes from +0x%x on: a stale line, or a write that was not flushed", l.Memory, f.Regions[l.Global].Name, n, at))
			}
		}
		x.Memories = append(x.Memories, m)
	}
	for _, r := range c.Registers {
		v := "invalid"
		if !r.Invalid {
			v = registerText(r.Value)
		}
		x.Registers = append(x.Registers, Register{r.Name, v})
	}
	if objName != "" && x.Source != "" && len(j.rep.Cores) == 0 {
		j.rep.Notes = append(j.rep.Notes, "functions and lines from "+objName)
	}
	j.rep.Cores = append(j.rep.Cores, x)
}

// fill sets what error words and repair give.
func fill(x *Core, fam aicore.Family, w aicore.Words, codes []int, bits []aicore.Bit, in aicore.Infos, fixed []aicore.PC) {
	switch fam {
	case aicore.V200, aicore.V300:
		x.Codes = codes
	case aicore.Legacy:
		if !w.Zero() {
			x.ErrorWords = []string{fmt.Sprintf("0x%x", w[0])}
		}
	default:
		if !w.Zero() {
			x.ErrorWords = []string{fmt.Sprintf("0x%x", w[0]), fmt.Sprintf("0x%x", w[1]), fmt.Sprintf("0x%x", w[2])}
		}
	}
	for _, b := range bits {
		x.Bits = append(x.Bits, b.Index)
		x.Names = append(x.Names, b.Name)
		x.Why = append(x.Why, fmt.Sprintf("error bit %d %s (%s): %s", b.Index, b.Name, b.Unit, b.Meaning))
		if x.Bus == "" && (b.Index == 23 && fam == aicore.V100 || b.Name == "mte_biu_rdwr_resp") {
			x.Bus = aicore.BusError(in.MTE)
		}
	}
	if m := aicore.BusMeaning(x.Bus); m != "" {
		x.Why = append(x.Why, x.Bus+": "+m)
	}
	if len(fixed) > 0 {
		x.PCFixed, x.PCFixedBy, x.PCDoubtful = fmt.Sprintf("0x%x", fixed[0].Value), fixed[0].Unit, fixed[0].Doubtful
		for _, p := range fixed[1:] {
			x.Why = append(x.Why, fmt.Sprintf("program counter by %s: 0x%x", p.Unit, p.Value))
		}
	}
}

// general are the values of the general registers X0, X1, …
func general(family aicore.Family, c *coredump.Core) []uint64 {
	var x []uint64
	for _, r := range c.Registers {
		if n := r.Addr - aicore.GeneralRegister(family, 0); n < 32 && !r.Invalid {
			for uint64(len(x)) <= n {
				x = append(x, 0)
			}
			x[n] = r.Uint()
		}
	}
	return x
}

// heldText names the general registers that hold an address with the bits of a fragment, at or just past a region: then
// the whole address is known.
func heldText(regions []aicore.Region, fr aicore.Fragment, x []uint64) []string {
	var out []string
	for i, v := range x {
		v = aicore.Mask48(v)
		if m, ok := aicore.Owner(regions, v); ok && fr.Value != 0 && v>>fr.Lo&(1<<(fr.Hi-fr.Lo+1)-1) == fr.Value && (m.Inside || m.Offset < ownerNear) {
			out = append(out, fmt.Sprintf("  register X%d holds 0x%x, which has these bits: %s", i, v, m.Short()))
		}
	}
	return out
}

// addressText says which regions an address fragment fits, and which registers hold such an address.
func addressText(regions []aicore.Region, fr aicore.Fragment, x []uint64) []string {
	if fr.Unit == "CUBE" {
		return []string{fr.String() + " of a buffer of the core"}
	}
	if fr.Full() {
		addr := fr.Value << fr.Lo
		if m, ok := aicore.Owner(regions, addr); ok {
			return []string{fmt.Sprintf("%s kept address 0x%x: %s", fr.Unit, addr, m)}
		}
		return []string{fmt.Sprintf("%s kept address 0x%x", fr.Unit, addr)}
	}
	out := []string{fr.String()}
	if held := heldText(regions, fr, x); len(held) > 0 {
		return append(out, held...)
	}
	for i, m := range aicore.Locate(regions, fr) {
		if i == 3 {
			break
		}
		s := "  " + m.String()
		if m.Region.Unreadable {
			s += ", which could not be read: the likeliest"
		}
		out = append(out, s)
	}
	if len(out) == 1 {
		out[0] += ": fits no known region"
	}
	return out
}

func registerText(v []byte) string {
	i := len(v)
	for i > 1 && v[i-1] == 0 {
		i--
	}
	if i == 0 {
		return "-"
	}
	b := slices.Clone(v[:i])
	slices.Reverse(b)
	return "0x" + strings.TrimLeft(fmt.Sprintf("%x", b[:1]), "0") + hexRest(b)
}

func hexRest(b []byte) string {
	if b[0] == 0 && len(b) == 1 {
		return "0"
	}
	return fmt.Sprintf("%x", b[1:])
}

// coreCause says what happened in words: unreadable arguments first, they are the most frequent real cause.
func (j *job) coreCause(f *coredump.File) {
	r := j.rep
	idle := 0
	for i, c := range f.Cores {
		if !c.Failed() {
			idle++
			continue
		}
		x := r.Cores[i]
		s := fmt.Sprintf("%s %d failed", c.Type, c.ID)
		if x.Source != "" {
			s += " in " + x.Source
		} else if x.PCFixed != "" {
			s += " at " + x.PCFixed
		}
		s += ": " + c.Bits[0].Meaning
		if x.Bus != "" {
			s += " (" + x.Bus + ")"
		}
		r.Cause = append(r.Cause, s)
	}
	for _, g := range f.Regions {
		if g.Unreadable {
			r.Cause = append([]string{fmt.Sprintf("%s at 0x%x (%d bytes) could not be read: a bad or freed pointer among the arguments, or memory that fails", g.Name, g.Addr, g.Size)}, r.Cause...)
		}
	}
	switch {
	case idle > 0 && len(r.Cause) > 0:
		r.Notes = append(r.Notes, fmt.Sprintf("%d core(s) reported nothing and only stopped: bystanders", idle))
	case len(f.Cores) > 0 && idle == len(f.Cores):
		r.Cause = append(r.Cause, "no core reported an error: a hang or a trap; the program counters are exact then")
	}
}

// coreExport writes local memories and the kernel.
func (j *job) coreExport(f *coredump.File) error {
	if j.o.Out == "" || j.o.NoStats || j.o.Format == "npy" {
		return nil
	}
	put := func(name string, p payload) error {
		path, err := j.write(j.base+"."+name, func(w io.Writer) error { return j.copy(w, p) })
		if err == nil {
			j.rep.Written = append(j.rep.Written, path)
		}
		return err
	}
	for _, c := range f.Cores {
		for i, l := range c.Locals {
			if l.Global >= 0 {
				continue
			}
			if err := put(fmt.Sprintf("%s_%d.%s.%d.bin", strings.ToLower(c.Type), c.ID, safeName(l.Memory), i), payload{r: j.file, off: l.Offset, size: int64(l.Have)}); err != nil {
				return err
			}
		}
	}
	for name, b := range map[string][]byte{"host.o": f.HostObject, "file.o": f.FileObject, "kernel.json": f.KernelJSON} {
		if len(b) == 0 {
			continue
		}
		path, err := j.write(j.base+"."+name, func(w io.Writer) error { _, err := w.Write(b); return err })
		if err != nil {
			return err
		}
		j.rep.Written = append(j.rep.Written, path)
	}
	slices.Sort(j.rep.Written)
	return nil
}
