package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomPlan has steps that read earlier buffers and write one of their own, or one that was written before; some steps
// are branches that have steps of their own.
func randomPlan(rng *rand.Rand, n int) *Plan {
	p := &Plan{}
	buffer := func(size int64) int {
		p.Buffers = append(p.Buffers, Buffer{Bytes: size, first: 1 << 30})
		return len(p.Buffers) - 1
	}
	at := 0
	use := func(b int) Operand {
		x := &p.Buffers[b]
		x.first, x.last = min(x.first, at), max(x.last, at)
		return Operand{b, x.Bytes}
	}
	in := buffer(64)
	p.Buffers[in].Region = Input
	recent := []int{in}
	step := func() Step {
		s := Step{Workspace: absent}
		for range 1 + rng.IntN(2) {
			s.In = append(s.In, use(recent[max(0, len(recent)-1-rng.IntN(6))]))
		}
		out := buffer(int64(1+rng.IntN(9)) * 500)
		if rng.IntN(8) == 0 {
			out = recent[len(recent)-1] // written again
		}
		if p.Buffers[out].Region == Input {
			out = buffer(100)
		}
		s.Out = []Operand{use(out)}
		if rng.IntN(4) == 0 {
			s.Workspace = use(buffer(700))
		}
		at++
		recent = append(recent, out)
		return s
	}
	for range n {
		if rng.IntN(10) > 0 {
			p.Steps = append(p.Steps, step())
			continue
		}
		s := Step{Kind: Branch, Workspace: absent, Cond: use(recent[len(recent)-1])}
		at++
		s.Then = []Step{step(), step()}
		s.Else = []Step{step()}
		p.Steps = append(p.Steps, s)
	}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.first > b.last {
			b.first = 0 // nothing uses it
		}
	}
	return p
}

// reach is the naive transitive closure of a relation: reach[i][j] says that i comes before j.
func reach(n int, edge func(i, j int) bool) [][]bool {
	r := make([][]bool, n)
	for i := range r {
		r[i] = make([]bool, n)
		for j := range r {
			r[i][j] = edge(i, j)
		}
	}
	for k := range n {
		for i := range n {
			if r[i][k] {
				for j := range n {
					r[i][j] = r[i][j] || r[k][j]
				}
			}
		}
	}
	return r
}

// uses are the buffers that a step reads and writes.
func uses(s *Step) (reads, writes []int) {
	access(s, func(b int) { reads = append(reads, b) }, func(b int) { writes = append(writes, b) })
	return
}

// On random plans: the order of streams and notifies is that of the data, no notify says what others imply, there are no
// more streams than steps that can run at once, and buffers that share memory are never in use together.
func TestAssign_random(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for round := range 300 {
		n := 2 + rng.IntN(30)
		p := randomPlan(rng, n)
		limit := []int{2, 3, 64}[round%3]
		data := reach(n, func(i, j int) bool {
			if i >= j {
				return false
			}
			ri, wi := uses(&p.Steps[i])
			rj, wj := uses(&p.Steps[j])
			for _, b := range wi {
				if slices.Contains(rj, b) || slices.Contains(wj, b) {
					return true
				}
			}
			return slices.ContainsFunc(ri, func(b int) bool { return slices.Contains(wj, b) })
		})
		s := p.Assign(limit)
		if len(s.Lanes) > limit || len(s.Lanes) > width(n, data) {
			t.Fatalf("round %d: %d streams, limit %d, width %d", round, len(s.Lanes), limit, width(n, data))
		}
		next := map[[2]int]bool{} // in one stream
		for _, l := range s.Lanes {
			for k := 1; k < len(l.Steps); k++ {
				next[[2]int{l.Steps[k-1], l.Steps[k]}] = true
			}
		}
		waits := map[[2]int]bool{}
		recorded := map[int]int{}
		for i, list := range s.Records {
			for _, x := range list {
				recorded[x] = i
			}
		}
		for i, list := range s.Waits {
			for _, x := range list {
				waits[[2]int{recorded[x], i}] = true
			}
		}
		got := reach(n, func(i, j int) bool { return next[[2]int{i, j}] || waits[[2]int{i, j}] })
		for i := range n {
			for j := range n {
				if data[i][j] && !got[i][j] {
					t.Fatalf("round %d: step %d is not before %d", round, i, j)
				}
				if limit == 64 && got[i][j] && !data[i][j] {
					t.Fatalf("round %d: step %d is before %d for no reason", round, i, j)
				}
			}
		}
		for w := range waits {
			rest := reach(n, func(i, j int) bool { return next[[2]int{i, j}] || waits[[2]int{i, j}] && [2]int{i, j} != w })
			if rest[w[0]][w[1]] {
				t.Fatalf("round %d: the notify from %d to %d is implied", round, w[0], w[1])
			}
		}
		checkShared(t, p, got)
		if limit == 64 {
			checkStraight(t, round, s, data)
		}
	}
}

// checkStraight: no exchange of the ends of two streams puts more steps right behind one that they need.
func checkStraight(t *testing.T, round int, s *Streams, data [][]bool) {
	t.Helper()
	direct := func(a, b int) int {
		if a < 0 || b < 0 || !data[a][b] {
			return 0
		}
		for k := range data {
			if data[a][k] && data[k][b] {
				return 0
			}
		}
		return 1
	}
	at := func(l []int, k int) int {
		if k < 0 || k >= len(l) {
			return -1
		}
		return l[k]
	}
	for x, a := range s.Lanes {
		for y, b := range s.Lanes {
			for i := -1; x != y && i < len(a.Steps); i++ {
				for j := -1; j < len(b.Steps); j++ {
					f, n, p, g := at(a.Steps, i), at(a.Steps, i+1), at(b.Steps, j), at(b.Steps, j+1)
					fits := func(u, v int) bool { return u < 0 || v < 0 || data[u][v] }
					if f >= 0 && g >= 0 && fits(f, g) && fits(p, n) && direct(f, g)+direct(p, n) > direct(f, n)+direct(p, g) && direct(f, g) == 1 {
						t.Fatalf("round %d: step %d could follow %d, which it needs, and %d follow %d", round, g, f, n, p)
					}
				}
			}
		}
	}
}

// checkShared: of two feature buffers that overlap, all uses of one come before all uses of the other, or both are used
// by one branch only, at different steps of it.
func checkShared(t *testing.T, p *Plan, before [][]bool) {
	t.Helper()
	users := make([][]int, len(p.Buffers))
	for i := range p.Steps {
		r, w := uses(&p.Steps[i])
		for _, b := range append(r, w...) {
			users[b] = append(users[b], i)
		}
	}
	all := func(a, b []int) bool {
		for _, i := range a {
			for _, j := range b {
				if !before[i][j] {
					return false
				}
			}
		}
		return true
	}
	for i := range p.Buffers {
		for j := range p.Buffers[:i] {
			a, b := &p.Buffers[i], &p.Buffers[j]
			if a.Region != Features || b.Region != Features || len(users[i]) == 0 || len(users[j]) == 0 ||
				a.Offset >= b.Offset+b.Bytes+Tail || b.Offset >= a.Offset+a.Bytes+Tail {
				continue
			}
			one := slices.Compact(slices.Clone(append(slices.Clone(users[i]), users[j]...)))
			inside := len(one) == 1 && (a.last < b.first || b.last < a.first)
			if !inside && !all(users[i], users[j]) && !all(users[j], users[i]) {
				t.Fatalf("buffers %d and %d share memory and may be in use together", i, j)
			}
		}
	}
	if m := p.Memory; m.FeatureBytes < m.LowerBound {
		t.Errorf("features of %d bytes are below the lower bound %d", m.FeatureBytes, m.LowerBound)
	}
}

// width is the greatest antichain by naive augmentation of a matching: n minus its size.
func width(n int, before [][]bool) int {
	match := make([]int, n)
	for i := range match {
		match[i] = -1
	}
	size := 0
	for i := range n {
		seen := make([]bool, n)
		var try func(int) bool
		try = func(i int) bool {
			for j := range n {
				if before[i][j] && !seen[j] {
					seen[j] = true
					if match[j] < 0 || try(match[j]) {
						match[j] = i
						return true
					}
				}
			}
			return false
		}
		if try(i) {
			size++
		}
	}
	return n - size
}
