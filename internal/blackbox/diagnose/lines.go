package diagnose

import (
	"bytes"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/plog"
)

// taskFailed starts an incident: "Task run failed, device_id=, stream_id=, task_id=, sqe_type=0(ffts), errType=...".
func (a *Analyzer) taskFailed(p *process, r *plog.Record) {
	t := r.Text
	stream, task := intField(t, "stream_id="), intField(t, "task_id=")
	in := p.cur
	if in == nil || far(in.last, r.Time) || in.acl != 0 || in.drv != nil || !same(in.stream, stream) || !same(in.task, task) {
		in = a.begin(p, r, kindCode)
	}
	in.stream, in.task = stream, task
	if d := intField(t, "device_id="); d != nil {
		in.device = d
	}
	in.sqe = word(field(t, "sqe_type="))
	if e := field(t, "errType="); e != nil {
		if _, said, ok := strings.Cut(excerpt(before(e, ")")), "("); ok {
			in.said = said
		}
		if n, _, ok := number(e); ok && n&4 != 0 {
			in.hang = true
		}
	}
	if n, ok := hexField(t, "retCode="); ok {
		a.retCode(in, uint32(n))
	}
	p.remember(in)
	a.touch(in, r)
	a.cite(in, r)
}

func same(a, b *int) bool { return a == nil || b == nil || *a == *b }

func (p *process) remember(in *incident) {
	if in.stream != nil && in.task != nil && len(p.byTask) < 1024 {
		p.byTask[[2]int{*in.stream, *in.task}] = in
	}
}

// kernelFailed names the kernel. The line can come late and for a task that is not the newest.
func (a *Analyzer) kernelFailed(p *process, r *plog.Record) {
	t := r.Text
	stream, task := intField(t, "stream_id="), intField(t, "task_id=")
	k := kindCore
	if has(t, "icpu kernel") {
		k = kindAICPU
	}
	in := p.cur
	if stream != nil && task != nil {
		if known := p.byTask[[2]int{*stream, *task}]; known != nil && !far(known.last, r.Time) {
			in = known
		}
	}
	if in == nil || far(in.last, r.Time) || in.kernel != "" && (!same(in.stream, stream) || !same(in.task, task)) {
		in = a.begin(p, r, k)
	}
	again := in.kernel != ""
	in.kind = max(in.kind, k)
	in.stream, in.task = stream, task
	in.report, in.flip = intField(t, "report_stream_id="), intField(t, "flip_num=")
	if d := intField(t, "device_id="); d != nil {
		in.device = d
	}
	name, ext, fn := word(field(t, "fault kernel_name=")), word(field(t, "fault kernel info ext=")), word(field(t, "func_name="))
	if name == "" {
		name = word(field(t, "kernel_name="))
	}
	in.kernel, in.node = name, ""
	for _, better := range []string{fn, ext} {
		if better != "" && better != "none" && better != name {
			in.kernel, in.node = better, name
		}
	}
	p.remember(in)
	a.touch(in, r)
	if !again {
		a.cite(in, r)
	}
}

// arguments collects "args(0 to 20) after execute:0x.., 0x..," in parts; old software prints decimals.
func (a *Analyzer) arguments(p *process, r *plog.Record) {
	in := p.cur
	if in == nil {
		return
	}
	t := r.Text
	start := 0
	if v := after(t, "args("); v != nil {
		if n, _, ok := number(v); ok {
			start = int(min(n, 1<<20))
		}
	}
	vals, _ := list(after(t, "after execute:"))
	if len(vals) == 0 || start != len(in.args) || len(in.args)+len(vals) > 4096 {
		return // a repetition, or "args print end"
	}
	in.args = append(in.args, vals...)
	a.touch(in, r)
}

func tiling(p *process, t []byte) {
	if in := p.cur; in != nil {
		in.tilingKey = word(after(t, "tilingKey ="))
		if n := intField(t, "blockDim="); n != nil {
			in.blocks = *n
		}
	}
}

// dumpLine reads the exception dump's log: which argument lies at which address.
func (a *Analyzer) dumpLine(p *process, t []byte) {
	in := p.cur
	if in == nil || len(in.regions) >= 512 {
		return
	}
	switch {
	case has(t, "begin to load"):
		what := string(bytes.TrimSpace(before(after(t, "begin to load"), ",")))
		if n := intField(t, "index:"); n != nil {
			what += " (argument " + strconv.Itoa(*n) + ")"
		}
		in.pending = what
	case has(t, "addr:0x"):
		addr, ok1 := hexField(t, "addr:")
		size, ok2 := hexField(t, "size:")
		if ok1 && ok2 && addr != 0 {
			name := in.pending
			if name == "" {
				name = "argument " + strconv.Itoa(len(in.regions))
			}
			in.regions = append(in.regions, aicore.Region{Name: name, Addr: addr, Size: size})
		}
	}
}

func before(b []byte, sep string) []byte {
	if i := bytes.Index(b, []byte(sep)); i >= 0 {
		return b[:i]
	}
	return b
}

// assertion keeps the text of a kernel's assert: it names the cause better than any register.
func (a *Analyzer) assertion(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCore)
	if len(in.asserts) < 8 {
		s := excerpt(r.Text)
		if i := bytes.Index(r.Text, []byte("[ASSERT]")); i >= 0 {
			s = assertText(r.Text[i+8:])
		}
		in.asserts = append(in.asserts, s)
	}
	a.cite(in, r)
}

// assertText drops the writer's version and time marks in front of file and condition.
func assertText(b []byte) string {
	for b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '['; {
		i := bytes.IndexByte(b, ']')
		if i < 0 {
			break
		}
		b = bytes.TrimSpace(b[i+1:])
	}
	return excerpt(b)
}

// hwts reads the report of old software: "Other info[0]:time=..., function=, line=, error code=0x26".
func (a *Analyzer) hwts(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCore)
	in.hwts = true
	if s := intField(r.Text, "stream_id="); s != nil && in.stream == nil {
		in.stream = s
	}
	if n, ok := hexField(r.Text, "error code="); ok {
		a.retCode(in, uint32(n))
		if us, n := plog.ParseTime(after(r.Text, "time=")); n > 0 && in.first == plog.NoTime {
			in.first, in.last = us, us
		}
	}
	a.cite(in, r)
}

// retCode notes a scheduler code or an inner code.
func (a *Analyzer) retCode(in *incident, n uint32) {
	switch {
	case n == 0:
	case n < 0x1000:
		e, ok := errcode.Scheduler(n)
		if !ok {
			return
		}
		// 0x91 only says that a stream of a model failed: a code of the task itself is better.
		if in.ts == 0 || in.ts == 0x91 {
			in.ts = n
		}
		if in.acl == 0 && n != 0x91 {
			in.acl = e.ACL
		}
		in.kind = max(in.kind, kindOfACL(e.ACL))
		in.hang = in.hang || n == 0x25 || n == 0x30 || n == 0x28
	case n>>24 == 7:
		if in.inner == 0 {
			in.inner = n
		}
		if e, ok := errcode.Inner(n); ok && in.acl == 0 {
			in.acl = e.ACL
		}
		if n>>16 == 0x715 && n&0xffff <= 0x2e && in.ts == 0 {
			in.ts = n & 0xffff
		}
		in.kind = max(in.kind, kindOfACL(in.acl))
	}
}

// kindOfACL says what an aclError is about.
func kindOfACL(acl int) kind {
	switch acl {
	case 507014, 507015, 507016, 507034, 507035, 507036, 507042, 507043, 507044, 507045, 507049, 507050, 507053, 507055, 507056, 507057:
		return kindCore
	case 507017, 507018:
		return kindAICPU
	case 507013:
		return kindCopy
	case 507054, 507914:
		return kindHardware
	case 207001, 207018:
		return kindMemory
	case 507010, 507901:
		return kindHeartbeat
	case 507046, 507047, 507048, 107019, 107020, 507904, 507915:
		return kindWait
	case 507899:
		return kindDriver
	}
	return kindCode
}
