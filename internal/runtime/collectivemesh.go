package runtime

import (
	"npu/internal/sim"
	"npu/internal/tensor"
)

// On a mesh every rank has a link to each other one, and a stream that carries what goes over it. A phase begins when
// the rank's own stream has come to it and ends there when everything has arrived.
//
// fan opens a phase: the streams to the peers begin where the rank's own stream stands. It is made of notifies of the
// device itself; in a capture of events, so that the streams to the peers become part of it.
func (th *Thread) fan(c *Comm, i int, f func(j int, s *Stream) error) error {
	for j := range c.ranks {
		if j == i {
			continue
		}
		s := c.stream(i, j)
		if err := th.follow(c, i, 2*j, c.ranks[i].s, s); err != nil {
			return err
		}
		if err := f(j, s); err != nil {
			return err
		}
		if err := th.leave(c, i, 2*j+1, s); err != nil {
			return err
		}
	}
	return nil
}

// captured says that rank i's own stream is being captured.
func (c *Comm) captured(i int) bool { return !c.sunk && c.ranks[i].s.lane.Load() != nil }

// follow lets the stream to go on where from stands, by mark k of rank i.
func (th *Thread) follow(c *Comm, i, k int, from, to *Stream) error {
	if err := th.leave(c, i, k, from); err != nil {
		return err
	}
	return th.await(c, i, k, to)
}

// leave makes mark k of rank i at the stream's present end; await waits for it.
func (th *Thread) leave(c *Comm, i, k int, s *Stream) error {
	if c.captured(i) {
		e, err := th.mark(c, i, k)
		if err != nil {
			return err
		}
		return th.RecordEvent(e, s)
	}
	p, err := th.link(c, i, i, 2*len(c.ranks))
	if err != nil {
		return err
	}
	return th.RecordNotify(p.data[k], s)
}

// await is described with leave.
func (th *Thread) await(c *Comm, i, k int, s *Stream) error {
	if c.captured(i) {
		e, err := th.mark(c, i, k)
		if err != nil {
			return err
		}
		return th.WaitEvent(s, e)
	}
	p, err := th.link(c, i, i, 2*len(c.ranks))
	if err != nil {
		return err
	}
	return th.WaitNotify(p.data[k], s, 0)
}

// mark is an event of rank i for captures.
func (th *Thread) mark(c *Comm, i, k int) (*Event, error) {
	r := &c.ranks[i]
	for len(r.marks) <= k {
		e, err := th.CreateEventExWithFlag(EventSync)
		if err != nil {
			return nil, err
		}
		r.marks = append(r.marks, e)
	}
	return r.marks[k], nil
}

// gathered ends a phase: the rank's own stream waits for what it sends and for what comes.
func (th *Thread) gathered(c *Comm, i int, peer func(j int) bool) error {
	s := c.ranks[i].s
	for j := range c.ranks {
		if j == i {
			continue
		}
		if err := th.await(c, i, 2*j+1, s); err != nil {
			return err
		}
		if !peer(j) {
			continue
		}
		p, err := th.link(c, j, i, 1)
		if err != nil {
			return err
		}
		if err := th.WaitNotify(p.data[0], s, 0); err != nil {
			return err
		}
	}
	return nil
}

// invite tells the peers that rank i's buffer may be written.
func (th *Thread) invite(c *Comm, i int, peer func(j int) bool) error {
	for j := range c.ranks {
		if j == i || !peer(j) {
			continue
		}
		p, err := th.link(c, j, i, 1)
		if err != nil {
			return err
		}
		if err := th.RecordNotify(p.ready, c.ranks[i].s); err != nil {
			return err
		}
	}
	return nil
}

func everyone(int) bool { return true }

// reduceScatterMesh leaves the combined part i of count elements in the scratch memory of rank i. Each rank sends every
// other one its part, to a place of its own, and the receiver combines them in the order of the ranks, its own last: the
// result does not depend on who was first.
func (th *Thread) reduceScatterMesh(c *Comm, send []Ptr, count int64, t tensor.DType, op sim.ReduceOp) error {
	n := len(c.ranks)
	size := int64(t.Bits() / 8)
	slot := (count + int64(n) - 1) / int64(n) * size
	slot = (slot + 511) / 512 * 512
	if err := th.reserve(c, slot*int64(n-1)); err != nil {
		return err
	}
	err := th.eachRank(c, func(i int) error {
		if err := th.invite(c, i, everyone); err != nil {
			return err
		}
		return th.fan(c, i, func(j int, s *Stream) error {
			p, err := th.link(c, i, j, 1)
			if err != nil {
				return err
			}
			if err := th.WaitNotify(p.ready, s, 0); err != nil {
				return err
			}
			from, length := part(count, j, n)
			k := i
			if i > j {
				k--
			}
			if err := th.MemcpyAsync(c.ranks[j].scratch+Ptr(int64(k)*slot), send[i]+Ptr(from*size), length*size, s); err != nil {
				return err
			}
			return th.RecordNotify(p.data[0], s)
		})
	})
	if err != nil {
		return err
	}
	return th.eachRank(c, func(i int) error {
		if err := th.gathered(c, i, everyone); err != nil {
			return err
		}
		from, length := part(count, i, n)
		for k := 1; k < n-1; k++ {
			if err := th.ReduceAsync(c.ranks[i].scratch, c.ranks[i].scratch+Ptr(int64(k)*slot), length, op, t, c.ranks[i].s); err != nil {
				return err
			}
		}
		return th.ReduceAsync(c.ranks[i].scratch, send[i]+Ptr(from*size), length, op, t, c.ranks[i].s)
	})
}

// gatherMesh copies each rank's own elements, as own says where they lie and where they belong, to all ranks.
func (th *Thread) gatherMesh(c *Comm, recv []Ptr, count int64, t tensor.DType, own func(i int) (src Ptr, from, length int64)) error {
	size := int64(t.Bits() / 8)
	err := th.eachRank(c, func(i int) error {
		if err := th.invite(c, i, everyone); err != nil {
			return err
		}
		src, from, length := own(i)
		err := th.fan(c, i, func(j int, s *Stream) error { return th.push(c, i, j, s, recv[j]+Ptr(from*size), src, length*size) })
		if err != nil {
			return err
		}
		return th.MemcpyAsync(recv[i]+Ptr(from*size), src, length*size, c.ranks[i].s)
	})
	if err != nil {
		return err
	}
	return th.eachRank(c, func(i int) error { return th.gathered(c, i, everyone) })
}

// push copies from rank i to rank j when that is ready, and tells it.
func (th *Thread) push(c *Comm, i, j int, s *Stream, dst, src Ptr, bytes int64) error {
	p, err := th.link(c, i, j, 1)
	if err != nil {
		return err
	}
	if err := th.WaitNotify(p.ready, s, 0); err != nil {
		return err
	}
	if err := th.MemcpyAsync(dst, src, bytes, s); err != nil {
		return err
	}
	return th.RecordNotify(p.data[0], s)
}

func (th *Thread) broadcastMesh(c *Comm, buf []Ptr, bytes int64, root int) error {
	err := th.eachRank(c, func(i int) error {
		if i != root {
			return th.invite(c, i, func(j int) bool { return j == root })
		}
		return th.fan(c, i, func(j int, s *Stream) error { return th.push(c, i, j, s, buf[j], buf[i], bytes) })
	})
	if err != nil {
		return err
	}
	return th.eachRank(c, func(i int) error {
		if i == root {
			return th.gathered(c, i, func(int) bool { return false })
		}
		p, err := th.link(c, root, i, 1)
		if err != nil {
			return err
		}
		return th.WaitNotify(p.data[0], c.ranks[i].s, 0)
	})
}
