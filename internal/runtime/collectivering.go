package runtime

import (
	"npu/internal/sim"
	"npu/internal/tensor"
)

// send moves a piece from rank i to the buffer of rank j, by copy or by combining it there, and tells j.
type send struct {
	dst, src Ptr
	n        int64 // elements
	piece    int   // number of the notify
	reduce   bool
}

// carry submits one send on stream s of rank i.
func (th *Thread) carry(p *pair, s *Stream, x send, op sim.ReduceOp, t tensor.DType) error {
	var err error
	switch {
	case x.n == 0:
	case x.reduce:
		err = th.ReduceAsync(x.dst, x.src, x.n, op, t, s)
	default:
		err = th.MemcpyAsync(x.dst, x.src, x.n*int64(t.Bits()/8), s)
	}
	if err != nil {
		return err
	}
	return th.RecordNotify(p.data[x.piece], s)
}

// part is piece i of n of count elements: from and length.
func part(count int64, i, n int) (from, length int64) {
	from = count * int64(i) / int64(n)
	return from, count*int64(i+1)/int64(n) - from
}

func wrap(i, n int) int { return ((i % n) + n) % n }

// ring runs steps of a ring: in step k, rank i sends piece piece(i, k) of its buffer to the same place in the buffer of
// the rank behind it, when the piece that it received in the step before is there. The first steps, as many as reduce,
// combine; the others replace.
//
// A piece is written at a rank only after the rank has sent it on: it comes there again when it has been everywhere.
func (th *Thread) ring(c *Comm, buf []Ptr, count int64, t tensor.DType, op sim.ReduceOp, steps, reduce int, piece func(i, k int) int) error {
	n := len(c.ranks)
	size := int64(t.Bits() / 8)
	return th.eachRank(c, func(i int) error {
		next, prev := wrap(i+1, n), wrap(i-1, n)
		to, err := th.link(c, i, next, steps)
		if err != nil {
			return err
		}
		from, err := th.link(c, prev, i, steps)
		if err != nil {
			return err
		}
		s := c.ranks[i].s
		if err := th.RecordNotify(from.ready, s); err != nil {
			return err
		}
		if err := th.WaitNotify(to.ready, s, 0); err != nil {
			return err
		}
		for k := range steps {
			if k > 0 {
				if err := th.WaitNotify(from.data[k-1], s, 0); err != nil {
					return err
				}
			}
			at, len := part(count, piece(i, k), n)
			off := Ptr(at * size)
			if err := th.carry(to, s, send{buf[next] + off, buf[i] + off, len, k, k < reduce}, op, t); err != nil {
				return err
			}
		}
		return th.WaitNotify(from.data[steps-1], s, 0)
	})
}

// AllReduce combines count elements of all ranks; each gets the result. send and recv are a buffer of each rank, which may
// be the same one (HcclAllReduce).
func (th *Thread) AllReduce(c *Comm, send, recv []Ptr, count int64, t tensor.DType, op sim.ReduceOp) error {
	if err := th.combines(c, count, t, op, send, recv); err != nil {
		return err
	}
	n := len(c.ranks)
	if c.alg == Mesh {
		if err := th.reduceScatterMesh(c, send, count, t, op); err != nil {
			return err
		}
		return th.gatherMesh(c, recv, count, t, func(i int) (Ptr, int64, int64) {
			from, length := part(count, i, n)
			return c.ranks[i].scratch, from, length
		})
	}
	if err := th.local(c, recv, send, count, t); err != nil {
		return err
	}
	return th.ring(c, recv, count, t, op, 2*(n-1), n-1, func(i, k int) int {
		if k < n-1 {
			return wrap(i-k, n)
		}
		return wrap(i+1-(k-(n-1)), n)
	})
}

// local copies each rank's input to where it works on it.
func (th *Thread) local(c *Comm, dst, src []Ptr, count int64, t tensor.DType) error {
	return th.eachRank(c, func(i int) error {
		return th.MemcpyAsync(dst[i], src[i], count*int64(t.Bits()/8), c.ranks[i].s)
	})
}

// ReduceScatter combines the buffers of all ranks, of count elements for each of them; rank i gets the i-th part
// (HcclReduceScatter).
func (th *Thread) ReduceScatter(c *Comm, send, recv []Ptr, count int64, t tensor.DType, op sim.ReduceOp) error {
	if err := th.combines(c, count, t, op, send, recv); err != nil {
		return err
	}
	n := len(c.ranks)
	all := count * int64(n)
	size := int64(t.Bits() / 8)
	if c.alg == Mesh {
		if err := th.reduceScatterMesh(c, send, all, t, op); err != nil {
			return err
		}
		return th.eachRank(c, func(i int) error {
			return th.MemcpyAsync(recv[i], c.ranks[i].scratch, count*size, c.ranks[i].s)
		})
	}
	if err := th.reserve(c, all*size); err != nil {
		return err
	}
	work := make([]Ptr, n)
	for i := range work {
		work[i] = c.ranks[i].scratch
	}
	if err := th.local(c, work, send, all, t); err != nil {
		return err
	}
	if err := th.ring(c, work, all, t, op, n-1, n-1, func(i, k int) int { return wrap(i-1-k, n) }); err != nil {
		return err
	}
	return th.eachRank(c, func(i int) error {
		return th.MemcpyAsync(recv[i], work[i]+Ptr(int64(i)*count*size), count*size, c.ranks[i].s)
	})
}

// AllGather gives every rank the count elements of all ranks, one behind the other (HcclAllGather).
func (th *Thread) AllGather(c *Comm, send, recv []Ptr, count int64, t tensor.DType) error {
	if err := th.buffers(c, count, t, send, recv); err != nil {
		return err
	}
	n := len(c.ranks)
	size := int64(t.Bits() / 8)
	if c.alg == Mesh {
		return th.gatherMesh(c, recv, count*int64(n), t, func(i int) (Ptr, int64, int64) { return send[i], int64(i) * count, count })
	}
	own := make([]Ptr, n)
	for i := range own {
		own[i] = recv[i] + Ptr(int64(i)*count*size)
	}
	if err := th.local(c, own, send, count, t); err != nil {
		return err
	}
	return th.ring(c, recv, count*int64(n), t, sim.ReduceSum, n-1, 0, func(i, k int) int { return wrap(i-k, n) })
}

// Broadcast copies count elements of the root's buffer to those of all ranks, in pieces that follow each other round the
// ring, or to all at once over a mesh (HcclBroadcast).
func (th *Thread) Broadcast(c *Comm, buf []Ptr, count int64, t tensor.DType, root int) error {
	if err := th.buffers(c, count, t, buf); err != nil {
		return err
	}
	n := len(c.ranks)
	if root < 0 || root >= n {
		return th.fail(InvalidParam, callCollective.name, "root is no rank", "")
	}
	size := int64(t.Bits() / 8)
	if c.alg == Mesh {
		return th.broadcastMesh(c, buf, count*size, root)
	}
	pieces := int(max(1, min(maxPieces, count*size>>16)))
	return th.eachRank(c, func(i int) error {
		s := c.ranks[i].s
		next, prev := wrap(i+1, n), wrap(i-1, n)
		to, err := th.link(c, i, next, pieces)
		if err != nil {
			return err
		}
		from, err := th.link(c, prev, i, pieces)
		if err != nil {
			return err
		}
		if i != root {
			if err := th.RecordNotify(from.ready, s); err != nil {
				return err
			}
		}
		if next != root {
			if err := th.WaitNotify(to.ready, s, 0); err != nil {
				return err
			}
		}
		for k := range pieces {
			if i != root {
				if err := th.WaitNotify(from.data[k], s, 0); err != nil {
					return err
				}
			}
			if next != root {
				at, len := part(count, k, pieces)
				off := Ptr(at * size)
				if err := th.carry(to, s, send{buf[next] + off, buf[i] + off, len, k, false}, sim.ReduceSum, t); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// SendReceive copies bytes from a buffer of one rank to one of another, in the order of both streams (HcclSend and
// HcclRecv).
func (th *Thread) SendReceive(c *Comm, from, to int, src, dst Ptr, bytes int64) error {
	if err := th.SendTo(c, from, to, src, dst, bytes); err != nil {
		return err
	}
	return th.ReceiveFrom(c, from, to)
}

// SendTo is the sender's half of SendReceive, ReceiveFrom the receiver's.
func (th *Thread) SendTo(c *Comm, from, to int, src, dst Ptr, bytes int64) error {
	return th.half(c, from, to, from, bytes, func(p *pair, s *Stream) error {
		if err := th.WaitNotify(p.ready, s, 0); err != nil {
			return err
		}
		if err := th.MemcpyAsync(dst, src, bytes, s); err != nil {
			return err
		}
		return th.RecordNotify(p.data[0], s)
	})
}

// ReceiveFrom is described with SendTo.
func (th *Thread) ReceiveFrom(c *Comm, from, to int) error {
	return th.half(c, from, to, to, 0, func(p *pair, s *Stream) error {
		if err := th.RecordNotify(p.ready, s); err != nil {
			return err
		}
		return th.WaitNotify(p.data[0], s, 0)
	})
}

// half checks one half of a send and submits it on rank r's stream.
func (th *Thread) half(c *Comm, from, to, r int, bytes int64, f func(p *pair, s *Stream) error) error {
	if c.pairs == nil || from < 0 || to < 0 || from == to || from >= len(c.ranks) || to >= len(c.ranks) || bytes < 0 {
		return th.fail(InvalidParam, callCollective.name, "ranks or size of a send", "give two ranks of the group")
	}
	p, err := th.link(c, from, to, 1)
	if err != nil {
		return err
	}
	old := th.ctx
	defer th.setContext(old)
	th.setContext(c.ranks[r].s.ctx)
	return f(p, c.ranks[r].s)
}
