package diagnose

import (
	"strings"

	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/textdump"
)

// deviceLine takes lines that the device wrote: its clock may differ from the host's.
func (a *Analyzer) deviceLine(r *plog.Record) {
	t := r.Text
	switch {
	case has(t, "event_id=0x"):
		a.rasEvent(r)
		return
	case has(t, "Devmm_svm_get_heap"), has(t, "vm_fault"), has(t, "svm_device_fault"):
		pid := intField(t, "hostpid=", "host_pid=", "pid=")
		if addr, ok := hexField(t, "start="); ok && addr != 0 && len(a.faults) < 256 {
			f := &pageFault{hostPID: -1, addr: addr, time: r.Time, line: a.evidence(r)}
			if pid != nil {
				f.hostPID = *pid
			}
			a.faults = append(a.faults, f)
		}
		return
	case has(t, "excep_code=0x"):
		if id, ok := hexField(t, "excep_code="); ok {
			a.addEvent(uint32(id), r, intField(t, "devid=", "devid:"), "exception", errcode.ExceptionID(uint32(id)).Meaning)
		}
		return
	}
	if !textdump.Wants(t) {
		if r.Level == plog.Error && !r.Cont {
			a.complain(r)
		}
		return
	}
	p := a.dumps[r.File]
	if p == nil {
		if len(a.dumps) > 256 {
			a.dropped++
			return
		}
		p = &textdump.Parser{}
		a.dumps[r.File] = p
	}
	p.Feed(t, r.Time, r.Line)
}

// rasEvent reads "event_id=0x80e01801; device_id=4; node_type=0x40[HBM]; ... event_type=0x2[multi bit ecc]; ...".
func (a *Analyzer) rasEvent(r *plog.Record) {
	id, ok := hexField(r.Text, "event_id=")
	if !ok {
		return
	}
	if has(r.Text, "assertion=0[") { // the event went away
		return
	}
	text := bracket(r.Text, "node_type=") + ": " + bracket(r.Text, "event_type=")
	class := ""
	e, known := errcode.Event(uint32(id))
	if known {
		class = e.Class
		if text == ": " {
			text = e.Meaning
		}
	} else {
		class = unlisted(r.Text, text)
	}
	a.addEvent(uint32(id), r, intField(r.Text, "device_id="), class, strings.Trim(text, ": "))
}

// unlisted judges an event that the catalogue does not know by what the device says about it.
func unlisted(t []byte, text string) string {
	low := strings.ToLower(text)
	switch sev := intField(t, "severity="); {
	case strings.Contains(low, "software"):
		return "software"
	case strings.Contains(low, "ecc") || strings.Contains(low, "parity"):
		return "hardware"
	case sev != nil && *sev >= 2:
		return "fault"
	}
	return ""
}

// bracket reads "key0x2[multi bit ecc]" as "multi bit ecc".
func bracket(t []byte, key string) string {
	v := field(t, key)
	if v == nil {
		return ""
	}
	v = before(v, ";")
	if i := strings.IndexByte(string(v), '['); i >= 0 {
		return strings.TrimRight(excerpt(v[i+1:]), "] ")
	}
	return excerpt(v)
}

func (a *Analyzer) addEvent(id uint32, r *plog.Record, device *int, class, text string) {
	if len(a.events) >= maxEvents {
		a.dropped++
		return
	}
	a.events = append(a.events, &event{id: id, device: device, time: r.Time, text: text, class: class, line: a.evidence(r), file: r.File})
}

// history reads the black box's list of exceptions.
func (a *Analyzer) history(r *plog.Record) {
	id, ok := hexField(r.Text, "exception code [")
	if !ok {
		return
	}
	class := "exception"
	e := errcode.ExceptionID(uint32(id))
	switch uint32(id) {
	case 0x68020002, 0x64021001, 0x68020001, 0xa4040001, 0xa8340000:
		class = "device"
	}
	text := e.Meaning
	if m := after(r.Text, "ExceptionReason ["); m != nil {
		name := word(m)
		if _, meaning, ok := errcode.ReasonByName(name); ok {
			text = name + ": " + meaning
		}
	}
	var device *int
	for _, part := range strings.Split(a.files[r.File], "/") {
		if n, ok := strings.CutPrefix(part, "device-"); ok {
			device = intField([]byte("d="+n), "d=")
		}
	}
	a.addEvent(uint32(id), r, device, class, text)
}
