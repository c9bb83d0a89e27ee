package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/coredump"
	"npu/internal/blackbox/errring"
	"npu/internal/blackbox/isa"
	"npu/internal/sim"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// told is what a callback was told, kept beyond the call.
type told struct {
	Exception
	boxes int // black boxes on disk when it was called
}

// dumping makes a rig that leaves dumps, and keeps what the callback hears.
func dumping(t *testing.T, c Config) (*rig, string, *[]told) {
	t.Helper()
	dir, list := t.TempDir(), &[]told{}
	r := newRig(t, c)
	r.ok(r.DumpExceptions(dir), r.SetExceptionCallback(func(_ *Thread, e *Exception) {
		x := told{Exception: *e, boxes: len(boxes(t, dir))}
		x.Args = slices.Clone(e.Args)
		*list = append(*list, x)
	}))
	return r, dir, list
}

func glob(t testing.TB, parts ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func boxes(t testing.TB, dir string) []string { return glob(t, dir, "black-box", "*", "*.bbox") }

func readBox(t testing.TB, path string) *errring.Box {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, bad, err := errring.Parse(b)
	if err != nil || len(bad) > 0 {
		t.Fatalf("%s: %v %v", path, err, bad)
	}
	return x
}

func readCore(t testing.TB, path string) *coredump.File {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := coredump.Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(f.Problems) > 0 {
		t.Fatalf("%s: %v %v", path, err, f.Problems)
	}
	return f
}

func failedCore(f *coredump.File) *coredump.Core {
	for _, c := range f.Cores {
		if c.Failed() {
			return c
		}
	}
	return nil
}

// instAt is the instruction at a program counter of a core file.
func instAt(f *coredump.File, pc uint64) isa.Inst {
	w, _, _ := f.Code(pc, 0, 0)
	if len(w) == 0 {
		return isa.Inst{}
	}
	i, _ := isa.Decode(w[0])
	return i
}

// A read that really leaves the memory that is mapped: callback, code, black box and core file agree on who failed
// where, the core stands at the move, and the address that the hardware kept is the operand's.
func TestR04_mteOutOfRange(t *testing.T) {
	r, dir, heard := dumping(t, Config{})
	add := compiled(t, r.Thread, "Add", tensor.Float32, 1<<20) // 4 MiB an operand
	good := must[Ptr](t)(r.Malloc(4 << 20))
	base, _ := r.rt.devices[0].hw.Memory()
	wild := base + 32<<30
	s := r.stream()
	r.ok(r.inc(s), r.LaunchKernel(add, []uint64{uint64(good), wild, uint64(good)}, s))
	err := r.SynchronizeStream(s)
	r.code("synchronise", err, VectorException)
	if len(*heard) != 1 || (*heard)[0].boxes != 1 {
		t.Fatalf("callbacks %+v: one was to come, after the black box", *heard)
	}
	e := (*heard)[0]
	x := readBox(t, boxes(t, dir)[0])
	el := x.Elements[0]
	if el.Stream != e.Stream || el.Task != e.Task || el.Type != errring.AIVector || len(el.Cores) != 1 || el.Code != sim.CodeVectorException {
		t.Errorf("element %+v, callback %+v", el, e)
	}
	files := glob(t, dir, "extra-info", "data-dump", "0", fmt.Sprintf("Add.%d.%d.*.core", e.Stream, e.Task))
	if len(files) != 1 {
		t.Fatalf("core files %v", files)
	}
	f := readCore(t, files[0])
	c := failedCore(f)
	if c == nil || c.Words[0] != 1<<23 || c.Words != el.Cores[0].Words || c.PC != el.Cores[0].PC || c.ID != int(el.Cores[0].ID) || c.Type != "AIV" {
		t.Fatalf("core %+v, element %+v", c, el)
	}
	if i := instAt(f, c.Where()); i.Op != isa.LoadUB || i.A != 2 || c.Where() == c.PC {
		t.Errorf("the core failed at %v (pc 0x%x, repaired 0x%x), not at the move of operand 1", i, c.PC, c.Where())
	}
	if addr := c.Registers[2].Uint(); addr != wild || !e.Fault.HasAddr || e.Fault.Addr != wild {
		t.Errorf("address register 0x%x, fault 0x%x, want 0x%x", addr, e.Fault.Addr, wild)
	}
	if fr := aicore.FragmentsV100(c.Bits, c.Infos); len(fr) != 1 || fr[0].Value != wild>>5&0x7fff {
		t.Errorf("fragments %v", fr)
	}
	var names []string
	for _, g := range f.Regions {
		if names = append(names, g.Name); g.Unreadable != (g.Addr == wild) {
			t.Errorf("region %+v", g)
		}
	}
	if got := strings.Join(names, ", "); got != "argument block, input 0, input 1, output 0, kernel text" {
		t.Errorf("regions: %s", got)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("Add on AIV %d", c.ID)) {
		t.Errorf("message %v names no core", err)
	}
	r.ok(r.inc(s), r.SynchronizeStream(s)) // the device goes on
}

// The core file is what the format says, read with plain offsets.
func TestR05_coreFile(t *testing.T) {
	r, dir, _ := dumping(t, Config{})
	div := compiled(t, r.Thread, "Div", tensor.Int32, 64)
	x, zero, out := must[Ptr](t)(r.Malloc(256)), must[Ptr](t)(r.Malloc(256)), must[Ptr](t)(r.Malloc(256))
	r.ok(r.Memset(x, 7, 256), r.Memset(zero, 0, 256), r.LaunchKernel(div, []uint64{uint64(x), uint64(zero), uint64(out)}, nil))
	r.code("division by zero", r.SynchronizeStream(nil), VectorException)
	b, err := os.ReadFile(glob(t, dir, "extra-info", "data-dump", "0", "*.core")[0])
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	if le.Uint16(b[16:]) != 4 || le.Uint16(b[18:]) != 0x1029 || le.Uint16(b[56:]) != 0 {
		t.Errorf("type %d, machine 0x%x, %d program headers", le.Uint16(b[16:]), le.Uint16(b[18:]), le.Uint16(b[56:]))
	}
	table, n := le.Uint64(b[40:]), int(le.Uint16(b[60:]))
	kinds := map[uint32]int{}
	inputs := 0
	for i := range n {
		s := b[table+uint64(64*i):]
		k := le.Uint32(s[4:])
		kinds[k]++
		if k == 0x80000001 && le.Uint64(s[16:]) == uint64(x) {
			if off := le.Uint64(s[24:]); le.Uint64(s[32:]) != 256 || !bytes.Equal(b[off:off+256], bytes.Repeat([]byte{7}, 256)) {
				t.Errorf("input 0 is %x", b[off:off+16])
			}
			inputs++
		}
	}
	if table%16 != 0 || inputs != 1 || kinds[0x80000001] != 5 || kinds[0x80000005] != 1 || kinds[0x80000004] != 1 || kinds[0x8000000a] != 1 || kinds[0x80000003] == 0 || kinds[0x80000002] != 1 {
		t.Errorf("table at 0x%x, section types %v", table, kinds)
	}
	c := failedCore(readCore(t, glob(t, dir, "extra-info", "data-dump", "0", "*.core")[0]))
	if c == nil || c.Bits[0].Name != "vec_div0" || c.Locals[0].Memory != "UB" {
		t.Errorf("core %+v", c)
	}
}

// A kernel that never ends is ended by the limit, rounded up to a tick, and the next launch works.
func TestR06_opTimeout(t *testing.T) {
	for _, c := range []struct {
		kind trace.Kind
		code Code
	}{{trace.KernelAICore, AICoreTimeout}, {trace.KernelAIVector, VectorTimeout}, {trace.KernelAICPU, AICPUTimeout}} {
		r, dir, heard := dumping(t, Config{})
		endless := must[*Kernel](t)(r.NewKernel("endless", c.kind, 100, sim.Endless, nil))
		r.ok(r.SetOpExecuteTimeout(1))
		s := r.stream()
		start := r.Clock()
		r.ok(r.LaunchKernel(endless, nil, s))
		r.code("endless", r.SynchronizeStream(s), c.code)
		tick := r.OpTimeoutInterval() * 1000
		if d := r.Clock() - start; d < 1e9 || d > 1e9+tick {
			t.Errorf("%v: ended after %d ns, tick %d", c.kind, d, tick)
		}
		r.ok(r.inc(s), r.AbortStream(s), r.inc(s), r.SynchronizeStream(s))
		if r.value() < 1 || len(*heard) != 1 || len(boxes(t, dir)) != 1 {
			t.Errorf("%v: %d launches ran later, %d callbacks", c.kind, r.value(), len(*heard))
		}
		if (*heard)[0].Fault.Time < start+1e9 {
			t.Errorf("the fault has the time %d", (*heard)[0].Fault.Time)
		}
	}
	r := newRig(t, Config{})
	for _, c := range []struct{ ask, want int64 }{{0, 254 * sim.OpTick / 1000}, {1, sim.OpTick / 1000}, {1 << 40, 254 * sim.OpTick / 1000}, {5_000_000, 2 * sim.OpTick / 1000}} {
		if got := must[int64](t)(r.SetOpExecuteTimeoutMicros(c.ask)); got != c.want {
			t.Errorf("asked for %d µs: %d hold, want %d", c.ask, got, c.want)
		}
	}
	r.code("negative", r.SetOpExecuteTimeout(-1), InvalidParam)
}

// Memory that cannot be corrected fails whoever touches it, is listed, and works again after its repair.
func TestR07_eccAndRepair(t *testing.T) {
	r, dir, _ := dumping(t, Config{})
	p := must[Ptr](t)(r.Malloc(64 << 10))
	bad := uint64(p) + 20000
	r.ok(r.port.Call(func() { r.rt.devices[0].hw.Poison(bad) }))
	buf := make([]byte, 64<<10)
	r.code("copy over the page", r.MemcpyToHost(buf, p), MemoryECC)
	r.ok(r.MemcpyToHost(buf[:8192], p)) // beside it
	list := must[[]MemUce](t)(r.MemUceInfo(0))
	if len(list) != 1 || uint64(list[0].Addr) > bad || bad >= uint64(list[0].Addr)+uint64(list[0].Bytes) {
		t.Fatalf("uncorrectable: %+v, want 0x%x", list, bad)
	}
	if x := readBox(t, boxes(t, dir)[0]); !strings.Contains(fmt.Sprint(x.Sections), fmt.Sprintf("uncorrectable: 0x%x", uint64(list[0].Addr))) {
		t.Errorf("the black box does not list it: %v", x.Sections)
	}
	r.ok(r.MemUceRepair(0, list), r.MemcpyToHost(buf, p))
	if left := must[[]MemUce](t)(r.MemUceInfo(0)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	r.code("nothing to repair", r.MemUceRepair(0, list), InvalidParam)
	r.code("too many", r.MemUceRepair(0, make([]MemUce, 21)), InvalidParam)
}

// In saturation mode an overflow is bounded and noted, for streams that are watched; otherwise it is infinite.
func TestR08_overflow(t *testing.T) {
	r := newRig(t, Config{})
	add := compiled(t, r.Thread, "Add", tensor.Float32, 64)
	x, out, status := must[Ptr](t)(r.Malloc(256)), must[Ptr](t)(r.Malloc(256)), must[Ptr](t)(r.Malloc(64))
	big := bytes.Repeat([]byte{0xff, 0xff, 0x7f, 0x7f}, 64) // the greatest float
	r.ok(r.MemcpyFromHost(x, big))
	s, other := r.stream(), r.stream()
	run := func(s *Stream) (value, word uint32) {
		var b [256]byte
		r.ok(r.LaunchKernel(add, []uint64{uint64(x), uint64(x), uint64(out)}, s), r.SynchronizeStream(s), r.MemcpyToHost(b[:], out))
		value = binary.LittleEndian.Uint32(b[:])
		if r.OverflowStatus(status, 64, s) == nil {
			r.ok(r.SynchronizeStream(s), r.MemcpyToHost(b[:64], status))
			word = binary.LittleEndian.Uint32(b[:])
		}
		return value, word
	}
	const inf, largest = 0x7f800000, 0x7f7fffff
	if v, _ := run(s); v != inf {
		t.Errorf("mode INFNAN: 0x%x", v)
	}
	r.code("status in INFNAN", r.OverflowStatus(status, 64, s), NotSupported)
	r.ok(r.SetOverflowMode(Saturate), r.SetStreamOverflowSwitch(s, true))
	if v, w := run(other); v != largest || w != 0 {
		t.Errorf("stream that is not watched: 0x%x, status %d", v, w)
	}
	if v, w := run(s); v != largest || w != 1 {
		t.Errorf("saturation: 0x%x, status %d", v, w)
	}
	r.ok(r.ResetOverflowStatus(s), r.Memset(x, 0, 256))
	if v, w := run(s); v != 0 || w != 0 {
		t.Errorf("after the reset: 0x%x, status %d", v, w)
	}
	r.code("size", r.OverflowStatus(status, 8, s), InvalidParam)
	r.code("mode", r.SetOverflowMode(7), InvalidParam)
	r.ok(r.SetOverflowMode(InfNaN))
	if m := must[OverflowMode](t)(r.OverflowMode()); m != InfNaN {
		t.Errorf("mode %d", m)
	}
}

// Twenty-five faults at once on as many streams: the ring holds ten, the rest waits for room; none is lost, the first
// one is there, and the host has text for each.
func TestR09_errorRing(t *testing.T) {
	r, dir, heard := dumping(t, Config{})
	var streams []*Stream
	for range 25 {
		s := r.stream()
		streams = append(streams, s)
		r.ok(r.LaunchKernel(r.long, nil, s)) // so that all fail at about the same time
		r.ok(r.LaunchKernel(r.boom, nil, s))
	}
	for _, s := range streams {
		r.code("burst", r.SynchronizeStream(s), VectorException)
	}
	files := boxes(t, dir)
	if len(*heard) != 25 || len(files) != 25 {
		t.Fatalf("%d callbacks, %d black boxes", len(*heard), len(files))
	}
	seen := map[uint64]uint32{}
	for _, f := range files {
		x := readBox(t, f)
		if n := len(x.Elements); n > 10 || n != min(int(x.Total), 10) {
			t.Errorf("%s: %d elements of %d errors", f, n, x.Total)
		}
		for _, e := range x.Elements {
			seen[e.Serial] = e.Stream
		}
		if !strings.Contains(fmt.Sprint(x.Sections), "there is an aivec error exception") {
			t.Errorf("%s has no text of its error", f)
		}
	}
	for i, e := range *heard {
		if seen[uint64(i+1)] != e.Stream {
			t.Errorf("error %d of stream %d is recorded for stream %d", i+1, e.Stream, seen[uint64(i+1)])
		}
	}
	for _, s := range streams {
		r.ok(r.DestroyStream(s))
	}
}

// A wait for an event that never comes ends with its limit; the black box holds stream, task, event and limit, and
// where all the streams stood.
func TestE13_waitTimeout(t *testing.T) {
	r, dir, _ := dumping(t, Config{})
	e := r.event(flagEvent, EventSync)
	s := r.stream()
	r.ok(r.SetOpWaitTimeout(1), r.WaitEvent(s, e))
	err := r.SynchronizeStream(s)
	r.code("synchronise", err, TaskTimeout)
	for _, want := range []string{fmt.Sprintf("stream %d", s.ID()), "task 0", "EVENT_WAIT", "1000 ms"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message %v does not say %q", err, want)
		}
	}
	x := readBox(t, boxes(t, dir)[0])
	el := x.Elements[0]
	if el.Type != errring.WaitTimeout || el.Stream != s.ID() || el.ID != e.hw.Load().ID() || el.Limit != 1e9 || el.Task != 0 {
		t.Errorf("element %+v, event %d", el, e.hw.Load().ID())
	}
	snapshot := ""
	for _, s := range x.Sections {
		if s.Name == "streams" {
			snapshot = s.Lines
		}
	}
	if !strings.Contains(snapshot, fmt.Sprintf("stream %d: task 0, 0 of 1 done", s.ID())) {
		t.Errorf("snapshot of the streams:\n%s", snapshot)
	}
}

// Nobody can write into the directory: one clear line, no half file, and the fault is reported all the same.
func TestDumpExceptions_noRoom(t *testing.T) {
	r, dir, heard := dumping(t, Config{})
	if err := os.WriteFile(filepath.Join(dir, "black-box"), nil, 0o600); err != nil { // where the directory was to be
		t.Fatal(err)
	}
	r.ok(r.LaunchKernel(r.boom, nil, nil))
	r.code("fault", r.SynchronizeStream(nil), VectorException)
	if files, err := r.rt.Dumps(); err == nil || strings.Contains(err.Error(), "\n") || len(*heard) != 1 || len(files) == 0 {
		t.Errorf("files %v, error %v, %d callbacks", files, err, len(*heard))
	}
}

// A process that is killed inside the callback leaves a complete black box, every time.
func TestDumpExceptions_killedInTheCallback(t *testing.T) {
	if dir := os.Getenv("NPU_TEST_DIE"); dir != "" {
		r := newRig(t, Config{})
		r.ok(r.DumpExceptions(dir), r.SetExceptionCallback(func(*Thread, *Exception) { die() }))
		r.ok(r.LaunchKernel(r.boom, nil, nil), r.SynchronizeStream(nil))
		t.Fatal("still there")
	}
	runs := 100
	if testing.Short() {
		runs = 5
	}
	for range runs {
		dir := t.TempDir()
		c := exec.Command(os.Args[0], "-test.run=^TestDumpExceptions_killedInTheCallback$")
		c.Env = append(os.Environ(), "NPU_TEST_DIE="+dir)
		if out, err := c.CombinedOutput(); err == nil || strings.Contains(string(out), "still there") {
			t.Fatalf("the child was not killed: %v\n%s", err, out)
		}
		files := boxes(t, dir)
		if len(files) != 1 {
			t.Fatalf("black boxes: %v", files)
		}
		if x := readBox(t, files[0]); len(x.Elements) != 1 || len(x.Sections) < 5 || len(x.Elements[0].Cores) != 1 {
			t.Fatalf("black box %+v", x)
		}
	}
}

// die ends the process at once, as kill -9 does.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	for {
		time.Sleep(time.Hour) // not select {}: without another goroutine that is a deadlock, and ends the process
	}
}
