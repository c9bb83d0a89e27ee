package trace

import (
	"slices"
	"testing"
	"time"
)

// What a Drain puts into a recorder is what the recorder would have taken itself.
func TestDrain_sameTrace(t *testing.T) {
	const n = 3*wakeAt*BlockRows + 77
	direct, drained := NewRecorder(), NewRecorder()
	d := NewDrain(drained)
	var want, got [][]Task = program(direct, n, 4), program(drained, n, 4)
	seen := 0
	drained.Tap(func(rows []Task) { seen += len(rows) })
	block := d.Tasks(nil)
	for s := range want {
		direct.Tasks(want[s])
		for i, k := range got[s] {
			if block = append(block, k); len(block) == cap(block) || i%5000 == 17 {
				block = d.Tasks(block)
			}
		}
		block = d.Tasks(block)
	}
	calls := d.Spans(nil)
	for i := range 5 * BlockRows {
		s := Span{Start: int64(i), End: int64(i) + 3, Name: drained.Intern("aclrtLaunchKernel"), Task: NoTask}
		direct.Spans([]Span{{Start: s.Start, End: s.End, Name: direct.Intern("aclrtLaunchKernel"), Task: NoTask}})
		if calls = append(calls, s); len(calls) == cap(calls) {
			calls = d.Spans(calls)
		}
	}
	d.Spans(calls)
	d.Close()
	a, b := direct.Finish(), drained.Finish()
	if !slices.Equal(rows(a), rows(b)) || !slices.Equal(a.Strings, b.Strings) || !slices.Equal(a.Accounts, b.Accounts) || seen != n || b.Meta.Lost != 0 {
		t.Errorf("%d rows, %d seen, %d lost: not the rows of the recorder", b.Tasks.Len(), seen, b.Meta.Lost)
	}
	if a.Spans.Len() != b.Spans.Len() || *a.Spans.At(4000) != *b.Spans.At(4000) {
		t.Errorf("%d calls, want %d", b.Spans.Len(), a.Spans.Len())
	}
}

// What finds no room is counted, tasks and calls alike, and the rest is kept.
func TestDrain_full(t *testing.T) {
	r := NewRecorder()
	d := NewDrain(r)
	d.most = 3 // fewer than wake the goroutine: nothing is emptied before Close
	for i := range 5 {
		b := d.Tasks(nil)
		for range cap(b) {
			b = append(b, Task{Start: int64(i), End: int64(i), Kind: Nop})
		}
		d.Tasks(b)
	}
	d.Spans(append(d.Spans(nil), Span{End: 1}, Span{End: 2}))
	d.Tasks(append(d.Tasks(nil), Task{Start: 9}))
	d.Close()
	got := r.Finish()
	if got.Tasks.Len() != 3*BlockRows || got.Tasks.Start.At(3*BlockRows-1) != 2 || got.Meta.Lost != 2*BlockRows+2+1 {
		t.Errorf("%d tasks, %d lost", got.Tasks.Len(), got.Meta.Lost)
	}
}

// The limit of the recorder holds, and nothing is handed over past it.
func TestDrain_limit(t *testing.T) {
	r := NewRecorder()
	r.Limit(BlockRows + 5)
	d := NewDrain(r)
	for range 3 {
		b := d.Tasks(nil)
		d.Tasks(b[:cap(b)])
	}
	if d.held > 2 {
		t.Errorf("%d blocks", d.held)
	}
	d.Close()
	if got := r.Finish(); got.Tasks.Len() != BlockRows+5 || got.Meta.Lost != 2*BlockRows-5 {
		t.Errorf("%d tasks, %d lost", got.Tasks.Len(), got.Meta.Lost)
	}
}

// The thread that records allocates nothing, and the goroutine a few columns for thousands of rows.
func TestDrain_allocates(t *testing.T) {
	d := NewDrain(NewRecorder())
	b := d.Tasks(nil)
	record := func() {
		for i := range 64 {
			b = append(b, Task{Start: int64(i), End: int64(i) + 1, Kind: KernelAICore})
		}
		if len(b) == cap(b) {
			b = d.Tasks(b)
		}
	}
	for range 4 * wakeAt * BlockRows / 64 {
		record()
	}
	if n := testing.AllocsPerRun(4*wakeAt*BlockRows/64, record); n != 0 {
		t.Errorf("%v allocations for 64 rows, want 0", n)
	}
	d.Close()
}

// The last rows may be those that start the goroutine: Close waits for it then as well. Run with -race.
func TestDrain_lastRowsStartTheGoroutine(t *testing.T) {
	for blocks := wakeAt - 2; blocks <= wakeAt+1; blocks++ {
		r := NewRecorder()
		d := NewDrain(r)
		block := d.Tasks(nil)
		want := 0
		for i := range blocks {
			block = block[:BlockRows]
			for k := range block {
				put(&block[k], int64(i*BlockRows+k), 1)
			}
			want += len(block)
			block = d.Tasks(block)
		}
		block = block[:3]
		for k := range block {
			put(&block[k], int64(want+k), 1)
		}
		d.Tasks(block)
		d.Close()
		if got := r.Finish().Tasks.Len(); got != want+3 {
			t.Errorf("%d blocks and 3 rows: %d tasks, want %d", blocks, got, want+3)
		}
	}
}

// BenchmarkRecorder is what a task costs the thread that simulates: its record, and its share of handing the block over to the
// goroutine, which works meanwhile. The blocks are filled at once, so that nothing hides the stores, and between them the thread
// works as long as the simulator would, off the clock. ns/task is the median of the blocks.
func BenchmarkRecorder(b *testing.B) {
	const blocks = 1024
	var spent []time.Duration
	lost, sum := int64(0), uint64(1)
	for range b.N {
		r := NewRecorder()
		d := NewDrain(r)
		block := d.Tasks(nil)
		for range blocks {
			for range BlockRows {
				sum = work(sum)
			}
			begin := time.Now()
			for i := range BlockRows {
				block = block[:i+1]
				put(&block[i], int64(i), uint32(sum)%8)
			}
			block = d.Tasks(block)
			spent = append(spent, time.Since(begin))
		}
		d.Close()
		lost += r.Finish().Meta.Lost
	}
	slices.Sort(spent)
	total := time.Duration(0)
	for _, x := range spent {
		total += x
	}
	b.ReportMetric(float64(spent[len(spent)/2].Nanoseconds())/BlockRows, "ns/task")
	b.ReportMetric(float64(spent[len(spent)*9/10].Nanoseconds())/BlockRows, "p90-ns/task")
	b.ReportMetric(float64(total.Nanoseconds())/float64(len(spent))/BlockRows, "mean-ns/task")
	b.ReportMetric(float64(lost), "lost")
}

// work takes as long as the simulator needs for a task that only a scheduler sees.
func work(x uint64) uint64 {
	for range 40 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// put makes the record of a task in a block that was used before, field by field as the simulator does.
func put(k *Task, at int64, stream uint32) {
	k.Submit, k.Ready, k.Start, k.End, k.Bytes = at, at+1, at+2, at+9, 0
	k.Name, k.Op, k.Acct = 1, 1, 0
	k.Stream, k.Task, k.Blocks, k.Code = stream, uint32(at), 20, 0
	k.Event, k.Gen, k.Model, k.Iter = 0, 0, 0, 0
	k.Device, k.Thread, k.Kind, k.Engine, k.Dir, k.Flags = 0, 1, KernelAICore, EngineCube, 0, 0
}
