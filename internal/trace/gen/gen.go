// Package gen makes synthetic traces of any size: copies feed kernels on parallel streams through events, engines are
// shared, host threads submit. They are consistent (trace.Check passes) and the same on every machine. They model no
// chip: durations are drawn from a seeded generator, not from a cost model.
package gen

import (
	"fmt"
	"math/rand/v2"

	"npu/internal/trace"
)

// Options is the size of a trace; zero values mean 1.
type Options struct {
	Tasks   int // at least; the last iteration is completed
	Devices int
	Streams int // compute streams of a device, besides one that copies in and one that copies out
	Seed    uint64
}

// Trace makes a trace in memory.
func Trace(o Options) *trace.Trace {
	r := trace.NewRecorder()
	Into(r, o)
	return r.Finish()
}

// Into records a trace into c and returns the number of its tasks.
func Into(c trace.Capture, o Options) int {
	o.Devices, o.Streams = max(o.Devices, 1), max(o.Streams, 1)
	g := &generator{Capture: c, rng: rand.New(rand.NewPCG(o.Seed, 0))}
	c.SetMeta(trace.Meta{
		Chip: "Ascend910B3", Model: "synthetic", Policy: "preempt", Devices: o.Devices,
		CubeCores: 20, VectorCores: 40, DMAEngines: dmas, AICPUs: 6, ClockMHz: 1800,
	})
	g.hbm = c.Intern("HBM in use (bytes)")
	g.api.launch, g.api.copy = c.Intern("aclrtLaunchKernel"), c.Intern("aclrtMemcpyAsync")
	g.api.sync = c.Intern("aclrtSynchronizeStream")
	g.api.record, g.api.wait = c.Intern("aclrtRecordEvent"), c.Intern("aclrtStreamWaitEvent")
	g.h2d, g.d2h = c.Intern("input"), c.Intern("output")
	for i := range layers {
		g.layers[i] = g.layer(i)
	}
	for d := range o.Devices {
		g.devices = append(g.devices, newDevice(c, uint16(d), o.Streams))
	}
	for iter := uint32(0); g.count < o.Tasks; iter++ {
		for d := range g.devices {
			g.iteration(&g.devices[d], iter)
		}
		g.flush()
	}
	return g.count
}

const (
	layers = 12
	dmas   = 2
)

type generator struct {
	trace.Capture
	rng      *rand.Rand
	devices  []device
	layers   [layers]trace.Task // what the tasks of a layer have in common
	hbm      trace.StringID
	h2d, d2h trace.StringID
	api      struct{ launch, copy, record, wait, sync trace.StringID }
	event    uint32
	count    int
	tasks    []trace.Task
	spans    []trace.Span
}

// device is what one device is doing: times at which its streams and engines are free.
type device struct {
	id      uint16
	host    int64   // clock of the thread that submits to it
	streams []int64 // the first copies in, the last copies out
	next    []uint32
	engine  map[trace.Engine][]int64
}

func newDevice(c trace.Capture, id uint16, streams int) device {
	d := device{
		id: id, streams: make([]int64, streams+2), next: make([]uint32, streams+2),
		engine: map[trace.Engine][]int64{
			trace.EngineCube: make([]int64, 1), trace.EngineVector: make([]int64, 1),
			trace.EngineDMA: make([]int64, dmas), trace.EngineAICPU: make([]int64, 1),
		},
	}
	c.NameThread(id+1, fmt.Sprintf("worker %d", id))
	c.NameStream(id, 0, "copy in", 0)
	c.NameStream(id, uint32(streams)+1, "copy out", 0)
	for s := 1; s <= streams; s++ {
		c.NameStream(id, uint32(s), fmt.Sprintf("compute %d", s), min(s, 7))
	}
	return d
}

func (g *generator) layer(i int) trace.Task {
	kinds := []struct {
		op     string
		kind   trace.Kind
		engine trace.Engine
	}{
		{"Conv2D", trace.KernelAICore, trace.EngineCube},
		{"Relu", trace.KernelAIVector, trace.EngineVector},
		{"MatMulV2", trace.KernelAICore, trace.EngineCube},
		{"SoftmaxV2", trace.KernelAIVector, trace.EngineVector},
		{"TopKV2", trace.KernelAICPU, trace.EngineAICPU},
	}
	k := kinds[i%len(kinds)]
	t := trace.Task{Name: g.Intern(fmt.Sprintf("%s_%d", k.op, i)), Op: g.Intern(k.op), Kind: k.kind, Engine: k.engine, Blocks: 8, Bytes: int64(i+1) << 16}
	if k.engine != trace.EngineAICPU {
		cycles := int64(1000 * (i + 1))
		a := trace.Account{Total: 8 * cycles, MTE2: 3 * cycles, MTE3: cycles, Scalar: cycles / 4, ReadBytes: t.Bytes, WriteBytes: t.Bytes / 2}
		if k.engine == trace.EngineCube {
			a.Cube, a.MTE1, a.Fixpipe = 6*cycles, 2*cycles, cycles
		} else {
			a.Vector = 5 * cycles
		}
		t.Acct = g.AddAccount(a)
	}
	return t
}

// iteration copies an input in, runs all layers on one of the compute streams, and copies the output out.
func (g *generator) iteration(d *device, iter uint32) {
	out := len(d.streams) - 1
	s := 1 + int(iter)%(out-1)
	g.throttle(d, s)
	g.Counters([]trace.Counter{{Time: d.host, Name: g.hbm, Device: d.id, Value: float64(1+g.rng.IntN(8)) * (1 << 20)}})
	g.submit(d, 0, g.api.copy, 0, trace.Task{Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.HostToDevice, Name: g.h2d, Bytes: 1 << 20})
	g.order(d, 0, s)
	for i := range g.layers {
		g.submit(d, s, g.api.launch, 0, g.layers[i])
	}
	g.order(d, s, out)
	g.submit(d, out, g.api.copy, 0, trace.Task{Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.DeviceToHost, Name: g.d2h, Bytes: 4096})
}

// ahead is how far a thread may be before a stream, in nanoseconds.
const ahead = 300_000

// throttle makes the thread wait for stream s when it is too far ahead.
func (g *generator) throttle(d *device, s int) {
	if until := d.streams[s] - ahead; until > d.host {
		g.spans = append(g.spans, trace.Span{Start: d.host, End: until, Name: g.api.sync, Thread: d.id + 1, Device: d.id, Task: trace.NoTask})
		d.host = until
	}
}

// order makes stream to wait for what stream from has been given so far.
func (g *generator) order(d *device, from, to int) {
	g.event++
	event, gen := 1+g.event%64, 1+g.event/64
	done := g.submit(d, from, g.api.record, 0, trace.Task{Kind: trace.EventRecord, Event: event, Gen: gen})
	g.submit(d, to, g.api.wait, done, trace.Task{Kind: trace.EventWait, Event: event, Gen: gen})
}

// submit runs k on stream s not before after, and returns its end.
func (g *generator) submit(d *device, s int, api trace.StringID, after int64, k trace.Task) int64 {
	call := trace.Span{Start: d.host, End: d.host + 200 + g.rng.Int64N(500), Name: api, Thread: d.id + 1, Device: d.id, Stream: uint32(s), Task: d.next[s]}
	d.host = call.End + g.rng.Int64N(100)
	k.Submit, k.Device, k.Stream, k.Task, k.Thread = call.End, d.id, uint32(s), d.next[s], d.id+1
	d.next[s]++
	k.Ready = max(k.Submit, d.streams[s], after)
	k.Start = k.Ready
	duration := int64(0)
	if k.Engine != trace.EngineNone {
		duration = 1000 + g.rng.Int64N(12000)
		units := d.engine[k.Engine]
		u := 0
		for i := range units {
			if units[i] < units[u] {
				u = i
			}
		}
		k.Start = max(k.Ready, units[u])
		units[u] = k.Start + duration
	}
	k.End = k.Start + duration
	d.streams[s] = k.End
	g.tasks, g.spans, g.count = append(g.tasks, k), append(g.spans, call), g.count+1
	return k.End
}

func (g *generator) flush() {
	g.Tasks(g.tasks)
	g.Spans(g.spans)
	g.tasks, g.spans = g.tasks[:0], g.spans[:0]
}
