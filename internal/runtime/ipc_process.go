package runtime

import (
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"npu/internal/runtime/ipc"
	"npu/internal/runtime/telemetry"
	"npu/internal/sim"
	"npu/internal/trace/live"
)

// process is this process among the others of a run directory: its place, its telemetry, its share of each device.
type process struct {
	rt   *Runtime
	dir  *ipc.Dir
	slot *ipc.Slot
	page *telemetry.Writer
	next telemetry.Snapshot // being filled; the driver's

	link   *sim.Link
	linked atomic.Bool

	// Under Port.Call.
	remotes []*remote
	exports []*exportedBlock
	imports []*importedBlock

	stop chan struct{}
	done sync.WaitGroup
}

// sampleEvery is the time between two samples, which is what a watcher sees of a run.
const sampleEvery = 100 * time.Millisecond

// join takes part in the run directory of the configuration. A process that cannot works alone: a run must not fail
// because nobody can watch it.
func (rt *Runtime) join() {
	dir, err := ipc.Open(rt.cfg.RunDir)
	if err != nil {
		rt.alone = err
		return
	}
	p := &process{rt: rt, dir: dir, stop: make(chan struct{})}
	if p.slot, err = dir.Join(); err == nil {
		p.page, err = telemetry.NewWriter(p.slot.Page())
	}
	if err != nil {
		p.end()
		rt.alone = err
		return
	}
	for _, d := range rt.devices {
		base := fnv.New64a()
		base.Write([]byte(rt.cfg.Chip.Name))
		_, total := d.hw.Memory()
		// The number of the physical device: what a program calls 0 may be another one's 1.
		d.memory.beside = p.slot.Share(base.Sum64()<<8|uint64(d.hw.ID()+1), uint64(total))
	}
	p.next = telemetry.Snapshot{Started: time.Now().UnixNano(), Program: rt.cfg.Program}
	p.link = rt.machine.NewLink(p.slot)
	rt.process = p
	if mem, err := p.slot.Records(live.FileBytes()); err == nil { // else nobody can follow the run, which does it no harm
		rt.watched.begin(mem)
	}
	rt.machine.OnSample(p.sample)
	rt.machine.WantSample()
	p.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.link.Check()
				rt.machine.WantSample()
			case <-p.stop:
				return
			}
		}
	})
}

// leave gives the place up.
func (p *process) leave() {
	close(p.stop)
	p.done.Wait()
	p.rt.machine.OnSample(nil)
	p.link.Deactivate()
	for _, d := range p.rt.devices {
		d.memory.beside = nil
	}
	for _, b := range p.imports {
		b.phys.Drop()
		b.im.Close()
	}
	for _, x := range p.exports {
		x.phys.Drop()
	}
	for _, r := range p.remotes {
		r.close()
	}
	if p.linked.Load() {
		// The watchdog may still look at the clock words of others: the table stays mapped.
		p.slot.Close()
		return
	}
	p.end()
}

func (p *process) end() {
	if p.slot != nil {
		p.slot.Close()
	}
	p.dir.Close()
}

// sample publishes the state of the devices. It runs on the driver.
func (p *process) sample() {
	p.account()
	if p.rt.watched.wanted() {
		p.rt.machine.Flush()
	}
	s := &p.next
	s.Wall, s.Faults = time.Now().UnixNano(), p.rt.faults.Load()
	s.Devices, s.Streams, s.Operators, s.Hidden = s.Devices[:0], s.Streams[:0], s.Operators[:0], 0
	for _, d := range p.rt.devices {
		s.Devices = append(s.Devices, d.sample())
		for _, st := range d.streams {
			switch {
			case st.hidden:
			case len(s.Streams) == telemetry.MaxStreams:
				s.Hidden++
			default:
				s.Streams = append(s.Streams, st.sample())
			}
		}
	}
	names := p.rt.strings.StringTable()
	name := func(id uint32) string {
		if int(id) < len(names) {
			return names[id]
		}
		return ""
	}
	for _, f := range p.rt.machine.Functions(telemetry.MaxOperators) {
		s.Operators = append(s.Operators, telemetry.Operator{Device: f.Function.Device, Name: name(uint32(f.Function.Name)), Type: name(uint32(f.Function.Op)), Count: f.Count, Ns: f.Ns})
	}
	p.page.Write(s)
}

// sample is the device's part of a snapshot.
func (d *Device) sample() telemetry.Device {
	m := d.memory.pool.Stats()
	o := telemetry.Device{ID: d.hw.ID(), Chip: d.hw.Chip().Name, Ns: d.rt.machine.Now(), Moved: d.hw.Moved(),
		Bandwidth: uint64(max(0, d.hw.Chip().NominalMBs)) * 1e6, InUse: m.InUse, Peak: m.Peak, Total: m.Total, Blocks: m.Blocks}
	for _, u := range d.hw.Use() {
		o.Engines = append(o.Engines, telemetry.Engine{Name: u.Name, Units: u.Units, BusyNs: u.Busy})
	}
	for _, s := range d.streams {
		o.Tasks += s.q.Retired()
	}
	o.Faults = d.faults
	return o
}

func (s *Stream) sample() telemetry.Stream {
	u := s.q.Use()
	o := telemetry.Stream{Device: s.dev.hw.ID(), ID: s.id, Priority: s.priority, Depth: u.Depth, Tasks: u.Tasks, Waits: u.Waits}
	switch {
	case u.Failed:
		o.State = telemetry.Failed
	case u.Waits != "":
		o.State = telemetry.Waiting
	case u.Running:
		o.State = telemetry.Running
	}
	return o
}

// countFault is called by the driver for each fault.
func (rt *Runtime) countFault(f *sim.Fault) {
	rt.faults.Add(1)
	for _, d := range rt.devices {
		if d.hw.ID() == f.Device {
			d.faults++
		}
	}
}
