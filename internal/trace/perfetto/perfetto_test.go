package perfetto

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/trace"
	"npu/internal/trace/chrome"
	"npu/internal/trace/gen"
)

// message is the fields of a protobuf message by number.
type message map[protowire.Number][]datum

type datum struct {
	n uint64
	b []byte
}

func parse(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		f, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("bad tag in %x", b)
		}
		b = b[n:]
		var v datum
		switch kind {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v.b, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", f, kind)
		}
		if n < 0 {
			t.Fatalf("field %d is cut", f)
		}
		m[f], b = append(m[f], v), b[n:]
	}
	return m
}

func (m message) num(f protowire.Number) uint64 {
	if len(m[f]) == 0 {
		return 0
	}
	return m[f][0].n
}

func (m message) text(f protowire.Number) string {
	if len(m[f]) == 0 {
		return ""
	}
	return string(m[f][0].b)
}

// seen is what a viewer shows: slices by track and the arrows between them.
type seen struct {
	slices   []string
	arrows   []string
	counters []string
	tracks   map[uint64]string
}

// view reads packets as Perfetto does: in the order of the file, which must be that of time.
func view(t *testing.T, b []byte) seen {
	t.Helper()
	v := seen{tracks: map[uint64]string{}}
	rank := map[uint64]int32{} // of the last child of a track
	names := map[protowire.Number]map[uint64]string{}
	type slice struct {
		label string
		start uint64
	}
	stacks := map[uint64][]slice{}
	from := map[uint64]slice{}
	now, cleared := uint64(0), false
	for _, p := range parse(t, b)[1] {
		m := parse(t, p.b)
		if m.num(10) != 1 {
			t.Fatal("a packet without the sequence")
		}
		if len(m[6]) > 0 {
			for _, c := range parse(t, m[6][0].b)[1] {
				if k := parse(t, c.b); k.num(1) == 64 && k.num(3) == 1 {
					now, cleared = k.num(2), m.num(13)&1 == 1 && parse(t, m[59][0].b).num(58) == 64
				}
			}
			continue
		}
		if !cleared {
			t.Fatal("the first packet does not define the clock")
		}
		if len(m[60]) > 0 {
			d := parse(t, m[60][0].b)
			if d.num(1) == 0 { // the root orders processes
				continue
			}
			name := d.text(2)
			if len(d[3]) > 0 {
				name = parse(t, d[3][0].b).text(6)
			}
			if parent := d.num(5); parent != 0 {
				if v.tracks[parent] == "" {
					t.Fatalf("track %s has no parent", name)
				}
				name = v.tracks[parent] + "/" + name
				last, behind := rank[parent]
				if behind && int32(d.num(12)) <= last {
					t.Fatalf("track %s has rank %d behind %d", name, d.num(12), last)
				}
				rank[parent] = int32(d.num(12))
			} else if d.num(11) != 3 {
				t.Fatalf("the tracks of %s are not in the order of their ranks", name)
			}
			if v.tracks[d.num(1)] != "" {
				t.Fatalf("track %d twice", d.num(1))
			}
			v.tracks[d.num(1)] = name
			continue
		}
		for _, in := range m[12] {
			for table, entries := range parse(t, in.b) {
				for _, e := range entries {
					k := parse(t, e.b)
					if names[table] == nil {
						names[table] = map[uint64]string{}
					}
					names[table][k.num(1)] = k.text(2)
				}
			}
		}
		now += m.num(8)
		e := parse(t, m[11][0].b)
		track := e.num(11)
		if v.tracks[track] == "" {
			t.Fatalf("an event on track %d, which is not described", track)
		}
		var top slice
		switch e.num(9) {
		case 1:
			s := slice{fmt.Sprint(v.tracks[track], ": ", names[1][e.num(3)], " ", names[2][e.num(10)]), now}
			for _, a := range e[4] {
				k := parse(t, a.b)
				text := names[29][k.num(17)]
				if len(k[17]) == 0 {
					text = fmt.Sprint(int64(k.num(4)))
				}
				s.label += fmt.Sprint(" ", names[3][k.num(1)], "=", text)
			}
			if len(stacks[track]) > 0 && !strings.Contains(s.label, "host") {
				t.Fatalf("%s begins within %s", s.label, stacks[track][0].label)
			}
			stacks[track] = append(stacks[track], s)
			top = s
		case 2:
			n := len(stacks[track]) - 1
			if n < 0 {
				t.Fatalf("an end without begin on %s", v.tracks[track])
			}
			s := stacks[track][n]
			stacks[track], top = stacks[track][:n], s
			v.slices = append(v.slices, fmt.Sprint(s.label, " @", s.start, "-", now))
		case 3: // an arrow points at the slice that it stands in, at its own time
			if n := len(stacks[track]) - 1; n >= 0 {
				top = slice{stacks[track][n].label, now}
			}
		case 4:
			v.counters = append(v.counters, fmt.Sprint(v.tracks[track], " ", now, " ", math.Float64frombits(e.num(44))))
		}
		for _, f := range e[47] {
			if from[f.n].label != "" {
				t.Fatalf("arrow %d starts twice", f.n)
			}
			from[f.n] = top
		}
		for _, f := range e[48] {
			if from[f.n].label == "" || from[f.n].start > top.start { // viewers turn the latter round
				t.Fatalf("arrow %d to %s ends before it starts", f.n, top.label)
			}
			v.arrows = append(v.arrows, from[f.n].label+" -> "+top.label)
			delete(from, f.n)
		}
	}
	for track, s := range stacks {
		if len(s) > 0 {
			t.Errorf("%s is still open on %s", s[0].label, v.tracks[track])
		}
	}
	if len(from) > 0 {
		t.Errorf("arrows without an end: %v", slices.Collect(maps.Values(from)))
	}
	slices.Sort(v.slices)
	slices.Sort(v.arrows)
	return v
}

func written(t *testing.T, tr *trace.Trace) seen {
	t.Helper()
	var b, again bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	if Write(&again, tr); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("written twice, the bytes differ")
	}
	if sum, err := Check(bytes.NewReader(b.Bytes())); err != nil || sum.Problems != 0 {
		t.Fatalf("%v, %+v", err, sum)
	}
	return view(t, b.Bytes())
}

func small() *trace.Trace {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "Ascend910B3"})
	r.NameStream(0, 1, "copy", 0)
	r.Tasks([]trace.Task{
		{Submit: 1000, Ready: 1000, Start: 1000, End: 5001, Stream: 1, Task: 1, Thread: 1, Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: trace.HostToDevice, Bytes: 1 << 20, Name: r.Intern("input")},
		{Submit: 1500, Ready: 5001, Start: 5001, End: 5001, Stream: 1, Task: 2, Kind: trace.EventRecord, Event: 3, Gen: 1},
		{Submit: 2000, Ready: 2000, Start: 2000, End: 5001, Stream: 2, Task: 1, Kind: trace.EventWait, Event: 3, Gen: 1},
		{Submit: 2500, Ready: 5001, Start: 5001, End: 10001, Stream: 2, Task: 2, Kind: trace.KernelAICore, Engine: trace.EngineCube, Blocks: 20, Op: r.Intern("Conv2D"), Code: 38},
	})
	r.Spans([]trace.Span{{Start: 500, End: 1000, Thread: 1, Stream: 1, Task: 1, Name: r.Intern("aclrtMemcpyAsync")}, {Start: 600, End: 700, Thread: 1, Task: trace.NoTask}})
	r.Counters([]trace.Counter{{Time: 0, Name: r.Intern("HBM"), Value: 1.5}, {Time: 1, Name: r.Intern("HBM"), Value: math.NaN()}})
	return r.Finish()
}

func TestWrite_smallTrace(t *testing.T) {
	v := written(t, small())
	const npu = "NPU 0 (Ascend910B3)"
	wait := npu + "/Stream 2: task EVENT_WAIT kind=EVENT_WAIT task=1 event=3 generation=1"
	record := npu + "/Stream 1 copy: task EVENT_RECORD kind=EVENT_RECORD task=2 queued_ns=3501 event=3 generation=1"
	input := npu + "/Stream 1 copy: task input kind=MEMCPY_ASYNC task=1 direction=H2D bytes=1048576"
	call := "Host/Thread 1: host aclrtMemcpyAsync device=0 stream=1 task=1"
	want := []string{
		"Host/Thread 1: host call @600-700", call + " @500-1000",
		npu + "/AI Core: engine Conv2D @5001-10001", npu + "/DMA: engine input @1000-5001", input + " @1000-5001", record + " @5001-5001", wait + " @2000-5001",
		npu + "/Stream 2: task Conv2D kind=KERNEL_AICORE task=2 op_type=Conv2D block_dim=20 queued_ns=2501 code=38 @5001-10001",
	}
	slices.Sort(want)
	if !slices.Equal(v.slices, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(v.slices, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{call + " -> " + input, record + " -> " + wait}; !slices.Equal(v.arrows, want) {
		t.Errorf("arrows\n%s\nwant\n%s", strings.Join(v.arrows, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{npu + "/HBM 0 1.5"}; !slices.Equal(v.counters, want) {
		t.Errorf("counters %q", v.counters)
	}
}

func TestWrite_countsAndTotals(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 3000, Devices: 2, Streams: 4})
	v := written(t, tr)
	tasks, engines, waits, sum := 0, 0, 0, int64(0)
	for _, k := range tr.Tasks.All() {
		tasks++
		sum += k.End - k.Start
		if k.Engine != trace.EngineNone {
			engines++
		}
		if k.Kind == trace.EventWait {
			waits++
		}
	}
	count, time := map[string]int{}, int64(0)
	for _, s := range v.slices {
		_, rest, _ := strings.Cut(s, ": ")
		cat, _, _ := strings.Cut(rest, " ")
		count[cat]++
		if cat == "task" {
			var from, to int64
			fmt.Sscanf(s[strings.LastIndex(s, "@"):], "@%d-%d", &from, &to)
			time += to - from
		}
	}
	if count["task"] != tasks || count["engine"] != engines || count["host"] != tr.Spans.Len() || time != sum {
		t.Errorf("%v slices of %d ns, want %d tasks of %d ns, %d on engines, %d calls", count, time, tasks, sum, engines, tr.Spans.Len())
	}
	if len(v.arrows) != waits+tasks || len(v.counters) != tr.Counters.Len() {
		t.Errorf("%d arrows and %d counter values, want %d and %d", len(v.arrows), len(v.counters), waits+tasks, tr.Counters.Len())
	}
}

func TestWrite_arrowsAtOneInstant(t *testing.T) {
	for seed := range uint64(20) {
		tr := gen.Instants(seed)
		v := written(t, tr)
		var want []string
		type key struct{ event, gen uint32 }
		records := map[key]string{}
		for _, k := range tr.Tasks.All() {
			if k.Kind == trace.EventRecord {
				records[key{k.Event, k.Gen}] = tr.Label(&k)
			}
		}
		for _, k := range tr.Tasks.All() {
			if k.Kind == trace.EventWait {
				want = append(want, records[key{k.Event, k.Gen}]+" -> "+tr.Label(&k))
			}
		}
		var got []string
		for _, a := range v.arrows {
			from, to, _ := strings.Cut(a, " -> ")
			got = append(got, label(from)+" -> "+label(to))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Fatalf("seed %d: got %q, want %q", seed, got, want)
		}
	}
}

// label is the name of the slice that s shows.
func label(s string) string {
	_, s, _ = strings.Cut(s, ": task ")
	s, _, _ = strings.Cut(s, " kind=")
	return s
}

func TestWrite_oddTimes(t *testing.T) {
	written(t, trace.NewRecorder().Finish())
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{{Start: -50, End: -20, Stream: 1}, {Start: -30, End: -40, Stream: 2}, {Start: 1784177144514943513, End: 1784177144514943514}})
	v := written(t, r.Finish())
	if len(v.slices) != 3 {
		t.Errorf("%q", v.slices)
	}
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	tr := gen.Trace(gen.Options{Tasks: 200_000, Streams: 8})
	var out, asJSON counting
	for b.Loop() {
		out = 0
		Write(&out, tr)
	}
	chrome.Write(&asJSON, tr)
	n := float64(tr.Tasks.Len())
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64(out)/n, "B/task")
	b.ReportMetric(float64(out)/float64(asJSON), "of-JSON")
}
