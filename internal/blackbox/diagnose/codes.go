package diagnose

import (
	"bytes"
	"strconv"

	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/plog"
)

// codes reads the lines that only carry numbers: retCode, InnerCode, ErrCode, runtime result, drvRetCode.
// It is false for a line without any.
func (a *Analyzer) codes(p *process, r *plog.Record) bool {
	t := r.Text
	drv := intField(t, "drvRetCode=", "drvRetCode:", "drv_ret=")
	acl := aclIn(t)
	inner, hasInner := hexField(t, "InnerCode=")
	ret, hasRet := hexField(t, "retCode=")
	oom := has(t, "MemAlloc failed") || has(t, "lloc device memory failed") || has(t, "out of memory") && r.Code != ""
	beat := has(t, "heartbeat lost") || has(t, "lost heartbeat") && acl == 0
	if drv == nil && acl == 0 && !hasInner && !hasRet && !oom && !beat && !a.aicpuLine(p, r) {
		return false
	}
	k := kindCode
	switch {
	case beat:
		k = kindHeartbeat
	case oom:
		k = kindMemory
	case drv != nil && *drv != 0:
		k = kindDriver
	}
	if acl != 0 {
		k = max(k, kindOfACL(acl))
	}
	in := a.owner(p, r, k, acl)
	fresh := len(in.evidence) == 0
	in.kind = max(in.kind, k)
	if drv != nil && *drv != 0 && in.drv == nil {
		in.drv = drv
		in.call = callOf(t)
	}
	if d := intField(t, "device_id=", "local device="); d != nil && in.device == nil {
		in.device = d
	}
	if s := intField(t, "stream_id="); s != nil && in.stream == nil && in.kind != kindMemory {
		in.stream = s
		if in.task == nil {
			in.task = intField(t, "task_id=")
		}
	}
	if s := intField(t, "size=", "len="); s != nil && in.size == 0 {
		in.size = int64(*s)
	}
	if beat && in.acl == 0 {
		in.acl = 507010
	}
	if hasRet {
		a.retCode(in, uint32(ret))
	}
	if hasInner && inner != 0 {
		if in.inner == 0 {
			in.inner = uint32(inner)
		}
		if e, ok := errcode.Inner(uint32(inner)); ok && acl == 0 {
			acl = e.ACL
		}
	}
	if acl != 0 {
		a.setACL(in, acl)
	}
	a.touch(in, r)
	if fresh || drv != nil || acl != 0 && len(in.evidence) < 8 {
		a.cite(in, r)
	}
	return true
}

// setACL keeps the code that the user sees; a more precise one replaces the general code of a model.
func (a *Analyzer) setACL(in *incident, acl int) {
	if in.acl == 0 || in.acl == 507000 || in.acl == 507001 || in.acl == 507899 && acl != 507899 {
		in.acl = acl
	}
	if in.kind <= kindDriver {
		in.kind = max(in.kind, kindOfACL(acl))
	}
}

// owner decides whether a code belongs to the current incident or is a new one. A code that fits what is known
// belongs to it; another code starts an incident of its own, which later folds under the first.
func (a *Analyzer) owner(p *process, r *plog.Record, k kind, acl int) *incident {
	in := p.cur
	switch {
	case in == nil || far(in.last, r.Time):
		return a.begin(p, r, k)
	case acl == 0 && (k == kindCode || k == in.kind):
		return in
	case acl == 0 && k != in.kind && (in.kind == kindCore || in.acl != 0):
		return a.begin(p, r, k)
	case acl == 0:
		return in
	case in.acl == 0 || in.acl == acl || in.acl == 507000 || in.acl == 507001:
		return in
	case in.ts == 0x91 && acl == 507011:
		in.acl = acl
		return in
	case in.kind == kindCore && (acl == 507011 || acl == 507899 && in.drv == nil):
		return in
	case in.kind == kindDriver && acl != 0 && in.acl == 507899:
		return in
	case acl/100 == 1070 && in.kind == kindDriver:
		return in
	}
	return a.begin(p, r, k)
}

// aclIn finds an aclError in the ways it is printed.
func aclIn(t []byte) int {
	for _, key := range []string{"ErrCode=", "runtime result = ", "error code is ", "error code:", "errorCode:", "ErrorCode=", "errCode=", "result[", "ErrorNo: ", "rt result = ", "ge result[", "errorCode = ", "error code ", "retcode: ", "ret[", " code=", "ret: ", "acl ret ", "ret="} {
		v := after(t, key)
		if v == nil {
			continue
		}
		if n, _, ok := number(v); ok && n >= 100000 && n < 600000 {
			if _, known := errcode.ACL(int(n)); known {
				return int(n)
			}
		}
	}
	return 0
}

// callOf is what the line says about the call, without thread and function.
func callOf(t []byte) string {
	if i := bytes.Index(t, []byte("[drv api]")); i >= 0 {
		t = bytes.TrimSpace(t[i+9:])
	} else if i := bytes.IndexByte(t, ':'); i >= 0 && i < 80 {
		t = bytes.TrimSpace(t[i+1:])
	}
	return excerpt(t[:min(len(t), 200)])
}

// messageCode notes EZ9999 and its kind; EL0004 and EI0002 say something of their own.
func (a *Analyzer) messageCode(p *process, r *plog.Record) {
	switch r.Code {
	case "EI0001", "EI0003", "EI0004", "EI0005", "EI0008":
		e, _ := errcode.Message(r.Code)
		in := a.commCause(p, r, r.Code+": "+e.Meaning, e.Next)
		in.code(r.Code)
		in.comm.because(complaintText(r.Text))
	case "EI0002", "EI0006", "EI0012":
		in := a.incidentFor(p, r, kindWait)
		in.code(r.Code)
		if n := intField(r.Text, "remote rank [", "remote rank:", "remote rank ["); n != nil {
			if in.notify == nil {
				in.notify = &Notify{ID: -1}
			}
			in.notify.Peer = n
		}
		a.cite(in, r)
	case "EL0004":
		in := a.incidentFor(p, r, kindMemory)
		in.code(r.Code)
		if n := intField(r.Text, "size ", "size:", "size="); n != nil && in.size == 0 {
			in.size = int64(*n)
		}
		if in.acl == 0 {
			in.acl = 207001
		}
		a.cite(in, r)
	default:
		if in := p.cur; in != nil {
			in.code(r.Code)
			if len(r.Text) > 0 && !has(r.Text, "Inner Error") {
				a.cite(in, r)
			}
			return
		}
		if e, ok := errcode.Message(r.Code); ok && len(r.Text) > 0 && e.Class != "framework" && e.Class != "warning" && r.Code[len(r.Code)-4:] != "9999" {
			in := a.begin(p, r, kindCode)
			in.code(r.Code)
			in.said = complaintText(r.Text)
			a.cite(in, r)
		}
	}
}

// sdmaError reads "there is a sdma error, sdma channel is 4, ..., cqeStatus=0x3".
func (a *Analyzer) sdmaError(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCopy)
	if in.sdma == nil {
		in.sdma = &SDMA{Channel: -1}
	}
	if n := intField(r.Text, "sdma channel is "); n != nil {
		in.sdma.Channel = *n
	}
	if n, ok := hexField(r.Text, "cqeStatus="); ok {
		in.sdma.CQE = "0x" + strconv.FormatUint(n, 16)
	}
	if in.serial == nil {
		in.serial = intField(r.Text, "serial number is ")
	}
	a.cite(in, r)
}

func (a *Analyzer) copyFailed(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCopy)
	if n := intField(r.Text, "copy_size=", "size="); n != nil {
		in.size = int64(*n)
		if in.sdma == nil {
			in.sdma = &SDMA{Channel: -1}
		}
		in.sdma.Size = int64(*n)
	}
	if in.stream == nil {
		in.stream, in.task = intField(r.Text, "stream_id="), intField(r.Text, "task_id=")
	}
	in.flip = intField(r.Text, "flip_num=")
	a.cite(in, r)
}

// notifyWait reads both lines of a wait that ran out of time.
func (a *Analyzer) notifyWait(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindWait)
	if in.notify == nil {
		in.notify = &Notify{ID: -1}
	}
	if n := intField(r.Text, "notify_id="); n != nil {
		in.notify.ID = *n
	}
	if n := intField(r.Text, "timeout=", "timeout:"); n != nil {
		in.notify.Seconds = *n
	}
	if d := intField(r.Text, "device_id="); d != nil {
		in.device = d
	}
	if in.stream == nil {
		in.stream, in.task = intField(r.Text, "stream_id=", "stream_id:"), intField(r.Text, "task_id=", "task_id:")
		p.remember(in)
	}
	a.cite(in, r)
}

// aicpuLine reads the errors of AI CPU kernels; true if the line was one.
func (a *Analyzer) aicpuLine(p *process, r *plog.Record) bool {
	t := r.Text
	if !has(t, "icpu") && !has(t, "AICPU") && !has(t, "AI CPU") {
		return false
	}
	n := intField(t, "errcode:", "errorCode=", "errcode=", "error code = ", "error code=", "error_code=")
	if n == nil || *n == 0 {
		return false
	}
	in := a.incidentFor(p, r, kindAICPU)
	if in.aicpu == 0 {
		in.aicpu = *n
	}
	if k := word(field(t, "kernel_name=")); k != "" && in.kernel == "" {
		in.kernel = k
	}
	if s := intField(t, "stream_id=", "stream_id:"); s != nil && in.stream == nil {
		in.stream, in.task = s, intField(t, "task_id=", "task_id:")
	}
	if in.acl == 0 {
		in.acl = 507018
	}
	a.cite(in, r)
	return true
}
