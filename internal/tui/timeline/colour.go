package timeline

import (
	"npu/internal/trace"
	"npu/internal/trace/stats"
	"npu/internal/tui/theme"
)

// Colour is what slices are coloured by.
type Colour int

// Colourings.
const (
	ByKind Colour = iota
	ByType
	ByStream
	ByDuration
	ByCause
	colours
)

var colourNames = [colours]string{"kind", "type", "stream", "duration", "wait"}

// ParseColour is the colouring of a name.
func ParseColour(s string) (Colour, bool) {
	for i, n := range colourNames {
		if n == s {
			return Colour(i), true
		}
	}
	return 0, false
}

// Colours is the names of the colourings.
func Colours() []string { return colourNames[:] }

// class is a colour with the sign that stands for it where there are no colours, and its name in the legend.
type class struct {
	tint theme.Role // 0 to theme.Tints-1
	sign rune
	name string
}

var kindClasses = []class{
	{0, 'C', "cube"}, {1, 'V', "vector"}, {2, 'D', "copy"}, {3, 'N', "communication"}, {4, 'A', "AI CPU, host"}, {5, 'X', "mix"}, {6, 'E', "event, other"}, {7, 'W', "wait"},
}

const (
	classCube = iota
	classVector
	classCopy
	classComm
	classCPU
	classMix
	classEvent
	classWait
)

var causeClasses = []class{{4, 'H', "host: nothing submitted"}, {3, 'E', "event"}, {0, 'B', "engine busy"}, {6, 'S', "scheduler"}, {5, 'U', "unknown"}, atOnce}

// atOnce is tasks that waited for nothing.
var atOnce = class{7, '=', "none"}

var durationClasses = []class{{5, '1', "< 1 µs"}, {0, '2', "< 10 µs"}, {1, '3', "< 100 µs"}, {6, '4', "< 1 ms"}, {2, '5', "< 10 ms"}, {4, '6', "longer"}}

const typeSigns = "ABCDEFG"

// legend is the classes of a colouring, those that occur first.
func (d *Data) legend(c Colour) []class {
	switch c {
	case ByKind:
		return kindClasses
	case ByDuration:
		return durationClasses
	case ByCause:
		return causeClasses
	case ByType:
		var out []class
		for i, id := range d.ranks[:min(len(d.ranks), len(typeSigns))] {
			out = append(out, class{theme.Role(i), rune(typeSigns[i]), d.T.String(id)})
		}
		return append(out, class{7, 'Z', "others"})
	}
	return nil
}

// class is that of the row at a place.
func (d *Data) class(r ref, c Colour) class {
	if r.lane.Kind == Host {
		return d.callClass(r.lane.index.Row(r.at), c)
	}
	row := r.lane.index.Row(r.at)
	switch c {
	case ByType:
		return d.typeClass(row)
	case ByStream:
		n := d.T.Tasks.Stream.At(row)
		return class{tint: theme.Role(n % theme.Tints), sign: rune('0' + n%10)}
	case ByDuration:
		return durationClass(r.lane.index.End(r.at) - r.lane.index.Start(r.at))
	case ByCause:
		if c, ok := mainCause(d.waited(r)); ok {
			return causeClasses[c]
		}
		return atOnce
	}
	return kindClasses[kindClass(d.T.Tasks.Kind.At(row))]
}

// typeClass is that of the operator type of a task; those with most time have one of their own.
func (d *Data) typeClass(row int) class {
	if i, ok := d.rankOf[d.T.Tasks.Op.At(row)]; ok && i < len(typeSigns) {
		return class{tint: theme.Role(i), sign: rune(typeSigns[i])}
	}
	return class{tint: 7, sign: 'Z'}
}

func durationClass(ns int64) class {
	limit := int64(1000)
	for i := range durationClasses {
		if ns < limit {
			return durationClasses[i]
		}
		limit *= 10
	}
	return durationClasses[len(durationClasses)-1]
}

func kindClass(k trace.Kind) int {
	switch k {
	case trace.KernelAICore:
		return classCube
	case trace.KernelAIVector:
		return classVector
	case trace.KernelMix, trace.KernelMixAIV:
		return classMix
	case trace.Memcpy, trace.Memset, trace.Reduce, trace.CacheOp:
		return classCopy
	case trace.Communication:
		return classComm
	case trace.KernelAICPU, trace.HostFunc:
		return classCPU
	case trace.EventWait, trace.NotifyWait, trace.ValueWait:
		return classWait
	}
	return classEvent
}

// callClass colours a host call by the task that it submitted, else by what its name tells.
func (d *Data) callClass(row int, c Colour) class {
	s := d.T.Spans.At(row)
	switch c {
	case ByStream:
		if s.Task == trace.NoTask {
			return class{tint: 7, sign: '-'}
		}
		return class{tint: theme.Role(s.Stream % theme.Tints), sign: rune('0' + s.Stream%10)}
	case ByDuration:
		return durationClass(s.End - s.Start)
	case ByCause:
		return atOnce
	}
	task := d.submitted(row)
	switch {
	case task >= 0 && c == ByType:
		return d.typeClass(task)
	case task >= 0:
		return kindClasses[kindClass(d.T.Tasks.Kind.At(task))]
	case c == ByType:
		return class{tint: 7, sign: 'Z'}
	}
	name := d.T.String(s.Name)
	switch {
	case has(name, "synchron", "wait"):
		return kindClasses[classWait]
	case has(name, "memcpy", "memset", "copy"):
		return kindClasses[classCopy]
	case has(name, "launch", "execute", "compute"):
		return kindClasses[classCube]
	case has(name, "hccl", "hcom", "allreduce", "allgather"):
		return kindClasses[classComm]
	case has(name, "event", "record", "notify"):
		return kindClasses[classEvent]
	}
	return kindClasses[classCPU]
}

// Causes of idle time, as places of causeClasses.
const (
	causeHost = iota
	causeEvent
	causeEngine
	causeScheduler
	causeUnknown
)

// waited is why the row at a place did not start when its stream was free.
func (d *Data) waited(r ref) stats.Idle {
	k := d.T.Tasks.At(r.lane.index.Row(r.at))
	s := d.task(r.lane.index.Row(r.at), false)
	if !s.ok() {
		return stats.Idle{}
	}
	free := k.Submit
	if s.at > 0 {
		free = s.lane.index.End(s.at - 1)
	}
	return stats.Waited(&k, free)
}

// mainCause is the one with most of the time.
func mainCause(i stats.Idle) (cause int, some bool) {
	most := int64(0)
	for c, ns := range [...]int64{i.HostNs, i.EventNs, i.EngineNs, i.SchedulerNs, i.UnknownNs} {
		if ns > most {
			cause, most = c, ns
		}
	}
	return cause, most > 0
}
