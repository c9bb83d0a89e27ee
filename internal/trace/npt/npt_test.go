package npt

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func capture(t testing.TB, tr *trace.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// extremes has values that use every bit of their fields.
func extremes() *trace.Trace {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "Ascend910B3", Model: "mödel \"x\"", Policy: "reference", Devices: 2, CubeCores: 20, VectorCores: 40, DMAEngines: 3, AICPUs: 6, ClockMHz: 1850, WallOrdered: true, Lost: 5})
	r.NameStream(1, math.MaxUint32, "a\x00b", -7)
	r.NameThread(math.MaxUint16, "main")
	r.Tasks([]trace.Task{
		{Submit: math.MinInt64, Ready: math.MinInt64, Start: math.MinInt64, End: math.MaxInt64, Bytes: math.MaxInt64},
		{Submit: math.MaxInt64, Ready: 0, Start: math.MaxInt64, End: math.MinInt64, Bytes: -1, Name: r.Intern("n"), Op: r.Intern("o"),
			Stream: math.MaxUint32, Task: math.MaxUint32, Blocks: math.MaxUint32, Event: math.MaxUint32, Gen: math.MaxUint32, Model: math.MaxUint32,
			Iter: math.MaxUint32, Code: math.MaxUint32, Acct: r.AddAccount(trace.Account{Total: math.MinInt64, L2Misses: math.MaxInt64}),
			Device: math.MaxUint16, Thread: math.MaxUint16, Kind: 255, Engine: 255, Dir: 255, Flags: 255},
	})
	r.Spans([]trace.Span{{Start: -5, End: math.MaxInt64, Name: r.Intern("aclrtMalloc"), Thread: 1, Task: trace.NoTask, Code: 107000}})
	r.Counters([]trace.Counter{{Time: 1, Value: -0.1, Name: r.Intern("MHz"), Device: 3}, {Time: 2, Value: math.Inf(1)}, {Time: 2, Value: 1 << 53}})
	return r.Finish()
}

func TestWrite_readsBackTheSame(t *testing.T) {
	traces := map[string]*trace.Trace{
		"empty":    trace.NewRecorder().Finish(),
		"extremes": extremes(),
		"small":    gen.Trace(gen.Options{Tasks: 20}),
		"chunks":   gen.Trace(gen.Options{Tasks: 3*chunkRows + 17, Devices: 2, Streams: 3}),
	}
	for name, want := range traces {
		t.Run(name, func(t *testing.T) {
			got, err := Read(bytes.NewReader(capture(t, want)))
			if err != nil {
				t.Fatal(err)
			}
			want.Source = got.Source
			if got.Source.Format != "npt" {
				t.Errorf("format %q", got.Source.Format)
			}
			if !reflect.DeepEqual(got, want) {
				t.Error("what is read differs from what was written")
			}
			if !bytes.Equal(capture(t, got), capture(t, want)) {
				t.Error("written again, the bytes differ")
			}
		})
	}
}

func TestWriter_streamingGivesTheSameTrace(t *testing.T) {
	o := gen.Options{Tasks: 2*chunkRows + 5, Streams: 4, Seed: 2}
	run := func() []byte {
		var b bytes.Buffer
		w, err := NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		gen.Into(w, o)
		w.SetMeta(func() trace.Meta { m := w.Meta(); m.Lost = 3; return m }())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	a, b := run(), run()
	if !bytes.Equal(a, b) {
		t.Fatal("two runs give different bytes")
	}
	got, err := Read(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	want := gen.Trace(o)
	want.Source, want.Meta.Lost = got.Source, 3
	if !reflect.DeepEqual(got, want) {
		t.Error("the capture differs from the trace in memory")
	}
}

func TestRead_cutAnywhere(t *testing.T) {
	full := capture(t, gen.Trace(gen.Options{Tasks: 40}))
	whole, err := Read(bytes.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for n := range full {
		tr, err := Read(bytes.NewReader(full[:n]))
		if err == nil || problem.ClassOf(err) != problem.Damaged {
			t.Fatalf("%d of %d bytes: error %v", n, len(full), err)
		}
		if n < fileHeader {
			continue
		}
		if tr == nil || !strings.Contains(err.Error(), "at offset 0x") || !strings.Contains(err.Error(), "records before it are good") {
			t.Fatalf("%d of %d bytes: trace %v, error %v", n, len(full), tr, err)
		}
		if tr.Tasks.Len() < last {
			t.Fatalf("%d bytes give %d tasks, fewer bytes gave %d", n, tr.Tasks.Len(), last)
		}
		last = tr.Tasks.Len()
	}
	if last != whole.Tasks.Len() {
		t.Errorf("without the end chunk %d of %d tasks are read", last, whole.Tasks.Len())
	}
}

func TestRead_everyFlippedByteIsFound(t *testing.T) {
	full := capture(t, gen.Trace(gen.Options{Tasks: 40}))
	for i := range full {
		if i >= len(Magic)+2 && i < fileHeader {
			continue // reserved
		}
		bad := bytes.Clone(full)
		bad[i] ^= 0x10
		if _, err := Read(bytes.NewReader(bad)); err == nil {
			t.Fatalf("byte %d of %d flipped: no error", i, len(full))
		}
	}
}

func TestRead_otherFiles(t *testing.T) {
	newer := capture(t, trace.NewRecorder().Finish())
	newer[8] = 2
	for name, tt := range map[string]struct{ in, want string }{
		"empty":              {"", "not an .npt capture"},
		"json":               {"[{\"ph\":\"X\"}]", "not an .npt capture"},
		"text mode transfer": {strings.Replace(Magic, "\r\n", "\n", 1) + "\x01\x00", "not an .npt capture"},
		"newer":              {string(newer), "version 2 is newer"},
	} {
		tr, err := Read(strings.NewReader(tt.in))
		if tr != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: trace %v, error %v, want %q", name, tr, err, tt.want)
		}
	}
}

func TestWriter_crashKeepsFlushedRows(t *testing.T) {
	var b bytes.Buffer
	w, _ := NewWriter(&b)
	gen.Into(w, gen.Options{Tasks: 100})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	n := gen.Into(w, gen.Options{Tasks: 10})
	tr, err := Read(&b)
	if err == nil || !strings.Contains(err.Error(), "end chunk is missing") {
		t.Errorf("error %v", err)
	}
	if tr.Tasks.Len() < 100 || n == 0 || len(tr.Source.Missing) != 1 {
		t.Errorf("%d tasks, source %+v", tr.Tasks.Len(), tr.Source)
	}
}

type fullDisk struct{ room int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriter_reportsErrorsOfTheFile(t *testing.T) {
	for _, room := range []int{0, 20, 3000} {
		w, err := NewWriter(&fullDisk{room})
		if err == nil {
			gen.Into(w, gen.Options{Tasks: 3 * chunkRows})
			err = w.Close()
		}
		if err == nil {
			t.Errorf("room for %d bytes: no error", room)
		}
	}
	w, _ := NewWriter(io.Discard)
	w.Intern(strings.Repeat("x", maxString+1))
	if err := w.Close(); err == nil {
		t.Error("a name that is too long is written")
	}
}

func TestWriter_recordingAllocatesNothing(t *testing.T) {
	w, _ := NewWriter(io.Discard)
	gen.Into(w, gen.Options{Tasks: 2 * chunkRows})
	batch := make([]trace.Task, 64)
	for i := range batch {
		batch[i] = trace.Task{Start: int64(i * i), End: int64(i*i) + 9, Kind: trace.KernelAICore}
	}
	if n := testing.AllocsPerRun(4*chunkRows/len(batch), func() { w.Tasks(batch) }); n != 0 {
		t.Errorf("%v allocations for 64 rows, want 0", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{})
	f.Add(capture(f, trace.NewRecorder().Finish()))
	f.Add(capture(f, extremes()))
	f.Add(capture(f, gen.Trace(gen.Options{Tasks: 30})))
	f.Fuzz(func(t *testing.T, in []byte) {
		// A fuzzer does not guess checksums, so the second try has them put right.
		for _, b := range [][]byte{in, mend(in)} {
			tr, err := Read(bytes.NewReader(b))
			if err != nil && problem.ClassOf(err) != problem.Damaged {
				t.Fatalf("not marked as damaged: %v", err)
			}
			if tr == nil {
				continue
			}
			tr.Check()
			var s seen
			skimmed, err2 := Skim(bytes.NewReader(b), allFields(), &s)
			if skimmed != nil && (len(s.tasks) != tr.Tasks.Len() || len(s.calls) != tr.Spans.Len() || (err2 == nil) != (err == nil) || err != nil && err.Error() != err2.Error()) {
				t.Fatalf("skimmed %d tasks, %d calls, %v; read %d, %d, %v", len(s.tasks), len(s.calls), err2, tr.Tasks.Len(), tr.Spans.Len(), err)
			}
			if s.orphan {
				t.Fatal("a task came before its account")
			}
			for i, k := range tr.Tasks.All() {
				if skimmed != nil && (s.tasks[i].Start != k.Start || s.tasks[i].Task != k.Task) {
					t.Fatalf("row %d skimmed as %+v, read as %+v", i, s.tasks[i], k)
				}
			}
			again, err2 := Read(bytes.NewReader(capture(t, tr)))
			if err2 != nil {
				t.Fatalf("what was read cannot be read back: %v", err2)
			}
			again.Source = tr.Source
			if len(tr.Strings) != len(again.Strings) || again.Tasks.Len() != tr.Tasks.Len() {
				t.Fatal("what was read comes back different")
			}
			for i, k := range tr.Tasks.All() {
				if again.Tasks.At(i) != k {
					t.Fatalf("row %d comes back as %+v, was %+v", i, again.Tasks.At(i), k)
				}
			}
		}
	})
}

// mend sets the checksums of all chunks that it can walk to.
func mend(in []byte) []byte {
	b := bytes.Clone(in)
	for at := fileHeader; at+chunkHead <= len(b); {
		var h head
		h.get(b[at:])
		end := at + chunkHead + int(h.stored)
		if end > len(b) {
			break
		}
		h.hash = sum(b[at:at+chunkHead], b[at+chunkHead:end])
		b[at+2], b[at+3] = 0, 0
		h.put(b[at:])
		h.hash = sum(b[at:at+chunkHead], b[at+chunkHead:end])
		h.put(b[at:])
		at = end
	}
	return b
}

func BenchmarkWrite(b *testing.B) {
	tr := gen.Trace(gen.Options{Tasks: 500_000, Streams: 8})
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := Write(&out, tr); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(tr.Tasks.Len())
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64(out.Len())/n, "B/task")
}

func BenchmarkRead(b *testing.B) {
	tr := gen.Trace(gen.Options{Tasks: 500_000, Streams: 8})
	in := capture(b, tr)
	for b.Loop() {
		if _, err := Read(bytes.NewReader(in)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(tr.Tasks.Len())*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
