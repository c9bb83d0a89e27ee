package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/kprint"
	"npu/internal/problem"
)

func damagedErr(err error) error { return problem.Mark(problem.Damaged, err) }

// kernelPrint decodes a workspace or the drained file of one core.
func (j *job) kernelPrint(b []byte) error {
	d := kprint.Parse(b)
	j.rep.Form = "legacy workspace"
	if d.Ring {
		j.rep.Form = "ring form"
	}
	return j.prints(d, 0, b)
}

// prints shows what kernels printed; base is where the workspace starts in the file.
func (j *job) prints(d *kprint.Dump, base int64, b []byte) error {
	r := j.rep
	for _, p := range d.Problems {
		r.problem(base+p.Offset, p.Text)
	}
	var text strings.Builder
	for _, blk := range d.Blocks {
		who := fmt.Sprintf("core %d", blk.Core)
		if blk.Unit != "" {
			who = fmt.Sprintf("%s core %d", blk.Unit, blk.Core)
		}
		r.fact(who, fmt.Sprintf("%d records, dump address 0x%x", len(blk.Items), blk.DumpAddr))
		if blk.Full {
			r.Notes = append(r.Notes, who+": its block was full, the last records are lost")
		}
		loop := map[uint32]int{}
		for _, it := range blk.Items {
			where := who
			if it.BlockIdx >= 0 {
				where += fmt.Sprintf(" block %d", it.BlockIdx)
			}
			if it.SIMT {
				where += fmt.Sprintf(" block (%d,%d,%d) thread (%d,%d,%d)", it.BlockXYZ[0], it.BlockXYZ[1], it.BlockXYZ[2], it.Thread[0], it.Thread[1], it.Thread[2])
			}
			switch it.Kind {
			case "printf", "assert":
				line := strings.TrimRight(it.Text, "\n")
				r.record(it.Kind, where, line, base+it.Offset)
				fmt.Fprintf(&text, "%s: %s\n", where, line)
				if it.Kind == "assert" {
					r.Cause = append(r.Cause, fmt.Sprintf("assertion on %s: %s", where, line))
				}
			case "time":
				s := fmt.Sprintf("id %d", it.TimeID)
				if n := kprint.TimeName(it.TimeID); n != "" {
					s += " (" + n + ")"
				}
				s += fmt.Sprintf(" cycle %d pc 0x%x", it.Cycle, it.PC)
				if it.EntryPC != 0 {
					s += fmt.Sprintf(" entry cycle 0x%x", it.EntryPC)
				}
				r.record("time", where, s, base+it.Offset)
			case "meta":
				kind := fmt.Sprintf("unknown(%d)", it.CoreType)
				if it.CoreType < 3 {
					kind = [...]string{"mix", "cube", "vector"}[it.CoreType]
				}
				r.record("meta", where, fmt.Sprintf("block number %d, %s", it.BlockDim, kind), base+it.Offset)
			case "tensor":
				if err := j.printTensor(it.Tensor, blk, loop, base, b); err != nil {
					return err
				}
			}
		}
	}
	if j.o.Out != "" && text.Len() > 0 && j.o.Format != "npy" && j.o.Format != "bin" {
		path, err := j.write(j.base+".printf.txt", func(w io.Writer) error { _, err := io.WriteString(w, text.String()); return err })
		if err != nil {
			return err
		}
		r.Written = append(r.Written, path)
	}
	return nil
}

func (j *job) printTensor(t *kprint.Tensor, blk kprint.Block, loop map[uint32]int, base int64, b []byte) error {
	unit := strings.ToLower(blk.Unit)
	x := Tensor{Name: strings.Trim(fmt.Sprintf("%s_core_%d_index_%d_loop_%d", unit, blk.Core, t.Desc, loop[t.Desc]), "_"), Role: "print", Index: int(t.Desc), DType: t.DType.Name,
		Format: t.Position, Shape: []uint64{}, Bytes: uint64(len(t.Data)), Have: uint64(len(t.Data)), Addr: fmt.Sprintf("0x%x", t.Addr)}
	loop[t.Desc]++
	for _, d := range t.Shape {
		x.Shape = append(x.Shape, uint64(d))
	}
	p := payload{r: bytes.NewReader(b), off: t.DataOffset, size: int64(len(t.Data)), dtype: t.DType, shape: x.Shape, format: t.Position}
	if n, ok := adump.Elements(x.Shape); len(x.Shape) > 0 && ok { // a print can be longer than its shape (padding)
		if need, ok := t.DType.Bytes(n); ok && int64(need) < p.size {
			p.size = int64(need)
		}
	}
	if err := j.numbers(&x, p); err != nil {
		return err
	}
	j.rep.Tensors = append(j.rep.Tensors, x)
	return nil
}

// dumpStats shows statistics that were taken instead of tensors.
func (j *job) dumpStats(b []byte) error {
	rows, err := adump.ParseStatsBin(b)
	j.rep.Form = "binary"
	if !adump.SniffStatsBin(b, int64(len(b))) {
		rows, err = adump.ParseStatsCSV(b)
		j.rep.Form = "csv"
	}
	for _, s := range rows {
		var vals []string
		for _, v := range s.Values {
			vals = append(vals, v[0]+" "+v[1])
		}
		j.rep.record("statistics", fmt.Sprintf("%s %d", s.Role, s.Index), fmt.Sprintf("%s %s %s %d bytes: %s", s.DType, s.Format, s.Shape, s.Size, strings.Join(vals, ", ")), 0)
	}
	if err != nil {
		if len(rows) == 0 {
			return err
		}
		j.rep.problem(int64(len(b)), err.Error())
	}
	return nil
}

// msprobe shows the description that the framework-level tool writes; NaN may stand bare in it.
func (j *job) msprobe(b []byte) error {
	clean := bareNaN(b)
	var d struct {
		Task, Level, Framework string
		Data                   map[string]map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(clean, &d); err != nil {
		return damagedErr(fmt.Errorf("dump.json: %w", err))
	}
	j.rep.fact("task", d.Task)
	j.rep.fact("level", d.Level)
	j.rep.fact("framework", d.Framework)
	names := make([]string, 0, len(d.Data))
	for n := range d.Data {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		for _, part := range []string{"input_args", "input", "output", "parameters"} {
			var list []map[string]any
			if json.Unmarshal(d.Data[n][part], &list) != nil {
				continue
			}
			for i, e := range list {
				s := fmt.Sprintf("%v %v max %v min %v mean %v norm %v", e["dtype"], e["shape"], e["Max"], e["Min"], e["Mean"], e["Norm"])
				j.rep.record("statistics", fmt.Sprintf("%s.%s.%d", n, strings.TrimSuffix(part, "_args"), i), s, 0)
			}
		}
	}
	return nil
}

// bareNaN quotes NaN, Infinity and -Infinity that stand where JSON wants a value.
func bareNaN(b []byte) []byte {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	in := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		if in && c == '\\' && i+1 < len(b) {
			out = append(out, c, b[i+1])
			i++
			continue
		}
		if c == '"' {
			in = !in
		}
		if !in {
			for _, w := range []string{"NaN", "-Infinity", "Infinity"} {
				if bytes.HasPrefix(b[i:], []byte(w)) {
					out = append(append(append(out, '"'), w...), '"')
					i += len(w) - 1
					c = 0
					break
				}
			}
			if c == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
