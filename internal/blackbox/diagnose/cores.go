package diagnose

import (
	"bytes"
	"slices"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/plog"
)

// coreLine reads the line of one core in all its wordings: what is fixed over the versions are the numbers behind
// "serial number is", "core id is", "error code" and the names of the info words.
func (a *Analyzer) coreLine(p *process, r *plog.Record) {
	t := r.Text
	if has(t, "aicore int:") { // the second line of old chips repeats the core with other registers
		return
	}
	serial := intField(t, "serial number is ")
	in := p.cur
	if in == nil || far(in.last, r.Time) || in.serial != nil && serial != nil && *in.serial != *serial && in.kernel == "" {
		in = a.begin(p, r, kindCore)
	} else if in.serial != nil && serial != nil && *in.serial != *serial {
		in = a.begin(p, r, kindCore) // a later event of the device
	}
	if in.serial == nil {
		in.serial = serial
	}
	in.kind = max(in.kind, kindCore)
	a.touch(in, r)
	id := intField(t, "core id is ")
	if id == nil {
		id = new(int)
		*id = len(in.cores)
	}
	c := in.coreOf(coreType(t), *id)
	p.core = c
	if in.device == nil {
		in.device = intField(before(t, "serial number"), "device(")
	}
	a.errorCode(in, c, t)
	a.infoWords(in, c, t)
	if has(t, "errcode:(") {
		a.extendInfo(p, r, t)
	}
	a.cite(in, r)
}

// coreType reads "aivec error", "fftsplus aivector error", "aicore exception" between serial number and core id.
func coreType(t []byte) string {
	part := before(t, "core id is")
	if i := bytes.Index(part, []byte("serial number")); i >= 0 {
		part = part[i:]
	}
	switch {
	case has(part, "aiv") || has(part, "vector"):
		return "AIV"
	case has(part, "aic"):
		return "AIC"
	}
	return ""
}

// errorCode reads "error code = 0x10" or the decimal list of the 950 ("error code = 74, 259").
func (a *Analyzer) errorCode(in *incident, c *core, t []byte) {
	v := after(t, "error code =")
	if v == nil {
		return
	}
	vals, hex := list(v)
	switch {
	case len(vals) == 0:
	case has(t, "su error info") || has(t, "sc error info") || len(vals) > 1 && !hex:
		in.family = aicore.V200
		c.codes = c.codes[:0]
		for _, n := range vals {
			if n > 0 || len(vals) > 1 {
				c.codes = append(c.codes, int(min(n, 1<<20)))
			}
		}
	default:
		c.words[0] = vals[0]
	}
	c.hasWords = true
}

// infoWords reads the "name: 0xvalue" list.
func (a *Analyzer) infoWords(in *incident, c *core, t []byte) {
	get := func(key string) uint64 { n, _ := hexField(t, key); return n }
	c.rawST, c.current = get("pc start:"), get("current:")
	c.start = aicore.Mask48(c.rawST)
	c.current = aicore.Mask48(c.current)
	c.in.Vec, c.in.MTE, c.in.IFU = get("vec error info:"), get("mte error info:"), get("ifu error info:")
	c.in.CCU, c.in.Cube, c.in.BIU = get("ccu error info:"), get("cube error info:"), get("biu error info:")
	c.in.SC, c.in.SU, c.in.L1 = get("sc error info:"), get("su error info:"), get("l1 error info:")
	if in.family != aicore.FamilyUnknown {
		return
	}
	switch {
	case has(t, "chipId"), has(t, "dieId"):
		in.family = aicore.V100
	case has(t, "device("):
		in.family = aicore.Legacy
	}
}

// extendInfo reads "errcode:(A, B, C) errorStr: ... fixp_error0 info: ..., blk:5, sublk:1, subErrType:2".
func (a *Analyzer) extendInfo(p *process, r *plog.Record, t []byte) {
	in := a.incidentFor(p, r, kindCore)
	c := p.core
	if c == nil {
		c = in.coreOf("", len(in.cores))
		p.core = c
	}
	vals, hex := list(after(t, "errcode:("))
	switch {
	case in.family == aicore.V200 || len(vals) > 0 && len(vals) != 3 && !hex:
		in.family = aicore.V200
		for _, n := range vals {
			if k := int(min(n, 1<<20)); (k > 0 || len(vals) > 1) && !slices.Contains(c.codes, k) {
				c.codes = append(c.codes, k)
			}
		}
	case len(vals) == 3:
		c.words = aicore.Words{vals[0], vals[1], vals[2]}
		if in.family == aicore.FamilyUnknown {
			in.family = aicore.V100
		}
	}
	c.hasWords = true
	if n, ok := hexField(t, "fixp_error0 info:"); ok {
		c.in.FIXP0 = uint32(n)
	}
	if n, ok := hexField(t, "fixp_error1 info:"); ok {
		c.in.FIXP1 = uint32(n)
	}
	c.sub, c.block = intField(t, "subErrType:"), intField(t, "blk:")
}

// coreTable reads the table of old chips: "coreId( 0): 0 0 0 0x10" is one row of four cores.
func (a *Analyzer) coreTable(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCore)
	first := intField(r.Text, "coreId(")
	_, rest, ok := bytes.Cut(r.Text, []byte("):"))
	if first == nil || !ok {
		return
	}
	in.family = aicore.Legacy
	for i, f := range bytes.Fields(rest) {
		if n, _, ok := number(f); ok && n != 0 && i < 8 {
			c := in.coreOf("", *first+i)
			c.words[0], c.hasWords = n, true
		}
	}
	a.cite(in, r)
}

// timeoutReport reads "aicore task timeout dfx, show core info, core_id=, core_type=1, ..., current_pc=".
func (a *Analyzer) timeoutReport(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindCore)
	in.hang = true
	if s := intField(r.Text, "falut_stream_id=", "fault_stream_id="); s != nil && in.stream == nil {
		in.stream, in.task = s, intField(r.Text, "falut_task_id=", "fault_task_id=")
	}
	id := intField(r.Text, "core_id=")
	if id == nil {
		a.cite(in, r)
		return
	}
	k := "AIC"
	if n := intField(r.Text, "core_type="); n != nil && *n == 1 {
		k = "AIV"
	}
	c := in.coreOf(k, *id)
	c.timedOut = true
	if pc, ok := hexField(r.Text, "current_pc="); ok {
		c.current = aicore.Mask48(pc)
	}
}
