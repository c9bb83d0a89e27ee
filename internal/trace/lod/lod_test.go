package lod

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/trace"
)

// lane makes n rows that do not overlap, with gaps, rows of no length, and a few failures.
func lane(n int, seed uint64) (*trace.Trace, *Lane) {
	rng := rand.New(rand.NewPCG(seed, 1))
	rec := trace.NewRecorder()
	ops := []trace.StringID{0, rec.Intern("Conv2D"), rec.Intern("Add"), rec.Intern("MatMul")}
	var rows []trace.Task
	at := int64(1000)
	for range n {
		at += max(0, rng.Int64N(200)-100)
		k := trace.Task{Start: at, Op: ops[rng.IntN(4)], Kind: trace.KernelAICore}
		if rng.IntN(5) > 0 {
			at += rng.Int64N(300)
		}
		if rng.IntN(50) == 0 {
			k.Code = 507015
		}
		k.End = at
		rows = append(rows, k)
	}
	rec.Tasks(rows)
	t := rec.Finish()
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return t, Tasks(t, all)
}

// Whatever is asked of the index, looking at every row says the same.
func TestLane(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(rt, "rows")
		_, l := lane(n, rapid.Uint64().Draw(rt, "seed"))
		from := rapid.Int64Range(0, 600_000).Draw(rt, "from")
		to := from + rapid.Int64Range(1, 600_000).Draw(rt, "span")
		cells := make([]Cell, rapid.IntRange(1, 60).Draw(rt, "columns"))
		l.Cells(from, to, cells)
		for x, got := range cells {
			a, b := Edge(from, to, x, len(cells)), Edge(from, to, x+1, len(cells))
			want := Cell{At: got.At}
			for i := range n {
				s, e := l.Start(i), l.End(i)
				if s < b && (e > a || s >= a) {
					want.Count++
					want.Busy += min(e, b) - max(s, a)
					want.Fault = want.Fault || l.fault(i)
				}
			}
			if want.Count >= fan*coarse {
				if off := max(got.Busy-want.Busy, want.Busy-got.Busy); off <= (b-a)/16 && got.Count == want.Count {
					continue
				}
			}
			if got != want || (got.At >= 0) != (want.Count > 0) {
				rt.Fatalf("column %d from %d to %d: %+v, expected %+v", x, a, b, got, want)
			}
		}
		i, j := l.Within(from, to)
		long, gap := int64(-1), int64(-1)
		for k := i; k < j; k++ {
			long = max(long, l.End(k)-l.Start(k))
		}
		for k := range n {
			if l.Start(k) >= from && (l.Start(k) < to || k == 0 || l.Start(k-1) < to) {
				gap = max(gap, l.Gap(k))
			}
		}
		if k := l.Longest(from, to); (k < 0) != (long < 0) || k >= 0 && l.End(k)-l.Start(k) != long {
			rt.Fatalf("longest is %d at place %d", long, k)
		}
		if k := l.LongestGap(from, to); (k < 0) != (gap < 0) || k >= 0 && l.Gap(k) != gap {
			rt.Fatalf("longest gap is %d at place %d", gap, k)
		}
	})
}

// The operator with most of the time stands for a cell.
func TestLane_operator(t *testing.T) {
	rec := trace.NewRecorder()
	conv, add := rec.Intern("Conv2D"), rec.Intern("Add")
	for i := range int64(5000) {
		op, d := add, int64(10)
		if i%3 == 0 {
			op, d = conv, 60
		}
		rec.Tasks([]trace.Task{{Start: i * 100, End: i*100 + d, Op: op}})
	}
	tr := rec.Finish()
	rows := make([]int32, 5000)
	for i := range rows {
		rows[i] = int32(i)
	}
	l := Tasks(tr, rows)
	var c [7]Cell
	l.Cells(0, 500_000, c[:])
	for x, got := range c {
		if op := tr.Tasks.Op.At(l.Row(got.At)); op != conv {
			t.Errorf("column %d: %s", x, tr.String(op))
		}
	}
	if l.Find(4321) != 4321 || l.Find(5000) != -1 {
		t.Error("a row is not found")
	}
}

// However full the cells are, a line of them loses nothing: neither time nor a failure.
func TestLane_full(t *testing.T) {
	_, l := lane(300_000, 3)
	to := l.End(l.Len()-1) + 1
	want := l.total(0, l.Len())
	for _, n := range []int{1, 3, 17, 200} {
		cells := make([]Cell, n)
		l.Cells(0, to, cells)
		busy, fault, count := int64(0), false, 0
		for _, c := range cells {
			busy, fault, count = busy+c.Busy, fault || c.Fault, count+c.Count
		}
		if d := busy - want.busy; d > want.busy/1000 || -d > want.busy/1000 || !fault || count < l.Len() || count > l.Len()+n {
			t.Errorf("%d cells: busy %d of %d, %d rows, failure %v", n, busy, want.busy, count, fault)
		}
	}
}

func TestSeries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-50, 50), 0, 700).Draw(rt, "values")
		rec := trace.NewRecorder()
		name := rec.Intern("HBM in use (bytes)")
		rows := make([]int32, len(values))
		for i, v := range values {
			rows[i] = int32(i)
			rec.Counters([]trace.Counter{{Time: int64(i) * 10, Value: float64(v), Name: name}})
		}
		s := Values(rec.Finish(), rows)
		from := rapid.Int64Range(-20, 7000).Draw(rt, "from")
		to := from + rapid.Int64Range(1, 3000).Draw(rt, "span")
		want, known := 0.0, false
		for i, v := range values {
			start, end := int64(i)*10, int64(i)*10+10
			if i == len(values)-1 {
				end = 1 << 40
			}
			if start < to && end > from && (!known || float64(v) > want) {
				want, known = float64(v), true
			}
		}
		if got, ok := s.Highest(from, to); got != want || ok != known {
			rt.Fatalf("from %d to %d: %g %v, expected %g %v", from, to, got, ok, want, known)
		}
	})
}

// A frame asks for 200 columns a line.
func BenchmarkCells(b *testing.B) {
	_, l := lane(1_000_000, 1)
	end := l.End(l.Len() - 1)
	cells := make([]Cell, 200)
	for name, part := range map[string]int64{"all": 1, "tenth": 10, "1000th": 1000, "100000th": 100_000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.Cells(end/2, end/2+end/2/part, cells)
			}
		})
	}
}

// The index takes some 8 bytes a row, as the package says.
func TestLane_bytes(t *testing.T) {
	if n := reflect.TypeFor[block]().Size(); n != blockBytes {
		t.Errorf("a block has %d bytes, blockBytes says %d", n, blockBytes)
	}
	_, l := lane(200_000, 1)
	if n := float64(l.Bytes()) / 200_000; n < 8 || n > 10 {
		t.Errorf("%.1f bytes a row", n)
	}
}
