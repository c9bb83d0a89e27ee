package runtime

import (
	"testing"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/trace"
)

// use is a task that was given a block.
type use struct{ stream, task uint32 }

// A million allocations, frees and launches over four streams in a small memory, checked block by block against a
// picture of 64-byte units: no overlap, the addresses and sizes that the rules promise, and, from the simulator's records,
// no block handed out before the last task that was given its memory has ended. At the end everything is back.
func TestMemory_millionOperations(t *testing.T) {
	ops := 1_000_000
	if testing.Short() || raceEnabled {
		ops = 50_000
	}
	const size = 64 << 20
	rec := trace.NewRecorder()
	rt, th := open(t, Config{MemoryBytes: size, Recorder: rec, TimingOnly: true})
	r := &rig{Thread: th, t: t, rt: rt, rec: rec}
	base, _ := rt.devices[0].hw.Memory()
	var kernels [3]*Kernel
	for i := range kernels {
		kernels[i] = must[*Kernel](t)(r.NewKernel("work", trace.KernelAICore, 4, 2000<<(4*i), nil))
	}
	var streams [4]*Stream
	var launched [4]uint64
	for i := range streams {
		streams[i] = r.stream()
	}
	start := r.stats()

	type block struct {
		p    Ptr
		n    uint64
		uses []use
	}
	var blocks []block
	var live []int
	units := make([]int32, size/64) // number of the block that had a unit last, plus 1; negative: it is free
	type check struct {
		by use
		at int64
	}
	var checks []check
	x := uint64(1)
	next := func(n int) int {
		x = x*6364136223846793005 + 1442695040888963407
		return int((x >> 33) % uint64(n))
	}
	full := 0
	for range ops {
		switch k := next(10); {
		case k < 4 && len(live) < 1500:
			n := 1 + next(64<<next(11))
			p, err := r.Malloc(int64(n))
			if err != nil {
				r.code("malloc", err, OutOfMemory)
				full++
				continue
			}
			at := r.Clock() + sim.Doorbell // when the request reached the device; what the thread does with it comes later
			bytes := mempool.Padded(uint64(n), 32)
			if p%64 != 0 || bytes > 16<<10 && p%512 != 0 {
				t.Fatalf("%d bytes at 0x%x", n, uint64(p))
			}
			id := int32(len(blocks) + 1)
			blocks = append(blocks, block{p: p, n: bytes})
			live = append(live, len(blocks)-1)
			before := int32(0)
			for u := (uint64(p) - base) / 64; u < (uint64(p)-base+bytes+63)/64; u++ {
				old := units[u]
				if old > 0 {
					t.Fatalf("block 0x%x of %d bytes overlaps 0x%x of %d", uint64(p), bytes, uint64(blocks[old-1].p), blocks[old-1].n)
				}
				if old != before && old != 0 {
					for _, v := range blocks[-old-1].uses {
						checks = append(checks, check{v, at})
					}
				}
				before = old
				units[u] = id
			}
		case k < 8 && len(live) > 0:
			i := next(len(live))
			b := &blocks[live[i]]
			for u := (uint64(b.p) - base) / 64; u < (uint64(b.p)-base+b.n+63)/64; u++ {
				units[u] = -units[u]
			}
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			r.ok(r.Free(b.p))
		case len(live) > 0:
			b := &blocks[live[next(len(live))]]
			s := next(4)
			r.ok(r.LaunchKernel(kernels[next(3)], []uint64{uint64(b.p)}, streams[s]))
			b.uses = append(b.uses, use{streams[s].id, taskID(launched[s])})
			launched[s]++
			if next(2000) == 0 {
				r.ok(r.SynchronizeStream(streams[s]))
			}
		}
	}
	if waiting := r.stats().Leaving; waiting == 0 {
		t.Error("no free ever waited: the test is too tame")
	}
	for _, i := range live {
		r.ok(r.Free(blocks[i].p))
	}
	r.ok(r.SynchronizeDevice())
	if end := r.stats(); end.InUse != start.InUse || end.Blocks != start.Blocks || end.Leaving != 0 {
		t.Errorf("at the start %+v, at the end %+v", start, end)
	}
	ends := map[use]int64{}
	for _, x := range r.trace().Tasks.All() {
		ends[use{x.Stream, x.Task}] = x.End
	}
	late := 0
	for _, c := range checks {
		end, ok := ends[c.by]
		if !ok {
			t.Fatalf("no record of task %d of stream %d", c.by.task, c.by.stream)
		}
		if end > c.at {
			t.Fatalf("memory was handed out at %d, task %d of stream %d used it until %d", c.at, c.by.task, c.by.stream, end)
		}
		if end > c.at-1_000_000 {
			late++
		}
	}
	if len(checks) < ops/100 || late == 0 {
		t.Errorf("only %d reuses of used memory, %d of them soon after", len(checks), late)
	}
	t.Logf("%d blocks, %d reuses of used memory, %d times full", len(blocks), len(checks), full)
}

// A soak: allocations, frees and launches over four streams, without an end. The run is
// go test -run none -bench Memory_soak -benchtime 100000000x
func BenchmarkMemory_soak(b *testing.B) {
	r := newRig(b, Config{TimingOnly: true, Recorder: trace.NewRecorder()})
	r.rec.Limit(1)
	var streams [4]*Stream
	for i := range streams {
		streams[i] = r.stream()
	}
	start := r.stats()
	var live [1024]Ptr
	x := uint64(1)
	for i := 0; b.Loop(); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		k := x >> 33
		p := &live[k%1024]
		var err error
		switch {
		case *p == 0:
			*p, err = r.Malloc(int64(1 + k>>10%(64<<(k>>40%12))))
		case k>>10%2 == 0:
			err = r.Free(*p)
			*p = 0
		default:
			err = r.LaunchKernel(r.tiny, []uint64{uint64(*p)}, streams[k>>12%4])
		}
		if err != nil {
			b.Fatal(err)
		}
		if i%4096 == 0 {
			r.ok(r.SynchronizeDevice())
		}
	}
	for _, p := range live {
		if p != 0 {
			r.ok(r.Free(p))
		}
	}
	r.ok(r.SynchronizeDevice())
	if s := r.stats(); s.InUse != start.InUse {
		b.Errorf("%d bytes in use at the start, %d at the end", start.InUse, s.InUse)
	}
}
