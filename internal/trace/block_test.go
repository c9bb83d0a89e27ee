package trace

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A record with its outline is the task, wherever on the time line it lies.
func TestBlock_recordsAreTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := new(Block)
		var want []Task
		shared, at := b.Outline()
		*shared = Task{Bytes: 7, Name: 1, Op: 2, Stream: 3, Blocks: 4, Event: 5, Gen: 6, Model: 8, Code: 9, Acct: 10, Device: 11, Thread: 12, Kind: Memcpy, Engine: EngineDMA, Dir: DeviceToHost, Flags: 13}
		near := rapid.Int64Range(0, math.MaxUint32)
		for range rapid.IntRange(1, 40).Draw(t, "rows") {
			k := *shared
			k.End = rapid.Int64Range(-1<<40, math.MaxInt64).Draw(t, "end")
			k.Start, k.Ready, k.Submit = k.End-near.Draw(t, "length"), k.End-near.Draw(t, "ready"), k.End-near.Draw(t, "submit")
			k.Task, k.Iter = rapid.Uint32().Draw(t, "task"), rapid.Uint32().Draw(t, "iter")
			if rapid.Bool().Draw(t, "own outline") {
				k.Submit = rapid.Int64().Draw(t, "any submit")
				b.Add(k)
			} else {
				b.Rows[b.Filled] = Record{End: k.End, Start: uint32(k.Start), Ready: uint32(k.Ready), Submit: uint32(k.Submit), Task: k.Task, Iter: k.Iter, Outline: at}
				b.Filled++
			}
			want = append(want, k)
		}
		got := b.AppendTasks(nil)
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("row %d is %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

func TestNear(t *testing.T) {
	const far = 1 << 32
	for _, c := range []struct {
		submit, end int64
		want        bool
	}{{5, 5, true}, {5, 4, false}, {0, far - 1, true}, {0, far, false}, {-far, -1, true}, {math.MinInt64, math.MaxInt64, false}} {
		if got := Near(c.submit, c.end); got != c.want {
			t.Errorf("from %d to %d: %v", c.submit, c.end, got)
		}
	}
}

// A block has room until it says that it is full, for rows of one kind and for rows of as many.
func TestBlock_full(t *testing.T) {
	one, each := new(Block), new(Block)
	for !one.Full() {
		put(one, 1, 0)
	}
	for !each.Full() {
		each.Add(Task{})
	}
	if one.Filled != BlockRows || each.Filled != BlockOutlines {
		t.Errorf("%d and %d rows", one.Filled, each.Filled)
	}
}

// Asking for memory that is not there does nothing.
func TestPrefetch_nothing(*testing.T) { prefetch(nil, 9) }
