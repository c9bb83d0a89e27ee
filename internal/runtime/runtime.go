package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/problem"
	"npu/internal/sim"
	"npu/internal/sim/kernels"
	"npu/internal/sim/pmu"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Config is what a Runtime is opened with.
type Config struct {
	Chip        *soc.Chip
	Devices     int // how many of them; 0 means 1
	Policy      sim.Policy
	TimingOnly  bool // skip the arithmetic
	LoopTurns   int  // of conditional loops in one execution: see sim.Config
	AllLoops    bool // of all loops of a model
	Stepped     bool // take every task of a sunk model one by one: see sim.Config
	Workers     int  // host threads for the arithmetic; 0 means 1
	MemoryBytes int64
	// Visible is what ASCEND_RT_VISIBLE_DEVICES holds: which of the devices the program sees; empty for all.
	Visible string
	// Recorder keeps the task trace; nil keeps none. Strings and cycle accounts of the trace go there.
	Recorder *trace.Recorder
	// Spans also records the host calls.
	Spans bool
	// RunDir is the run directory (ipc.Path) in which this process shows itself to others and shares devices with them;
	// empty: it does neither. One that cannot be used does no harm: see Runtime.Alone.
	RunDir     string
	Program    string           // what runs, as others see it
	Inject     []*sim.Injection // faults to raise
	Foreground bool             // nothing computes beside the program's threads: see sim.Config
	Pace       bool             // device time does not run ahead of wall time
	// PMU counts events of the kernels that are loaded (aclprofCreateConfig with ACL_AICORE_*); nil: none.
	PMU *pmu.Unit
}

// Runtime is the runtime of one process: the devices, and the threads that use them.
type Runtime struct {
	cfg     Config
	machine *sim.Machine
	devices []*Device // the visible ones, as the program numbers them
	workers *kernels.Workers
	strings *trace.Recorder
	hostMem *hostPool
	spans   bool
	faults  atomic.Uint64
	opWait  atomic.Int64 // limit of waits for events on a device in ns, 0 none
	handles handles
	calls   calls
	process *process // nil: this process shares nothing
	watched *watched // nil: nothing is recorded
	counted map[pmu.Key]pmu.Counters
	alone   error // why, if it was to share
	graphs  captures

	visibleErr error
	exceptions exceptions

	streamStates listeners[func(*Stream, StreamState)]
	deviceStates listeners[func(int, DeviceState)]
	acl          library
	profiling    profiling
	params       [sysParams]sysParam // of the process, under Port.Call
}

// Open makes the devices. Close ends them.
func Open(c Config) (*Runtime, error) {
	if c.Chip == nil {
		return nil, problem.Usagef("no chip given")
	}
	n := max(1, c.Devices)
	chips := make([]*soc.Chip, n)
	for i := range chips {
		chips[i] = c.Chip
	}
	rt := &Runtime{cfg: c, spans: c.Spans && c.Recorder != nil, strings: c.Recorder}
	sc := sim.Config{Chips: chips, Policy: c.Policy, TimingOnly: c.TimingOnly, Stepped: c.Stepped, LoopTurns: c.LoopTurns, AllLoops: c.AllLoops, Foreground: c.Foreground, MemoryBytes: c.MemoryBytes, Pace: c.Pace}
	if rt.strings != nil {
		rt.watched = &watched{rec: rt.strings, drain: trace.NewDrain(rt.strings)}
		sc.Recorder = rt.watched
	} else {
		rt.strings = trace.NewRecorder() // a place for names in messages
	}
	m, err := sim.NewMachine(sc)
	if err != nil {
		return nil, fmt.Errorf("opening %d simulated %s: %w", n, c.Chip.Name, err)
	}
	rt.machine = m
	rt.workers = kernels.NewWorkers(max(1, c.Workers))
	rt.hostMem = newHostPool(m)
	visible := make([]int, n)
	for i := range visible {
		visible[i] = i
	}
	if c.Visible != "" {
		visible, rt.visibleErr = parseVisible(c.Visible, n)
	}
	for i, d := range visible {
		rt.devices = append(rt.devices, newDevice(rt, m.Devices()[d], i))
	}
	for _, d := range rt.devices {
		d.peers = make([]atomic.Bool, len(rt.devices))
	}
	m.OnFault(rt.countFault)
	m.Inject(c.Inject, rt.stringOf)
	if c.RunDir != "" {
		rt.join()
	}
	return rt, nil
}

// Attach makes the calling goroutine a host thread. Its clock starts where the devices are.
func (rt *Runtime) Attach() *Thread {
	th := &Thread{rt: rt, port: rt.machine.Attach(0)}
	th.port.Adopt()
	return th
}

// Close ends the runtime. All threads but th must have ended; th is detached. What th had submitted is finished
// first, so that the trace is complete.
func (rt *Runtime) Close(th *Thread) error {
	var err error
	var services []*service
	var streams []*Stream
	first := func(e error) {
		if e != nil && err == nil {
			err = e
		}
	}
	list := func() {
		for _, d := range rt.devices {
			streams = append(streams, d.streams...)
			for _, c := range d.contexts {
				services = append(services, c.hostCalls.Load())
			}
		}
	}
	if e := th.port.Call(list); e != nil {
		first(th.blocked("runtime end", nil, e))
		list() // interrupted: nobody else is there any more
	}
	for _, s := range streams {
		if s.destroyed.Load() || th.failure(s.ctx) != nil { // a failure that stays was reported
			continue
		}
		first(th.waitStream(s, 0, callSyncStream))
	}
	for _, sv := range append(services, rt.exceptions.service) {
		sv.end()
	}
	th.Detach()
	if rt.process != nil {
		rt.process.leave()
	}
	rt.machine.Close()
	rt.watched.end()
	rt.workers.Close()
	return err
}

// Interrupt ends all waits, now and from now on, with an error that wraps sim.ErrInterrupted: the program is to end.
// It may be called from any goroutine.
func (rt *Runtime) Interrupt() { rt.machine.Interrupt() }

// Alone is why the runtime shares nothing with other processes although Config.RunDir asked for it; nil if it does.
func (rt *Runtime) Alone() error { return rt.alone }

// Devices is how many devices there are.
func (rt *Runtime) Devices() int { return len(rt.devices) }

// Counted is what the PMU counts in an execution of each kernel that was loaded. Call it after Close.
func (rt *Runtime) Counted() map[pmu.Key]pmu.Counters { return rt.counted }

// Chip is what they are.
func (rt *Runtime) Chip() *soc.Chip { return rt.cfg.Chip }

// Recorder is where strings and rows of the trace go.
func (rt *Runtime) Recorder() *trace.Recorder { return rt.strings }

// Warnings are messages for the user about how the program was ordered.
func (rt *Runtime) Warnings() []string { return rt.machine.Warnings() }

// WallOrdered says that some outcome was ordered by wall time.
func (rt *Runtime) WallOrdered() bool { return rt.machine.WallOrdered() }

// Counters are what has happened between the host and the devices.
type Counters struct {
	Tasks      uint64
	Doorbells  uint64 // submissions that found their queue idle
	HostWaits  uint64 // blocking waits
	HostCopies uint64 // copies between host and device
	Faults     uint64
	DeviceTime int64 // device ns at which the last task ended
}

// Interactions is the number of times that host and device had to meet.
func (c Counters) Interactions() uint64 { return c.Doorbells + c.HostWaits + c.HostCopies }

// Counters reads the counters at the thread's clock.
func (th *Thread) Counters() (Counters, error) {
	var c Counters
	err := th.port.Call(func() {
		s := th.rt.machine.Stats()
		c = Counters{Tasks: s.Tasks, Doorbells: s.Doorbells, HostWaits: s.HostWaits, HostCopies: s.HostCopies, Faults: th.rt.faults.Load(), DeviceTime: s.DeviceTime}
	})
	return c, th.blocked("counters", nil, err)
}

// stringOf is a text of the trace's table. On the driver.
func (rt *Runtime) stringOf(id trace.StringID) string {
	if t := rt.strings.StringTable(); int(id) < len(t) {
		return t[id]
	}
	return ""
}

// nameOf is the name of a faulting kernel, for messages.
func (rt *Runtime) nameOf(f *sim.Fault) string {
	if t := rt.strings.StringTable(); int(f.Name) < len(t) && t[f.Name] != "" {
		return ", " + t[f.Name]
	}
	return ""
}

// Meta describes the runtime's devices for a trace of the program or model of that name.
func (rt *Runtime) Meta(program string) trace.Meta {
	c, d := rt.cfg.Chip, rt.machine.Devices()[0]
	return trace.Meta{
		Chip: c.Name, Model: program, Policy: rt.cfg.Policy.String(), Devices: len(rt.machine.Devices()), ClockMHz: c.CubeMHz,
		CubeCores: d.Units(trace.EngineCube), VectorCores: d.Units(trace.EngineVector), DMAEngines: d.Units(trace.EngineDMA),
		AICPUs: d.Units(trace.EngineAICPU), WallOrdered: rt.WallOrdered(),
	}
}
