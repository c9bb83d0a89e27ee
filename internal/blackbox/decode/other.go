package decode

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/atrace"
	"npu/internal/blackbox/bbox"
	"npu/internal/blackbox/kobject"
	"npu/internal/blackbox/stack"
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
