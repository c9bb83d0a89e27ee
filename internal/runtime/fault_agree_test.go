package runtime

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/coredump"
	"npu/internal/blackbox/diagnose"
	"npu/internal/blackbox/errring"
	"npu/internal/blackbox/isa"
	"npu/internal/blackbox/plog"
	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// faultKind is a kind of fault with what all witnesses must say of it. Bits and codes are of vector cores and of AI cores.
type faultKind struct {
	spec           string
	code           [2]Code // vector core, AI core
	bit            [2]int  // of error words; −1: no core reports one
	code950        [2]int
	op             [2]isa.Op
	cores, address bool
}

func faultKinds() []faultKind {
	exception, timeout, ecc := [2]Code{VectorException, AICoreException}, [2]Code{VectorTimeout, AICoreTimeout}, [2]Code{MemoryECC, MemoryECC}
	move, scalar := [2]isa.Op{isa.LoadUB, isa.LoadL1}, func(o isa.Op) [2]isa.Op { return [2]isa.Op{o, o} }
	return []faultKind{
		{"aicore-oob", exception, [2]int{23, 23}, [2]int{95, 95}, move, true, true},
		{"bus-error", exception, [2]int{23, 23}, [2]int{95, 95}, move, true, true},
		{"ub-oob", exception, [2]int{62, 19}, [2]int{341, 7}, [2]isa.Op{isa.Vector, isa.Cube}, true, false},
		{"div-zero", exception, [2]int{3, 3}, [2]int{258, 258}, scalar(isa.Div), true, false},
		{"illegal-instr", exception, [2]int{4, 4}, [2]int{259, 259}, scalar(0xff), true, false},
		{"ecc", ecc, [2]int{23, 23}, [2]int{95, 95}, move, true, true},
		{"hang", timeout, [2]int{-1, -1}, [2]int{-1, -1}, [2]isa.Op{isa.Vector, isa.Cube}, true, false},
		{"dma", [2]Code{SDMAError, SDMAError}, [2]int{-1, -1}, [2]int{-1, -1}, [2]isa.Op{}, false, true},
	}
}

// Every kind of fault that can be injected, on every family of chips, on vector and on AI cores: callback, code, black
// box, core file and log agree on stream, task, core and address, and on what happened.
func TestR04_everyKind(t *testing.T) {
	for _, name := range []string{"Ascend910B3", "Ascend910_9391", "Ascend310P3", "Ascend910A", "Ascend950PR_9579"} {
		chip, err := soc.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range faultKinds() {
			for unit, op := range []string{"Add", "MatMul"} {
				if op == "Add" && chip.VectorCores == 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, k.spec, op), func(t *testing.T) { k.agree(t, chip, op, unit) })
			}
		}
	}
}

// agree runs an operator that meets the fault and compares what everybody says.
func (k *faultKind) agree(t *testing.T, chip *soc.Chip, op string, unit int) {
	i, err := sim.ParseInjection(k.spec)
	if err != nil {
		t.Fatal(err)
	}
	r, dir, heard := dumping(t, Config{Chip: chip})
	var kernel *Kernel
	const bytes = 1 << 18
	if op == "Add" {
		kernel = compiled(t, r.Thread, op, tensor.Float32, bytes/4)
	} else {
		kernel = compiledSquare(t, r.Thread, 256)
	}
	s := r.stream()
	if k.spec == "dma" {
		i.Stream = int64(s.ID())
	}
	var args []uint64
	for range kernel.Words() {
		args = append(args, uint64(must[Ptr](t)(r.Malloc(8<<20)))) // a workspace among them
	}
	if k.spec != "dma" {
		i.Op = op
	}
	r.ok(r.Inject(i), r.inc(s), r.MemsetAsync(Ptr(args[0]), 0, bytes, s), r.LaunchKernel(kernel, args, s))
	err = r.SynchronizeStream(s)
	r.code(k.spec, err, k.code[unit])
	if len(*heard) != 1 || i.Fired() != 1 || (*heard)[0].boxes != 1 {
		t.Fatalf("fired %d times, callbacks %+v", i.Fired(), *heard)
	}
	e := (*heard)[0]
	f := e.Fault
	if e.Code != k.code[unit] || e.Stream != s.ID() || f.HasAddr != k.address || !strings.Contains(err.Error(), fmt.Sprintf("task %d", e.Task)) {
		t.Errorf("callback %+v, fault %+v, message %v", e.Exception, f, err)
	}
	family, devType := aicore.FamilyOfChip(chip.Short)

	// The black box.
	x := readBox(t, boxes(t, dir)[0])
	el := x.Elements[len(x.Elements)-1]
	if x.Family != family || el.Stream != e.Stream || el.Task != e.Task || faultCode(el.Code) != e.Code {
		t.Errorf("black box of %v: element %+v, callback %+v", x.Family, el, e.Exception)
	}
	text := section(x, "fault")
	if k.address && !strings.Contains(text, fmt.Sprintf("address 0x%x: ", f.Addr)) || !strings.Contains(text, fmt.Sprintf("stream %d, task %d", e.Stream, e.Task)) {
		t.Errorf("black box:\n%s", text)
	}

	// The log.
	logs := glob(t, dir, "log", "debug", "plog", "*.log")
	if len(logs) != 1 {
		t.Fatalf("logs %v", logs)
	}
	rep, err := diagnose.Run(context.Background(), logs, nil, diagnose.Options{Level: plog.Event, Since: plog.NoTime})
	if err != nil || len(rep.Findings) == 0 {
		t.Fatalf("log: %v %+v", err, rep)
	}
	log := rep.Findings[0]
	if log.ACL != int(e.Code) || log.Stream == nil || *log.Stream != int(e.Stream) || log.Task == nil || *log.Task != int(e.Task) {
		t.Errorf("the log says %d, stream %v, task %v: callback %+v", log.ACL, log.Stream, log.Task, e.Exception)
	}
	if !k.cores {
		if files := glob(t, dir, "extra-info", "*", "*", "*.core"); len(files) > 0 {
			t.Errorf("core files %v", files)
		}
		return
	}
	if string(log.Kernel) != e.Kernel || log.PCStart != fmt.Sprintf("0x%x", f.TextAddr) {
		t.Errorf("the log says kernel %s from %s: %s from 0x%x", log.Kernel, log.PCStart, e.Kernel, f.TextAddr)
	}
	files := glob(t, dir, "extra-info", "data-dump", "0", fmt.Sprintf("%s.%d.%d.*.core", op, e.Stream, e.Task))
	if len(files) != 1 {
		t.Fatalf("core files %v in %v", files, glob(t, dir, "extra-info", "data-dump", "0", "*"))
	}
	file := readCore(t, files[0])
	if file.Family != family || file.DevType != devType || file.Kernel != e.Kernel {
		t.Errorf("%s: %v, type %d, kernel %s", filepath.Base(files[0]), file.Family, file.DevType, file.Kernel)
	}
	k.sameCore(t, file, &e, &el, &log, unit)
}

// sameCore compares the core that failed in the core file, in the callback's fault, in the black box and in the log.
func (k *faultKind) sameCore(t *testing.T, file *coredump.File, e *told, el *errring.Element, log *diagnose.Finding, unit int) {
	f := e.Fault
	core := failedCore(file)
	want := k.bit[unit]
	if file.Family == aicore.V200 {
		want = k.code950[unit]
	}
	if want < 0 { // a hang: nobody reports, all stand at the same place
		if core != nil || instAt(file, file.Cores[0].PC).Op != k.op[unit] || len(el.Cores) != len(f.Cores) || len(log.Cores) != len(f.Cores) || log.Current != fmt.Sprintf("0x%x", file.Cores[0].PC) {
			t.Errorf("core %+v stands at %v; %d cores in the black box, %d in the log, which stands at %s", core, instAt(file, file.Cores[0].PC), len(el.Cores), len(log.Cores), log.Current)
		}
		return
	}
	i := slices.IndexFunc(f.Cores, func(c sim.CoreState) bool { return c.Failed })
	if core == nil || i < 0 || len(el.Cores) != 1 {
		t.Fatalf("core %+v, fault %+v, element %+v", core, f, el)
	}
	c := &f.Cores[i]
	if got := fmt.Sprintf("%s %d", core.Type, core.ID); got != c.Name() || el.Cores[0].Vector != c.Vector || int(el.Cores[0].ID) != c.ID || !slices.Contains(log.Cores, c.ID) || " on "+c.Name() != f.Where() {
		t.Errorf("core %s, fault %s, black box %+v, log %v", got, c.Name(), el.Cores[0], log.Cores)
	}
	if len(core.Bits) != 1 || core.Bits[0].Index != want || !slices.Equal(log.Bits, []int{want}) && !slices.Equal(log.Codes, []int{want}) {
		t.Errorf("core %+v, log bits %v codes %v, want %d", core.Bits, log.Bits, log.Codes, want)
	}
	if core.PC != c.PC || el.Cores[0].PC != c.PC || core.Words != el.Cores[0].Words || !slices.Equal(core.Codes, el.Cores[0].Codes) || log.Current != fmt.Sprintf("0x%x", c.PC) {
		t.Errorf("core at 0x%x, black box 0x%x, log %s, fault 0x%x", core.PC, el.Cores[0].PC, log.Current, c.PC)
	}
	at := core.Where()
	if file.Family == aicore.Legacy { // these chips do not say where the counter was
		if at = c.FaultPC; len(core.Fixed) > 0 {
			t.Errorf("repaired %+v", core.Fixed)
		}
	} else if at != c.FaultPC || log.PCFixed != fmt.Sprintf("0x%x", at) || core.Fixed[0].Doubtful != "" {
		t.Errorf("repaired to 0x%x by the core file, %s by the log, the fault is at 0x%x", at, log.PCFixed, c.FaultPC)
	}
	if w, _, _ := file.Code(at, 0, 0); len(w) != 1 || w[0]>>24 != uint32(k.op[unit]) {
		t.Errorf("the core stands at %x, want operation 0x%x", w, k.op[unit])
	}
	if k.address {
		if v := core.Registers[f.Operand+1].Uint(); v != f.Addr {
			t.Errorf("address register 0x%x, fault 0x%x", v, f.Addr)
		}
		if file.Family == aicore.V100 {
			if fr := aicore.FragmentsV100(core.Bits, core.Infos); len(fr) != 1 || fr[0].Value != f.Addr>>5&0x7fff {
				t.Errorf("fragments %v of 0x%x", fr, f.Addr)
			}
		}
	}
}

func section(x *errring.Box, name string) string {
	for _, s := range x.Sections {
		if s.Name == name {
			return s.Lines
		}
	}
	return ""
}
