package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// Comm is a group of 2 to 8 devices of the process that compute collectives. Each rank has a stream of its own; a
// collective is ordinary tasks of these streams: copies and reducing copies over the links, and notifies between the
// ranks. Its calls are for the thread that has made it (HcclComm).
type Comm struct {
	ranks []rank
	alg   Algorithm
	pairs map[[2]int]*pair
	sunk  bool  // its tasks go to models, see NewModelComm
	held  bool  // captured models have tasks of it
	kept  []Ptr // scratch memory that models hold the address of
}

// rank is one device of a group.
type rank struct {
	s       *Stream
	aux     []*Stream     // mesh: one more for each peer, which carries what goes there
	peers   []*SunkStream // the same of a model
	marks   []*Event      // of a mesh in captures
	scratch Ptr
	room    int64
}

// pair is the notifies of a link from one rank to another: ready says that the receiver's buffer may be written, data[k]
// that the k-th piece is there.
type pair struct {
	ready *Notify
	data  []*Notify
}

// Algorithm is the way that collectives take.
type Algorithm int

// Algorithms.
const (
	Ring Algorithm = iota // each rank sends to the next one
	Mesh                  // each rank sends to all others at once, over links of their own
)

func (a Algorithm) String() string { return [...]string{"ring", "mesh"}[a&1] }

// maxPieces is in how many pieces a broadcast goes round the ring.
const maxPieces = 16

// NewComm makes a group of the devices of these streams, one a rank, and lets the devices reach each other's memory
// (HcclCommInitAll).
func (th *Thread) NewComm(alg Algorithm, streams ...*Stream) (c *Comm, err error) {
	t := th.begin(callCommInit)
	defer func() { th.end(callCommInit, t, err) }()
	if n := len(streams); n < 2 || n > 8 {
		return nil, th.fail(InvalidParam, callCommInit.name, fmt.Sprintf("%d ranks", n), "give a stream of each of 2 to 8 devices")
	}
	seen := map[*Device]bool{}
	for _, s := range streams {
		if s == nil || s.def || s.destroyed.Load() || seen[s.dev] {
			return nil, th.fail(InvalidParam, callCommInit.name, "the streams are not of different devices", "give one explicit stream of each device")
		}
		seen[s.dev] = true
	}
	c = &Comm{alg: alg, pairs: map[[2]int]*pair{}}
	for _, s := range streams {
		c.ranks = append(c.ranks, rank{s: s})
	}
	err = th.eachRank(c, func(i int) error {
		if err := th.reachPeers(c, i); err != nil {
			return err
		}
		for j := range c.ranks {
			if j == i {
				continue
			}
			if alg == Mesh {
				s, err := th.CreateStream(StreamConfig{Name: fmt.Sprintf("rank %d to %d", i, j), Priority: c.ranks[i].s.priority})
				if err != nil {
					return err
				}
				c.ranks[i].aux = append(c.ranks[i].aux, s)
			} else {
				c.ranks[i].aux = append(c.ranks[i].aux, nil)
			}
		}
		return nil
	})
	return c, err
}

// reachPeers lets the device of rank i reach the memory of the others.
func (th *Thread) reachPeers(c *Comm, i int) error {
	for j := range c.ranks {
		if j == i {
			continue
		}
		if err := th.EnablePeerAccess(c.ranks[j].s.dev.id, 0); err != nil {
			return err
		}
	}
	return nil
}

// Ranks is how many devices the group has.
func (c *Comm) Ranks() int { return len(c.ranks) }

// DestroyComm waits for the group's streams and frees what it holds (HcclCommDestroy). Models that it is of must be
// destroyed before.
func (th *Thread) DestroyComm(c *Comm) error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if !c.sunk {
		keep(th.eachRank(c, func(i int) error { return th.SynchronizeStream(c.ranks[i].s) }))
	}
	for _, p := range c.kept {
		keep(th.Free(p))
	}
	keep(th.eachRank(c, func(i int) error {
		for _, s := range c.ranks[i].aux {
			if s != nil && !c.sunk {
				keep(th.DestroyStream(s))
			}
		}
		for _, e := range c.ranks[i].marks {
			keep(th.DestroyEvent(e))
		}
		if c.ranks[i].scratch != 0 {
			return th.Free(c.ranks[i].scratch)
		}
		return nil
	}))
	for k := range len(c.ranks) * len(c.ranks) {
		if p := c.pairs[[2]int{k / len(c.ranks), k % len(c.ranks)}]; p != nil {
			for _, n := range append(p.data, p.ready) {
				keep(th.DestroyNotify(n))
			}
		}
	}
	c.pairs = nil
	return first
}

// eachRank calls f for every rank with its context current.
func (th *Thread) eachRank(c *Comm, f func(i int) error) error {
	old := th.ctx
	defer th.setContext(old)
	for i := range c.ranks {
		th.setContext(c.ranks[i].s.ctx)
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// link is the notifies from rank i to rank j, at least n of them for data.
func (th *Thread) link(c *Comm, i, j, n int) (*pair, error) {
	old := th.ctx
	defer th.setContext(old)
	p := c.pairs[[2]int{i, j}]
	if p == nil {
		p = &pair{}
		c.pairs[[2]int{i, j}] = p
		th.setContext(c.ranks[i].s.ctx) // the sender waits for it
		var err error
		if p.ready, err = th.CreateNotify(0); err != nil {
			return nil, err
		}
	}
	th.setContext(c.ranks[j].s.ctx)
	for len(p.data) < n {
		x, err := th.CreateNotify(0)
		if err != nil {
			return nil, err
		}
		p.data = append(p.data, x)
	}
	return p, nil
}

// stream is the queue of rank i for what goes to rank j, and what keeps it in order with the rank's own stream.
func (c *Comm) stream(i, j int) *Stream {
	if j > i {
		j--
	}
	if s := c.ranks[i].aux[j]; s != nil {
		return s
	}
	return c.ranks[i].s
}

// ReduceAsync combines n elements at src into those at dst in stream order, on a DMA engine (aclrtReduceAsync). The
// types are those of CanReduce in package sim.
func (th *Thread) ReduceAsync(dst, src Ptr, n int64, op sim.ReduceOp, t tensor.DType, s *Stream) error {
	s, err := th.use(s, callReduce)
	if err != nil || n == 0 {
		return err
	}
	if !sim.CanReduce(t) || op > sim.ReduceMin {
		return th.fail(NotSupported, callReduce.name, fmt.Sprintf("%v of %v", op, t), "sum, max or min of fp32, fp16, bf16, int32, int16, int8")
	}
	bytes := n * int64(t.Bits()/8)
	dir, ok := th.rt.direction(dst, src, bytes)
	if !ok || n < 0 || dir != trace.DeviceToDevice {
		return th.fail(InvalidParam, callReduce.name, fmt.Sprintf("%d bytes from 0x%x to 0x%x are not in device memory", bytes, uint64(src), uint64(dst)), "")
	}
	if err := th.reach(s.dev, dst, src, callReduce); err != nil {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.Reduce, Engine: trace.EngineDMA, Func: sim.ReduceCode(op, t), Dir: dir, A: uint64(dst), B: uint64(src), C: uint64(bytes)}, nil, callReduce)
}

// buffers checks the buffers of a collective.
func (th *Thread) buffers(c *Comm, count int64, t tensor.DType, lists ...[]Ptr) error {
	if c.pairs == nil {
		return th.fail(InvalidHandle, callCollective.name, "the group is destroyed", "")
	}
	for _, l := range lists {
		if len(l) != len(c.ranks) {
			return th.fail(InvalidParam, callCollective.name, fmt.Sprintf("%d buffers for %d ranks", len(l), len(c.ranks)), "give one a rank")
		}
	}
	if count < 0 || t.Bits()%8 != 0 || t.Bits() == 0 {
		return th.fail(InvalidParam, callCollective.name, fmt.Sprintf("%d elements of %v", count, t), "")
	}
	return nil
}

// combines checks the arguments of a collective that combines: before anything is submitted, since ranks that have begun
// wait for each other.
func (th *Thread) combines(c *Comm, count int64, t tensor.DType, op sim.ReduceOp, lists ...[]Ptr) error {
	if !sim.CanReduce(t) || op > sim.ReduceMin {
		return th.fail(NotSupported, callCollective.name, fmt.Sprintf("%v of %v", op, t), "sum, max or min of fp32, fp16, bf16, int32, int16, int8")
	}
	return th.buffers(c, count, t, lists...)
}

// reserve gives every rank at least n bytes of scratch memory.
func (th *Thread) reserve(c *Comm, n int64) error {
	return th.eachRank(c, func(i int) (err error) {
		r := &c.ranks[i]
		c.held = c.held || c.captured(i)
		if r.room >= n {
			return nil
		}
		switch {
		case r.scratch == 0:
		case c.sunk || c.held: // tasks that are written already use it each time
			c.kept = append(c.kept, r.scratch)
		default:
			if err = th.Free(r.scratch); err != nil {
				return err
			}
		}
		r.scratch, r.room = 0, 0
		if r.scratch, err = th.Malloc(max(n, 1)); err == nil {
			r.room = n
		}
		return err
	})
}
