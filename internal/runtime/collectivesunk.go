package runtime

import (
	"fmt"
)

// NewModelComm makes a group of models under construction, one of each of 2 to 8 devices: collectives of the group become
// tasks of these models, and run each time all of them are executed. What the ranks tell each other goes by notifies of
// the devices, since those of a model are its own.
//
// A mesh adds a stream for each peer to every model; the model's first task must start those that Peers lists.
func (th *Thread) NewModelComm(alg Algorithm, models ...*ModelBuilder) (c *Comm, err error) {
	t := th.begin(callCommInit)
	defer func() { th.end(callCommInit, t, err) }()
	if n := len(models); n < 2 || n > 8 {
		return nil, th.fail(InvalidParam, callCommInit.name, fmt.Sprintf("%d ranks", n), "give a model of each of 2 to 8 devices")
	}
	c = &Comm{alg: alg, pairs: map[[2]int]*pair{}, sunk: true}
	seen := map[*Device]bool{}
	for _, b := range models {
		if seen[b.m.dev] {
			return nil, th.fail(InvalidParam, callCommInit.name, fmt.Sprintf("two models of device %d", b.m.dev.id), "give one of each device")
		}
		seen[b.m.dev] = true
		r := rank{s: &Stream{ctx: b.m.ctx, dev: b.m.dev, flags: Persistent}}
		for range len(models) - 1 {
			if alg != Mesh {
				r.aux = append(r.aux, nil)
				continue
			}
			x := b.Stream(false)
			r.peers = append(r.peers, x)
			r.aux = append(r.aux, x.target())
		}
		c.ranks = append(c.ranks, r)
	}
	return c, th.eachRank(c, func(i int) error { return th.reachPeers(c, i) })
}

// target is the stream as calls see it that submit to one.
func (s *SunkStream) target() *Stream {
	x := &Stream{ctx: s.b.m.ctx, dev: s.b.m.dev, flags: Persistent}
	x.lane.Store(s.l)
	return x
}

// Peers are the streams of rank i's model that a mesh carries its sends on; none of a ring.
func (c *Comm) Peers(i int) []*SunkStream { return c.ranks[i].peers }

// Place makes s the stream of rank i's model that the next collectives go to.
func (c *Comm) Place(i int, s *SunkStream) { c.ranks[i].s.lane.Store(s.l) }

// Label gives what this thread submits from here on, and what has no name of its own, a name and an operator type in the
// trace; empty ones end it. It is for operators that become several tasks.
func (th *Thread) Label(name, operator string) error {
	th.label, th.operator = 0, 0
	if name == "" && operator == "" {
		return nil
	}
	err := th.port.Call(func() { th.label, th.operator = th.rt.strings.Intern(name), th.rt.strings.Intern(operator) })
	return th.blocked("label", nil, err)
}
