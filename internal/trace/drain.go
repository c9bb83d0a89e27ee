package trace

import (
	"sync"
	"time"
)

const (
	// BlockRows is how many tasks a block of a Drain has room for: half of a first-level cache. Blocks are used again at once, so
	// that all of them that are under way stay in the second-level cache of the core that fills them.
	BlockRows = 256
	callRows  = 2 * BlockRows
	// mostBlocks is how many may wait at any time: 96 MiB, a million tasks, for which the goroutine needs some 20 ms. As many as it
	// has emptied may wait as well, so that what waits is never more than the trace itself, and a long run only loses records
	// where the goroutine is slower by half than who fills the blocks.
	mostBlocks = 4096
	// wakeAt is how many wait before the goroutine is started or woken: that costs as much as recording some hundred tasks.
	wakeAt = 32
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
	few  []Task // handed over in small numbers

	mu      sync.Mutex
	waiting []block // from first on, in the order in which they came
	first   int
	held    int // blocks that wait or are being emptied
	emptied int
	tasks   [][]Task
	calls   [][]Span
	started bool
	parked  bool // the goroutine waits for wake
	closing bool
	wake    chan struct{}
	ended   sync.WaitGroup
}

// block is rows of one kind.
type block struct {
	tasks []Task
	calls []Span
}

// NewDrain makes the way into r, whose rows come from nowhere else until Close.
func NewDrain(r *Recorder) *Drain {
	return &Drain{rec: r, most: mostBlocks, wake: make(chan struct{}, 1)}
}

// Tasks hands over a block of rows, whose ids come from Intern and AddAccount of the recorder, and gives an empty one.
func (d *Drain) Tasks(rows []Task) (empty []Task) {
	r := d.rec
	if r.tap != nil {
		r.tap(rows)
	}
	kept := rows[:r.room(r.taken, len(rows))]
	r.taken += len(kept)
	if len(kept) < cap(rows)/2 { // not worth a block
		if len(d.few)+len(kept) > cap(d.few) {
			d.few = d.giveTasks(d.few)
		}
		d.few = append(d.few, kept...)
		return rows[:0]
	}
	if len(d.few) > 0 {
		d.few = d.giveTasks(d.few)
	}
	return d.giveTasks(kept)
}

func (d *Drain) giveTasks(rows []Task) (empty []Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(rows) > 0 && !d.give(block{tasks: rows}) {
		d.rec.lost += int64(len(rows))
		return rows[:0]
	}
	if n := len(d.tasks); n > 0 {
		empty, d.tasks = d.tasks[n-1], d.tasks[:n-1]
		return empty
	}
	return make([]Task, 0, BlockRows)
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
	if n := len(d.calls); n > 0 {
		empty, d.calls = d.calls[n-1], d.calls[:n-1]
		return empty
	}
	return make([]Span, 0, callRows)
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
		d.rec.tasks.append(b.tasks)
		d.rec.spans.append(b.calls)
		d.mu.Lock()
		d.held--
		d.emptied++
		if b.tasks != nil {
			d.tasks = append(d.tasks, b.tasks[:0])
		} else {
			d.calls = append(d.calls, b.calls[:0])
		}
	}
	return some
}

// Close puts what waits into the recorder, whose rows may then come from elsewhere. Nothing is handed over any more.
func (d *Drain) Close() {
	if len(d.few) > 0 { // before the end: it may start the goroutine
		d.few = d.giveTasks(d.few)
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
