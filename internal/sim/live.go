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
			if int64(p.word.Load()>>tailBits) < infOut {
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

// took and gave keep the sum of busy time of n units: acc + used × now is the integral.
func (en *engine) took(n uint32, now int64) {
	en.acc -= int64(n) * now
	if en.split {
		for k := en.units - en.free - n; k < en.units-en.free; k++ { // free is the new count
			en.channel[k%maxChannels] -= now
		}
	}
}

func (en *engine) gave(n uint32, now int64) {
	en.acc += int64(n) * now
	if en.split {
		for k := en.units - en.free; k < en.units-en.free+n; k++ {
			en.channel[k%maxChannels] += now
		}
	}
}

// Use is the busy time of each engine up to the present instant; of the DMA engine for each channel, lowest first: a
// copy counts for the lowest free one. Call it from OnSample's function or Port.Call.
func (d *Device) Use() []EngineUse {
	var out []EngineUse
	now := d.m.now
	for _, e := range []struct {
		id   trace.Engine
		name string
	}{{trace.EngineCube, "cube"}, {trace.EngineVector, "vector"}, {trace.EngineDMA, "dma"}, {trace.EngineAICPU, "aicpu"}} {
		en := &d.engines[e.id]
		if en.units == 0 {
			continue
		}
		if used := en.units - en.free; !en.split {
			out = append(out, EngineUse{e.name, int(en.units), en.acc + int64(used)*now})
		} else {
			for k := range min(en.units, maxChannels) {
				busy := en.channel[k]
				if k < used {
					busy += now
				}
				out = append(out, EngineUse{fmt.Sprintf("%s%d", e.name, k), 1, busy})
			}
		}
	}
	return out
}

// Moved is the traffic of kernels and copies with the device's memory so far, in bytes. Call it as Use.
func (d *Device) Moved() uint64 { return d.moved }

// FunctionUse is what the launches of one kernel function took.
type FunctionUse struct {
	Function *Function
	Device   int // of the latest launch
	Count    uint64
	Ns       int64
}

// Functions are the loaded functions that have run, those with most device time first, at most n. Call it as Use.
func (m *Machine) Functions(n int) []FunctionUse {
	var out []FunctionUse
	for _, f := range m.functions {
		if f != nil && f.count > 0 {
			out = append(out, FunctionUse{f, int(f.on), f.count, f.busy})
		}
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
			u.Waits = fmt.Sprintf("event %d", d[5])
		case trace.NotifyWait:
			u.Waits = fmt.Sprintf("notify %d", d[5])
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
