package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/textdump"
)

// joinFirmware brings the firmware's text dumps together with the host's incidents. The clocks can differ by hours
// (the device often runs in UTC), so stream and task decide, and the difference of the clocks falls out.
func (a *Analyzer) joinFirmware() {
	files := make([]int, 0, len(a.dumps))
	for f := range a.dumps {
		files = append(files, f)
	}
	slices.Sort(files)
	for _, f := range files {
		for _, ev := range a.dumps[f].Events {
			if len(ev.Cores) == 0 && len(ev.SQE) == 0 {
				continue
			}
			if in := a.partner(ev); in != nil {
				join(in, ev)
				in.evidence = append(in.evidence, a.dumpEvidence(f, ev))
				continue
			}
			a.incidents = append(a.incidents, a.fromFirmware(f, ev))
		}
	}
}

func (a *Analyzer) dumpEvidence(file int, ev *textdump.Event) Evidence {
	text := fmt.Sprintf("firmware dump of stream %d task %d: %d cores printed", ev.Stream, ev.Task, len(ev.Cores))
	if aic, aiv := ev.Ran(); aic+aiv > 0 {
		text += fmt.Sprintf(", %d AIC and %d AIV cores ran the task", aic, aiv)
	}
	return Evidence{File: a.files[file], Line: ev.Line, Text: text}
}

// partner is the incident of the same task; of several the one whose entry of the kernel agrees.
func (a *Analyzer) partner(ev *textdump.Event) *incident {
	var best *incident
	for _, in := range a.incidents {
		if in.kind != kindCore || in.stream == nil || in.task == nil || *in.stream != ev.Stream || *in.task != ev.Task {
			continue
		}
		if ev.PID > 0 && in.pid > 0 && ev.PID != in.pid {
			continue
		}
		start := ev.EntryPC()
		if len(ev.Cores) > 0 {
			_, _, start, _ = ev.Cores[0].Fault()
		}
		if len(in.cores) > 0 && in.cores[0].start != 0 && start != 0 && in.cores[0].start != start {
			continue
		}
		if best == nil {
			best = in
		}
	}
	return best
}

func join(in *incident, ev *textdump.Event) {
	in.joined = true
	if ev.Time != plog.NoTime && in.first != plog.NoTime {
		in.deviceClock = in.first - ev.Time
	}
	aic, aiv := ev.Ran()
	in.fwRan = aic + aiv
	for _, fc := range ev.Cores {
		if fc.ID < 0 || !fc.Complete {
			continue
		}
		c := in.coreOf(fc.Type, fc.ID)
		words, info, start, current := fc.Fault()
		if c.zero() && !words.Zero() {
			c.words, c.in, c.hasWords = words, info, true
		}
		if c.start == 0 {
			c.start, c.rawST, c.current = start, start, current
		}
	}
	if in.family == 0 {
		in.family = ev.Family()
	}
}

// fromFirmware makes an incident of a text dump that no host log knows.
func (a *Analyzer) fromFirmware(file int, ev *textdump.Event) *incident {
	in := &incident{kind: kindCore, file: file, pid: ev.PID, first: ev.Time, last: ev.Time, line: ev.Line, firmware: true}
	if ev.Stream >= 0 {
		in.stream = &ev.Stream
	}
	if ev.Task >= 0 {
		in.task = &ev.Task
	}
	if ev.Device >= 0 {
		in.device = &ev.Device
	}
	in.hang = ev.ErrorType >= 0 && !ev.Old && ev.ErrorType&4 != 0
	join(in, ev)
	in.joined, in.deviceClock = false, 0
	in.evidence = append(in.evidence, a.dumpEvidence(file, ev))
	return in
}

// joinFaults gives incidents the page that the device's kernel could not map.
func (a *Analyzer) joinFaults() {
	for _, f := range a.faults {
		for _, in := range a.incidents {
			if in.kind != kindCore || in.pageFault != 0 {
				continue
			}
			near := func(off int64) bool {
				d := in.first - off - f.time
				return in.first != plog.NoTime && f.time != plog.NoTime && d > -5*second && d < 30*second
			}
			if f.hostPID > 0 && in.pid > 0 && f.hostPID != in.pid {
				continue
			}
			if f.hostPID > 0 && f.hostPID == in.pid || near(0) || near(in.deviceClock) {
				in.pageFault = f.addr
				in.evidence = append(in.evidence, f.line)
				break
			}
		}
	}
}

// joinEvents gives incidents the events of the device that stand shortly before them.
func (a *Analyzer) joinEvents() {
	for _, e := range a.events {
		if e.class == "status" || e.class == "" {
			continue
		}
		for _, in := range a.incidents {
			if in.kind == kindCode || in.device != nil && e.device != nil && *in.device != *e.device {
				continue
			}
			if e.class == "hardware" && (in.kind == kindDriver || in.kind == kindMemory) {
				continue
			}
			near := func(off int64) bool {
				d := in.first - off - e.time
				return in.first != plog.NoTime && e.time != plog.NoTime && d > -5*second && d < 15*second
			}
			if near(0) || in.deviceClock != 0 && near(in.deviceClock) {
				e.used = true
				if len(in.events) < 16 {
					in.events = append(in.events, e)
				}
				if len(in.evidence) < maxEvidence+4 && e.class != "software" {
					in.evidence = append(in.evidence, e.line)
				}
			}
		}
	}
}

// merge drops incidents that are the same event read twice: the plog and a paste of it, or the same lines printed
// again by the next synchronise.
func (a *Analyzer) merge() {
	var kept []*incident
	for _, in := range a.incidents {
		dup := slices.IndexFunc(kept, func(k *incident) bool { return sameEvent(k, in) })
		if dup < 0 {
			kept = append(kept, in)
			continue
		}
		absorb(kept[dup], in)
	}
	a.incidents = kept
}

func sameEvent(x, y *incident) bool {
	if x.kind != y.kind && x.kind != kindCode && y.kind != kindCode {
		return false
	}
	if x.pid > 0 && y.pid > 0 && x.pid != y.pid {
		return false
	}
	if x.pid <= 0 && y.pid > 0 && x.file == y.file && x.acl != 0 && (x.acl == y.acl || y.acl == 0 && x.kind == y.kind) && y.line > x.line && y.line-x.line < 40 && x.kernel == "" && len(x.cores) == 0 {
		return true // a traceback, and the message behind it that knows the process
	}
	if x.kind == kindCore && y.kind == kindCore && x.serial != nil && y.serial != nil {
		return *x.serial == *y.serial && len(x.cores) > 0 && len(y.cores) > 0 && x.cores[0].start == y.cores[0].start && x.cores[0].words == y.cores[0].words
	}
	return x.kernel != "" && x.kernel == y.kernel && x.stream != nil && y.stream != nil && x.task != nil && y.task != nil &&
		*x.stream == *y.stream && *x.task == *y.task && same(x.flip, y.flip)
}

func absorb(x, y *incident) {
	x.kind = max(x.kind, y.kind)
	for _, c := range y.cores {
		if k := x.coreOf(c.kind, c.id); k.start == 0 && k.zero() {
			*k = *c
		}
	}
	if x.kernel == "" {
		x.kernel, x.node = y.kernel, y.node
	}
	if x.acl == 0 {
		x.acl = y.acl
	}
	if x.ts == 0 {
		x.ts = y.ts
	}
	if x.inner == 0 {
		x.inner = y.inner
	}
	if len(x.args) == 0 {
		x.args, x.tilingKey, x.blocks = y.args, y.tilingKey, y.blocks
	}
	for _, c := range y.codes {
		x.code(c)
	}
	if x.pid <= 0 {
		x.pid, x.proc = y.pid, y.proc
	}
	if x.device == nil {
		x.device = y.device
	}
	if x.notify == nil {
		x.notify = y.notify
	}
	if x.comm == nil {
		x.comm = y.comm
	}
	x.asserts = append(x.asserts, y.asserts...)
	if x.stream == nil {
		x.stream, x.task, x.flip = y.stream, y.task, y.flip
	}
	if x.first == plog.NoTime {
		x.first, x.last = y.first, y.last
	}
	if y.rank != nil && x.rank == nil {
		x.rank = y.rank
	}
	x.evidence = append(x.evidence, y.evidence[:min(len(y.evidence), max(0, maxEvidence-len(x.evidence)))]...)
}

// order sorts by time; incidents without a time keep their place in the order of reading, before timed ones of later
// files.
func (a *Analyzer) order() []*incident {
	out := slices.Clone(a.incidents)
	slices.SortStableFunc(out, func(x, y *incident) int {
		if x.first == plog.NoTime || y.first == plog.NoTime {
			return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
		}
		return cmp.Compare(x.first, y.first)
	})
	return out
}

// group is a cause with its followups.
type group struct {
	root    *incident
	follows []*incident
}

// fold decides which incidents are causes. The first hard one is; what the same process reports within a minute
// after it follows from it, and so do waits and after-the-fact codes of any process or rank.
func fold(ordered []*incident) []*group {
	var groups []*group
	hard := slices.ContainsFunc(ordered, func(in *incident) bool { return !in.weak() })
	for _, in := range ordered {
		if hard && in.weak() {
			continue
		}
		if g := ownerOf(groups, in); g != nil {
			g.follows = append(g.follows, in)
			continue
		}
		groups = append(groups, &group{root: in})
		if !hard { // only waits and such: the first one is all there is
			hard = false
		}
	}
	if hard {
		for _, in := range ordered {
			if !in.weak() {
				continue
			}
			g := groups[0]
			for _, o := range groups {
				if sameProcess(o.root, in) {
					g = o
					break
				}
			}
			g.follows = append(g.follows, in)
		}
	}
	slices.SortStableFunc(groups, func(x, y *group) int { return cmp.Compare(preference(x, groups), preference(y, groups)) })
	return groups
}

func sameProcess(x, y *incident) bool {
	if x.pid > 0 || y.pid > 0 {
		return x.pid == y.pid
	}
	return x.file == y.file
}

// ownerOf finds the group that in follows from.
func ownerOf(groups []*group, in *incident) *group {
	for i := len(groups) - 1; i >= 0; i-- {
		g := groups[i]
		if !sameProcess(g.root, in) {
			if in.weak() && g.root.weak() {
				return g
			}
			continue
		}
		if g.root.kind == kindMemory && in.kind >= kindCopy && in.first != plog.NoTime && in.first-g.root.last > 30*second {
			continue // frameworks retry after a failed allocation: an old one is not the cause
		}
		if g.root.first == plog.NoTime || in.first == plog.NoTime || in.first-g.root.first < 60*second || in.kind <= kindDriver {
			return g
		}
	}
	return nil
}

// preference puts allocation failures that a process survived, mere codes and events without consequences behind the
// rest; everything else stays in the order of time.
func preference(g *group, all []*group) int {
	hard := slices.ContainsFunc(all, func(o *group) bool { return o.root.kind >= kindCopy && o.root.kind < kindHardware })
	switch {
	case g.root.kind == kindMemory && hard && !slices.ContainsFunc(g.follows, func(f *incident) bool { return f.kind >= kindCopy }):
		return 1
	case g.root.kind == kindCode && slices.ContainsFunc(all, func(o *group) bool { return o.root.kind > kindCode }):
		return 1
	case g.root.kind == kindHardware && len(g.follows) == 0 && hard:
		return 1
	}
	return 0
}

// events that belong to no incident become findings of their own when they matter.
func (a *Analyzer) loose() []*incident {
	var out []*incident
	seen := map[string]*incident{}
	for _, e := range a.events {
		if e.used || e.class != "hardware" && e.class != "device" && e.class != "exception" && e.class != "fault" {
			continue
		}
		if (e.class == "exception" || e.class == "fault") && (len(a.incidents) > 0 || strings.HasPrefix(e.text, "start-up")) {
			continue
		}
		key := fmt.Sprint(e.id, e.class)
		if e.device != nil {
			key += fmt.Sprint(" ", *e.device)
		}
		if in := seen[key]; in != nil {
			in.last = e.time
			in.evidence = append(in.evidence, e.line)
			continue
		}
		k := kindHardware
		switch e.class {
		case "device":
			k = kindHeartbeat
		case "exception", "fault":
			k = kindCode
		}
		in := &incident{kind: k, file: e.file, pid: -1, first: e.time, last: e.time, device: e.device, events: []*event{e}, evidence: []Evidence{e.line}, line: e.line.Line}
		seen[key] = in
		out = append(out, in)
	}
	return out
}
