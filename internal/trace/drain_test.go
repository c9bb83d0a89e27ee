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
	block := new(Block)
	for s := range want {
		direct.Tasks(want[s])
		for i, k := range got[s] {
			if block.Add(k); block.Full() || i%5000 == 17 {
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
	b := new(Block)
	for i := range 5 {
		b = d.Tasks(filled(b, int64(i)))
	}
	d.Spans(append(d.Spans(nil), Span{End: 1}, Span{End: 2}))
	b.Add(Task{Start: 9})
	d.Tasks(b)
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
	b := new(Block)
	for range 3 {
		b = d.Tasks(filled(b, 0))
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
	b := new(Block)
	record := func() {
		for i := range 64 {
			put(b, int64(i), 1)
			if b.Full() {
				b = d.Tasks(b)
			}
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
		b := new(Block)
		for i := range blocks {
			b = d.Tasks(filled(b, int64(i)))
		}
		want := blocks * BlockRows
		for range 3 {
			put(b, 1, 1)
		}
		d.Tasks(b)
		d.Close()
		if got := r.Finish().Tasks.Len(); got != want+3 {
			t.Errorf("%d blocks and 3 rows: %d tasks, want %d", blocks, got, want+3)
		}
	}
}

// BenchmarkDrain is what a task costs the thread that simulates: its record, and its share of handing the block over to the
// goroutine, which works meanwhile. Between records the thread works as long as the simulator would; the same work without
// records, in turns with it, is taken off. The median is of turns.
func BenchmarkDrain(b *testing.B) {
	const tasks, turns = 4 * BlockRows, 64
	var with, without []float64
	lost := int64(0)
	for range b.N {
		r := NewRecorder()
		d := NewDrain(r)
		block := new(Block)
		for range turns {
			sum := uint64(1)
			begin := time.Now()
			for i := range tasks {
				sum = work(sum)
				put(block, int64(i), 0)
				if block.Filled%AheadRows == 0 {
					if block.Full() {
						block = d.Tasks(block)
					} else {
						block.Ahead()
					}
				}
			}
			middle := time.Now()
			for range tasks {
				sum = work(sum)
			}
			end := time.Now()
			with = append(with, float64(middle.Sub(begin).Nanoseconds())/tasks)
			without = append(without, float64(end.Sub(middle).Nanoseconds())/tasks)
			kept = sum
		}
		d.Close()
		lost += r.Finish().Meta.Lost
	}
	slices.Sort(with)
	slices.Sort(without)
	b.ReportMetric(with[len(with)/2]-without[len(with)/2], "ns/task")
	b.ReportMetric(with[len(with)*9/10]-without[len(with)*9/10], "p90-ns/task")
	b.ReportMetric(float64(lost), "lost")
}

var kept uint64

// work takes as long as the simulator needs for a task that only a scheduler sees.
func work(x uint64) uint64 {
	for range 40 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// put records a kernel that the block knows, in place as the simulator does; the first one makes it known.
func put(b *Block, at int64, outline uint32) {
	if b.Filled == 0 {
		for range outline + 1 {
			o, _ := b.Outline()
			*o = Task{Name: 1, Op: 1, Blocks: 20, Thread: 1, Kind: KernelAICore, Engine: EngineCube}
		}
	}
	n := b.Filled
	b.Filled = n + 1
	r := &b.Rows[n]
	r.End, r.Start, r.Ready, r.Submit = at+9, uint32(at+2), uint32(at+1), uint32(at)
	r.Task, r.Iter, r.Outline = uint32(at), 0, outline
}

// filled fills a block with tasks that begin at the same time.
func filled(b *Block, at int64) *Block {
	for b.Filled < BlockRows {
		put(b, at-2, 0)
	}
	return b
}
