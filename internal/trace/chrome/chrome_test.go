package chrome

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type event struct {
	Ph, Cat, Name, BP string
	PID, TID          int
	TS, Dur           json.Number
	ID                int64
	Args              map[string]any
}

type document struct {
	OtherData   map[string]any
	TraceEvents []event
}

func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	v, err := strconv.ParseInt(strings.Replace(n.String(), ".", "", 1), 10, 64)
	if err != nil || n.String()[len(n)-4] != '.' {
		t.Fatalf("time %q has not three decimals", n)
	}
	return v
}

func written(t *testing.T, tr *trace.Trace) (document, []byte) {
	t.Helper()
	var b, again bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	if Write(&again, tr); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("written twice, the bytes differ")
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in %.2000s", err, b.Bytes())
	}
	return d, b.Bytes()
}

// overlap is the pattern that the format is for: a copy feeds a kernel on another stream through an event.
func overlap() *trace.Trace {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "Ascend910B3", Model: "a \"quoted\" \\ model", Policy: "preempt", Devices: 1, CubeCores: 20, VectorCores: 40, DMAEngines: 2, ClockMHz: 1800})
	r.NameStream(0, 1, "copy", 0)
	r.NameThread(1, "main")
	conv := r.AddAccount(trace.Account{Total: 9000, Cube: 7000})
	r.Tasks([]trace.Task{
		{Submit: 1000, Ready: 1000, Start: 1000, End: 5001, Stream: 1, Task: 1, Thread: 1, Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.HostToDevice, Bytes: 1 << 20, Name: r.Intern("input")},
		{Submit: 1500, Ready: 5001, Start: 5001, End: 5001, Stream: 1, Task: 2, Thread: 1, Kind: trace.EventRecord, Event: 3, Gen: 1},
		{Submit: 2000, Ready: 2000, Start: 2000, End: 5001, Stream: 2, Task: 1, Thread: 1, Kind: trace.EventWait, Event: 3, Gen: 1},
		{Submit: 2500, Ready: 5001, Start: 5001, End: 10001, Stream: 2, Task: 2, Thread: 1, Kind: trace.KernelAICore, Engine: trace.EngineCube, Blocks: 20, Name: r.Intern("conv/1\n"), Op: r.Intern("Conv2D"), Acct: conv, Bytes: 4096},
		{Submit: 2500, Ready: 2600, Start: 3000, End: 4000, Stream: 1 << 31, Task: 2, Model: 1, Iter: 2, Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.DeviceToHost, Bytes: 7, Code: 0x26},
	})
	r.Spans([]trace.Span{
		{Start: 500, End: 1000, Thread: 1, Stream: 1, Task: 1, Name: r.Intern("aclrtMemcpyAsync")},
		{Start: 1200, End: 1500, Thread: 1, Stream: 1, Task: 2, Name: r.Intern("aclrtRecordEvent")},
		{Start: 1700, End: 2000, Thread: 1, Stream: 2, Task: 1, Name: r.Intern("aclrtStreamWaitEvent")},
		{Start: 2200, End: 2500, Thread: 1, Stream: 2, Task: 2, Name: r.Intern("aclrtLaunchKernel")},
		{Start: 2500, End: 12000, Thread: 1, Task: trace.NoTask, Name: r.Intern("aclrtSynchronizeStream"), Code: 507000},
	})
	r.Counters([]trace.Counter{{Time: 0, Name: r.Intern("HBM in use (bytes)"), Value: 1 << 20}, {Time: 5000, Name: r.Intern("HBM in use (bytes)"), Value: 1.5}})
	return r.Finish()
}

func TestWrite_golden(t *testing.T) {
	_, got := written(t, overlap())
	const file = "testdata/overlap.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./internal/trace/chrome -update rewrites it); got\n%s", file, got)
	}
}

func TestWrite_viewersSeeWhatTheTraceSays(t *testing.T) {
	traces := map[string]*trace.Trace{"overlap": overlap(), "empty": trace.NewRecorder().Finish(), "generated": gen.Trace(gen.Options{Tasks: 3000, Devices: 2, Streams: 4})}
	for seed := range uint64(20) {
		traces[fmt.Sprint("instants ", seed)] = gen.Instants(seed)
	}
	for name, tr := range traces {
		t.Run(name, func(t *testing.T) {
			if err := tr.Check(); err != nil {
				t.Fatalf("the test's trace is wrong: %v", err)
			}
			d, _ := written(t, tr)
			v := view(t, d)
			tasks, engines := 0, 0
			sum := int64(0)
			for _, k := range tr.Tasks.All() {
				tasks++
				sum += k.End - k.Start
				if k.Engine != trace.EngineNone {
					engines++
				}
			}
			if v.count[catTask] != tasks || v.count[catEngine] != engines || v.count[catHost] != tr.Spans.Len() {
				t.Errorf("%v slices, want %d tasks, %d on engines and %d calls", v.count, tasks, engines, tr.Spans.Len())
			}
			if v.time[catTask] != sum {
				t.Errorf("slices of tasks last %d ns, want %d", v.time[catTask], sum)
			}
			wantArrows(t, tr, v)
		})
	}
}

// arrow is two slices by what they show.
type arrowSeen struct{ from, to string }

type seen struct {
	count  map[string]int
	time   map[string]int64
	arrows []arrowSeen
}

// view reads events as Perfetto does: by time, at one time in the order of the file; an arrow's end belongs to the slice
// that was opened last on its lane.
func view(t *testing.T, d document) seen {
	t.Helper()
	v := seen{map[string]int{}, map[string]int64{}, nil}
	events := slices.Clone(d.TraceEvents)
	events = slices.DeleteFunc(events, func(e event) bool { return e.Ph == "M" })
	slices.SortStableFunc(events, func(a, b event) int { return int(nanos(t, a.TS) - nanos(t, b.TS)) })
	type open struct {
		name       string
		start, end int64
	}
	stacks := map[[2]int][]open{}
	starts := map[int64]open{}
	for _, e := range events {
		at, lane := nanos(t, e.TS), [2]int{e.PID, e.TID}
		switch e.Ph {
		case "X":
			end := at + nanos(t, e.Dur)
			s := stacks[lane]
			for len(s) > 0 && s[len(s)-1].end <= at {
				s = s[:len(s)-1]
			}
			if len(s) > 0 && (e.Cat != catHost || end > s[len(s)-1].end) {
				t.Fatalf("%s at %d overlaps %s on lane %v", e.Name, at, s[len(s)-1].name, lane)
			}
			task := e.Args["task"]
			stacks[lane] = append(s, open{fmt.Sprint(e.Cat, " ", e.Name, " ", task), at, end})
			v.count[e.Cat]++
			v.time[e.Cat] += end - at
		case "i": // what arrows to the slice around it point at
			if s := stacks[lane]; len(s) > 0 && s[len(s)-1].end >= at {
				stacks[lane] = append(s, open{s[len(s)-1].name, at, at})
			}
		case "s", "f":
			s := stacks[lane]
			if len(s) == 0 || s[len(s)-1].end < at {
				t.Fatalf("arrow %s %d at %d on lane %v has no slice", e.Ph, e.ID, at, lane)
			}
			top := s[len(s)-1]
			if e.Ph == "s" {
				if starts[e.ID].name != "" {
					t.Fatalf("arrow %d starts twice", e.ID)
				}
				starts[e.ID] = top
				continue
			}
			if starts[e.ID].name == "" || starts[e.ID].start > top.start { // viewers turn the latter round
				t.Fatalf("arrow %d to %s ends before it starts", e.ID, top.name)
			}
			v.arrows = append(v.arrows, arrowSeen{starts[e.ID].name, top.name})
			delete(starts, e.ID)
		}
	}
	if len(starts) > 0 {
		t.Fatalf("arrows without an end: %v", starts)
	}
	return v
}

// wantArrows compares with the arrows that follow from the trace by looking at all pairs.
func wantArrows(t *testing.T, tr *trace.Trace, v seen) {
	t.Helper()
	var want []arrowSeen
	name := func(k *trace.Task) string { return fmt.Sprint(catTask, " ", tr.Label(k), " ", k.Task) }
	type key struct{ event, gen uint32 }
	records := map[key]trace.Task{}
	for _, k := range tr.Tasks.All() {
		if k.Kind == trace.EventRecord {
			records[key{k.Event, k.Gen}] = k
		}
	}
	type taskKey struct {
		device       uint16
		stream, task uint32
	}
	tasks := map[taskKey]trace.Task{}
	for _, k := range tr.Tasks.All() {
		if k.Kind == trace.EventWait {
			r := records[key{k.Event, k.Gen}]
			want = append(want, arrowSeen{name(&r), name(&k)})
		}
		tasks[taskKey{k.Device, k.Stream, k.Task}] = k
	}
	for _, s := range tr.Spans.All() {
		if s.Task != trace.NoTask {
			k := tasks[taskKey{s.Device, s.Stream, s.Task}]
			want = append(want, arrowSeen{fmt.Sprint(catHost, " ", tr.String(s.Name), " ", s.Task), name(&k)})
		}
	}
	sort := func(a, b arrowSeen) int { return strings.Compare(a.from+a.to, b.from+b.to) }
	slices.SortFunc(want, sort)
	slices.SortFunc(v.arrows, sort)
	if !slices.Equal(want, v.arrows) {
		t.Errorf("%d arrows, want %d; got %.600v, want %.600v", len(v.arrows), len(want), v.arrows, want)
	}
}

func TestAppendQuoted_isWhatEncodingJSONReads(t *testing.T) {
	for _, s := range []string{"", "a", "\"\\/", "\x00\x1f\x7f\n", "名前 é", "\xff\xfea", "\u2028"} {
		var got string
		if err := json.Unmarshal(appendQuoted(nil, s), &got); err != nil || got != strings.ToValidUTF8(strings.ReplaceAll(s, "\xff\xfe", "\ufffd\ufffd"), "\ufffd") {
			t.Errorf("%q reads back as %q, %v", s, got, err)
		}
	}
}

func TestAppendInt(t *testing.T) {
	for _, v := range []int64{0, 1, 9, 10, 99, 100, 101, 999, 1000, 9999, 10000, 1e9 - 1, 1e9, 1e18, 1<<63 - 1, -1, -10, -1 << 63} {
		if got, want := string(appendInt([]byte("x"), v)), "x"+strconv.FormatInt(v, 10); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for v := uint64(1); v != 0; v = v*10 + v%10 {
		for _, u := range []uint64{v, v - 1, -v} {
			if got, want := string(appendUint(nil, u)), strconv.FormatUint(u, 10); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if v > 1<<63 {
			break
		}
	}
}

func TestAppendMicros(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000", 1: "0.001", -1: "-0.001", 1234567: "1234.567", -1 << 63: "-9223372036854775.808"} {
		if got := string(appendMicros(nil, ns)); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}

func TestWrite_unixTimesAreRebased(t *testing.T) {
	const unix = 1784177144514943513
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{{Start: unix, End: unix + 5, Submit: unix, Ready: unix, Kind: trace.Nop}})
	d, _ := written(t, r.Finish())
	for _, e := range d.TraceEvents {
		if e.Ph == "X" && e.TS.String() != "0.000" {
			t.Errorf("slice at %s", e.TS)
		}
	}
	if fmt.Sprint(d.OtherData["base_ns"]) != fmt.Sprint(unix) {
		t.Errorf("base %v", d.OtherData["base_ns"])
	}
}

type discard struct{ n int }

func (d *discard) Write(p []byte) (int, error) { d.n += len(p); return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	tr := gen.Trace(gen.Options{Tasks: 200_000, Streams: 8})
	var out discard
	for b.Loop() {
		out.n = 0
		Write(&out, tr)
	}
	n := float64(tr.Tasks.Len())
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64(out.n)/n, "B/task")
}

// The partner is encoding/json, given the same events ready-made as structs; their arguments once as maps, as programs that
// write such files have them, and once as structs, which it writes fastest.
func BenchmarkWrite_encodingJSON(b *testing.B) {
	type arguments struct {
		Kind       string `json:"kind,omitempty"`
		Op         string `json:"op_type,omitempty"`
		Task       int64  `json:"task"`
		Device     int64  `json:"device,omitempty"`
		Stream     int64  `json:"stream,omitempty"`
		Direction  string `json:"direction,omitempty"`
		Blocks     int64  `json:"block_dim,omitempty"`
		Bytes      int64  `json:"bytes,omitempty"`
		Queued     int64  `json:"queued_ns,omitempty"`
		Wait       int64  `json:"engine_wait_ns,omitempty"`
		Event      int64  `json:"event,omitempty"`
		Generation int64  `json:"generation,omitempty"`
		Cycles     int64  `json:"cycles,omitempty"`
	}
	b.Run("maps", func(b *testing.B) { benchmarkEncodingJSON[map[string]any](b) })
	b.Run("structs", func(b *testing.B) { benchmarkEncodingJSON[*arguments](b) })
}

func benchmarkEncodingJSON[Args any](b *testing.B) {
	type event struct {
		Name string      `json:"name"`
		Cat  string      `json:"cat,omitempty"`
		Ph   string      `json:"ph"`
		Ts   json.Number `json:"ts,omitempty"`
		Dur  json.Number `json:"dur,omitempty"`
		Pid  int         `json:"pid"`
		Tid  int         `json:"tid"`
		ID   int64       `json:"id,omitempty"`
		Args Args        `json:"args,omitempty"`
	}
	tr := gen.Trace(gen.Options{Tasks: 20_000, Streams: 8})
	var text bytes.Buffer
	if err := Write(&text, tr); err != nil {
		b.Fatal(err)
	}
	var file struct{ TraceEvents []event }
	if err := json.Unmarshal(text.Bytes(), &file); err != nil {
		b.Fatal(err)
	}
	// Turn and turn about, so that a busy machine slows both: ten times the tasks for the one that needs the less time.
	const more = 10
	large := gen.Trace(gen.Options{Tasks: more * tr.Tasks.Len(), Streams: 8})
	var out discard
	ours, theirs := time.Duration(0), time.Duration(0)
	b.ResetTimer()
	for b.Loop() {
		out.n = 0
		runtime.GC() // each pays for its own garbage
		start := time.Now()
		e := json.NewEncoder(&out)
		for i := range file.TraceEvents {
			e.Encode(&file.TraceEvents[i])
		}
		theirs += time.Since(start)
		runtime.GC()
		start = time.Now()
		Write(io.Discard, large)
		ours += time.Since(start)
	}
	n := float64(tr.Tasks.Len())
	b.ReportMetric(n*float64(b.N)/theirs.Seconds(), "tasks/s")
	b.ReportMetric(float64(out.n)/n, "B/task")
	b.ReportMetric(theirs.Seconds()/n/ours.Seconds()*float64(large.Tasks.Len()), "times-slower")
}
