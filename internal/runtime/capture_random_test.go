package runtime

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"npu/internal/sim"
	"npu/internal/trace"
)

// Random forks and joins: a captured program computes what its order says, in every execution. Each kernel writes a word
// of its own from the word before it in its stream and from one of another stream that it waits for, so a wait that is
// missing reads what an execution before has left. There are as many notifies as edges between streams in the transitive
// reduction of that order.
func TestCapture_randomForks(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	for round := range 40 {
		r := newRig(t, Config{})
		mix := must[*Kernel](t)(r.NewKernel("mix", trace.KernelAIVector, 1, 500+int64(rng.IntN(3000)), func(c *sim.Call) *sim.Fault {
			args, f := c.Space.Resolve(c.Args, 24, sim.Read)
			if f != nil {
				return f
			}
			var v [3][]byte
			for i := range v {
				if v[i], f = c.Space.Resolve(binary.LittleEndian.Uint64(args[8*i:]), 8, sim.ReadWrite); f != nil {
					return f
				}
			}
			binary.LittleEndian.PutUint64(v[2], mixed(binary.LittleEndian.Uint64(v[0]), binary.LittleEndian.Uint64(v[1])))
			return nil
		}))
		const nodes = 40
		words := must[Ptr](t)(r.Malloc(8 * (nodes + 1)))
		r.ok(r.Memset(words, 0, 8*(nodes+1)))
		at := func(i int) Ptr { return words + Ptr(8*i) }
		streams := make([]*Stream, 2+rng.IntN(4))
		last := make([]int, len(streams)) // word written by the latest kernel of each stream, -1: not captured yet
		for i := range streams {
			streams[i], last[i] = r.stream(StreamConfig{Priority: i}), -1
		}
		from := make([][2]int, nodes+1)
		order := newOrder(nodes + 2) // the last one is the end
		events := 0
		record := func(s int) *Event {
			e := r.soft()
			events++
			r.ok(r.RecordEvent(e, streams[s]))
			return e
		}
		r.begin(streams[0])
		last[0] = 0
		for k := 1; k <= nodes; k++ {
			s := rng.IntN(len(streams))
			o := rng.IntN(len(streams))
			for last[o] < 0 {
				o = rng.IntN(len(streams))
			}
			if s == o && last[s] < 0 {
				s = 0
			}
			if s != o && (last[s] < 0 || rng.IntN(2) == 0) {
				r.ok(r.WaitEvent(streams[s], record(o)))
			} else {
				o = s
			}
			own := last[s]
			if own < 0 {
				own = last[o]
			}
			from[k] = [2]int{own, last[o]}
			r.ok(r.LaunchKernel(mix, []uint64{uint64(at(own)), uint64(at(last[o])), uint64(at(k))}, streams[s]))
			order.edge(last[o], k, s != o)
			order.edge(max(last[s], 0), k, false)
			last[s] = k
		}
		for i := 1; i < len(streams); i++ {
			if last[i] >= 0 {
				r.ok(r.WaitEvent(streams[0], record(i)))
				order.edge(last[i], nodes+1, true)
			}
		}
		order.edge(last[0], nodes+1, false)
		m := r.finish(streams[0])
		for input := uint64(1); input <= 3; input++ {
			r.put(words, input*0x9e3779b9)
			want := make([]uint64, nodes+1)
			want[0] = input * 0x9e3779b9
			for k := 1; k <= nodes; k++ {
				want[k] = mixed(want[from[k][0]], want[from[k][1]])
			}
			r.execute(m, streams[0])
			for k := range want {
				if v := r.get(at(k)); v != want[k] {
					t.Fatalf("round %d, execution %d: word %d is %x, want %x", round, input, k, v, want[k])
				}
			}
		}
		if want := order.between(); m.notifies != want {
			t.Errorf("round %d: %d notifies for %d waits, the order needs %d", round, m.notifies, events, want)
		}
		closeOnce(t, r.rt, r.Thread)
	}
}

func mixed(a, b uint64) uint64 { return (a^b>>7)*0x100000001b3<<1>>1 + b }

// order is which tasks of a program come before which, and which of these edges go from stream to stream. Task 0 is the
// begin of all streams.
type order struct {
	n     int
	edges map[[2]int]bool // true: between streams
}

func newOrder(n int) *order { return &order{n, map[[2]int]bool{}} }

func (o *order) edge(a, b int, between bool) {
	if a == 0 || a == b {
		return
	}
	was, there := o.edges[[2]int{a, b}]
	o.edges[[2]int{a, b}] = between && (was || !there)
}

// between counts the edges between streams that no other path implies.
func (o *order) between() (count int) {
	reach := make([][]bool, o.n)
	for i := range reach {
		reach[i] = make([]bool, o.n)
	}
	for e := range o.edges {
		reach[e[0]][e[1]] = true
	}
	for k := range o.n {
		for i := range o.n {
			for j := range o.n {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	for e, between := range o.edges {
		implied := false
		for k := range o.n {
			implied = implied || reach[e[0]][k] && reach[k][e[1]]
		}
		if between && !implied {
			count++
		}
	}
	return count
}
