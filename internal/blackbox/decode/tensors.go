package decode

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/elem"
	"npu/internal/blackbox/kprint"
	"npu/internal/tensor"
)

// tensorDump decodes data dumps, exception dumps of all levels and overflow records in a dump.
func (j *job) tensorDump() error {
	f, err := adump.Parse(j.file, j.size)
	if err != nil {
		return err
	}
	r := j.rep
	name := adump.ParseName(adump.Mapped(j.path))
	r.Form, r.Version = form(f, name), f.Version
	j.dumpFacts(f, name)
	f.Addresses()
	if path := f.FillTypes(adump.KernelsBeside(j.path)); path != "" {
		r.Notes = append(r.Notes, "types from "+filepath.Base(path)+", whose shapes fit the sizes")
	}
	for _, p := range f.Problems {
		r.problem(p.Offset, p.Text)
	}
	addrs := map[uint64]bool{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Address != 0 {
			addrs[t.Address] = true
		}
		if err := j.dumpTensor(f, t); err != nil {
			return err
		}
	}
	j.missing(f)
	if name.Scheme == "overflow" || f.OpName == "" && len(f.Tensors) == 1 && f.Tensors[0].Role == "output" {
		j.overflowIn(f, name.Scheme == "overflow")
	}
	return nil
}

func form(f *adump.File, n adump.Name) string {
	switch {
	case f.Tiny:
		return "tiny-chip dump"
	case n.Scheme == "overflow":
		return "overflow record"
	case n.Scheme == "custom":
		return "custom exception dump"
	case n.Scheme == "L0":
		return "exception dump L0 (brief)"
	case n.Scheme == "L1":
		return "exception dump L1 (norm)"
	case f.DFX != "":
		return "exception dump"
	}
	return "data dump"
}

func (j *job) dumpFacts(f *adump.File, n adump.Name) {
	r := j.rep
	if f.OpName != "" {
		r.fact("operator", f.OpName)
	} else {
		r.fact("operator", n.OpName)
	}
	r.fact("type", n.OpType)
	num := func(label string, v int) {
		if v >= 0 {
			r.fact(label, fmt.Sprint(v))
		}
	}
	num("stream", n.Stream)
	num("task", n.Task)
	num("context", n.Context)
	num("thread", n.Thread)
	num("device", n.Device)
	if f.Time > 0 && f.Time < 1<<53 {
		r.fact("time", time.UnixMicro(int64(f.Time)).UTC().Format("2006-01-02 15:04:05.000000 UTC"))
	} else {
		r.fact("time", n.Time)
	}
	r.fact("header", fmt.Sprintf("%d of %d bytes", f.HeaderLen, f.Size))
	for _, a := range f.Attrs {
		r.fact("attribute "+a[0], a[1])
	}
	for k, v := range f.Facts() {
		if k == "node_name" || k == "node_type" || k == "stream_id" || k == "task_id" {
			r.fact(k, v)
		}
		if k == "kernel_name" {
			r.Kernel = Name(v)
		}
	}
	if a := f.Args(); len(a) > 0 {
		var s []string
		for _, v := range a[:min(len(a), 64)] {
			s = append(s, fmt.Sprintf("0x%x", v))
		}
		r.fact("arguments", strings.Join(s, " "))
	}
}

// dumpTensor shows one payload; spaces and buffers may hold print data of kernels or text.
func (j *job) dumpTensor(f *adump.File, t *adump.Tensor) error {
	x := Tensor{Name: fmt.Sprintf("%s.%d", t.Role, t.Index), Role: t.Role, Index: t.Index, DType: t.DType.Name, Format: adump.FormatName(t.Format),
		Shape: t.Shape, OrigShape: t.OrigShape, Bytes: t.Size, Have: t.Have, Op: t.OrigOp}
	if x.Shape == nil {
		x.Shape = []uint64{}
	}
	dt := t.DType
	switch {
	case t.Role == "space" || t.Role == "buffer":
		x.DType, x.Format = "bytes", "-"
		dt = elem.Of(tensor.Uint8)
	case !dt.Numeric() && j.dtype.Name != "" && t.InputType != 7:
		dt = j.dtype
		x.DType = dt.Name
		x.Note = "type given by --dtype"
	case t.DTypeNo == 0 && t.Format == 0:
		x.Format = "-"
	}
	if t.InputType > 1 {
		x.Kind = adump.TensorType(t.InputType)
	}
	if t.Address != 0 {
		x.Addr = fmt.Sprintf("0x%x", t.Address)
	}
	if t.ArgIndex >= 0 {
		a := t.ArgIndex
		x.Arg = &a
	}
	if n, ok := adump.Elements(t.Shape); len(t.Shape) > 0 && dt.Bits > 0 {
		if need, ok2 := dt.Bytes(n); !ok || !ok2 {
			j.rep.Notes = append(j.rep.Notes, x.Name+": the product of its shape overflows")
		} else if need != t.Size && t.Size > 0 {
			x.Note = strings.TrimPrefix(x.Note+fmt.Sprintf("; shape and type make %d bytes, the size says %d", need, t.Size), "; ")
		}
	}
	p := payload{r: j.file, off: t.Offset, size: int64(t.Have), dtype: dt, shape: t.Shape, format: x.Format, orig: t.OrigShape, formatN: t.Format}
	if t.Role == "space" || t.Role == "buffer" {
		p.dtype, p.shape = elem.Type{Name: "bytes"}, nil
		if err := j.space(&x, p); err != nil {
			return err
		}
	}
	if err := j.numbers(&x, p); err != nil {
		return err
	}
	if x.Kind == "tiling data" {
		x.Note = tilingNote(p, x.Note)
	}
	if allZero(p) && t.Have >= 64 && f.DFX != "" {
		x.Note = strings.TrimPrefix(x.Note+"; all bytes are zero: memory that cannot be read is written as zeros", "; ")
	}
	j.rep.Tensors = append(j.rep.Tensors, x)
	return nil
}

// tilingNote tells the trailer that the runtime puts behind the tiling data of dynamic kernels.
func tilingNote(p payload, note string) string {
	var b [8]byte
	if p.size < 8 {
		return note
	}
	if _, err := p.r.ReadAt(b[:], p.off+p.size-8); err == nil && b[7] == 0xa5 && b[6] == 0xa5 && b[5] == 0xa5 && b[4] == 0xa5 {
		note = strings.TrimPrefix(note+"; the last 8 bytes are the runtime's mark 0xa5a5a5a5, not tiling", "; ")
	}
	return note
}

func allZero(p payload) bool {
	buf := make([]byte, min(p.size, 64<<10))
	for at := int64(0); at < p.size && at < 16<<20; at += int64(len(buf)) {
		n, err := p.r.ReadAt(buf[:min(int64(len(buf)), p.size-at)], p.off+at)
		if err != nil && n == 0 {
			return false
		}
		if bytes.IndexFunc(buf[:n], func(r rune) bool { return r != 0 }) >= 0 {
			return false
		}
	}
	return p.size > 0
}

// space looks for print data of kernels and log text in a workspace.
func (j *job) space(x *Tensor, p payload) error {
	if p.size > 256<<20 || p.size == 0 {
		return nil
	}
	b := make([]byte, p.size)
	if _, err := p.r.ReadAt(b, p.off); err != nil && err != io.EOF {
		return err
	}
	switch {
	case kprint.SniffWorkspace(b):
		x.Kind = "kernel print workspace"
		return j.prints(kprint.Parse(b), p.off, b)
	case isText(b):
		x.Kind = "text"
		for _, l := range strings.Split(strings.TrimRight(string(b), "\x00\n"), "\n") {
			j.rep.record("text", x.Name, strings.ToValidUTF8(l, "?"), p.off)
		}
	}
	return nil
}

func isText(b []byte) bool {
	b = bytes.TrimRight(b, "\x00")
	if len(b) < 4 {
		return false
	}
	for _, c := range b {
		if c < 9 || c > 13 && c < 32 || c > 126 {
			return false
		}
	}
	return true
}

// missing names arguments that the log lists but the dump has no tensor for.
func (j *job) missing(f *adump.File) {
	for _, it := range f.Items() {
		if it.Null {
			j.rep.Notes = append(j.rep.Notes, fmt.Sprintf("argument %d (%s) is a null pointer", it.Arg, it.What))
		}
	}
}

// overflowIn decodes the overflow record that is the only output of its dump.
func (j *job) overflowIn(f *adump.File, sure bool) {
	if len(f.Tensors) == 0 || f.Tensors[0].Have > 1<<20 {
		return
	}
	t := f.Tensors[0]
	b := make([]byte, t.Have)
	if n, err := j.file.ReadAt(b, t.Offset); err != nil && n == 0 {
		return
	}
	if !sure && !adump.IsOverflow(b) {
		return
	}
	os, probs := adump.ParseOverflow(b)
	j.overflows(os, probs, t.Offset)
}

// overflow decodes a bare record.
func (j *job) overflow(b []byte) error {
	os, probs := adump.ParseOverflow(b)
	j.overflows(os, probs, 0)
	return nil
}

func (j *job) overflows(os []adump.Overflow, probs []adump.Problem, base int64) {
	r := j.rep
	for _, p := range probs {
		r.problem(base+p.Offset, p.Text)
	}
	for _, o := range os {
		model := fmt.Sprint(o.Model)
		if o.Model == adump.NoModel {
			model = "none"
		}
		s := fmt.Sprintf("model %s stream %d task %d, pc start 0x%x, para base 0x%x, core %d block %d, status %s", model, o.Stream, o.Task, o.PCStart, o.ParaBase, o.Core, o.Block, hexList(o.Status))
		if o.OldLayout {
			s = fmt.Sprintf("model %s stream %d task %d type %d, pc start 0x%x, para base 0x%x, kernel code 0x%x, block 0x%x, status %s", model, o.Stream, o.Task, o.TaskType, o.PCStart, o.ParaBase, o.Kernel, o.Block, hexList(o.Status))
		}
		r.record("overflow", o.Unit, s, base)
		if !o.OldLayout && len(o.Status) > 0 {
			var w aicore.Words
			copy(w[:], o.Status)
			for _, b := range w.Bits() {
				r.Cause = append(r.Cause, fmt.Sprintf("%s core %d reported at the overflow: bit %d %s: %s", o.Unit, o.Core, b.Index, b.Name, b.Meaning))
			}
		}
		r.Cause = append(r.Cause, fmt.Sprintf("a number left its range in stream %d task %d (%s): the operator is the one whose dump has these numbers", o.Stream, o.Task, o.Unit))
	}
}

func hexList(v []uint64) string {
	var s []string
	for _, x := range v {
		s = append(s, fmt.Sprintf("0x%x", x))
	}
	return strings.Join(s, ",")
}

// npy shows a NumPy file like a tensor, so that both sides of a comparison look alike.
func (j *job) npy() error {
	t, err := tensor.ReadNPY(j.file, j.size)
	if err != nil {
		return damagedErr(err)
	}
	return j.array("array", "array", t)
}

// npz shows the arrays of a NumPy archive. One that is damaged is a problem of its own.
func (j *job) npz() error {
	a, err := tensor.OpenNPZ(j.file, j.size)
	if err != nil {
		return damagedErr(err)
	}
	for _, name := range a.Names() {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		if n := a.Size(name); n > maxWhole {
			j.rep.Notes = append(j.rep.Notes, fmt.Sprintf("array %q of %d bytes: more than 2 GiB are not read", name, n))
			continue
		}
		t, err := a.Read(name)
		switch {
		case err != nil && strings.HasSuffix(err.Error(), "is not supported"): // of text, of objects
			j.rep.Notes = append(j.rep.Notes, err.Error())
			continue
		case err != nil:
			j.rep.Problems = append(j.rep.Problems, Problem{Text: err.Error()})
			continue
		}
		if err := j.array(name, "member", t); err != nil {
			return err
		}
	}
	if j.o.Out != "" {
		j.rep.Notes = append(j.rep.Notes, "the arrays of an archive are .npy already: unzip it")
	}
	return nil
}

func (j *job) array(name, role string, t *tensor.Tensor) error {
	x := Tensor{Name: name, Role: role, DType: t.DType.String(), Format: "ND", Bytes: uint64(len(t.Data)), Have: uint64(len(t.Data))}
	for _, d := range t.Shape {
		x.Shape = append(x.Shape, uint64(d))
	}
	p := payload{r: bytes.NewReader(t.Data), size: int64(len(t.Data)), dtype: elem.Of(t.DType), shape: x.Shape, format: "ND"}
	out := j.o.Out
	if j.o.Format != "bin" || role != "array" { // whose names may be anything
		j.o.Out = "" // it is a .npy already
	}
	err := j.numbers(&x, p)
	j.o.Out = out
	j.rep.Tensors = append(j.rep.Tensors, x)
	return err
}
