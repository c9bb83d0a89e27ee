package trace

import (
	"slices"
	"testing"
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

// BenchmarkDrain is what the thread that simulates pays for a task: its record, and its share of handing blocks over to the
// goroutine, which works meanwhile. partner is the record alone, into one block.
func BenchmarkDrain(b *testing.B) {
	const tasks = 1 << 20
	b.Run("partner", func(b *testing.B) {
		block := make([]Task, BlockRows)
		for b.Loop() {
			for i := range tasks {
				put(&block[i%BlockRows], i)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tasks, "ns/task")
	})
	b.Run("drain", func(b *testing.B) {
		lost := int64(0)
		for range b.N {
			r := NewRecorder()
			d := NewDrain(r)
			block := d.Tasks(nil)
			for i := range tasks {
				if len(block) == cap(block) {
					block = d.Tasks(block)
				}
				block = block[:len(block)+1]
				put(&block[len(block)-1], i)
			}
			d.Tasks(block)
			b.StopTimer()
			d.Close()
			lost += r.Finish().Meta.Lost
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tasks, "ns/task")
		b.ReportMetric(float64(lost), "lost")
	})
}

// put makes the record of a task.
func put(k *Task, i int) {
	*k = Task{Submit: int64(i), Ready: int64(i), Start: int64(i), End: int64(i) + 9, Name: 1, Op: 1, Stream: uint32(i) % 8, Task: uint32(i), Blocks: 20, Kind: KernelAICore}
}
