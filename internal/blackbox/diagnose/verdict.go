package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/plog"
)

// Symbolizer turns an offset from the entry of a kernel into "function (file:line)"; empty if it cannot.
type Symbolizer func(kernel string, offset uint64) string

// Findings decides. It may be called again after more records were added (--follow).
func (a *Analyzer) Findings(sym Symbolizer) []Finding {
	work := &Analyzer{files: a.files, dumps: a.dumps, faults: a.faults, complaints: a.complaints, unknown: a.unknown}
	for _, in := range a.incidents {
		c := *in
		c.cores = slices.Clone(in.cores)
		c.evidence = slices.Clone(in.evidence)
		work.incidents = append(work.incidents, &c)
	}
	for _, e := range a.events {
		c := *e
		c.used = false
		work.events = append(work.events, &c)
	}
	work.merge()
	work.joinFirmware()
	work.joinFaults()
	work.joinEvents()
	work.incidents = append(work.incidents, work.loose()...)
	if in := work.unexplained(); in != nil {
		work.incidents = append(work.incidents, in)
	}
	var out []Finding
	for _, g := range fold(work.order()) {
		out = append(out, work.finding(g, sym))
	}
	return out
}

func hexs(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func (a *Analyzer) finding(g *group, sym Symbolizer) Finding {
	in := g.root
	f := Finding{Kind: in.kind.String(), ErrorCodes: in.codes, Cores: []int{}, Bits: []int{}, Evidence: in.evidence,
		Kernel: Name(in.kernel), Node: in.node, Stream: in.stream, Task: in.task, Flip: in.flip, Device: in.device, Rank: in.rank,
		Process: in.proc, Serial: in.serial, Blocks: in.blocks, TilingKey: in.tilingKey, SDMA: in.sdma, Notify: in.notify,
		Size: in.size, Drv: in.drv}
	if in.pid > 0 {
		f.PID = &in.pid
	}
	if in.first != plog.NoTime {
		f.Time = plog.Clock(in.first)
	}
	f.ACL = in.acl
	if in.ts != 0 {
		f.TS = hexs(uint64(in.ts))
		if e, ok := errcode.Scheduler(in.ts); ok && f.ACL == 0 {
			f.ACL = e.ACL
		}
	}
	if in.inner != 0 {
		f.Inner = fmt.Sprintf("0x%08x", in.inner)
	}
	if e, ok := errcode.ACL(f.ACL); ok && f.ACL != 0 {
		f.ACLName = e.Name
	}
	if in.joined && in.deviceClock != 0 {
		f.Clock = clockText(in.deviceClock)
	}
	for _, v := range in.args[:min(len(in.args), 512)] {
		f.Args = append(f.Args, hexs(v))
	}
	if len(in.asserts) > 0 {
		f.Assert = in.asserts[0]
	}
	for _, e := range in.events {
		if e.class == "hardware" && f.Hardware == "" {
			f.Hardware = hardwareText(e, in)
		}
	}
	var v view
	if in.kind == kindCore || len(in.cores) > 0 {
		v = a.coreFacts(&f, in)
		if f.Offset != "" && sym != nil && in.kernel != "" {
			if off, err := strconv.ParseUint(f.Offset, 0, 64); err == nil {
				f.Source = sym(in.kernel, off)
			}
		}
	}
	f.Where = whereText(&f, in)
	judge(&f, in, v)
	a.followups(&f, g)
	f.Root = f.Cause
	if f.Hardware != "" {
		f.Root = "hardware: " + f.Hardware
	}
	return f
}

// clockText says how the device's clock stands to the host's.
func clockText(d int64) string {
	sign := "behind"
	if d < 0 {
		sign, d = "ahead of", -d
	}
	h := (d + 30*60*second) / (3600 * second)
	rest := d - h*3600*second
	if rest < 0 {
		rest = -rest
	}
	if h > 0 && rest < 120*second {
		return fmt.Sprintf("%d h %s the host (time zone)", h, sign)
	}
	return fmt.Sprintf("%.3f s %s the host", float64(d)/1e6, sign)
}

func hardwareText(e *event, in *incident) string {
	s := fmt.Sprintf("%s (event 0x%08X)", e.text, e.id)
	if k, ok := errcode.Event(e.id); ok && k.Name != "" && !strings.Contains(strings.ToLower(e.text), strings.ToLower(k.Name)) {
		s = k.Name + " " + s
	}
	if e.device != nil {
		s += fmt.Sprintf(" on device %d", *e.device)
	}
	if e.time != plog.NoTime && in.first != plog.NoTime && (in.kind != kindHardware || len(in.cores) > 0) {
		if d := float64(in.first-e.time) / 1e6; d >= 0 && d < 3600 {
			s += fmt.Sprintf(", %.1f s before", d)
		}
	}
	return s
}

func whereText(f *Finding, in *incident) string {
	var s []string
	if f.Kernel != "" {
		k := "kernel " + string(f.Kernel)
		if f.Node != "" {
			k += " (node " + f.Node + ")"
		}
		s = append(s, k)
	}
	if n := len(f.Cores); n > 0 {
		c := fmt.Sprintf("%s core%s %s", cmp.Or(f.CoreType, "AI"), plural(n), ints(f.Cores))
		if f.Blocks > 0 {
			c += fmt.Sprintf(" (%d of %d blocks)", n, f.Blocks)
		} else if in.fwRan > 0 {
			c += fmt.Sprintf(" (%d of %d cores that ran it)", n, in.fwRan)
		}
		s = append(s, c)
	}
	if f.Offset != "" {
		o := "offset " + f.Offset + " from the entry"
		switch {
		case f.PCFixed != "":
			o += fmt.Sprintf(", pc %s repaired by %s", f.PCFixed, f.PCFixedBy)
		case f.Current != "":
			o += ", pc " + f.Current + " as reported"
		}
		s = append(s, o)
	}
	if f.Source != "" {
		s = append(s, f.Source)
	}
	add := func(label string, p *int) {
		if p != nil {
			s = append(s, fmt.Sprintf("%s %d", label, *p))
		}
	}
	add("rank", f.Rank)
	add("device", f.Device)
	add("stream", f.Stream)
	add("task", f.Task)
	if f.PID != nil {
		s = append(s, strings.TrimSpace(fmt.Sprintf("process %d %s", *f.PID, f.Process)))
	}
	return strings.Join(s, ", ")
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// ints prints 0-3,7 for 0 1 2 3 7.
func ints(v []int) string {
	var b strings.Builder
	for i := 0; i < len(v); {
		j := i
		for j+1 < len(v) && v[j+1] == v[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", v[i])
		if j > i+1 {
			fmt.Fprintf(&b, "-%d", v[j])
		} else if j == i+1 {
			fmt.Fprintf(&b, ",%d", v[j])
		}
		i = j + 1
	}
	return b.String()
}

// followups lists what is folded under the cause, the same error of one process once.
func (a *Analyzer) followups(f *Finding, g *group) {
	for _, in := range g.follows {
		if f.SDMA == nil {
			f.SDMA = in.sdma
		}
		u := Followup{ACL: in.acl, What: shortText(in), Device: in.device, Rank: in.rank, Count: 1}
		if in.first != plog.NoTime {
			u.Time = plog.Clock(in.first)
		}
		if in.pid > 0 {
			pid := in.pid
			u.PID = &pid
		}
		if len(in.evidence) > 0 {
			u.File, u.Line = in.evidence[0].File, in.evidence[0].Line
		}
		if in.acl != 0 && in.acl != f.ACL {
			if f.Follow == 0 {
				f.Follow = in.acl
			}
			if !slices.Contains(f.Fallout, in.acl) {
				f.Fallout = append(f.Fallout, in.acl)
			}
		}
		if i := slices.IndexFunc(f.Followups, func(o Followup) bool { return o.What == u.What && same(o.PID, u.PID) }); i >= 0 {
			f.Followups[i].Count++
			continue
		}
		if len(f.Followups) < 64 {
			f.Followups = append(f.Followups, u)
		}
	}
}

func shortText(in *incident) string {
	switch {
	case in.kind == kindWait && in.notify != nil:
		s := "a wait ran out of time"
		if in.notify.ID >= 0 {
			s = fmt.Sprintf("notify %d waited", in.notify.ID)
			if in.notify.Seconds > 0 {
				s += fmt.Sprintf(" %d s", in.notify.Seconds)
			}
		}
		if in.comm != nil && in.comm.op != "" {
			s += " in " + in.comm.op
		}
		if in.notify.Peer != nil {
			s += fmt.Sprintf(" for rank %d", *in.notify.Peer)
		}
		return s
	case in.kind == kindCopy:
		return "a copy engine reported an error"
	case in.kernel != "":
		return "kernel " + in.kernel + " failed"
	}
	if e, ok := errcode.ACL(in.acl); ok && in.acl != 0 {
		return e.Name + ": " + e.Meaning
	}
	if in.drv != nil {
		if e, ok := errcode.Driver(*in.drv); ok {
			return fmt.Sprintf("driver code %d (%s)", *in.drv, e.Meaning)
		}
	}
	if len(in.events) > 0 {
		return "the device reported: " + in.events[0].text
	}
	if len(in.codes) > 0 {
		return "message " + strings.Join(in.codes, ", ")
	}
	return "further error of kind " + in.kind.String()
}
