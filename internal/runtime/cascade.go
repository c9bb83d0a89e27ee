package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// A stream of a model that has more tasks than a hardware ring takes goes on in further rings: the last task of each is
// a StreamActive that ends the ring's activity and starts the next one ("cascade"). Nothing that the program sees
// depends on it, but for the numbers of the streams in the trace.

// ringReserve is how many entries of a ring of a model stay free.
const ringReserve = 32

// cascade cuts the descriptors of a lane into rings of at most limit entries. keep are positions in front of which no cut
// may come: a condition and the wait for its bodies belong together.
func (w *lowering) cascade(l *lane, tasks []sim.Task, keep map[int]bool) {
	l.cuts, l.rings = []int{0}, []int{l.at}
	w.prog.Queues[l.at] = nil
	for from := 0; ; {
		n := len(tasks) - from
		if n <= w.limit {
			w.prog.Queues[l.rings[len(l.rings)-1]] = sim.Assemble(tasks[from:])
			return
		}
		to := from + w.limit - 1
		for keep[to] && to > from+1 {
			to--
		}
		next := len(w.prog.Queues)
		part := append(append([]sim.Task(nil), tasks[from:to]...), sim.Task{Kind: trace.StreamActive, Flags: sim.FlagContinue, A: uint64(next)})
		w.prog.Queues[l.rings[len(l.rings)-1]] = sim.Assemble(part)
		w.prog.Queues = append(w.prog.Queues, nil)
		w.prog.Priorities = append(w.prog.Priorities, w.prog.Priorities[l.at])
		w.more = append(w.more, fmt.Sprintf("%s, ring %d", l.title(), len(l.rings)+1))
		l.cuts, l.rings = append(l.cuts, to), append(l.rings, next)
		from = to
	}
}

// ring is the queue of the program, and the place in it, of descriptor at of the lane.
func (l *lane) ring(at int) (queue int, pos uint64) {
	k := len(l.cuts) - 1
	for k > 0 && at < l.cuts[k] {
		k--
	}
	return l.rings[k], uint64(at - l.cuts[k])
}

// place is where node i of the lane lies in the program.
func (l *lane) place(i int) (queue int, pos uint64) { return l.ring(l.pos[i]) }
