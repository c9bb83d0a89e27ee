// Package merge makes one trace of several: of the ranks of a job, the devices of a host, the iterations of an export, or
// captures that belong together.
package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"npu/internal/trace"
)

// Part is one of the traces.
type Part struct {
	Trace *trace.Trace
	Group string // parts of one group have the same devices
	Label string // names the part in what is said about it; empty when there is only one
	Shift int64  // nanoseconds to add to its times
}

// Traces makes one trace of parts. Devices keep their numbers where those differ between groups; else they get the number of
// their rank where that is known of all, else they count from 0. Source.Devices says which is which.
func Traces(parts []Part) *trace.Trace {
	if len(parts) == 1 && parts[0].Shift == 0 {
		return parts[0].Trace
	}
	m := &merger{rec: trace.NewRecorder(), devices: devices(parts)}
	m.source.Records = map[string]int64{}
	for i := range parts {
		m.part(&parts[i])
	}
	m.source.Devices = m.list()
	m.twins()
	slices.Sort(m.source.Hints)
	m.source.Hints = slices.Compact(m.source.Hints)
	ranks := map[int]bool{}
	for _, d := range m.source.Devices {
		if d.Rank >= 0 {
			ranks[d.Rank] = true
		}
	}
	for _, k := range m.source.Steps { // all that some ranks left
		if n, err := strconv.ParseUint(k.Index, 10, 16); err == nil && k.Type == "rank" {
			ranks[int(n)] = true
		}
	}
	m.source.Ranks = max(len(ranks), m.source.Ranks)
	m.rec.SetMeta(m.meta)
	m.rec.SetSource(m.source)
	return m.rec.Finish()
}

// Numbers says which device of the trace that Traces makes a device of a part becomes.
func Numbers(parts []Part) func(part int, device uint16) uint16 {
	if len(parts) == 1 && parts[0].Shift == 0 {
		return func(_ int, device uint16) uint16 { return device }
	}
	all := devices(parts)
	return func(part int, device uint16) uint16 { return all[deviceKey{parts[part].Group, device}].ID }
}

// deviceKey is a device as the parts of a group number it.
type deviceKey struct {
	group  string
	device uint16
}

// devices numbers the devices of all groups.
func devices(parts []Part) map[deviceKey]trace.SourceDevice {
	all := map[deviceKey]trace.SourceDevice{}
	for i := range parts {
		p := &parts[i]
		for _, n := range Used(p.Trace) {
			k := deviceKey{p.Group, n}
			if _, ok := all[k]; !ok {
				all[k] = trace.SourceDevice{ID: n, Rank: -1, Device: int(n)}
			}
		}
		for _, d := range p.Trace.Source.Devices {
			all[deviceKey{p.Group, d.ID}] = d
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b deviceKey) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(a.group, b.group), cmp.Compare(a.device, b.device))
	})
	numbers, ranks := map[uint16]bool{}, map[int]bool{}
	ranked := true
	for k, d := range all {
		numbers[k.device], ranks[d.Rank] = true, true
		ranked = ranked && d.Rank >= 0 && d.Rank < 1<<16
	}
	for i, k := range keys {
		d := all[k]
		switch {
		case len(numbers) == len(all):
			d.ID = k.device
		case ranked && len(ranks) == len(all):
			d.ID = uint16(d.Rank)
		default:
			d.ID = uint16(i)
		}
		all[k] = d
	}
	return all
}

// Used is the devices that occur in t.
func Used(t *trace.Trace) []uint16 {
	seen := map[uint16]bool{}
	for i := range t.Tasks.Len() {
		seen[t.Tasks.Device.At(i)] = true
	}
	for _, s := range t.Spans.All() {
		seen[s.Device] = true
	}
	for _, c := range t.Counters.All() {
		seen[c.Device] = true
	}
	for _, s := range t.Streams {
		seen[s.Device] = true
	}
	for _, d := range devicesOf(t) {
		seen[d] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

type merger struct {
	rec     *trace.Recorder
	devices map[deviceKey]trace.SourceDevice
	meta    trace.Meta
	source  trace.Source
	threads uint16 // used so far
	rows    int    // tasks and calls so far
}

// list is the devices of the trace, when their numbers do not say it all.
func (m *merger) list() []trace.SourceDevice {
	out := slices.SortedFunc(maps.Values(m.devices), func(a, b trace.SourceDevice) int { return cmp.Compare(a.ID, b.ID) })
	for _, d := range out {
		if int(d.ID) != d.Device || d.Rank >= 0 {
			return out
		}
	}
	return nil
}

// twins says which ranks come from several groups of parts: of copies of one collection, or of several runs.
func (m *merger) twins() {
	type rankDevice struct{ rank, device int }
	seen := map[rankDevice]bool{}
	said := map[int]bool{}
	for _, d := range m.source.Devices {
		k := rankDevice{d.Rank, d.Device}
		if d.Rank >= 0 && seen[k] && !said[d.Rank] {
			said[d.Rank] = true
			m.source.Notes = append(m.source.Notes, fmt.Sprintf("rank %d is there several times: its devices count apart", d.Rank))
		}
		seen[k] = true
	}
}

const batch = 1024

func (m *merger) part(p *Part) {
	t := p.Trace
	device := func(n uint16) uint16 { return m.devices[deviceKey{p.Group, n}].ID }
	ids := make([]trace.StringID, len(t.Strings))
	for i, s := range t.Strings {
		ids[i] = m.rec.Intern(s)
	}
	text := func(id trace.StringID) trace.StringID {
		if int(id) < len(ids) {
			return ids[id]
		}
		return 0
	}
	accounts := make([]uint32, len(t.Accounts))
	for i, a := range t.Accounts {
		accounts[i] = m.rec.AddAccount(a)
	}
	last := uint16(0)
	thread := func(n uint16) uint16 {
		if n == 0 {
			return 0
		}
		last = max(last, n)
		return uint16(min(int(n)+int(m.threads), 1<<16-1))
	}
	tasks := make([]trace.Task, 0, batch)
	for _, k := range t.Tasks.All() {
		k.Submit, k.Ready, k.Start, k.End = k.Submit+p.Shift, k.Ready+p.Shift, k.Start+p.Shift, k.End+p.Shift
		k.Name, k.Op, k.Device, k.Thread = text(k.Name), text(k.Op), device(k.Device), thread(k.Thread)
		if int(k.Acct) < len(accounts) {
			k.Acct = accounts[k.Acct]
		}
		if tasks = append(tasks, k); len(tasks) == batch {
			m.rec.Tasks(tasks)
			tasks = tasks[:0]
		}
	}
	m.rec.Tasks(tasks)
	spans := make([]trace.Span, 0, batch)
	for _, s := range t.Spans.All() {
		c := *s
		c.Start, c.End, c.Name, c.Thread, c.Device = c.Start+p.Shift, c.End+p.Shift, text(c.Name), thread(c.Thread), device(c.Device)
		if spans = append(spans, c); len(spans) == batch {
			m.rec.Spans(spans)
			spans = spans[:0]
		}
	}
	m.rec.Spans(spans)
	counters := make([]trace.Counter, 0, batch)
	for _, c := range t.Counters.All() {
		v := *c
		v.Time, v.Name, v.Device = v.Time+p.Shift, text(v.Name), device(v.Device)
		if counters = append(counters, v); len(counters) == batch {
			m.rec.Counters(counters)
			counters = counters[:0]
		}
	}
	m.rec.Counters(counters)
	for _, s := range t.Streams {
		m.rec.NameStream(device(s.Device), s.ID, s.Name, s.Priority)
	}
	for _, th := range t.Threads {
		name := th.Name
		if p.Label != "" {
			name = p.Label + " " + name
		}
		m.rec.NameThread(thread(th.ID), name)
	}
	m.threads = uint16(min(int(m.threads)+int(last), 1<<16-1))
	m.describe(p)
}

// describe joins what the parts say of themselves.
func (m *merger) describe(p *Part) {
	a, b := &m.meta, &p.Trace.Meta
	a.Chip, a.Model, a.Policy = cmp.Or(a.Chip, b.Chip), cmp.Or(a.Model, b.Model), cmp.Or(a.Policy, b.Policy)
	a.CubeCores, a.VectorCores = max(a.CubeCores, b.CubeCores), max(a.VectorCores, b.VectorCores)
	a.DMAEngines, a.AICPUs, a.ClockMHz = max(a.DMAEngines, b.DMAEngines), max(a.AICPUs, b.AICPUs), max(a.ClockMHz, b.ClockMHz)
	a.Devices, a.Lost, a.WallOrdered = len(m.devices), a.Lost+b.Lost, a.WallOrdered || b.WallOrdered
	s, o := &m.source, &p.Trace.Source
	rows := p.Trace.Tasks.Len() + p.Trace.Spans.Len()
	switch {
	case s.Format == "" || m.rows == 0 && rows > 0:
		s.Format = o.Format
	case s.Format != o.Format && rows > 0:
		s.Format = "several"
	}
	m.rows += rows
	s.Ranks = max(s.Ranks, o.Ranks)
	for _, missing := range o.Missing {
		if p.Label != "" {
			missing = fmt.Sprintf("%s: %s", p.Label, missing)
		}
		s.Missing = append(s.Missing, missing)
	}
	s.Hints = append(s.Hints, o.Hints...)
	for _, k := range o.Steps {
		if n, err := strconv.ParseUint(k.Index, 10, 16); err == nil && k.Type == "device" {
			if d, ok := m.devices[deviceKey{p.Group, uint16(n)}]; ok {
				k.Index = strconv.Itoa(int(d.ID))
			}
		}
		s.Steps = append(s.Steps, k)
	}
	s.Notes = append(s.Notes, o.Notes...)
	for i := range o.Sheets {
		table := m.sheet(p.Group, &o.Sheets[i])
		shiftSheet(table, p.Shift)
		s.AddSheet(table)
	}
	s.Totals = append(s.Totals, o.Totals...)
	s.BadRecords += o.BadRecords
	for k, n := range o.Records {
		s.Records[k] += n
	}
}
