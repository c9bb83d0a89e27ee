package decode

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/errring"
	"npu/internal/blackbox/isa"
)

var ringTypes = map[uint32]string{0: "AI core", 1: "vector core", 2: "SDMA", 3: "AI CPU", 4: "FFTS+ SDMA", 5: "FFTS+ AI CPU", 6: "DVPP", 7: "DSA", 8: "FFTS+ DSA", 9: "SQE",
	10: "wait time-out", 11: "FFTS+ AI core", 12: "FFTS+ vector core", 13: "collective time-out", 14: "AI-core time-out", 15: "fusion kernel", 16: "CCU", 17: "AI core extension", 18: "vector core extension"}

// errorRing shows the black box of a simulated device: the error that it was written for is the last one of the ring.
func (j *job) errorRing(b []byte) error {
	x, bad, err := errring.Parse(b)
	if err != nil {
		return err
	}
	r := j.rep
	r.Form = "error ring"
	r.Chip, _ = firstWord(section(x, "fault"), "chip ")
	if m := ofKernel.FindStringSubmatch(section(x, "fault")); m != nil {
		r.Kernel = Name(m[1])
	}
	r.fact("process", fmt.Sprint(x.Pid))
	r.fact("errors", fmt.Sprintf("%d so far, %d in the ring", x.Total, len(x.Elements)))
	for i, e := range x.Elements {
		name := ringTypes[e.Type]
		if name == "" {
			name = fmt.Sprintf("unknown(%d)", e.Type)
		}
		if e.Raw != nil {
			r.record("error", fmt.Sprintf("serial %d", e.Serial), rawText(name, &e), 0)
			if i == 0 {
				r.Cause = append(r.Cause, fmt.Sprintf("the first error in the ring is of kind %s, serial number %d: the log has its text under this number", name, e.Serial))
			}
			continue
		}
		text := fmt.Sprintf("%s, stream %d, task %d, device code 0x%x", name, e.Stream, e.Task, e.Code)
		if s, ok := errcode.Scheduler(e.Code); ok {
			text += fmt.Sprintf(" (%d %s)", s.ACL, s.Meaning)
		} else if s, ok := errcode.Inner(e.Code); ok {
			acl, _ := errcode.ACL(s.ACL)
			text += fmt.Sprintf(" (%d %s)", s.ACL, acl.Meaning)
		}
		switch e.Type {
		case errring.WaitTimeout:
			text += fmt.Sprintf(", waited for number %d, limit %d ms", e.ID, e.Limit/1e6)
		case errring.SDMA:
			text += fmt.Sprintf(", address 0x%x", e.Limit)
		}
		r.record("error", fmt.Sprintf("serial %d", e.Serial), text, 0)
		if i == len(x.Elements)-1 {
			r.Cause = append(r.Cause, text)
			j.ringCores(&e, x.Family, section(x, "tasks"))
		}
	}
	for _, s := range x.Sections {
		for l := range strings.Lines(s.Lines) {
			l = strings.TrimRight(l, "\n")
			if s.Name == "fault" && strings.HasPrefix(l, "address ") {
				r.Cause = append(r.Cause, l)
			}
			r.record(s.Name, "", l, 0)
		}
	}
	for _, p := range bad {
		r.problem(p.Offset, p.Text)
	}
	return nil
}

// rawShown is how much of a record is shown whose arrangement nobody has published.
const rawShown = 64

// rawText shows an error of a real device's ring.
func rawText(name string, e *errring.Element) string {
	text := fmt.Sprintf("%s, process %d, a record of %d bytes", name, e.Pid, len(e.Raw))
	if n := min(len(e.Raw), rawShown); n > 0 {
		text += fmt.Sprintf(" that begins with %x", e.Raw[:n])
	}
	return text
}

// ringCores shows the cores of one error.
func (j *job) ringCores(e *errring.Element, family aicore.Family, tasks string) {
	for _, c := range e.Cores {
		x := Core{ID: int(c.ID), Type: "AIC", Bits: []int{}, Registers: []Register{}, PC: fmt.Sprintf("0x%x", c.PC), PCStart: fmt.Sprintf("0x%x", c.PCStart)}
		if c.Vector {
			x.Type = "AIV"
		}
		bits := c.Bits(family)
		fixed := aicore.Repair(family, c.PC, bits, c.Infos)
		fill(&x, family, c.Words, c.Codes, bits, c.Infos, fixed)
		at := c.PC
		if len(fixed) > 0 {
			at = fixed[0].Value
		}
		if at >= c.PCStart {
			x.TextOffset = fmt.Sprintf("0x%x", at-c.PCStart)
		}
		if family == aicore.V100 {
			for _, f := range aicore.FragmentsV100(bits, c.Infos) {
				x.Why = append(x.Why, f.String())
			}
		}
		x.Why = append(x.Why, fmt.Sprintf("ran block %d of %d, %d tiles were through", c.Block, e.Blocks, c.Reached))
		if len(e.Cores) <= 2 { // of a hang all stand there: the list of tasks tells as much
			x.Why = append(x.Why, before(tasks, x.Type, x.ID)...)
		}
		j.rep.Cores = append(j.rep.Cores, x)
	}
}

// ofKernel is the part of a line that names the kernel that failed.
var ofKernel = regexp.MustCompile(`(?m)^KERNEL_\w+ "([^"]+)", stream`)

// ranOn is the end of a task's line that names its cores.
var ranOn = regexp.MustCompile(` on (AIC|AIV) 0(?: to (\d+))?`)

// beforeMax is how many tasks before the fault are shown of a core.
const beforeMax = 4

// before lists the last tasks that ran on a core.
func before(tasks, kind string, core int) []string {
	var out []string
	for l := range strings.Lines(tasks) {
		m := ranOn.FindStringSubmatch(l)
		if m == nil || m[1] != kind {
			continue
		}
		last := 0
		if m[2] != "" {
			last, _ = strconv.Atoi(m[2])
		}
		if core <= last {
			out = append(out, "ran before: "+strings.TrimSpace(l))
		}
	}
	if len(out) == 0 {
		return []string{"no task ran on this core before"}
	}
	return out[max(0, len(out)-beforeMax):]
}

func section(x *errring.Box, name string) string {
	for _, s := range x.Sections {
		if s.Name == name {
			return s.Lines
		}
	}
	return ""
}

// firstWord is the word behind a prefix.
func firstWord(text, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	word, _, _ := strings.Cut(rest, ",")
	if !ok || strings.ContainsRune(word, '\n') {
		return "", false
	}
	return word, true
}

// disassemble names the instructions of kernels in the instruction set of the simulated core, and says of the marked one
// what the registers that it reads hold.
func disassemble(first uint32, code []CodeWord, words []uint32, x []uint64, regions []aicore.Region) {
	if !isa.IsKernel(first) {
		return
	}
	for i := range code {
		code[i].Text = isa.Disassemble(words[i])
		if !code[i].Here {
			continue
		}
		var notes []string
		inst, _ := isa.Decode(words[i])
		for _, r := range inst.Reads() {
			if r >= len(x) {
				continue
			}
			note := fmt.Sprintf("x%d = 0x%x", r, x[r])
			if m, ok := aicore.Owner(regions, x[r]); ok && (m.Inside || m.Offset < ownerNear) {
				note += ", " + m.Short()
			}
			notes = append(notes, note)
		}
		code[i].Note = strings.Join(notes, "; ")
	}
}

// ownerNear is how far past a region an address is still told to be past it.
const ownerNear = 1 << 20
