// Package pprofile writes a trace as a pprof profile, so that "go tool pprof" and flame graph viewers show where the
// device time went. A stack reads model, stream, operator type, operator; below kernels with a cycle account stands one
// more frame a pipe, which carries pipe_cycles only, since pipes work at the same time and would add up to more than
// their kernel.
package pprofile

import (
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"npu/internal/trace"
)

// Places of the sample values.
const (
	deviceTime = iota // of all tasks but waits and envelopes of others
	tasks
	cycles // of the kernels, summed over the cores
	moved  // bytes
	wait   // run time of tasks that wait for an event, notify or value
	pipeCycles
	values
)

var sampleTypes = [values]profile.ValueType{
	{Type: "device_time", Unit: "nanoseconds"},
	{Type: "tasks", Unit: "count"},
	{Type: "cycles", Unit: "count"},
	{Type: "bytes", Unit: "bytes"},
	{Type: "wait", Unit: "nanoseconds"},
	{Type: "pipe_cycles", Unit: "count"},
}

// Write writes t as a gzipped profile. The bytes depend on t alone.
func Write(w io.Writer, t *trace.Trace) error {
	p := New(t)
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("write pprof profile: %w", err)
	}
	if err := p.Write(w); err != nil {
		return fmt.Errorf("write pprof profile: %w", err)
	}
	return nil
}

// New makes the profile of t. Tasks with the same stack are one sample.
func New(t *trace.Trace) *profile.Profile {
	b := &builder{
		t: t, streams: map[streamKey]string{}, sums: map[key]*sum{}, mappings: map[uint16]*profile.Mapping{},
		functions: map[[2]string]*profile.Function{}, locations: map[locationKey]*profile.Location{},
		p: &profile.Profile{DefaultSampleType: "device_time", PeriodType: &profile.ValueType{Type: "device_time", Unit: "nanoseconds"}, Period: 1},
	}
	for i := range sampleTypes {
		v := sampleTypes[i]
		b.p.SampleType = append(b.p.SampleType, &v)
	}
	for _, s := range t.Streams {
		b.streams[streamKey{s.Device, s.ID}] = s.Name
	}
	b.collect()
	for _, s := range b.order {
		b.samples(s)
	}
	b.comments()
	return b.p
}

type streamKey struct {
	device uint16
	stream uint32
}

// key is what tasks of one sample have in common.
type key struct {
	streamKey
	model    uint32
	op, name trace.StringID
	kind     trace.Kind
}

type sum struct {
	key
	value [values]int64
	pipes trace.Account
}

type builder struct {
	t         *trace.Trace
	p         *profile.Profile
	streams   map[streamKey]string
	sums      map[key]*sum
	order     []*sum // by first task
	mappings  map[uint16]*profile.Mapping
	functions map[[2]string]*profile.Function
	locations map[locationKey]*profile.Location
}

func (b *builder) collect() {
	from, to := int64(0), int64(0)
	for i, k := range b.t.Tasks.All() {
		if i == 0 {
			from, to = k.Start, k.End
		}
		to = max(to, k.End)
		if k.Flags&trace.FlagPart != 0 {
			continue
		}
		at := key{streamKey{k.Device, k.Stream}, k.Model, k.Op, k.Name, k.Kind}
		s := b.sums[at]
		if s == nil {
			s = &sum{key: at}
			b.sums[at] = s
			b.order = append(b.order, s)
		}
		switch {
		case k.Kind == trace.EventWait || k.Kind == trace.NotifyWait || k.Kind == trace.ValueWait:
			s.value[wait] += k.End - k.Start
		case !k.Kind.Envelope():
			s.value[deviceTime] += k.End - k.Start
		}
		s.value[tasks]++
		s.value[moved] += k.Bytes
		if k.Acct != 0 {
			a := b.t.Account(k.Acct)
			s.value[cycles] += a.Total
			addPipes(&s.pipes, &a)
		}
	}
	b.p.DurationNanos = max(to-from, 0)
	if from >= unix {
		b.p.TimeNanos = from
	}
}

// unix is the first time that is taken for a date: simulated time starts at 0.
const unix = 1e15

func addPipes(sum, a *trace.Account) {
	sum.Cube += a.Cube
	sum.Vector += a.Vector
	sum.Scalar += a.Scalar
	sum.MTE1 += a.MTE1
	sum.MTE2 += a.MTE2
	sum.MTE3 += a.MTE3
	sum.Fixpipe += a.Fixpipe
	sum.ICache += a.ICache
}

// samples adds the sample of s and one a pipe.
func (b *builder) samples(s *sum) {
	stack := b.stack(s)
	labels := map[string][]string{"stream": {b.stream(s.streamKey)}, "kind": {s.kind.String()}, "device": {fmt.Sprintf("npu%d", s.device)}}
	b.p.Sample = append(b.p.Sample, &profile.Sample{Location: stack, Value: s.value[:], Label: labels})
	for _, pipe := range []struct {
		name   string
		cycles int64
	}{
		{"[cube]", s.pipes.Cube}, {"[vector]", s.pipes.Vector}, {"[scalar]", s.pipes.Scalar}, {"[mte1]", s.pipes.MTE1},
		{"[mte2]", s.pipes.MTE2}, {"[mte3]", s.pipes.MTE3}, {"[fixpipe]", s.pipes.Fixpipe}, {"[icache miss]", s.pipes.ICache},
	} {
		if pipe.cycles != 0 {
			value := make([]int64, values)
			value[pipeCycles] = pipe.cycles
			leaf := b.location(s.device, pipe.name, "pipe")
			b.p.Sample = append(b.p.Sample, &profile.Sample{Location: append([]*profile.Location{leaf}, stack...), Value: value, Label: labels})
		}
	}
}

func (b *builder) stream(k streamKey) string {
	if name := b.streams[k]; name != "" {
		return fmt.Sprintf("Stream %d %s", k.stream, name)
	}
	return fmt.Sprintf("Stream %d", k.stream)
}

// stack is the frames of s, the leaf first.
func (b *builder) stack(s *sum) []*profile.Location {
	model := "eager launches"
	switch {
	case s.model == 1 && b.t.Meta.Model != "":
		model = b.t.Meta.Model
	case s.model != 0:
		model = fmt.Sprintf("%s model %d", b.t.Meta.Model, s.model)
	}
	op := b.t.String(s.op)
	if op == "" {
		op = s.kind.String()
	}
	var stack []*profile.Location
	if name := b.t.String(s.name); name != "" {
		stack = append(stack, b.location(s.device, name, op))
	}
	return append(stack, b.location(s.device, op, s.kind.String()), b.location(s.device, b.stream(s.streamKey), "stream"), b.location(s.device, model, "model"))
}

func (b *builder) comments() {
	m := &b.t.Meta
	if m.Chip != "" {
		b.p.Comments = append(b.p.Comments, "chip "+m.Chip)
	}
	if m.Lost > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("%d records were lost on the device", m.Lost))
	}
	if m.WallOrdered {
		b.p.Comments = append(b.p.Comments, "wall time decided the order of some tasks")
	}
}
