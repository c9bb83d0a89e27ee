package npt

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

// seen keeps what a Skimmer is shown.
type seen struct {
	tasks  []trace.Task
	calls  []trace.Span
	orphan bool // a task came before its account
}

func (s *seen) Tasks(t *trace.Tasks, accounts []trace.Account) {
	for _, k := range t.All() {
		s.tasks = append(s.tasks, k)
		s.orphan = s.orphan || int(k.Acct) >= len(accounts)
	}
}

func (s *seen) Calls(rows []trace.Span) { s.calls = append(s.calls, rows...) }

func allFields() (list []trace.Field) {
	for f := trace.FieldSubmit; f <= trace.FieldFlags; f++ {
		list = append(list, f)
	}
	return list
}

func TestSkim_seesWhatReadKeeps(t *testing.T) {
	for name, want := range map[string]*trace.Trace{
		"empty": trace.NewRecorder().Finish(), "small": gen.Trace(gen.Options{Tasks: 20}), "extremes": extremes(),
		"chunks": gen.Trace(gen.Options{Tasks: 5*chunkRows + 17, Devices: 2, Streams: 3}),
	} {
		t.Run(name, func(t *testing.T) {
			var s seen
			got, err := Skim(bytes.NewReader(capture(t, want)), allFields(), &s)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range want.Tasks.All() {
				if i >= len(s.tasks) || s.tasks[i] != k {
					t.Fatalf("row %d of %d differs", i, len(s.tasks))
				}
			}
			for i, c := range want.Spans.All() {
				if i >= len(s.calls) || s.calls[i] != *c {
					t.Fatalf("call %d of %d differs", i, len(s.calls))
				}
			}
			if s.orphan {
				t.Error("a task came before its account")
			}
			if len(s.tasks) != want.Tasks.Len() || len(s.calls) != want.Spans.Len() || got.Tasks.Len()+got.Spans.Len() != 0 {
				t.Errorf("%d tasks and %d calls, %d and %d kept", len(s.tasks), len(s.calls), got.Tasks.Len(), got.Spans.Len())
			}
			if !slices.Equal(got.Strings, want.Strings) || got.Meta != want.Meta || !reflect.DeepEqual(got.Streams, want.Streams) || got.Counters.Len() != want.Counters.Len() {
				t.Error("what is not of tasks differs")
			}
		})
	}
}

// Fields that nobody asks for are zero.
func TestSkim_fields(t *testing.T) {
	want := gen.Trace(gen.Options{Tasks: 50})
	var s seen
	if _, err := Skim(bytes.NewReader(capture(t, want)), []trace.Field{trace.FieldKind}, &s); err != nil {
		t.Fatal(err)
	}
	for i, k := range want.Tasks.All() {
		if k = (trace.Task{Start: k.Start, End: k.End, Device: k.Device, Stream: k.Stream, Kind: k.Kind}); s.tasks[i] != k {
			t.Fatalf("row %d: %+v, want %+v", i, s.tasks[i], k)
		}
	}
}

// A capture that was written while the run went on is in the order of ends.
func TestSkim_order(t *testing.T) {
	for _, rows := range [][]trace.Task{
		{{Start: 5, End: 9, Kind: trace.Nop}, {Start: 2, End: 10, Kind: trace.Nop}},
		append(slices.Repeat([]trace.Task{{Start: 7, End: 7, Kind: trace.Nop}}, chunkRows), trace.Task{Start: 6, End: 8, Kind: trace.Nop}),
	} {
		var b bytes.Buffer
		w, err := NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w.Tasks(rows)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if tr, err := Skim(&b, nil, &seen{}); tr != nil || !errors.Is(err, ErrOrder) {
			t.Errorf("%d rows: %v, %v", len(rows), tr, err)
		}
	}
}

// However many rows the chunks of a file have, the trace is the same.
func TestRead_chunksOfAnySize(t *testing.T) {
	o := gen.Options{Tasks: 3 * chunkRows, Streams: 3, Seed: 4}
	want := gen.Trace(o)
	for _, every := range []int{1, 7, 1000, chunkRows - 1, chunkRows + 1} {
		var b bytes.Buffer
		w, err := NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		gen.Into(&flushing{Writer: w, every: every}, o)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Source = want.Source; !reflect.DeepEqual(got, want) {
			t.Errorf("chunks of %d rows give another trace", every)
		}
	}
}

// flushing begins chunks wherever it likes.
type flushing struct {
	*Writer
	every, n int
}

func (w *flushing) Tasks(rows []trace.Task) {
	for _, k := range rows {
		w.Writer.Tasks([]trace.Task{k})
		if w.n++; w.n%w.every == 0 && w.n < 2*chunkRows {
			_ = w.Flush()
		}
	}
}

// Skimming allocates nothing for a row, and little for a chunk.
func TestSkim_allocates(t *testing.T) {
	allocated := func(tasks int) float64 {
		in := capture(t, gen.Trace(gen.Options{Tasks: tasks}))
		return testing.AllocsPerRun(3, func() {
			if _, err := Skim(bytes.NewReader(in), allFields(), nobody{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	const more = 300_000
	if small, large := allocated(100_000), allocated(100_000+more); large > small+20*more/chunkRows {
		t.Errorf("%v allocations for 100,000 tasks, %v for %d more", small, large, more)
	}
}

type nobody struct{}

func (nobody) Tasks(*trace.Tasks, []trace.Account) {}
func (nobody) Calls([]trace.Span)                  {}

func BenchmarkSkim(b *testing.B) {
	tr := gen.Trace(gen.Options{Tasks: 500_000, Streams: 8})
	in := capture(b, tr)
	for b.Loop() {
		if _, err := Skim(bytes.NewReader(in), allFields(), nobody{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(tr.Tasks.Len())*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
