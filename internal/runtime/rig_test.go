package runtime

import (
	"encoding/binary"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

const ms = 1_000_000

// rig is an open runtime with a thread, the usual kernels, and a check that a scenario leaves nothing behind.
type rig struct {
	*Thread
	t                  testing.TB
	rt                 *Runtime
	rec                *trace.Recorder
	add, boom, long    *Kernel // add: word at args[0] += args[1]; boom: vector exception; long: 50 ms
	tiny               *Kernel // 1 µs
	counter            Ptr
	streams, events, n int
	inUse              int64
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	r := &rig{t: t, rec: trace.NewRecorder()}
	if c.Recorder == nil {
		c.Recorder = r.rec
	}
	r.rt, r.Thread = open(t, c)
	r.load()
	r.counter = must[Ptr](t)(r.Malloc(8))
	r.ok(r.Memset(r.counter, 0, 8))
	r.streams, r.events, r.n, r.inUse = r.resources()
	return r
}

// load makes the kernels in the current context.
func (r *rig) load() {
	k := must[*Kernel](r.t)
	r.add = k(r.NewKernel("add", trace.KernelAICore, 1, 2000, func(c *sim.Call) *sim.Fault {
		args, f := c.Space.Resolve(c.Args, 16, sim.Read)
		if f != nil {
			return f
		}
		p, f := c.Space.Resolve(binary.LittleEndian.Uint64(args), 8, sim.ReadWrite)
		if f != nil {
			return f
		}
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)+binary.LittleEndian.Uint64(args[8:]))
		return nil
	}))
	r.boom = k(r.NewKernel("boom", trace.KernelAIVector, 1, 2000, func(c *sim.Call) *sim.Fault {
		_, f := c.Space.Resolve(0x40, 32, sim.Read)
		f.Code = sim.CodeVectorException
		return f
	}))
	r.long = k(r.NewKernel("long", trace.KernelAICore, 1, 50*ms, nil))
	r.tiny = k(r.NewKernel("tiny", trace.KernelAICore, 1, 1000, nil))
}

func (r *rig) ok(errs ...error) {
	r.t.Helper()
	for _, err := range errs {
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) code(what string, err error, c Code) {
	r.t.Helper()
	wantCode(r.t, what, err, c)
}

func (r *rig) stream(c ...StreamConfig) *Stream {
	r.t.Helper()
	if len(c) == 0 {
		c = append(c, StreamConfig{})
	}
	return must[*Stream](r.t)(r.CreateStream(c[0]))
}

func (r *rig) inc(s *Stream) error { return r.LaunchKernel(r.add, []uint64{uint64(r.counter), 1}, s) }

func (r *rig) value() uint64 {
	r.t.Helper()
	var b [8]byte
	r.ok(r.MemcpyToHost(b[:], r.counter))
	return binary.LittleEndian.Uint64(b[:])
}

// resources counts what a program can leak: streams, events, notifies, device memory.
func (r *rig) resources() (streams, events, notifies int, bytes int64) {
	r.t.Helper()
	r.ok(r.port.Call(func() {
		r.flushCaches()
		for _, d := range r.rt.devices {
			d.memory.reclaim()
			streams += d.public
			events += d.hw.Events() - len(d.holders)
			notifies += d.hw.Notifies()
			bytes += int64(d.memory.pool.Stats().InUse)
		}
	}))
	return
}

// clean fails the test if it has leaked something.
func (r *rig) clean() {
	r.t.Helper()
	s, e, n, b := r.resources()
	if s != r.streams || e != r.events || n != r.n || b != r.inUse {
		r.t.Errorf("leaked: streams %d→%d, events %d→%d, notifies %d→%d, bytes %d→%d", r.streams, s, r.events, e, r.n, n, r.inUse, b)
	}
	if c := r.rt.calls.waiting(); c != 0 {
		r.t.Errorf("%d calls of user code are still registered", c)
	}
}

// trace closes the runtime and returns what it recorded.
func (r *rig) trace() *trace.Trace {
	r.t.Helper()
	closeOnce(r.t, r.rt, r.Thread)
	tr := r.rec.Finish()
	if err := tr.Check(); err != nil {
		r.t.Error(err)
	}
	return tr
}

// kernels are the rows of kernels with that name, in order of time.
func rowsOf(tr *trace.Trace, name string) []trace.Task {
	var out []trace.Task
	for _, x := range tr.Tasks.All() {
		if tr.String(x.Name) == name {
			out = append(out, x)
		}
	}
	return out
}

// chipWith is the usual chip with some figures changed.
func chipWith(t testing.TB, change func(*soc.Chip)) *soc.Chip {
	t.Helper()
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	c := *chip
	change(&c)
	return &c
}
