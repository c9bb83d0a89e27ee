package plan

import "slices"

// maxOrdered bounds the steps for which orders are computed: the closure takes their square in bits.
const maxOrdered = 1 << 14

// Lane is the schedule of a plan's steps on several streams.
type Lane struct {
	Steps []int // of Plan.Steps, in order
}

// Streams is how the steps of a plan are spread over streams. The steps of a stream run in order; between streams there
// are notifies, of which each is recorded and waited for once in an execution. The end of an execution is on stream 0.
type Streams struct {
	Lanes    []Lane
	Notifies int
	Waits    [][]int // of each step: the notifies that it waits for
	Records  [][]int // of each step: the notifies that are recorded behind it
	Join     []int   // what the end waits for
	Width    int     // how many steps could run at once
}

// Width is the greatest number of the plan's steps that no data order.
func (p *Plan) Width() int {
	if len(p.Steps) > maxOrdered {
		return 1
	}
	_, n := p.orderOf().chains()
	return n
}

// Longest is the time of the longest path through the data, for steps of these times.
func (p *Plan) Longest(ns []int64) (most int64) {
	if len(p.Steps) > maxOrdered {
		for _, t := range ns {
			most += t
		}
		return most
	}
	o := p.orderOf()
	end := make([]int64, o.n)
	for i := range o.n {
		for _, f := range o.direct[i] {
			end[i] = max(end[i], end[f])
		}
		end[i] += ns[i]
		most = max(most, end[i])
	}
	return most
}

// Assign spreads the steps over at most limit streams and plans the memory for that order: two buffers share memory
// only where every use of one comes before every use of the other. There are never more streams than steps that can run
// at once, no notify between steps that are in order anyhow, and with one stream the plan is that of Compile.
func (p *Plan) Assign(limit int) *Streams {
	if limit <= 1 || len(p.Steps) < 2 || len(p.Steps) > maxOrdered {
		return p.oneStream()
	}
	o := p.orderOf()
	chain, width := o.chains()
	if width == 1 {
		return p.oneStream()
	}
	s := &Streams{Width: width}
	lane := fold(o, chain, width, limit)
	s.lanes(lane)
	clocks := s.order(o, lane)
	p.replace(s, lane, clocks)
	return s
}

func (p *Plan) oneStream() *Streams {
	s := &Streams{Lanes: make([]Lane, 1), Width: 1, Waits: make([][]int, len(p.Steps)), Records: make([][]int, len(p.Steps))}
	for i := range p.Steps {
		s.Lanes[0].Steps = append(s.Lanes[0].Steps, i)
	}
	c := &compiler{p: p}
	for _, b := range p.Buffers {
		c.step = max(c.step, b.last)
	}
	p.Memory = Memory{}
	c.place()
	return s
}

// fold puts width chains on at most limit streams: each one, in the order of their first steps, where the fewest steps
// lie at that time.
func fold(o *order, chain []int, width, limit int) []int {
	if width <= limit {
		return chain
	}
	lane := make([]int, o.n)
	of := make([]int, width)   // stream of each chain, +1
	load := make([]int, limit) // steps
	for i := range o.n {
		c := chain[i]
		if of[c] == 0 {
			of[c] = slices.Index(load, slices.Min(load)) + 1
		}
		lane[i] = of[c] - 1
		load[lane[i]]++
	}
	return lane
}

// lanes lists the steps of each stream; streams are numbered by their first step.
func (s *Streams) lanes(lane []int) {
	number := map[int]int{}
	for i, l := range lane {
		k, ok := number[l]
		if !ok {
			k = len(s.Lanes)
			number[l] = k
			s.Lanes = append(s.Lanes, Lane{})
		}
		lane[i] = k
		s.Lanes[k].Steps = append(s.Lanes[k].Steps, i)
	}
}

// order makes the notifies: for each step those direct predecessors on other streams that its own stream does not imply.
// It returns for each step how many steps of each stream are over when it begins.
func (s *Streams) order(o *order, lane []int) [][]int {
	n := len(lane)
	s.Waits, s.Records = make([][]int, n), make([][]int, n)
	pos := make([]int, n)
	clocks := make([][]int, n)
	last := make([]int, len(s.Lanes)) // the latest step of each stream, -1 none
	for l, x := range s.Lanes {
		last[l] = -1
		for k, i := range x.Steps {
			pos[i] = k
		}
	}
	over := func(i int) []int { // what is over when step i is
		c := slices.Clone(clocks[i])
		c[lane[i]] = pos[i] + 1
		return c
	}
	join := func(c []int, from []int, wait func(f int)) {
		// The later a step, the more it implies.
		slices.Sort(from)
		for _, f := range slices.Backward(from) {
			if c[lane[f]] > pos[f] {
				continue
			}
			wait(f)
			for l, x := range over(f) {
				c[l] = max(c[l], x)
			}
		}
	}
	for i := range n {
		c := make([]int, len(s.Lanes))
		if l := last[lane[i]]; l >= 0 {
			c = over(l)
		}
		join(c, slices.Clone(o.direct[i]), func(f int) {
			s.Waits[i] = append(s.Waits[i], s.notify(f))
		})
		clocks[i] = c
		last[lane[i]] = i
	}
	c := over(last[0])
	join(c, slices.Clone(last[1:]), func(f int) { s.Join = append(s.Join, s.notify(f)) })
	return clocks
}

// notify makes a notify that step f records.
func (s *Streams) notify(f int) int {
	s.Records[f] = append(s.Records[f], s.Notifies)
	s.Notifies++
	return s.Notifies - 1
}

// life is when a buffer is in use on several streams: over[l] steps of stream l are over, at least, when its first use
// begins, and it is used up to step last[l] of stream l, not included.
type life struct {
	over, last []int
	step       int // the only one that uses it, or -1
}

// replace places the feature buffers again, for steps on several streams.
func (p *Plan) replace(s *Streams, lane []int, clocks [][]int) {
	lives := make([]life, len(p.Buffers))
	pos := make([]int, len(lane))
	for _, x := range s.Lanes {
		for k, i := range x.Steps {
			pos[i] = k
		}
	}
	for i := range p.Steps {
		use := func(b int) {
			v := &lives[b]
			if v.over == nil {
				v.over, v.last, v.step = slices.Clone(clocks[i]), make([]int, len(s.Lanes)), i
			} else if v.step != i {
				v.step = -1
			}
			for l, c := range clocks[i] {
				v.over[l] = min(v.over[l], c)
			}
			v.last[lane[i]] = max(v.last[lane[i]], pos[i]+1)
		}
		access(&p.Steps[i], use, use)
	}
	before := func(a, b *life) bool {
		for l, x := range a.last {
			if x > b.over[l] {
				return false
			}
		}
		return true
	}
	meet := func(i, j int) bool {
		a, b := &lives[i], &lives[j]
		switch {
		case a.over == nil || b.over == nil:
			return false // never used
		case a.step >= 0 && a.step == b.step && p.Steps[a.step].Kind == Branch:
			x, y := &p.Buffers[i], &p.Buffers[j] // inside one branch: in the order of its steps
			return x.last >= y.first && y.last >= x.first
		}
		return !before(a, b) && !before(b, a)
	}
	m := &p.Memory
	order := p.features()
	m.LowerBound = p.clique(order, meet)
	m.FeatureBytes = p.pack(order, m.LowerBound, meet)
}

// seeds is from how many buffers, the largest first, a set of buffers in use at once is grown.
const seeds = 256

// clique is a lower bound of the memory: the largest sum that was found of buffers which all are in use together.
func (p *Plan) clique(order []int, meet func(i, j int) bool) int64 {
	var most int64
	for _, first := range order[:min(len(order), seeds)] {
		set, sum := []int{first}, padded(p.Buffers[first].Bytes)
		for _, i := range order {
			if i != first && meet(i, first) && !slices.ContainsFunc(set, func(j int) bool { return !meet(i, j) }) {
				set = append(set, i)
				sum += padded(p.Buffers[i].Bytes)
			}
		}
		most = max(most, sum)
	}
	return most
}
