package plan

import (
	"math/bits"
	"slices"
)

// order is which steps of a list come before which: those that read or write the same memory, and what follows from
// that. Steps are in an order that respects it already, so that an edge always goes forward.
type order struct {
	n      int
	before []bitset // all steps before each one
	direct [][]int  // those that no other one implies: the transitive reduction, backwards
}

type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) join(o bitset) {
	for i := range b {
		b[i] |= o[i]
	}
}
func (b bitset) each(f func(int)) {
	for w, x := range b {
		for ; x != 0; x &= x - 1 {
			f(w*64 + bits.TrailingZeros64(x))
		}
	}
}

// Communicates says whether the step, or one in its branches, is of communication.
func (s *Step) Communicates() bool {
	some := func(list []Step) bool {
		for i := range list {
			if list[i].Communicates() {
				return true
			}
		}
		return false
	}
	return s.Kind == Communicate || some(s.Then) || some(s.Else)
}

// access is the buffers that a step, or the branches of one, reads and writes.
func access(s *Step, read, write func(buffer int)) {
	use := func(list []Operand, f func(int)) {
		for _, o := range list {
			if o.Buffer >= 0 {
				f(o.Buffer)
			}
		}
	}
	use(s.In, read)
	use(s.Out, write)
	if s.Kind == Branch {
		read(s.Cond.Buffer)
	} else if s.Workspace.Buffer >= 0 {
		write(s.Workspace.Buffer)
	}
	for _, list := range [][]Step{s.Then, s.Else} {
		for i := range list {
			access(&list[i], read, write)
		}
	}
}

// orderOf finds what orders the steps of the plan: a step comes after the last one that wrote what it reads, and after
// whoever used what it writes.
func (p *Plan) orderOf() *order {
	n := len(p.Steps)
	o := &order{n: n, before: make([]bitset, n), direct: make([][]int, n)}
	writer := make([]int, len(p.Buffers))
	readers := make([][]int, len(p.Buffers))
	for i := range writer {
		writer[i] = -1
	}
	comm := -1 // the last step that communicates: ranks do that in one order
	for i := range p.Steps {
		var from []int
		var wrote []int
		if p.Steps[i].Communicates() {
			if comm >= 0 {
				from = append(from, comm)
			}
			comm = i
		}
		access(&p.Steps[i], func(b int) {
			if w := writer[b]; w >= 0 && w != i {
				from = append(from, w)
			}
			readers[b] = append(readers[b], i)
		}, func(b int) { wrote = append(wrote, b) })
		for _, b := range wrote {
			if w := writer[b]; w >= 0 && w != i {
				from = append(from, w)
			}
			for _, r := range readers[b] {
				if r != i {
					from = append(from, r)
				}
			}
		}
		for _, b := range wrote {
			writer[b] = i
			readers[b] = readers[b][:0]
		}
		o.add(i, from)
	}
	return o
}

// add orders step i after those of from.
func (o *order) add(i int, from []int) {
	slices.Sort(from)
	from = slices.Compact(from)
	all := newBitset(o.n)
	for _, f := range slices.Backward(from) {
		if all.has(f) {
			continue // an other one comes after it
		}
		o.direct[i] = append(o.direct[i], f)
		all.set(f)
		all.join(o.before[f])
	}
	o.before[i] = all
}

// chains covers the steps with the fewest chains of steps that are in order, which by Dilworth's theorem are as many as
// the greatest number of steps that are pairwise in no order, the width. Where a step can follow one that it needs
// directly, it does: then no notify is needed between the two. chain holds the number of each step's chain.
func (o *order) chains() (chain []int, count int) {
	next := make([]int, o.n) // in the chain, -1 none
	prev := make([]int, o.n)
	for i := range next {
		next[i], prev[i] = -1, -1
	}
	for i := range o.n {
		for _, f := range o.direct[i] {
			if next[f] < 0 {
				next[f], prev[i] = i, f
				break
			}
		}
	}
	// after[f] are the steps that may follow f.
	after := make([]bitset, o.n)
	for i := range after {
		after[i] = newBitset(o.n)
	}
	for i := range o.n {
		o.before[i].each(func(f int) { after[f].set(i) })
	}
	seen := newBitset(o.n)
	var augment func(f int) bool
	augment = func(f int) bool {
		for w, x := range after[f] {
			for x &^= seen[w]; x != 0; x &^= seen[w] {
				i := w*64 + bits.TrailingZeros64(x)
				x &= x - 1
				seen.set(i)
				if prev[i] < 0 || augment(prev[i]) {
					next[f], prev[i] = i, f
					return true
				}
			}
		}
		return false
	}
	for f := range o.n {
		if next[f] < 0 {
			clear(seen)
			augment(f)
		}
	}
	o.straighten(next, prev)
	chain = make([]int, o.n)
	for i := range o.n {
		if prev[i] < 0 {
			chain[i] = count
			count++
		} else {
			chain[i] = chain[prev[i]]
		}
	}
	return chain, count
}

// straighten exchanges the ends of chains where that puts more steps right behind one that they need: each of these
// saves a notify. The number of chains stays.
func (o *order) straighten(next, prev []int) {
	direct := func(f, i int) int {
		if f >= 0 && i >= 0 && slices.Contains(o.direct[i], f) {
			return 1
		}
		return 0
	}
	for better := true; better; {
		better = false
		for i := range o.n {
			for _, f := range o.direct[i] {
				p, n := prev[i], next[f]
				if n == i || p >= 0 && n >= 0 && !o.before[n].has(p) || 1+direct(p, n) <= direct(p, i)+direct(f, n) {
					continue
				}
				next[f], prev[i] = i, f
				if n >= 0 {
					prev[n] = p
				}
				if p >= 0 {
					next[p] = n
				}
				better = true
			}
		}
	}
}
