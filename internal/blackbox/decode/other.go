package decode

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/atrace"
	"npu/internal/blackbox/bbox"
	"npu/internal/blackbox/identify"
	"npu/internal/blackbox/kobject"
	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/stack"
	"npu/internal/blackbox/textdump"
)

func (j *job) atrace(b []byte) error {
	f, err := atrace.Parse(b)
	if err != nil {
		return err
	}
	r := j.rep
	r.Version = fmt.Sprint(f.Version)
	side := "host"
	if f.Device {
		side = "device"
	}
	r.fact("side", side)
	r.fact("started", time.Unix(0, int64(f.RealTime)).UTC().Format("2006-01-02 15:04:05.000000 UTC"))
	if f.Freq > 0 {
		r.fact("clock", fmt.Sprintf("%d cycles per ms", f.Freq))
	}
	r.fact("zone", fmt.Sprintf("%d minutes west", f.MinutesWest))
	for _, s := range f.Structs {
		var items []string
		for _, it := range s.Items {
			items = append(items, it.Name)
		}
		r.fact("structure "+s.Name, strings.Join(items, " "))
	}
	for _, m := range f.Messages {
		r.record("message", m.Struct, m.String(), m.Offset)
	}
	if f.Busy > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d messages were being written and are left out", f.Busy))
	}
	if f.Unknown > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d messages belong to structures that the file does not describe", f.Unknown))
	}
	for _, p := range f.Problems {
		r.problem(p.Offset, p.Text)
	}
	return nil
}

func (j *job) stackImage(b []byte) error {
	c, err := stack.ParseImage(b)
	if err != nil {
		return err
	}
	return j.crash(c)
}

func (j *job) stackText(b []byte) error {
	c, err := stack.ParseText(b)
	if err != nil {
		return err
	}
	return j.crash(c)
}

func (j *job) crash(c *stack.Crash) error {
	r := j.rep
	r.Form = c.Form
	r.fact("process", c.Process)
	if c.PID > 0 {
		r.fact("pid", fmt.Sprint(c.PID))
	}
	if c.TID > 0 {
		r.fact("tid", fmt.Sprint(c.TID))
	}
	if c.Signal > 0 {
		r.fact("signal", fmt.Sprintf("%d %s", c.Signal, stack.SignalName(c.Signal)))
	} else {
		r.fact("reason", c.Reason)
	}
	if c.TimeNS > 0 {
		r.fact("time", time.Unix(0, int64(c.TimeNS)).UTC().Format("2006-01-02 15:04:05.000000 UTC"))
	}
	r.fact("kernel", c.Kernel)
	if c.Maps > 0 {
		r.fact("mappings", fmt.Sprint(c.Maps))
	}
	for _, s := range c.Sections {
		r.fact("section "+s.Name, fmt.Sprintf("%d bytes at 0x%x", s.Bytes, s.Offset))
	}
	for _, x := range c.Registers {
		r.fact("register "+x[0], x[1])
	}
	for _, t := range c.Threads {
		who := fmt.Sprintf("thread %d", t.Number)
		if t.TID > 0 {
			who += fmt.Sprintf(" (%d %s)", t.TID, t.Name)
		}
		if t.Crashed && len(t.Frames) > 0 && c.Signal != 35 {
			r.Cause = append(r.Cause, fmt.Sprintf("%s ended by %s in %s", cmp.Or(c.Process, "process"), cmp.Or(c.Reason, "a signal"), t.Frames[0]))
		}
		for i, f := range t.Frames {
			r.record("frame", who, fmt.Sprintf("#%d %s", i, f), 0)
		}
	}
	for _, l := range c.Log {
		r.record("log", "", l, 0)
	}
	if c.Form == "stackcore log" && !strings.Contains(strings.Join(c.Log, " "), "dump success") {
		for _, l := range c.Log {
			if strings.Contains(l, "[FAIL]") {
				r.Cause = append(r.Cause, "the stack could not be written: "+l)
			}
		}
	}
	for _, p := range c.Problems {
		r.problem(p.Offset, p.Text)
	}
	return nil
}

func (j *job) blackBox(b []byte) error {
	x, err := bbox.Parse(b, j.o.Chip)
	if err != nil {
		return err
	}
	r := j.rep
	r.Form = x.Form
	r.fact("product", x.Product)
	for _, a := range x.Areas {
		r.fact("area "+a.Module, fmt.Sprintf("0x%x bytes at 0x%x, control block %s", a.Length, a.Offset, a.Form))
	}
	j.exceptions(x.Exceptions)
	for _, f := range x.Facts {
		if f.Text() {
			for _, l := range strings.Split(f.Value, "\n") {
				r.record("text", f.Area, l, f.Offset)
			}
			continue
		}
		r.record("field", f.Area, f.Name+" = "+f.Value, f.Offset)
	}
	for _, p := range x.Problems {
		r.problem(p.Offset, p.Text)
	}
	if j.o.Chip == "" {
		r.Notes = append(r.Notes, "fields by the table of the 910B/A3; --chip 950 takes the other one")
	}
	return nil
}

func (j *job) exceptions(es []bbox.Exception) {
	for _, e := range es {
		s := fmt.Sprintf("%s exception 0x%08x: module %s", e.Time, e.ID, e.Module)
		if e.Reason != "" {
			s += ", reason " + e.Reason
		}
		if e.Meaning != "" {
			s += ": " + e.Meaning
		}
		if e.Folder != "" {
			s += ", folder " + e.Folder
		}
		j.rep.record("exception", strings.Join(e.Level, ", "), strings.TrimSpace(s), 0)
	}
	if n := len(es); n > 0 {
		e := es[n-1]
		j.rep.Cause = append(j.rep.Cause, fmt.Sprintf("last exception: 0x%08x of module %s at %s, %s", e.ID, e.Module, e.Time, cmp.Or(e.Meaning, e.Reason)))
	}
}

func (j *job) printk(b []byte) error {
	rs, probs := bbox.ParsePrintk(b)
	for _, x := range rs {
		j.rep.record("kernel", fmt.Sprintf("level %d", x.Level), fmt.Sprintf("[%d.%06d] %s", x.NS/1e9, x.NS/1e3%1e6, x.Text), x.Offset)
	}
	for _, p := range probs {
		j.rep.problem(p.Offset, p.Text)
	}
	return nil
}

func (j *job) deviceInfo(b []byte) error {
	facts, rows := bbox.ParseDeviceInfo(string(b))
	for _, f := range facts {
		j.rep.fact(f[0], f[1])
	}
	for _, d := range rows {
		j.rep.record("device", d.Dir, fmt.Sprintf("phy %s logic %s %s", d.Phy, d.Logic, d.Status), 0)
	}
	return nil
}

func (j *job) kernelObject(b []byte) error {
	o, err := kobject.Parse(b)
	if err != nil {
		return err
	}
	r := j.rep
	r.Form = "ELF " + o.Type
	r.fact("flags", fmt.Sprintf("0x%x", o.Flags))
	r.fact("lines", map[bool]string{true: "yes (-g)", false: "none: only functions can be named"}[o.HasLines])
	for _, s := range o.Sections {
		r.record("section", s.Name, fmt.Sprintf("0x%x bytes at 0x%x", s.Size, s.Start), int64(s.Start))
	}
	for _, s := range o.Symbols {
		kind := "function"
		if s.Global {
			kind = "entry"
		}
		r.record(kind, fmt.Sprintf("0x%x", s.Addr), fmt.Sprintf("%s, %d bytes", s.Name, s.Size), 0)
	}
	r.Notes = append(r.Notes, o.Notes...)
	return nil
}

func (j *job) kernelJSON(b []byte) error {
	k, err := adump.ParseKernel(b)
	if err != nil {
		return err
	}
	r := j.rep
	r.Kernel = Name(k.KernelName)
	r.fact("binary", k.BinFileName)
	r.fact("core type", k.CoreType)
	r.fact("magic", k.Magic)
	dim := fmt.Sprint(k.BlockDim)
	if k.BlockDim == -1 {
		dim = "dynamic"
	}
	r.fact("block dim", dim)
	r.fact("tiling bytes", fmt.Sprint(k.OpParaSize))
	r.fact("sha256", k.SHA256)
	r.fact("mode", strings.TrimSpace(k.Support.OpMode+" "+k.Support.ImplMode))
	for _, e := range k.KernelList {
		r.record("entry", "", e.KernelName, 0)
	}
	show := func(role string, ps []adump.Param) {
		for i, p := range ps {
			r.record(role, fmt.Sprint(i), fmt.Sprintf("%s %s %s %v", p.Name, p.DType, p.Format, p.Shape), 0)
		}
	}
	show("input", k.Support.Inputs)
	show("output", k.Support.Outputs)
	return nil
}

// log decodes the firmware's text core dump out of a device log, and the history of exceptions.
func (j *job) log(kind string) error {
	if kind == identify.History {
		b, err := io.ReadAll(io.LimitReader(j.file, 64<<20))
		if err != nil {
			return damagedErr(err)
		}
		es, probs := bbox.ParseHistory(string(b))
		j.exceptions(es)
		for _, p := range probs {
			j.rep.problem(p.Offset, p.Text)
		}
		return nil
	}
	p := &textdump.Parser{}
	var lines [3]int64 // errors, warnings, others
	st, err := plog.Scan(j.file, 0, plog.Options{Level: plog.Debug, Since: plog.NoTime}, func(r *plog.Record) error {
		switch {
		case r.Level == plog.Error && !r.Cont:
			lines[0]++
		case r.Level == plog.Warning && !r.Cont:
			lines[1]++
		default:
			lines[2]++
		}
		if textdump.Wants(r.Text) {
			p.Feed(r.Text, r.Time, r.Line)
		}
		if r.Line&0xfff == 0 {
			return j.ctx.Err()
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r := j.rep
	r.fact("lines", fmt.Sprintf("%d (%d errors, %d warnings)", st.Lines, lines[0], lines[1]))
	r.fact("from", plog.Clock(st.First))
	r.fact("to", plog.Clock(st.Last))
	if len(p.Events) == 0 {
		r.Notes = append(r.Notes, "no core dump of the firmware in it; npu log finds causes in logs")
		return nil
	}
	r.Form = "log with a core dump of the firmware"
	for _, ev := range p.Events {
		if err := j.textEvent(ev); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) textEvent(ev *textdump.Event) error {
	r := j.rep
	r.Chip = ev.Family().String()
	who := fmt.Sprintf("line %d", ev.Line)
	s := fmt.Sprintf("stream %d task %d, error type %d, pid %d", ev.Stream, ev.Task, ev.ErrorType, ev.PID)
	if ev.Old {
		s = fmt.Sprintf("device %d stream %d task %d, exception code 0x%x", ev.Device, ev.Stream, ev.Task, ev.ExceptionCode)
	}
	if aic, aiv := ev.Ran(); aic+aiv > 0 {
		s += fmt.Sprintf(", ran on %d AIC and %d AIV cores", aic, aiv)
	}
	r.record("exception", who, plog.Clock(ev.Time)+" "+s, 0)
	if len(ev.SQE) == 16 {
		var w []string
		for _, x := range ev.SQE {
			w = append(w, fmt.Sprintf("%08x", x))
		}
		r.record("queue entry", who, fmt.Sprintf("%s; entry pc 0x%x, argument block 0x%x", strings.Join(w, " "), ev.EntryPC(), ev.ArgBlock()), 0)
	}
	for _, sl := range ev.Slots {
		r.record("slot", who, sl, 0)
	}
	groups := map[string]int{}
	for _, c := range ev.Cores {
		x := Core{ID: c.ID, Type: c.Type, Bits: []int{}, Registers: []Register{}}
		words, in, start, cur := c.Fault()
		bits := words.Bits()
		x.Bystander = c.Complete && words.Zero()
		if start != 0 {
			x.PCStart = fmt.Sprintf("0x%x", start)
		}
		if cur != 0 {
			x.PC = fmt.Sprintf("0x%x", cur)
		}
		pcs := aicore.Repair(ev.Family(), cur, bits, in)
		fill(&x, ev.Family(), words, nil, bits, in, pcs)
		pc := cur
		if len(pcs) > 0 {
			pc = pcs[0].Value
		}
		if c.FirmwarePC != 0 {
			agree := "agrees"
			if len(pcs) > 0 && c.FirmwarePC != pc {
				agree = "differs"
			}
			x.Why = append(x.Why, fmt.Sprintf("the firmware repaired the program counter to 0x%x: %s", c.FirmwarePC, agree))
		}
		if start != 0 && pc >= start {
			x.Offset = fmt.Sprintf("0x%x", pc-start)
		}
		if ev.Family() == aicore.V100 {
			for _, fr := range aicore.FragmentsV100(bits, in) {
				x.Why = append(x.Why, fr.String())
			}
		}
		for _, g := range c.Registers {
			x.Registers = append(x.Registers, Register{g.Name, fmt.Sprintf("0x%x", g.Value)})
		}
		for _, m := range c.Memories {
			x.Memories = append(x.Memories, fmt.Sprintf("%s %d samples", m.Name, len(m.Rows)))
		}
		for _, m := range c.Stack {
			x.Memories = append(x.Memories, fmt.Sprintf("stack %d rows from 0x%x", len(m.Rows), m.Rows[0].Addr))
		}
		if !c.Complete {
			x.Why = append(x.Why, "the log ends inside this core's dump")
		} else if len(bits) > 0 {
			groups[fmt.Sprintf("%s at offset %s: %s", x.Type, x.Offset, bits[0].Meaning)]++
		}
		r.Cores = append(r.Cores, x)
		if err := j.textExport(c); err != nil {
			return err
		}
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		n := groups[g]
		r.Cause = append(r.Cause, fmt.Sprintf("%d core(s) %s", n, g))
	}
	return nil
}

// textExport writes the stack of a core as bytes.
func (j *job) textExport(c *textdump.Core) error {
	if j.o.Out == "" || j.o.NoStats || len(c.Stack) == 0 || j.o.Format == "npy" {
		return nil
	}
	path, err := j.write(fmt.Sprintf("%s.%s_%d.stack.bin", j.base, strings.ToLower(cmp.Or(c.Type, "core")), c.ID), func(w io.Writer) error {
		for _, m := range c.Stack {
			for _, row := range m.Rows {
				if _, err := w.Write(row.Data); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		j.rep.Written = append(j.rep.Written, path)
	}
	return err
}
