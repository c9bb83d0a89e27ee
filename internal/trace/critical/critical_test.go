package critical

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/stats"
)

func TestFind(t *testing.T) {
	k := func(stream uint32, submit, ready, start, end int64, kind trace.Kind, engine trace.Engine) trace.Task {
		return trace.Task{Stream: stream, Submit: submit, Ready: ready, Start: start, End: end, Kind: kind, Engine: engine, Task: uint32(start)}
	}
	event := func(t trace.Task) trace.Task { t.Event, t.Gen = 1, 1; return t }
	for name, tt := range map[string]struct {
		tasks []trace.Task
		want  string
	}{
		"one task":           {[]trace.Task{k(1, 0, 0, 5, 9, trace.KernelAICore, trace.EngineCube)}, "work 5-9"},
		"one after another":  {[]trace.Task{k(1, 0, 0, 0, 5, trace.KernelAICore, trace.EngineCube), k(1, 0, 5, 6, 9, trace.Memcpy, trace.EngineDMA)}, "work 0-5, scheduler 5-6, work 6-9"},
		"the host was late":  {[]trace.Task{k(1, 0, 0, 0, 5, trace.KernelAICore, trace.EngineCube), k(1, 8, 8, 8, 9, trace.Memcpy, trace.EngineDMA)}, "work 0-5, host 5-8, work 8-9"},
		"an engine was busy": {[]trace.Task{k(1, 0, 0, 0, 7, trace.KernelAICore, trace.EngineCube), k(2, 0, 1, 7, 9, trace.KernelAICore, trace.EngineCube)}, "work 0-7, work 7-9"},
		"an event": {[]trace.Task{
			k(1, 0, 0, 0, 7, trace.KernelAICore, trace.EngineCube), event(k(1, 0, 7, 7, 7, trace.EventRecord, trace.EngineNone)),
			k(2, 0, 0, 0, 2, trace.KernelAIVector, trace.EngineVector), event(k(2, 0, 2, 2, 8, trace.EventWait, trace.EngineNone)),
			k(2, 0, 8, 8, 9, trace.KernelAIVector, trace.EngineVector),
		}, "work 0-7, event 7-8, work 8-9"},
		// The vendor's tools do not say which event: of two records that end during the wait the last one on another stream.
		"an event without a number": {[]trace.Task{
			k(1, 0, 0, 0, 7, trace.Communication, trace.EngineNone), k(1, 0, 7, 7, 7, trace.EventRecord, trace.EngineNone), k(3, 0, 0, 4, 4, trace.EventRecord, trace.EngineNone),
			k(2, 0, 0, 0, 2, trace.KernelAIVector, trace.EngineVector), k(2, 0, 2, 2, 8, trace.EventWait, trace.EngineNone), k(2, 0, 8, 8, 8, trace.EventRecord, trace.EngineNone),
			k(2, 0, 8, 8, 9, trace.KernelAIVector, trace.EngineVector),
		}, "work 0-7, event 7-8, work 8-9"},
		"a record before the wait": {[]trace.Task{
			k(1, 0, 0, 1, 1, trace.EventRecord, trace.EngineNone), k(2, 0, 0, 0, 2, trace.KernelAIVector, trace.EngineVector),
			k(2, 0, 2, 2, 3, trace.EventWait, trace.EngineNone), k(2, 0, 3, 3, 9, trace.KernelAIVector, trace.EngineVector),
		}, "work 0-2, scheduler 2-3, work 3-9"},
		"the profiler stops": {[]trace.Task{
			{Kind: trace.Other, Name: 1, Stream: 7, End: 1}, k(1, 0, 0, 2, 5, trace.KernelAICore, trace.EngineCube), {Kind: trace.Other, Op: 2, Stream: 7, Start: 90, Submit: 90, Ready: 90, End: 91},
		}, "work 2-5"},
		"a shorter branch": {[]trace.Task{k(1, 0, 0, 0, 3, trace.KernelAICore, trace.EngineCube), k(2, 0, 0, 0, 9, trace.KernelAIVector, trace.EngineVector)}, "work 0-9"},
	} {
		r := trace.NewRecorder()
		r.Intern("PROFILING_ENABLE")
		r.Intern("PROFILING_DISABLE")
		r.Tasks(tt.tasks)
		var got []string
		p := Find(r.Finish())
		for i := range p.Len() {
			s := p.Segment(i)
			got = append(got, fmt.Sprintf("%s %d-%d", s.Cause, s.Start, s.End))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

func TestFind_segmentsFollowEachOther(t *testing.T) {
	for seed := range uint64(5) {
		tr := gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Streams: 4, Seed: seed})
		p := Find(tr)
		sum := int64(0)
		for i := range p.Len() {
			s := p.Segment(i)
			if i > 0 && s.Start != p.Segment(i-1).End {
				t.Fatalf("seed %d: segment %d starts at %d, the one before ends at %d", seed, i, s.Start, p.Segment(i-1).End)
			}
			sum += s.End - s.Start
		}
		last := p.Segment(p.Len() - 1).End
		if end := tr.Tasks.Start.At(0) + stats.NewInfo(tr).SpanNs; last != end || sum != p.TotalNs || p.TotalNs < (end-tr.Tasks.Start.At(0))*9/10 {
			t.Errorf("seed %d: ends at %d of %d, %d of %d ns", seed, last, end, sum, p.TotalNs)
		}
	}
}

func TestFind_emptyTrace(t *testing.T) {
	if p := Find(trace.NewRecorder().Finish()); p.TotalNs != 0 || p.Len() != 0 || len(p.Longest(3)) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestPath_longest(t *testing.T) {
	p := Find(gen.Trace(gen.Options{Tasks: 3000, Devices: 1, Streams: 3, Seed: 2}))
	length := func(i int) int64 { s := p.Segment(i); return s.End - s.Start }
	for _, n := range []int{1, 7, 200, p.Len(), p.Len() + 5} {
		got := p.Longest(n)
		if len(got) != min(n, p.Len()) || !slices.IsSorted(got) {
			t.Fatalf("%d of %d: %d", n, p.Len(), len(got))
		}
		least, chosen := int64(math.MaxInt64), map[int]bool{}
		for _, i := range got {
			least, chosen[i] = min(least, length(i)), true
		}
		for i := range p.Len() {
			if !chosen[i] && length(i) > least {
				t.Errorf("%d: segment %d of %d ns is left out, the shortest is %d", n, i, length(i), least)
			}
		}
	}
}
