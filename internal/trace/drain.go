package trace

import (
	"sync"
	"time"
)

const (
	// callRows is how many host calls a block has room for, fewRows how many tasks one that collects small numbers.
	callRows = BlockRows
	fewRows  = 256
	// mostBlocks is how many may wait at any time: 56 MiB, a million launches of a few kernels or a quarter of that if each task has
	// an outline of its own, for which the goroutine needs some 20 ms. As many as it has emptied may wait as well, so that what
	// waits is never more than the trace itself, and a long run only loses records where the goroutine is slower by half than who
	// fills the blocks.
	mostBlocks = 512
	// wakeAt is how many wait before the goroutine is started or woken: that costs as much as recording some hundred tasks.
	wakeAt = 4
	// poll is how often the goroutine looks by itself while there is something to do, so that nobody has to wake it; after idle
	// looks in vain it sleeps.
	poll = 100 * time.Microsecond
	idle = 100
)

// Drain puts the rows of a run into a Recorder beside the thread that simulates. That thread fills a block of fixed records
// and hands it over for an empty one, which was in use before: it copies nothing, allocates nothing and does not wait. A
// goroutine makes columns of the records. Where it is so far behind that no further block may wait, the rows are lost, and
// counted in Meta.Lost.
//
// All methods have one caller at a time, the one that the recorder has. The goroutine is started when there is work for it
// and ends before Close returns; until then the recorder's tasks and calls are its own.
type Drain struct {
	rec  *Recorder
	most int
	next *Block // that is given for the one after this
	seen []Task // by the recorder's tap
	few  []Task // handed over in small numbers

	mu      sync.Mutex
	waiting []block // from first on, in the order in which they came
	first   int
	held    int // blocks that wait or are being emptied
	emptied int
	blocks  []*Block
	tasks   [][]Task
	calls   [][]Span
	started bool
	parked  bool // the goroutine waits for wake
	closing bool
	wake    chan struct{}
	ended   sync.WaitGroup
}

// block is rows of one kind: a Block, tasks of several ones, or calls.
type block struct {
	block *Block
	tasks []Task
	calls []Span
}

// NewDrain makes the way into r, whose rows come from nowhere else until Close.
func NewDrain(r *Recorder) *Drain {
	return &Drain{rec: r, most: mostBlocks, wake: make(chan struct{}, 1)}
}

// Tasks hands over a block of rows, whose ids come from Intern and AddAccount of the recorder, and gives an empty one.
func (d *Drain) Tasks(b *Block) (empty *Block) {
	r := d.rec
	if r.tap != nil {
		d.seen = b.AppendTasks(d.seen[:0])
		r.tap(d.seen)
	}
	b.Filled = r.room(r.taken, b.Filled)
	r.taken += b.Filled
	if b.Filled < fewRows/2 { // not worth a block
		if len(d.few)+b.Filled > cap(d.few) {
			d.few = d.giveFew()
		}
		d.few = b.AppendTasks(d.few)
		b.Reset()
		return b
	}
	if len(d.few) > 0 {
		d.few = d.giveFew()
	}
	return d.giveBlock(b)
}

func (d *Drain) giveBlock(b *Block) (empty *Block) {
	d.mu.Lock()
	if !d.give(block{block: b}) {
		d.mu.Unlock()
		d.rec.lost += int64(b.Filled)
		b.Reset()
		return b
	}
	spare := last(&d.blocks)
	d.mu.Unlock()
	if spare == nil {
		spare = new(Block)
	}
	if empty, d.next = d.next, spare; empty == nil {
		empty = new(Block)
	}
	spare.soon()
	return empty
}

func (d *Drain) giveFew() (empty []Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.few) > 0 && !d.give(block{tasks: d.few}) {
		d.rec.lost += int64(len(d.few))
		return d.few[:0]
	}
	if empty = last(&d.tasks); empty == nil {
		empty = make([]Task, 0, fewRows)
	}
	return empty
}

// last takes the last one of a list; it is the zero value if there is none.
func last[T any](list *[]T) (x T) {
	if n := len(*list); n > 0 {
		x, *list = (*list)[n-1], (*list)[:n-1]
	}
	return x
}

// Spans hands over a block of host calls and gives an empty one.
func (d *Drain) Spans(rows []Span) (empty []Span) {
	r := d.rec
	kept := rows[:r.room(r.called, len(rows))]
	r.called += len(kept)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(kept) > 0 && !d.give(block{calls: kept}) {
		r.lost += int64(len(kept))
		return rows[:0]
	}
	if empty = last(&d.calls); empty == nil {
		empty = make([]Span, 0, callRows)
	}
	return empty
}

// give puts a block into the line, if there is room, and wakes the goroutine when enough wait.
func (d *Drain) give(b block) bool {
	if d.held >= max(d.most, d.emptied) {
		return false
	}
	d.held++
	if len(d.waiting) == cap(d.waiting) && d.first > 0 {
		d.waiting, d.first = d.waiting[:copy(d.waiting, d.waiting[d.first:])], 0
	}
	d.waiting = append(d.waiting, b)
	switch {
	case len(d.waiting)-d.first < wakeAt:
	case !d.started:
		d.started = true
		d.ended.Go(d.run)
	case d.parked:
		d.parked = false
		d.wake <- struct{}{} // there is room: it waits for one
	}
	return true
}

// run empties blocks until the drain is closed.
func (d *Drain) run() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for vain := 0; ; vain++ {
		if d.empty() {
			vain = 0
		}
		if d.closing {
			return
		}
		if d.parked = vain >= idle; d.parked {
			d.mu.Unlock()
			<-d.wake
		} else {
			d.mu.Unlock()
			time.Sleep(poll)
		}
		d.mu.Lock()
	}
}

// empty puts all blocks that wait into the recorder, and says whether there were some. The drain is locked but for that.
func (d *Drain) empty() (some bool) {
	for d.first < len(d.waiting) {
		some = true
		b := d.waiting[d.first]
		d.waiting[d.first] = block{}
		if d.first++; d.first == len(d.waiting) {
			d.waiting, d.first = d.waiting[:0], 0
		}
		d.mu.Unlock()
		if b.block != nil {
			d.rec.tasks.appendBlock(b.block)
		}
		d.rec.tasks.append(b.tasks)
		d.rec.spans.append(b.calls)
		d.mu.Lock()
		d.held--
		d.emptied++
		switch {
		case b.block != nil:
			b.block.Reset()
			d.blocks = append(d.blocks, b.block)
		case b.tasks != nil:
			d.tasks = append(d.tasks, b.tasks[:0])
		default:
			d.calls = append(d.calls, b.calls[:0])
		}
	}
	return some
}

// Close puts what waits into the recorder, whose rows may then come from elsewhere. Nothing is handed over any more.
func (d *Drain) Close() {
	if len(d.few) > 0 { // before the end: it may start the goroutine
		d.few = d.giveFew()
	}
	d.mu.Lock()
	d.closing = true
	if d.parked {
		d.parked = false
		d.wake <- struct{}{}
	}
	d.mu.Unlock()
	d.ended.Wait()
	d.mu.Lock()
	d.empty()
	d.mu.Unlock()
}
