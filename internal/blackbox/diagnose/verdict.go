package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/plog"
)

// Symbolizer turns an offset from the entry of a kernel into "function (file:line)"; empty if it cannot.
type Symbolizer func(kernel string, offset uint64) string

// Findings decides. It may be called again after more records were added (--follow).
func (a *Analyzer) Findings(sym Symbolizer) []Finding {
	work := &Analyzer{files: a.files, dumps: a.dumps, faults: a.faults}
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
	if e.time != plog.NoTime && in.first != plog.NoTime && in.kind != kindHardware {
		if d := float64(in.first-e.time) / 1e6; d >= 0 && d < 3600 {
			s += fmt.Sprintf(", %.1f s before", d)
		}
	}
	return s
}

// view is what the judgement needs of the cores.
type view struct {
	guilty, idle []*core
	bits         []aicore.Bit
	fragments    []aicore.Fragment
	trap         bool
	outOfBounds  string // checked build: which access
	offsets      map[uint64]int
}

// coreFacts tells guilty cores from bystanders and fills in words, counters and offsets.
func (a *Analyzer) coreFacts(f *Finding, in *incident) view {
	var v view
	shareStart(in.cores)
	for _, c := range in.cores {
		if !c.zero() {
			v.guilty = append(v.guilty, c)
		} else {
			v.idle = append(v.idle, c)
		}
	}
	if len(v.guilty) == 0 { // a hang, or a trap
		for _, c := range in.cores {
			if c.sub != nil && *c.sub < 4 {
				v.guilty = append(v.guilty, c)
			}
		}
		if v.guilty != nil {
			v.idle = slices.DeleteFunc(v.idle, func(c *core) bool { return slices.Contains(v.guilty, c) })
		} else {
			v.guilty, v.idle = v.idle, nil
		}
	}
	byID := func(x, y *core) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id)) }
	slices.SortFunc(v.guilty, byID)
	slices.SortFunc(v.idle, byID)
	kinds := map[string]bool{}
	for _, c := range v.guilty {
		f.Cores = append(f.Cores, c.id)
		kinds[c.kind] = true
		if c.sub != nil && *c.sub < 4 {
			v.trap = true
			v.outOfBounds = [...]string{"AI core read", "AI core write", "vector core read", "vector core write"}[*c.sub]
			f.SubErrType = c.sub
		}
	}
	for k := range kinds {
		f.CoreType = strings.Trim(f.CoreType+"/"+k, "/")
	}
	for _, c := range v.idle {
		f.Bystanders = append(f.Bystanders, c.id)
	}
	if in.family != aicore.FamilyUnknown {
		f.Chip = in.family.String()
	}
	v.trap = v.trap || in.ts == 0x27 || in.ts == 0x32 || in.acl == 507016 || in.acl == 507036 || len(in.asserts) > 0
	if len(v.guilty) == 0 {
		return v
	}
	c := reference(v.guilty)
	v.bits = bitsOf(in.family, c)
	if in.family == aicore.V100 {
		v.fragments = aicore.FragmentsV100(v.bits, c.in)
	}
	words(f, in, c, v.bits)
	counters(f, in, c, &v)
	return v
}

// shareStart gives cores that only the time-out report names the entry of the others: they ran the same kernel.
func shareStart(cs []*core) {
	for _, c := range cs {
		if c.start == 0 {
			continue
		}
		for _, o := range cs {
			if o.start == 0 {
				o.start, o.rawST = c.start, c.rawST
			}
		}
		return
	}
}

// reference is the core that stands for the others: the first whose error words the most cores share.
func reference(cs []*core) *core {
	best, n := cs[0], 0
	for _, c := range cs {
		k := 0
		for _, o := range cs {
			if o.words == c.words && slices.Equal(o.codes, c.codes) && o.start == c.start && (!c.zero() || o.current == c.current) {
				k++
			}
		}
		if k > n {
			best, n = c, k
		}
	}
	return best
}

func bitsOf(fam aicore.Family, c *core) []aicore.Bit {
	if fam == aicore.V200 || fam == aicore.V300 {
		var out []aicore.Bit
		for _, n := range c.codes {
			b, _ := aicore.BitAt(aicore.V200, n)
			out = append(out, b)
		}
		return out
	}
	return c.words.Bits()
}

func words(f *Finding, in *incident, c *core, bits []aicore.Bit) {
	switch in.family {
	case aicore.V200, aicore.V300:
		f.Codes = c.codes
	case aicore.Legacy:
		f.ErrCode = []string{hexs(c.words[0])}
	default:
		if c.hasWords {
			f.ErrCode = []string{hexs(c.words[0]), hexs(c.words[1]), hexs(c.words[2])}
		}
	}
	for _, b := range bits {
		f.Bits = append(f.Bits, b.Index)
		f.Names = append(f.Names, b.Name)
		switch {
		case f.Bus != "" || in.family != aicore.V100:
		case b.Index == 23:
			f.Bus = aicore.BusError(c.in.MTE)
		case b.Unit == "FIXP":
			f.Bus = aicore.BusError(uint64(c.in.FIXP0))
		}
	}
}

// counters repairs the program counter where the rule applies, and measures from the kernel's entry.
func counters(f *Finding, in *incident, c *core, v *view) {
	if c.start != 0 {
		f.PCStart = hexs(c.start)
		if c.rawST != c.start {
			f.PCStartRaw = hexs(c.rawST)
		}
	}
	if c.current != 0 {
		f.Current = hexs(c.current)
	}
	pcs := aicore.Repair(in.family, c.current, v.bits, c.in)
	if len(pcs) > 0 && c.current != 0 {
		f.PCRepair = true
		f.PCFixed, f.PCFixedBy, f.PCDoubtful = hexs(pcs[0].Value), pcs[0].Unit, pcs[0].Doubtful
		if len(pcs) > 1 {
			f.PCCandidates = map[string]string{}
			for _, p := range pcs {
				f.PCCandidates[p.Unit] = hexs(p.Value)
			}
		}
	}
	start := c.start
	v.offsets = map[uint64]int{}
	for _, g := range v.guilty {
		pc := g.current
		if p := aicore.Repair(in.family, g.current, bitsOf(in.family, g), g.in); len(p) > 0 {
			pc = p[0].Value
		}
		s := cmp.Or(g.start, start)
		if s == 0 || pc < s || pc-s > 1<<28 {
			continue
		}
		v.offsets[pc-s]++
		if g == c {
			f.Offset = hexs(pc - s)
		}
	}
	if len(v.offsets) > 0 {
		f.Offsets = map[string]int{}
		for o, n := range v.offsets {
			f.Offsets[hexs(o)] = n
		}
	}
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
		if in.notify.Peer != nil {
			s += fmt.Sprintf(" for rank %d", *in.notify.Peer)
		}
		return s
	case in.kind == kindCopy:
		return "a copy engine reported an error"
	case in.kernel != "":
		return "kernel " + in.kernel + " failed"
	}
	if e, ok := errcode.ACL(in.acl); ok {
		return e.Name + ": " + e.Meaning
	}
	if in.drv != nil {
		if e, ok := errcode.Driver(*in.drv); ok {
			return fmt.Sprintf("driver code %d (%s)", *in.drv, e.Meaning)
		}
	}
	if len(in.codes) > 0 {
		return "message " + strings.Join(in.codes, ", ")
	}
	return "further error of kind " + in.kind.String()
}
