package runtime

import (
	"encoding/binary"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// The time-out of one launch stands in for that of all, rounded up to a tick; it also holds inside a captured graph.
func TestR06_launchTimeout(t *testing.T) {
	r := newRig(t, Config{})
	slow := must[*Kernel](t)(r.NewKernel("slow", trace.KernelAICore, 1, 6e9, nil)) // 6 s
	s := r.stream()
	tick := r.OpTimeoutInterval() * 1000
	for _, c := range []struct {
		attrs LaunchAttrs
		fails bool
	}{{LaunchAttrs{}, false}, {LaunchAttrs{Timeout: 1}, true}, {LaunchAttrs{TimeoutMicros: 4_000_000}, true}, {LaunchAttrs{Timeout: 5}, false}} {
		start := r.Clock()
		r.ok(r.LaunchKernelWith(slow, nil, s, c.attrs))
		err := r.SynchronizeStream(s)
		if !c.fails {
			r.ok(err)
			continue
		}
		r.code("limited", err, AICoreTimeout)
		if d := r.Clock() - start; d < tick || d > tick+1e6 {
			t.Errorf("%+v: ended after %d ns, one tick is %d", c.attrs, d, tick)
		}
	}
	r.ok(r.SetOpExecuteTimeout(1))
	r.ok(r.LaunchKernelWith(slow, nil, s, LaunchAttrs{Timeout: 100}), r.SynchronizeStream(s)) // longer than what holds for all
	r.code("both units", r.LaunchKernelWith(slow, nil, s, LaunchAttrs{Timeout: 1, TimeoutMicros: 1}), InvalidParam)
	r.code("negative", r.LaunchKernelWith(slow, nil, s, LaunchAttrs{Timeout: -1}), InvalidParam)

	r.ok(r.SetOpExecuteTimeout(0), r.CaptureBegin(s, CaptureGlobal), r.LaunchKernelWith(slow, nil, s, LaunchAttrs{Timeout: 1}))
	m := must[*Model](t)(r.CaptureEnd(s))
	for range 2 {
		r.ok(r.ExecuteModel(m, s))
		r.code("in a graph", r.SynchronizeStream(s), AICoreTimeout)
	}
}

// Without a limit of the program's own the chip's holds.
func TestR06_defaultsOfChips(t *testing.T) {
	for _, c := range []struct {
		chip        string
		core, aicpu int64 // s
	}{{"Ascend910B3", 1090, 1090}, {"Ascend910_9391", 1090, 1090}, {"Ascend950PR_9579", 1090, 1090}, {"Ascend310P3", 547, 28}, {"Ascend910A", 68, 28}} {
		chip, err := soc.Lookup(c.chip)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, Config{Chip: chip})
		for _, k := range []struct {
			kind trace.Kind
			code Code
			want int64
		}{{trace.KernelAICore, AICoreTimeout, c.core}, {trace.KernelAICPU, AICPUTimeout, c.aicpu}} {
			endless := must[*Kernel](t)(r.NewKernel("endless", k.kind, 1, sim.Endless, nil))
			start := r.Clock()
			r.ok(r.LaunchKernel(endless, nil, nil))
			r.code(c.chip, r.SynchronizeStream(nil), k.code)
			if d := (r.Clock() - start) / 1e9; d != k.want {
				t.Errorf("%s, %v: ended after %d s, want %d", c.chip, k.kind, d, k.want)
			}
		}
	}
}

// The device tells what its latest error was of; after an abort memory can be repaired, and works.
func TestR07_errorVerbose(t *testing.T) {
	r := newRig(t, Config{})
	p := must[Ptr](t)(r.Malloc(8192))
	none := must[ErrorVerbose](t)(r.ErrorVerbose(0))
	if none.Kind != NoError || none.TryRepair {
		t.Errorf("before any error: %+v", none)
	}
	r.code("nothing to repair", r.RepairError(0, none), InvalidParam)

	div := compiled(t, r.Thread, "Div", tensor.Int32, 64)
	r.ok(r.Memset(p, 0, 8192), r.LaunchKernel(div, []uint64{uint64(p), uint64(p), uint64(p)}, nil))
	r.code("division", r.SynchronizeStream(nil), VectorException)
	soft := must[ErrorVerbose](t)(r.ErrorVerbose(0))
	if soft.Kind != CoreError || soft.Core != CoreSoftware || soft.TryRepair {
		t.Errorf("division by zero: %+v", soft)
	}
	r.ok(r.AbortDevice(0))
	r.code("no repair for a core", r.RepairError(0, soft), NotSupported)

	i, err := sim.ParseInjection("ecc@nth=1")
	if err != nil {
		t.Fatal(err)
	}
	s := r.stream()
	add := compiled(t, r.Thread, "Add", tensor.Float32, 64)
	r.ok(r.Inject(i), r.LaunchKernel(add, []uint64{uint64(p), uint64(p), uint64(p)}, s))
	r.code("ecc", r.SynchronizeStream(s), MemoryECC)
	x := must[ErrorVerbose](t)(r.ErrorVerbose(0))
	if x.Kind != MemoryError || !x.TryRepair || len(x.Memory) != 1 || uint64(x.Memory[0].Addr) != uint64(p)&^4095 {
		t.Fatalf("ecc: %+v", x)
	}
	r.code("tasks go on", r.RepairError(0, x), InvalidParam)
	r.ok(r.AbortDevice(0))
	r.code("another kind", r.RepairError(0, soft), InvalidParam)
	r.ok(r.RepairError(0, x), r.LaunchKernel(add, []uint64{uint64(p), uint64(p), uint64(p)}, s), r.SynchronizeStream(s))
	if left := must[ErrorVerbose](t)(r.ErrorVerbose(0)); left.Kind != NoError {
		t.Errorf("after the repair: %+v", left)
	}
	r.code("no such device", r.RepairError(9, x), InvalidDevice)
}

// A stream that checks for overflow returns it once, with the results in place; nothing stops, also under STOP, no dump
// is made, and the exception callback hears of it.
func TestR08_overflowIsReturned(t *testing.T) {
	r, dir, heard := dumping(t, Config{})
	x, out := must[Ptr](t)(r.Malloc(256)), must[Ptr](t)(r.Malloc(256))
	big := make([]byte, 256)
	for i := range 64 {
		binary.LittleEndian.PutUint32(big[4*i:], 0x7f7fffff)
	}
	r.ok(r.MemcpyFromHost(x, big))
	add, mul := compiled(t, r.Thread, "Add", tensor.Float32, 64), compiled(t, r.Thread, "Mul", tensor.Float32, 64)
	s, stop := r.stream(), r.stream()
	args := []uint64{uint64(x), uint64(x), uint64(out)}
	first := func() uint32 {
		var b [4]byte
		r.ok(r.MemcpyToHost(b[:], out))
		return binary.LittleEndian.Uint32(b[:])
	}
	r.ok(r.SetStreamOverflowCheck(s, true))
	r.ok(r.LaunchKernel(add, args, s), r.SynchronizeStream(s)) // mode of infinities: no overflow
	r.ok(r.SetOverflowMode(Saturate), r.LaunchKernel(mul, args, s), r.inc(s))
	r.code("check", r.SynchronizeStream(s), VectorOverflow)
	r.ok(r.SynchronizeStream(s))
	if first() != 0x7f7fffff || r.value() != 1 {
		t.Errorf("result 0x%x, %d later kernels", first(), r.value())
	}
	r.ok(r.LaunchKernel(add, args, stop), r.SynchronizeStream(stop)) // this stream does not check
	r.ok(r.SetStreamFailureMode(s, StopOnFailure), r.LaunchKernel(add, args, s), r.inc(s))
	r.code("under STOP", r.SynchronizeStream(s), VectorOverflow)
	r.ok(r.inc(s), r.SynchronizeStream(s), r.SynchronizeStream(stop))
	if r.value() != 3 {
		t.Errorf("%d kernels ran", r.value())
	}
	if len(*heard) != 2 || (*heard)[0].Code != VectorOverflow || len(boxes(t, dir)) != 0 {
		t.Errorf("callbacks %+v, black boxes %v", *heard, boxes(t, dir))
	}
	if v := must[ErrorVerbose](t)(r.ErrorVerbose(0)); v.Kind != NoError {
		t.Errorf("overflow counts as an error of the device: %+v", v)
	}
	r.ok(r.SetStreamOverflowCheck(s, false), r.LaunchKernel(add, args, s), r.SynchronizeStream(s))
}

// An address picks the task that touches it, and the tile that failed is the one that covers it.
func TestInject_atAnAddress(t *testing.T) {
	for _, c := range []struct {
		kind    string
		operand int
		off     uint64
		code    Code
	}{{"bus-error", 1, 70_000, VectorException}, {"ecc", 0, 5000, MemoryECC}, {"aicore-oob", 2, 0, VectorException}, {"div-zero", 1, 8, VectorException}} {
		r, dir, heard := dumping(t, Config{})
		add := compiled(t, r.Thread, "Add", tensor.Float32, 1<<16) // 256 KiB an operand
		s := r.stream()
		var ops [6]uint64
		for i := range ops {
			ops[i] = uint64(must[Ptr](t)(r.Malloc(256 << 10)))
		}
		at := ops[3+c.operand] + c.off
		i := &sim.Injection{Kind: sim.InjectKind(c.kind), Task: -1, Stream: -1, Addr: at, Spec: c.kind}
		r.ok(r.Inject(i), r.LaunchKernel(add, ops[:3], s), r.SynchronizeStream(s)) // touches other memory
		r.ok(r.LaunchKernel(add, ops[3:], s))
		r.code(c.kind, r.SynchronizeStream(s), c.code)
		if len(*heard) != 1 {
			t.Fatalf("%s: callbacks %+v", c.kind, *heard)
		}
		f := (*heard)[0].Fault
		want := at
		switch c.kind {
		case "aicore-oob":
			want = ops[3+c.operand] + 256<<10 + 32
		case "ecc":
			want = at &^ (sim.PoisonUnit - 1)
			if f.HasAddr && f.Addr >= want && f.Addr < want+sim.PoisonUnit {
				want = f.Addr
			}
		case "div-zero":
			if f.HasAddr {
				t.Errorf("a division has the address 0x%x", f.Addr)
			}
			continue
		}
		if f.Addr != want || f.Operand != c.operand {
			t.Errorf("%s: operand %d at 0x%x, want %d at 0x%x", c.kind, f.Operand, f.Addr, c.operand, want)
		}
		core := failedCore(readCore(t, glob(t, dir, "extra-info", "data-dump", "0", "*.core")[0]))
		if core == nil || core.Registers[c.operand+1].Uint() != f.Addr {
			t.Errorf("%s: core %+v", c.kind, core)
		}
	}
}
