package trace

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// program makes n rows on several streams; each stream runs its tasks one after the other.
func program(r *Recorder, n int, seed uint64) [][]Task {
	rng := rand.New(rand.NewPCG(seed, 1))
	streams := make([][]Task, 5)
	clock := make([]int64, len(streams))
	for i := range n {
		s := rng.IntN(len(streams))
		start := clock[s] + rng.Int64N(50)
		end := start + rng.Int64N(3)*rng.Int64N(4000)
		clock[s] = end
		streams[s] = append(streams[s], Task{
			Submit: clock[s] / 2, Ready: start, Start: start, End: end, Bytes: rng.Int64N(2) * 1 << 40,
			Name: r.Intern(fmt.Sprint("op", rng.IntN(9))), Op: r.Intern("Conv2D"), Stream: uint32(s), Task: uint32(i),
			Blocks: 8, Model: 1, Iter: uint32(i), Acct: r.AddAccount(Account{Total: rng.Int64N(3)}), Device: uint16(s % 2),
			Thread: 3, Kind: KernelAICore, Engine: EngineCube, Dir: Dir(rng.IntN(4)), Flags: uint8(rng.IntN(2)), Code: uint32(rng.IntN(2)), Event: 7, Gen: 9,
		})
		clock[s] = end
	}
	return streams
}

func rows(t *Trace) []string {
	var out []string
	for _, k := range t.Tasks.All() {
		name, op, acct := t.String(k.Name), t.String(k.Op), t.Account(k.Acct)
		k.Name, k.Op, k.Acct = 0, 0, 0
		out = append(out, fmt.Sprint(k, name, op, acct))
	}
	return out
}

func TestRecorder_orderDoesNotDependOnArrival(t *testing.T) {
	const n = 3*chunkRows + 100
	a := NewRecorder()
	streams := program(a, n, 1)
	var want []Task
	for _, s := range streams {
		a.Tasks(s)
		want = append(want, s...)
	}
	slices.SortStableFunc(want, func(x, y Task) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End), cmp.Compare(x.Device, y.Device), cmp.Compare(x.Stream, y.Stream))
	})
	ta := a.Finish()

	b := NewRecorder()
	b.Intern("unused")
	b.Intern("op8")
	b.AddAccount(Account{Total: 2})
	streams = program(b, n, 1)
	rng := rand.New(rand.NewPCG(5, 5))
	for left := n; left > 0; {
		s := rng.IntN(len(streams))
		k := min(len(streams[s]), rng.IntN(300))
		b.Tasks(streams[s][:k])
		streams[s] = streams[s][k:]
		left -= k
	}
	tb := b.Finish()
	if ta.Tasks.Len() != n || tb.Tasks.Len() != n {
		t.Fatalf("%d and %d rows, want %d", ta.Tasks.Len(), tb.Tasks.Len(), n)
	}
	if !slices.Equal(rows(ta), rows(tb)) {
		t.Error("rows differ")
	}
	for i, k := range ta.Tasks.All() {
		if k != tb.Tasks.At(i) {
			t.Fatalf("row %d has other ids: %+v, %+v", i, k, tb.Tasks.At(i))
		}
		if k.Task != want[i].Task || k.Bytes != want[i].Bytes {
			t.Fatalf("row %d is task %d, want %d", i, k.Task, want[i].Task)
		}
	}
	if !slices.Equal(ta.Strings, tb.Strings) || !slices.Equal(ta.Accounts, tb.Accounts) {
		t.Errorf("tables differ: %q %q", ta.Strings, tb.Strings)
	}
}

func TestTasks_keepEveryField(t *testing.T) {
	r := NewRecorder()
	k := Task{
		Submit: -1, Ready: 2, Start: 3, End: 4, Bytes: 5, Name: r.Intern("conv1"), Op: r.Intern("Conv2D"), Stream: 8, Task: 9,
		Blocks: 10, Event: 11, Gen: 12, Model: 13, Iter: 14, Code: 15, Acct: r.AddAccount(Account{Cube: 1}), Device: 17, Thread: 18,
		Kind: Memcpy, Engine: EngineDMA, Dir: DeviceToHost, Flags: 22,
	}
	for range chunkRows {
		r.Tasks([]Task{{}})
	}
	r.Tasks([]Task{k})
	tr := r.Finish()
	if got := tr.Tasks.At(chunkRows); got != k {
		t.Errorf("got %+v, want %+v", got, k)
	}
	if tr.Label(&k) != "conv1" || tr.Account(k.Acct).Cube != 1 {
		t.Errorf("label %q, account %+v", tr.Label(&k), tr.Account(k.Acct))
	}
	if got := tr.Tasks.At(5); got != (Task{}) {
		t.Errorf("zero row became %+v", got)
	}
}

func TestRecorder_recordingAllocatesNothing(t *testing.T) {
	r := NewRecorder()
	batch := make([]Task, 64)
	for i := range batch {
		batch[i] = Task{Start: int64(i), End: int64(i) + 1, Kind: KernelAICore}
	}
	// Three columns are not zero, so a chunk of rows costs a few allocations: far below one for 64 rows.
	if n := testing.AllocsPerRun(10*chunkRows/len(batch), func() { r.Tasks(batch) }); n != 0 {
		t.Errorf("%v allocations for 64 rows, want 0", n)
	}
	spans := []Span{{End: 1}}
	if n := testing.AllocsPerRun(3*chunkRows, func() { r.Spans(spans) }); n != 0 {
		t.Errorf("%v allocations for a span, want 0", n)
	}
	r.Intern("a")
	if n := testing.AllocsPerRun(100, func() { r.Intern("a"); r.AddAccount(Account{}) }); n != 0 {
		t.Errorf("%v allocations for a known name, want 0", n)
	}
	tr := r.Finish()
	var sum int64
	if n := testing.AllocsPerRun(3, func() {
		for _, k := range tr.Tasks.All() {
			sum += k.End - k.Start
		}
	}); n != 0 {
		t.Errorf("%v allocations to iterate, want 0", n)
	}
}

// BenchmarkTasks is what readers pay for a task, columns included.
func BenchmarkTasks(b *testing.B) {
	batch := make([]Task, 256)
	for i := range batch {
		batch[i] = Task{Submit: 1, Ready: 1, Start: int64(i), End: int64(i) + 1, Name: 1, Op: 1, Stream: uint32(i), Task: uint32(i), Blocks: 20, Kind: KernelAICore}
	}
	r := NewRecorder()
	n := 0
	for b.Loop() {
		r.Tasks(batch)
		if n += len(batch); n > 1<<20 {
			r, n = NewRecorder(), 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(batch)), "ns/task")
}

func BenchmarkFinish(b *testing.B) {
	for range b.N {
		b.StopTimer()
		r := NewRecorder()
		for _, s := range program(r, 1<<20, 3) {
			r.Tasks(s)
		}
		b.StartTimer()
		r.Finish()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<20), "ns/task")
}

func TestRecorder_limitCountsWhatItDrops(t *testing.T) {
	r := NewRecorder()
	seen := 0
	r.Tap(func(rows []Task) { seen += len(rows) })
	r.Limit(5)
	r.SetMeta(Meta{Lost: 1})
	for range 4 {
		r.Tasks(make([]Task, 3))
		r.Spans(make([]Span, 2))
	}
	got := r.Finish()
	if got.Tasks.Len() != 5 || got.Spans.Len() != 5 || seen != 12 || got.Meta.Lost != 1+7+3 {
		t.Errorf("%d tasks, %d spans, %d seen, %d lost", got.Tasks.Len(), got.Spans.Len(), seen, got.Meta.Lost)
	}
}
