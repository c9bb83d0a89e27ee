package replay

import (
	"time"

	"npu/internal/problem"
	"npu/internal/runtime/mempool"
	"npu/internal/sim/soc"
)

// Result is what a policy made of a trace. Bytes are padded ones: what the chip's rules make of the requests.
type Result struct {
	Trace        string  `json:"trace"`
	Policy       string  `json:"policy"`
	Ops          int     `json:"ops"`
	Streams      int     `json:"streams"`
	PeakBytes    uint64  `json:"peak_in_use_bytes"`
	PeakReserved uint64  `json:"peak_reserved_bytes"`
	Ratio        float64 `json:"reserved_ratio"` // of the two
	NsPerOp      float64 `json:"ns_per_op"`      // wall time
	Unmatched    int     `json:"frees_of_unknown_blocks,omitempty"`
	Strange      int     `json:"events_not_understood,omitempty"`

	AtPeak []mempool.SegmentUse `json:"-"` // the pool's segments when most was in use
}

// Policies.
const (
	PolicyPool   = "npu pool"
	PolicyThread = "npu thread cache"
	PolicyTorch  = "PyTorch caching"
)

// Pool replays a trace through the runtime's pool, on a chip's memory and by its rules. With picture the segments at the
// peak are kept, which takes a second pass.
func Pool(t *Trace, chip *soc.Chip, picture bool) (Result, error) {
	r, peakAt, err := pool(t, chip, -1)
	if err == nil && picture {
		var again Result
		again, _, err = pool(t, chip, peakAt)
		r.AtPeak = again.AtPeak
	}
	return r, err
}

// pool replays; at the operation number stop it takes the picture and ends.
func pool(t *Trace, chip *soc.Chip, stop int) (r Result, peakAt int, err error) {
	r = t.result(PolicyPool)
	p := mempool.New(mempool.Config{Base: 1 << 40, Size: uint64(chip.MemoryBytes)})
	addrs := make([]uint64, t.Blocks)
	begin := time.Now()
	peak := uint64(0)
	for i, op := range t.Ops {
		switch op.Kind {
		case Alloc:
			a, ok := p.Alloc(mempool.Request{Bytes: mempool.Padded(op.Size, chip.PaddingSize)})
			if !ok {
				s := p.Stats()
				return r, i, problem.Failedf("%s: operation %d: no room for %d bytes: %d of %d in use, largest free block %d; choose a chip with more memory (--soc)",
					t.Name, i+1, op.Size, s.InUse, s.Total, s.LargestFree)
			}
			addrs[op.Block] = a
			if u := p.InUse(); u > peak {
				peak, peakAt = u, i
			}
		case Free:
			p.Free(addrs[op.Block])
		}
		if i == stop {
			r.AtPeak = p.Map()
			return r, i, nil
		}
	}
	r.NsPerOp = float64(time.Since(begin).Nanoseconds()) / float64(max(1, len(t.Ops)))
	s := p.Stats()
	r.PeakBytes, r.PeakReserved = s.Peak, s.PeakReserved
	r.Ratio = float64(s.PeakReserved) / float64(max(1, s.Peak))
	return r, peakAt, nil
}

// Thread replays a trace through the cache of one thread in front of the pool, as the runtime's calls do. What the cache
// keeps ready is reserved, but not in use.
func Thread(t *Trace, chip *soc.Chip) (Result, error) {
	r := t.result(PolicyThread)
	p := mempool.New(mempool.Config{Base: 1 << 40, Size: uint64(chip.MemoryBytes)})
	c := mempool.NewCache(1, 0)
	back := mempool.Back{AtOnce: true}
	blocks := make([]struct{ addr, size uint64 }, t.Blocks)
	inUse := uint64(0)
	begin := time.Now()
	for i, op := range t.Ops {
		b := &blocks[op.Block]
		switch op.Kind {
		case Alloc:
			b.size = mempool.Padded(op.Size, chip.PaddingSize)
			if b.addr = c.Alloc(b.size); b.addr == 0 && c.Restock(p, b.size, back) {
				b.addr = c.Alloc(b.size)
			}
			if b.addr == 0 {
				var ok bool
				if b.addr, ok = p.Alloc(mempool.Request{Bytes: b.size}); !ok {
					return r, problem.Failedf("%s: operation %d: no room for %d bytes; choose a chip with more memory (--soc)", t.Name, i+1, op.Size)
				}
			}
			inUse += b.size
			r.PeakBytes = max(r.PeakBytes, inUse)
		case Free:
			if !c.Free(b.addr) && !c.FreeWith(p, b.addr, back) {
				p.Free(b.addr)
			}
			inUse -= b.size
		}
	}
	r.NsPerOp = float64(time.Since(begin).Nanoseconds()) / float64(max(1, len(t.Ops)))
	r.PeakReserved = p.Stats().PeakReserved
	r.Ratio = float64(r.PeakReserved) / float64(max(1, r.PeakBytes))
	return r, nil
}

// Torch replays a trace through the model of PyTorch's allocator.
func Torch(t *Trace, chip *soc.Chip) Result {
	r := t.result(PolicyTorch)
	p := newTorch(chip.PaddingSize)
	blocks := make([]*torchBlock, t.Blocks)
	sizes := make([]uint64, t.Blocks)
	inUse := uint64(0)
	begin := time.Now()
	for _, op := range t.Ops {
		switch op.Kind {
		case Alloc:
			blocks[op.Block] = p.alloc(op.Size, op.Stream)
			sizes[op.Block] = mempool.Padded(op.Size, chip.PaddingSize)
			inUse += sizes[op.Block]
			r.PeakBytes = max(r.PeakBytes, inUse)
		case Free:
			p.free(blocks[op.Block])
			inUse -= sizes[op.Block]
		}
	}
	r.NsPerOp = float64(time.Since(begin).Nanoseconds()) / float64(max(1, len(t.Ops)))
	r.PeakReserved = p.reserved // it only grows
	r.Ratio = float64(r.PeakReserved) / float64(max(1, r.PeakBytes))
	return r
}

func (t *Trace) result(policy string) Result {
	streams := map[uint32]bool{}
	for _, op := range t.Ops {
		if op.Kind != Sync {
			streams[op.Stream] = true
		}
	}
	return Result{Trace: t.Name, Policy: policy, Ops: len(t.Ops), Streams: len(streams), Unmatched: t.Unmatched, Strange: t.Strange}
}
