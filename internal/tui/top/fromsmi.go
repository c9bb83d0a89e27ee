package top

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"npu/internal/smi"
)

// smiName is the name of the source of real devices.
const smiName = "npu-smi"

// SMI is the source of real Ascend devices: it asks npu-smi in the background.
type SMI struct {
	poll *smi.Poller
	host *hostReader

	mu   sync.Mutex // guards below; poll's own lock is taken under it
	last *Frame
	from smi.Reading // that last was made of
	key  *Key
}

// NewSMI starts to ask the npu-smi at path.
func NewSMI(path string, interval time.Duration) *SMI {
	return &SMI{poll: smi.Start(path, smi.Options{Interval: interval}), host: newHostReader("/proc")}
}

// Latest is the newest frame.
func (s *SMI) Latest() *Frame { return s.frame(s.poll.Latest()) }

// Next waits for the end of a call that has not ended yet.
func (s *SMI) Next(ctx context.Context, seq int) *Frame {
	s.mu.Lock()
	calls := 0
	if s.last != nil && s.last.Seq <= seq {
		calls = s.from.Calls
	}
	s.mu.Unlock()
	return s.frame(s.poll.Next(ctx, calls))
}

// Interval sets the time between two calls.
func (s *SMI) Interval(d time.Duration) { s.poll.SetInterval(d) }

// Watch asks for the details of a card.
func (s *SMI) Watch(k *Key) {
	s.mu.Lock()
	s.key = nil
	if k != nil && k.Source == smiName {
		s.key = k
	}
	k = s.key
	s.mu.Unlock()
	if k == nil {
		s.poll.Watch(0, false)
		return
	}
	s.poll.Watch(k.NPU, true)
}

// Close kills a running call.
func (s *SMI) Close() { s.poll.Close() }

// frame makes a frame of a reading, or gives the last one again when nothing changed.
func (s *SMI) frame(r smi.Reading) *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && r.Calls == s.from.Calls && r.DetailAt.Equal(s.from.DetailAt) && (r.Map == nil) == (s.from.Map == nil) && (r.Links == nil) == (s.from.Links == nil) {
		if !r.Since.Equal(s.from.Since) { // the same figures while the next question is asked
			f := *s.last
			f.Sources = []Status{status(r)}
			s.last, s.from = &f, r
		}
		return s.last
	}
	f := &Frame{Seq: 1, Time: time.Now(), Sources: []Status{status(r)}}
	if s.last != nil {
		f.Seq = s.last.Seq + 1
		if r.Calls == s.from.Calls {
			f.Time = s.last.Time
		}
	}
	why := "npu-smi has not answered yet"
	if r.Fault != nil {
		why = r.Fault.Says
	}
	f.Processes.Why, f.Memory.Why = why, why
	f.Streams.Why = "npu-smi does not report streams; runs of npu do"
	f.Operators.Why = "npu-smi does not report operators; runs of npu do"
	if r.Table != nil {
		f.Notes = r.Table.Notes
		f.Devices = devices(r)
		f.Processes = s.processes(r.Table)
		f.Memory = shares(f.Devices, f.Processes)
	}
	s.last, s.from = f, r
	return f
}

func status(r smi.Reading) Status {
	st := Status{Name: smiName, State: Live, At: r.At, Took: r.Took, Since: r.Since}
	if t := r.Table; t != nil && t.Tool != "" {
		st.Version = t.Tool
		if t.Driver != t.Tool && t.Driver != "" {
			st.Version += ", driver " + t.Driver
		}
	}
	switch {
	case r.Fault != nil:
		st.State, st.Says, st.Text, st.Found, st.Try = Stale, r.Fault.Says, r.Fault.Text, r.Fault.Found, r.Fault.Try
		if r.Table == nil {
			st.State = Failed
		}
	case r.Table == nil:
		st.State = Waiting
	}
	return st
}

func devices(r smi.Reading) []Device {
	out := make([]Device, len(r.Table.Devices))
	for i, d := range r.Table.Devices {
		kind := "aicore"
		if d.UtilNPU {
			kind = "npu"
		}
		o := Device{Source: smiName, Index: i, NPU: d.NPU, Chip: Value(d.Chip), Phy: Value(d.Phy), Logic: Value(d.Logic), Name: d.Name,
			Health: d.Health, Bus: Text{S: d.Bus}, Power: Value(d.Power), Temp: Value(d.Temp), Util: Value(d.Util), UtilKind: kind,
			Memory: pair(d.Memory), HBM: pair(d.HBM), Hugepages: pair(d.Hugepages),
			Bandwidth: Unknown("npu-smi prints it only where one device is asked for (Enter)"),
			Faults:    Unknown("npu-smi does not count faults")}
		if d.Bus == "" {
			o.Bus.Why = "npu-smi prints no bus id for this device"
		}
		if d.Health == "Lost" && len(r.Map) == len(r.Table.Devices) && r.Map[i].NPU.Known {
			o.NPU = int(r.Map[i].NPU.N) // its line, which had the id, is missing
		}
		mapped(&o, r.Map)
		detailed(&o, r)
		out[i] = o
	}
	return out
}

func pair(u smi.Usage) Pair { return Pair{Value(u.Used), Value(u.Total)} }

// mapped adds the ids that only "npu-smi info -m" knows.
func mapped(d *Device, rows []smi.Mapped) {
	for _, m := range rows {
		if int(m.NPU.N) != d.NPU || m.Chip.Known && d.Chip.Known && m.Chip.N != d.Chip.N {
			continue
		}
		if !d.Logic.Known && m.Logic.Known {
			d.Logic = Value(m.Logic)
		}
		if !d.Phy.Known && m.Phy.Known {
			d.Phy = Value(m.Phy)
		}
		return
	}
}

// detailed adds what was asked about the card that is watched.
func detailed(d *Device, r smi.Reading) {
	if r.DetailAt.IsZero() || r.DetailNPU != d.NPU {
		return
	}
	d.Facts = []Fact{} // asked, and maybe nothing came
	d.Bandwidth.Why = "npu-smi does not print it for this device"
	for _, b := range r.Details {
		if b.Chip != "" && b.Chip != "mcu" && d.Chip.Known && b.Chip != fmt.Sprint(int(d.Chip.N)) {
			continue
		}
		group := "device"
		if b.Chip == "mcu" {
			group = "card"
		}
		for _, f := range b.Fields {
			if !slices.ContainsFunc(d.Facts, func(g Fact) bool { return g.Name == f.Key && g.Group == group }) {
				d.Facts = append(d.Facts, Fact{group, f.Key, f.Value, f.Unit})
			}
		}
		if f, ok := b.Find("HBM Bandwidth Usage Rate"); ok {
			if n, err := strconv.ParseFloat(f.Value, 64); err == nil {
				d.Bandwidth = Num(n)
			}
		}
	}
	for _, l := range r.Links {
		if l.Device == fmt.Sprintf("NPU%d", d.NPU) || d.Phy.Known && l.Device == fmt.Sprintf("Phy-ID%d", int(d.Phy.N)) {
			d.Facts = append(d.Facts, links(l, r.Peers)...)
		}
	}
}

// links says by kind which devices are reached how: "HCCS: NPU0 NPU1".
func links(l smi.Links, peers []string) []Fact {
	var out []Fact
	for i, kind := range l.To {
		if kind == "X" {
			continue
		}
		k := slices.IndexFunc(out, func(f Fact) bool { return f.Name == kind })
		if k < 0 {
			out, k = append(out, Fact{Group: "links", Name: kind}), len(out)
		}
		out[k].Value = strings.TrimSpace(out[k].Value + " " + strings.TrimPrefix(peers[i], "Phy-ID"))
	}
	if l.CPUs != "" {
		out = append(out, Fact{Group: "links", Name: "CPUs nearby", Value: l.CPUs})
	}
	return out
}

func (s *SMI) processes(t *smi.Table) List[Process] {
	seen := s.host.begin()
	defer seen.end()
	return processes(t, seen.fill)
}

// processes are those of a table; fill adds what the host knows of one.
func processes(t *smi.Table, fill func(*Process)) List[Process] {
	if !t.ProcessTable {
		return List[Process]{Why: "this npu-smi prints no process table"}
	}
	var out List[Process]
	for _, p := range t.Processes {
		o := Process{Source: smiName, NPU: p.NPU, Chip: Value(p.Chip), PID: p.PID, ContainerPID: Value(p.ContainerPID), Name: p.Name, Mem: Value(p.Memory),
			Streams: Unknown("npu-smi does not report streams")}
		fill(&o)
		out.Rows = append(out.Rows, o)
	}
	return out
}

// shares divides the memory of each device among its processes, the system and what is free.
func shares(devices []Device, procs List[Process]) List[Memory] {
	if procs.Why != "" {
		return List[Memory]{Why: procs.Why}
	}
	var out List[Memory]
	for i := range devices {
		d := &devices[i]
		m := d.Mem()
		if !m.Used.Known || !m.Total.Known {
			continue
		}
		row := func(owner string, pid, size Value) {
			out.Rows = append(out.Rows, Memory{Source: d.Source, NPU: d.NPU, Chip: d.Chip, Owner: owner, PID: pid, Size: size,
				Peak: Unknown("npu-smi keeps no maximum"), Blocks: Unknown("npu-smi does not report blocks")})
		}
		rest := m.Used.N
		for j := range procs.Rows {
			if p := &procs.Rows[j]; p.Key() == d.Key() {
				row(p.Name, Num(float64(p.PID)), p.Mem)
				rest -= p.Mem.N
			}
		}
		row("system", Unknown("not a process"), Num(max(rest, 0)))
		row("free", Unknown("not a process"), Num(max(m.Total.N-m.Used.N, 0)))
	}
	return out
}
