package stats

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/npt"
)

func TestNewInfo(t *testing.T) {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "Ascend910B3", Lost: 4})
	r.Tasks([]trace.Task{
		{Start: 10, End: 30, Stream: 1, Kind: trace.KernelAICore},
		{Start: 12, End: 20, Stream: 1, Kind: trace.KernelAICore, Flags: trace.FlagPart},
		{Start: 30, End: 31, Stream: 2, Kind: trace.Memcpy},
		{Start: 25, End: 40, Stream: 2, Device: 1, Kind: 200},
	})
	got := NewInfo(r.Finish())
	if len(got.Answers) != 2 || !got.Answers[0].Answered {
		t.Errorf("answers %+v", got.Answers)
	}
	got.Answers = nil
	want := Info{
		Format: "run", Chip: "Ascend910B3", Devices: 2, Tasks: 3, DeviceTimeNs: 36, SpanNs: 30, Streams: 3,
		ByKind: map[string]int64{"KERNEL_AICORE": 1, "MEMCPY_ASYNC": 1, "UNKNOWN": 1}, Missing: []string{}, LostRecords: 4,
		Hints: []string{}, Records: map[string]int64{}, Tables: map[string]int{}, Gaps: []Gap{}, Notes: []string{},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	b, _ := json.Marshal(got)
	var keys map[string]any
	json.Unmarshal(b, &keys)
	for _, k := range []string{"format", "devices", "ranks", "tasks", "device_time_ns", "span_ns", "streams", "by_kind", "missing", "lost_records", "bad_records"} {
		if v, ok := keys[k]; !ok || v == nil {
			t.Errorf("key %s is missing or null in %s", k, b)
		}
	}
}

func TestNewInfo_emptyTrace(t *testing.T) {
	got := NewInfo(trace.NewRecorder().Finish())
	if got.Tasks != 0 || got.SpanNs != 0 {
		t.Errorf("%+v", got)
	}
	New(trace.NewRecorder().Finish())
}

func TestNew_causesOfIdleTime(t *testing.T) {
	tests := []struct {
		name string
		k    trace.Task
		want Idle // from 100 on, when the stream is free
	}{
		{"at once", trace.Task{Submit: 50, Ready: 100, Start: 100, End: 120, Kind: trace.KernelAICore, Engine: trace.EngineCube}, Idle{}},
		{"host was late", trace.Task{Submit: 150, Ready: 150, Start: 150, End: 160, Kind: trace.KernelAICore, Engine: trace.EngineCube}, Idle{HostNs: 50}},
		{"engine was busy", trace.Task{Submit: 50, Ready: 102, Start: 130, End: 160, Kind: trace.Memcpy, Engine: trace.EngineDMA}, Idle{SchedulerNs: 2, EngineNs: 28}},
		{"event that lasts", trace.Task{Submit: 50, Ready: 100, Start: 100, End: 180, Kind: trace.EventWait}, Idle{EventNs: 80}},
		{"event that is instant", trace.Task{Submit: 110, Ready: 180, Start: 180, End: 180, Kind: trace.EventWait}, Idle{HostNs: 10, EventNs: 70}},
		{"notify", trace.Task{Submit: 50, Ready: 120, Start: 130, End: 131, Kind: trace.NotifyWait}, Idle{EventNs: 31}},
		{"scheduler task", trace.Task{Submit: 50, Ready: 101, Start: 107, End: 107, Kind: trace.EventRecord}, Idle{SchedulerNs: 7}},
		{"all at once", trace.Task{Submit: 101, Ready: 103, Start: 107, End: 110, Kind: trace.KernelAICPU, Engine: trace.EngineAICPU}, Idle{HostNs: 1, SchedulerNs: 2, EngineNs: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := trace.NewRecorder()
			r.Tasks([]trace.Task{{Submit: 0, Ready: 0, Start: 0, End: 100, Kind: trace.KernelAICore, Engine: trace.EngineCube}, tt.k})
			if got := New(r.Finish()).Idle; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// covered counts the nanoseconds of device d during which some task that fits ran, one by one.
func covered(t *trace.Trace, d uint16, fits func(*trace.Task) bool) map[int64]bool {
	at := map[int64]bool{}
	for _, k := range t.Tasks.All() {
		if k.Device == d && fits(&k) {
			for ns := k.Start; ns < k.End; ns++ {
				at[ns] = true
			}
		}
	}
	return at
}

func TestNew_agreesWithCountingNanoseconds(t *testing.T) {
	for seed := range uint64(4) {
		tr := gen.Trace(gen.Options{Tasks: 300, Devices: 2, Streams: 3, Seed: seed})
		s := New(tr)
		union, both, span := int64(0), int64(0), int64(0)
		for d := range uint16(2) {
			union += int64(len(covered(tr, d, occupies)))
			copies, kernels := covered(tr, d, IsCopy), covered(tr, d, IsKernel)
			for ns := range copies {
				if kernels[ns] {
					both++
				}
			}
		}
		if s.UnionNs != union || s.CopyComputeNs != both || both == 0 {
			t.Errorf("seed %d: union %d and overlap %d, want %d and %d", seed, s.UnionNs, s.CopyComputeNs, union, both)
		}
		busy, total := int64(0), int64(0)
		for _, k := range tr.Tasks.All() {
			total += k.End - k.Start
			if k.Engine != trace.EngineNone {
				busy += k.End - k.Start
			}
		}
		if s.BusyNs != busy || sumOf(s.OpTypes) != total || sumOf(s.Ops) != total {
			t.Errorf("seed %d: busy %d, by type %d, by operator %d; want %d and %d", seed, s.BusyNs, sumOf(s.OpTypes), sumOf(s.Ops), busy, total)
		}
		if got := NewInfo(tr).DeviceTimeNs; got != total {
			t.Errorf("seed %d: device time %d, want %d", seed, got, total)
		}
		// What a stream does not run it waits for: idle and run time fill its life.
		for _, st := range s.Streams {
			first, last, run, seen := int64(0), int64(0), int64(0), false
			for _, k := range tr.Tasks.All() {
				if k.Device != st.Device || k.Stream != st.Stream {
					continue
				}
				if !seen {
					first, seen = k.Submit, true
				}
				last = max(last, k.End)
				if k.Kind != trace.EventWait {
					run += k.End - k.Start
				}
			}
			if st.Idle.Total()+run != last-first {
				t.Errorf("seed %d: stream %d/%d: idle %+v and %d run, want %d together", seed, st.Device, st.Stream, st.Idle, run, last-first)
			}
			span += last - first
		}
		if span == 0 {
			t.Error("no streams")
		}
	}
}

func sumOf(ops []Op) int64 {
	n := int64(0)
	for _, o := range ops {
		n += o.TotalNs
	}
	return n
}

func TestNew_ordersOperatorsByTime(t *testing.T) {
	s := New(gen.Trace(gen.Options{Tasks: 500}))
	if !slices.IsSortedFunc(s.Ops, func(a, b Op) int { return int(b.TotalNs - a.TotalNs) }) {
		t.Errorf("%+v", s.Ops)
	}
	for _, o := range s.Ops {
		if o.MaxNs < o.MeanNs || o.MeanNs*o.Count > o.TotalNs || o.TotalNs > o.MaxNs*o.Count {
			t.Errorf("%+v", o)
		}
	}
}

// A database shows an operation as a whole and as the task that carries it, which lasts a little longer.
func TestNew_collectivesOnce(t *testing.T) {
	r := trace.NewRecorder()
	a, b, op := r.Intern("hcom_allReduce__1_0"), r.Intern("hcom_allGather__1_1"), r.Intern("hcom_allReduce_")
	r.Tasks([]trace.Task{
		{Start: 0, End: 100, Name: a, Kind: trace.Communication, Stream: 4},
		{Start: 5, End: 95, Name: a, Op: op, Kind: trace.Communication, Stream: 9, Flags: trace.FlagPart},
		{Start: 200, End: 230, Name: b, Kind: trace.Communication, Stream: 4},
	})
	s := New(r.Finish())
	if len(s.Communication) != 2 || s.Communication[0].TotalNs != 90 || s.Communication[0].Count != 1 || s.Communication[1].TotalNs != 30 {
		t.Errorf("%+v", s.Communication)
	}
}

func TestOverlap_overlappingSets(t *testing.T) {
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{
		{Start: 0, End: 10, Stream: 1, Kind: trace.Memcpy},
		{Start: 2, End: 4, Stream: 2, Kind: trace.KernelAICore},
		{Start: 3, End: 8, Stream: 3, Kind: trace.KernelAICore},
		{Start: 8, End: 12, Stream: 4, Kind: trace.Memcpy},
		{Start: 11, End: 20, Stream: 5, Kind: trace.KernelAICore},
		{Start: 11, End: 20, Stream: 5, Device: 1, Kind: trace.Memcpy},
	})
	tr := r.Finish()
	if got := Overlap(tr, IsCopy, IsKernel); got != 7 {
		t.Errorf("copies and kernels: %d, want 7", got)
	}
	if got := Overlap(tr, IsCopy, IsCopy); got != 12+9 {
		t.Errorf("copies with themselves: %d, want 21", got)
	}
	if got := Overlap(tr, IsKernel, func(*trace.Task) bool { return false }); got != 0 {
		t.Errorf("with nothing: %d", got)
	}
}

func TestNew_envelopesAreNoTimeOfTheirOwn(t *testing.T) {
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{
		{End: 100, Kind: trace.ModelExecute, Engine: trace.EngineCube},
		{Start: 10, End: 40, Stream: 1, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: r.Intern("Conv2D")},
	})
	tr := r.Finish()
	in, st := NewInfo(tr), New(tr)
	if in.Tasks != 2 || in.ByKind["MODEL_EXECUTE"] != 1 || in.DeviceTimeNs != 30 || in.SpanNs != 100 {
		t.Errorf("info %+v", in)
	}
	if st.BusyNs != 30 || st.UnionNs != 30 || len(st.Ops) != 1 || st.Streams[0].TotalNs != 0 || st.Streams[0].Tasks != 1 {
		t.Errorf("stats %+v", st)
	}
}

// Sums of pieces are those of the whole.
func TestCollector_pieces(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 3*trace.ChunkRows + 11, Devices: 3, Streams: 5})
	var b bytes.Buffer
	if err := npt.Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	c, in := NewCollector(), NewInfoCollector()
	skimmed, err := npt.Skim(bytes.NewReader(b.Bytes()), Fields(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Stats(skimmed), New(tr); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := npt.Skim(&b, Fields(), in); err != nil {
		t.Fatal(err)
	}
	tr.Source = skimmed.Source
	if got, want := in.Info(skimmed), NewInfo(tr); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
