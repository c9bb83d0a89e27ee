package sim

import (
	"math/rand/v2"
	"testing"

	"npu/internal/trace"
)

// Rows have what their tasks were submitted with, whatever stands before them in the block: tasks of a kernel that differ in
// name or block dim, that last or wait for more than the 4 s of a record, that fail, and other kinds in between, in several blocks.
func TestRecord_rowsAreTheirOwn(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	calls := 0
	functions := []*Function{
		{Kind: trace.KernelAICore, Name: 1, Op: 11, Blocks: 3, BlockNs: 10, Bytes: 21, Account: 31},
		{Kind: trace.KernelAIVector, Name: 2, Op: 12, Blocks: 2, BlockNs: 3e9, Bytes: 22, Account: 32},
		{Kind: trace.KernelAIVector, Name: 3, Op: 13, Blocks: 1, BlockNs: 700, Bytes: 23, Account: 33, Run: func(*Call) *Fault {
			if calls++; calls%3 == 0 {
				return &Fault{Code: CodeIllegalInstruction}
			}
			return nil
		}},
	}
	var kernels []uint32
	for _, f := range functions {
		kernels = append(kernels, r.Load(f))
	}
	e := r.Devices()[0].NewEvent()
	queues := []*Queue{r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})}
	want := make([][]trace.Task, len(queues))
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1200 {
		s := rng.IntN(len(queues))
		for range rng.IntN(12) {
			var task Task
			row := trace.Task{Stream: uint32(s), Task: uint32(len(want[s]))}
			switch n := rng.IntN(20); {
			case n < 2:
				task = Task{Kind: trace.EventRecord, A: e.ID()}
				row.Event = e.id + 1
			case n < 4:
				task = Task{Kind: trace.Nop, Blocks: 4}
				row.Op = 4
			case n < 5: // as the function word of a Reduce may be the number of a kernel
				task = Task{Kind: trace.Nop, Func: kernels[0]}
			default:
				k := 0
				if n == 5 {
					k = 1
				} else if n < 8 {
					k = 2
				}
				f := functions[k]
				task = Task{Kind: f.Kind, Func: kernels[k]}
				row.Name, row.Op, row.Blocks, row.Bytes, row.Acct, row.Engine = f.Name, f.Op, f.Blocks, f.Bytes, f.Account, f.engine()
				if n > 16 {
					task.Name, row.Name = 99, 99
				}
				if n%4 == 0 {
					task.Blocks, row.Blocks = 5, 5
				}
			}
			row.Kind = task.Kind
			want[s] = append(want[s], row)
			submit(t, p, queues[s], task)
		}
		wait(t, p, queues[s])
	}
	for _, q := range queues {
		wait(t, p, q)
	}
	var far, failed int
	at := make([]int, len(queues))
	rows := r.finished(t, p)
	for _, got := range rows {
		s := got.Stream
		k := want[s][at[s]]
		at[s]++
		length := int64(0)
		if k.Blocks > 0 {
			length = functions[k.Op-11].BlockNs
		}
		if got.Submit > got.Ready || got.Ready > got.Start || got.End-got.Start != length {
			t.Fatalf("times of %+v", got)
		}
		if got.End-got.Submit > 1<<32 {
			far++
		}
		if got.Code == CodeIllegalInstruction && got.Op == functions[2].Op {
			failed++
			k.Code = got.Code
		}
		k.Submit, k.Ready, k.Start, k.End, k.Gen, k.Thread = got.Submit, got.Ready, got.Start, got.End, got.Gen, got.Thread
		if got != k {
			t.Fatalf("row %+v, want %+v", got, k)
		}
	}
	if n := len(want[0]) + len(want[1]) + len(want[2]); len(rows) != n || n < 3*trace.BlockRows || far == 0 || failed != calls/3 {
		t.Errorf("%d rows of %d, %d waited or ran for more than 4 s, %d of %d failed", len(rows), n, far, failed, calls)
	}
}
