package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"npu/internal/trace"
)

// live is what ties the devices to the world of wall time: samples of their state for whoever watches, and the pace.
type live struct {
	alert  atomic.Uint32 // alertStop | alertSample: the driver looks at it with every event
	sample func()
	pace   time.Time // wall time of device time 0; zero: as fast as it goes
}

// Bits of live.alert.
const (
	alertStop = 1 << iota
	alertSample
)

// OnSample registers what WantSample runs, nil for nothing. f must not wait. When OnSample returns, the function before
// runs no more.
func (m *Machine) OnSample(f func()) {
	m.own()
	m.live.sample = f
	m.disown()
}

// WantSample runs the function of OnSample on the state of some instant, now or soon: on whoever drives the devices,
// or here if nobody does. It may be called from any goroutine, and changes nothing that a program could notice.
func (m *Machine) WantSample() {
	m.live.alert.Or(alertSample)
	if m.tryOwn() {
		m.takeSample()
		m.disown()
	}
}

// takeSample says whether a sample was wanted, and takes it. The caller owns the devices.
func (m *Machine) takeSample() bool {
	if m.live.alert.Load()&alertSample == 0 {
		return false
	}
	m.live.alert.And(^uint32(alertSample))
	if m.live.sample != nil {
		m.live.sample()
	}
	return true
}

// paced is the bound that the pace sets, exclusive.
func (m *Machine) paced() int64 {
	if m.live.pace.IsZero() {
		return never
	}
	return int64(time.Since(m.live.pace)) + 1
}

// running says whether some port's clock may go on by itself.
func (m *Machine) running() bool {
	for {
		e := m.epoch.Load()
		for _, p := range m.portList() {
			if _, ok := p.running(); ok {
				return true
			}
		}
		if m.epoch.Load() == e {
			return false
		}
	}
}

// EngineUse is how long the units of an engine were busy.
type EngineUse struct {
	Name  string
	Units int
	Busy  int64 // device ns, summed over the units
}

// maxChannels is how many DMA channels are told apart.
const maxChannels = 8

// usage is what a device has done, as far as it is not in its functions' counts. A kernel costs the scheduler two additions
// when it is ready: its work is known then, and a sample takes away what of it still lies ahead.
type usage struct {
	moved   uint64             // bytes of copies, and of functions that are unloaded
	past    [engines]int64     // busy time of functions that are unloaded
	channel [maxChannels]int64 // busy time of each DMA channel
	until   [maxChannels]int64 // end of its latest copy
}

// countCopy counts the copy at the head of q, which begins, for the lowest free channel.
func (m *Machine) countCopy(q *Queue) {
	u := &q.dev.usage
	u.moved += q.desc()[7]
	for k := range u.channel {
		if u.until[k] <= m.now {
			u.until[k] = m.now + q.blockNs
			u.channel[k] += q.blockNs
			return
		}
	}
}

// retireFunction keeps the counts of a function that is being unloaded.
func (m *Machine) retireFunction(f *Function) {
	if f == nil || f.launched == 0 || f.Device >= len(m.devices) {
		return
	}
	m.settleReplays()
	u := &m.devices[f.Device].usage
	u.moved += f.launched * uint64(f.Bytes)
	u.past[f.engine()] += int64(f.work) * max(1, f.BlockNs)
}

// settle counts the launches of executions that were shifted.
func (r *replay) settle() {
	if r.counted == 0 {
		return
	}
	for i := range r.events {
		if e := &r.events[i]; e.begin && e.fn != nil {
			e.fn.launched += r.counted
			e.fn.work += r.counted * uint64(e.blocks)
		}
	}
	r.counted = 0
}

func (m *Machine) settleReplays() {
	for _, in := range m.instances {
		if in != nil {
			in.replay.settle()
		}
	}
}

// Use is the busy time of each engine up to the present instant; of the DMA engine for each channel, lowest first: a
// copy counts for the lowest free one. Call it from OnSample's function or Port.Call.
func (d *Device) Use() []EngineUse {
	m := d.m
	m.settleReplays()
	busy := d.usage.past
	for _, f := range m.functions {
		if f != nil && f.Device == d.id {
			busy[f.engine()] += int64(f.work) * max(1, f.BlockNs)
		}
	}
	for _, q := range m.queues { // what has not started
		if q.dev == d && (q.state == qReady || q.state == qRunning) && q.fn != nil {
			busy[q.engine] -= int64(q.left) * q.blockNs
		}
	}
	for _, e := range m.pending { // what has not ended
		if e.key>>60<<60 == evBlocksEnd {
			if g := m.groups[uint32(e.key)]; g.q != nil && g.q.dev == d && g.q.fn != nil {
				busy[g.e] -= int64(g.n) * (e.t - m.now)
			}
		}
	}
	var out []EngineUse
	for _, e := range []struct {
		id   trace.Engine
		name string
	}{{trace.EngineCube, "cube"}, {trace.EngineVector, "vector"}, {trace.EngineDMA, "dma"}, {trace.EngineAICPU, "aicpu"}} {
		units := d.engines[e.id].units
		switch {
		case units == 0:
		case e.id != trace.EngineDMA:
			out = append(out, EngineUse{e.name, int(units), max(0, busy[e.id])})
		default:
			for k := range min(units, maxChannels) {
				out = append(out, EngineUse{fmt.Sprintf("%s%d", e.name, k), 1, d.usage.channel[k] - max(0, d.usage.until[k]-m.now)})
			}
		}
	}
	return out
}

// Moved is the traffic of kernels and copies with the device's memory so far, in bytes. Call it after Use, as Use.
func (d *Device) Moved() uint64 {
	n := d.usage.moved
	for _, f := range d.m.functions {
		if f != nil && f.Device == d.id {
			n += f.launched * uint64(f.Bytes)
		}
	}
	return n
}

// FunctionUse is what the launches of one kernel function took.
type FunctionUse struct {
	Function *Function
	Count    uint64
	Ns       int64 // device time with all units of the engine free
}

// Functions are the loaded functions that were launched, those with most device time first, at most n. Call it after
// Use, as Use.
func (m *Machine) Functions(n int) []FunctionUse {
	var out []FunctionUse
	for _, f := range m.functions {
		if f == nil || f.launched == 0 || f.Device >= len(m.devices) {
			continue
		}
		units := max(1, uint64(m.devices[f.Device].engines[f.engine()].units))
		waves := (f.work/f.launched + units - 1) / units
		out = append(out, FunctionUse{f, f.launched, int64(f.launched*waves) * max(1, f.BlockNs)})
	}
	slices.SortStableFunc(out, func(a, b FunctionUse) int { return cmp.Compare(b.Ns, a.Ns) })
	return out[:min(n, len(out))]
}

// QueueUse is where a queue stands.
type QueueUse struct {
	Tasks   uint64 // retired
	Depth   uint64 // arrived and not retired
	Running bool   // its head is on an engine or about to be
	Waits   string // what its head waits for; empty if it does not
	Failed  bool
}

// Use says where q stands. Call it as Device.Use.
func (q *Queue) Use() QueueUse {
	u := QueueUse{Tasks: q.cur, Depth: q.arrivedBy(q.dev.m.now) - q.cur, Failed: q.halted || q.domain.fault != nil}
	switch q.state {
	case qReady, qRunning, qQueued:
		u.Running = true
	case qStopped:
		u.Waits = "stopped"
	case qBlocked:
		d := q.desc()
		switch d.kind() {
		case trace.EventWait:
			u.Waits = fmt.Sprintf("event %d%s", d[5], q.dev.m.link.source(q, nil))
		case trace.NotifyWait:
			u.Waits = fmt.Sprintf("notify %d%s", d[5], q.dev.m.link.source(q, nil))
		case trace.ValueWait:
			u.Waits = fmt.Sprintf("word at 0x%x", d[5])
		case trace.ModelExecute: // its own streams work
			u.Running = true
		case trace.HostFunc:
			u.Waits = "host function"
		default:
			u.Waits = "report of a fault"
		}
	}
	return u
}
