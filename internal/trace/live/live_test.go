package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"npu/internal/trace"
)

// memory is a file that both sides have.
type memory []byte

func (m memory) ReadAt(b []byte, off int64) (int, error) {
	if n := copy(b, m[min(int(off), len(m)):]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}

func (m memory) WriteAt(b []byte, off int64) (int, error) { return copy(m[off:], b), nil }

func TestFollow(t *testing.T) {
	mem := make(memory, FileBytes())
	if _, err := Follow(mem); !errors.Is(err, ErrOther) {
		t.Fatalf("a file that nobody has begun: %v", err)
	}
	w := NewWriter(mem)
	names := []string{"", "conv1"}
	w.Tasks([]trace.Task{{Start: 1}}, names)
	if w.Wanted() || (*Writer)(nil).Wanted() {
		t.Error("wanted before anybody looked")
	}
	r, err := Follow(mem)
	if err != nil || !w.Wanted() {
		t.Fatal(err)
	}
	names = append(names, "输入", "x")
	w.Tasks([]trace.Task{{Start: 2, Name: 1}, {Start: 3, Name: 2}}, names)
	w.Spans([]trace.Span{{Start: 4, Name: 3}}, names)
	b, err := r.Next()
	if err != nil || len(b.Tasks) != 2 || b.Tasks[1].Start != 3 || len(b.Spans) != 1 || !slices.Equal(b.Names, names) || b.Lost != 0 || b.Ended {
		t.Errorf("%+v, %v", b, err)
	}
	w.End()
	if b, err = r.Next(); err != nil || len(b.Tasks) != 0 || !b.Ended {
		t.Errorf("%+v, %v", b, err)
	}
	if r.Stop(); w.Wanted() {
		t.Error("wanted when nobody looks any more")
	}
}

// However reader and writer take turns, every record is read once and in order, or counted as lost.
func TestNext_any(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		mem := make(memory, FileBytes())
		w := NewWriter(mem)
		r, err := Follow(mem)
		if err != nil {
			t.Fatal(err)
		}
		at, next, lost := int64(0), int64(0), int64(0)
		for range 20 {
			for range rng.IntN(4) {
				rows := make([]trace.Task, rng.IntN(TaskRows/2))
				for i := range rows {
					rows[i].Start, at = at, at+1
				}
				w.Tasks(rows, nil)
			}
			b, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			lost += b.Lost
			for _, k := range b.Tasks {
				if k.Start < next {
					t.Fatalf("seed %d: record %d after %d", seed, k.Start, next)
				}
				next = k.Start + 1
			}
			if n := int64(len(b.Tasks)); b.Lost == 0 && n > 0 && b.Tasks[0].Start+n != at {
				t.Fatalf("seed %d: %d records, the last is %d of %d", seed, n, next, at)
			}
			if next != at && len(b.Tasks) > 0 {
				t.Fatalf("seed %d: up to %d of %d", seed, next, at)
			}
		}
	}
}

// A writer that runs while its file is read costs the oldest records and nothing else.
type racing struct {
	memory
	w  *Writer
	at *int64
}

func (f racing) ReadAt(b []byte, off int64) (int, error) {
	if off >= tasksAt && off < int64(spansAt()) {
		rows := make([]trace.Task, 9000)
		for i := range rows {
			rows[i].Start, *f.at = *f.at, *f.at+1
		}
		f.w.Tasks(rows, nil)
	}
	return f.memory.ReadAt(b, off)
}

func TestNext_whileWritten(t *testing.T) {
	mem := make(memory, FileBytes())
	w, at := NewWriter(mem), int64(0)
	r, err := Follow(racing{mem, w, &at})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]trace.Task, TaskRows-spare)
	for i := range rows {
		rows[i].Start, at = at, at+1
	}
	w.Tasks(rows, nil)
	next, seen, lost := int64(0), int64(0), int64(0)
	for range 50 {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen, lost = seen+int64(len(b.Tasks)), lost+b.Lost
		for i, k := range b.Tasks {
			if i == 0 && k.Start < next || i > 0 && k.Start != next {
				t.Fatalf("record %d, expected %d", k.Start, next)
			}
			next = k.Start + 1
		}
	}
	if seen+lost != next || lost == 0 {
		t.Errorf("%d read and %d lost of %d", seen, lost, next)
	}
}

// Names that have no room leave rows without names.
func TestTasks_manyNames(t *testing.T) {
	mem := make(memory, FileBytes())
	w := NewWriter(mem)
	r, err := Follow(mem)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{""}
	for i := range 40_000 {
		names = append(names, fmt.Sprintf("operator number %d", i))
	}
	w.Tasks([]trace.Task{{Name: 40_000}}, names)
	b, err := r.Next()
	if err != nil || len(b.Names) < 10_000 || len(b.Names) >= len(names) || b.Names[7] != names[7] {
		t.Errorf("%d names, %v", len(b.Names), err)
	}
}

// Writing allocates nothing.
func TestTasks_allocates(t *testing.T) {
	w := NewWriter(make(memory, FileBytes()))
	rows, names := make([]trace.Task, 1000), []string{"", "conv"}
	if n := testing.AllocsPerRun(100, func() { w.Wanted(); w.Tasks(rows, names) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Nothing in the file makes a reader panic.
func FuzzNext(f *testing.F) {
	mem := make(memory, FileBytes())
	NewWriter(mem).Tasks([]trace.Task{{Start: 1, Name: 1}}, []string{"", "x"})
	f.Add(uint64(1), uint64(2), uint64(3), []byte("\x00\x01x"))
	f.Fuzz(func(t *testing.T, tasks, spans, text uint64, names []byte) {
		mem := slices.Clone(mem)
		r, err := Follow(mem)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range map[int]uint64{wordTasks: tasks, wordSpans: spans, wordNames: text} {
			binary.LittleEndian.PutUint64(mem[8*i:], v)
		}
		copy(mem[namesAt:tasksAt], names)
		for range 3 {
			_, _ = r.Next()
		}
	})
}
