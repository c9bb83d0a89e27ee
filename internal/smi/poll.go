package smi

import (
	"context"
	"sync"
	"time"
)

// Timeout is how long one call may take before its process group is killed; a healthy call takes 0.5 to 3 s.
const Timeout = 10 * time.Second

// Options of a Poller; the zero value of a field means the default.
type Options struct {
	Interval time.Duration // between the starts of two calls; default 1 s
	Timeout  time.Duration // default Timeout
	Retry    time.Duration // first pause after a failure, doubled up to ten times; default 1 s
}

// Reading is what is known now.
type Reading struct {
	Table *Table        // the last good one; nil before the first
	At    time.Time     // when its call ended
	Took  time.Duration // how long that call took
	Since time.Time     // start of the call that runs now; zero when none does
	Fault *Fault        // why the newest call gave nothing better; nil after a good one
	Calls int           // calls that ended
	Map   []Mapped      // ids, asked once; nil before or when refused
	Peers []string      // columns of Links
	Links []Links
	// Details of the watched card, and when they came; nil before or when refused.
	Details   []Block
	DetailNPU int
	DetailAt  time.Time
}

// Poller asks npu-smi again and again in the background.
type Poller struct {
	path string
	opt  Options
	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // one slot: something changed that the pause should end for

	mu       sync.Mutex // guards all below
	now      Reading
	interval time.Duration
	watch    int
	watching bool
	changed  chan struct{} // closed and replaced when a call ends
}

// Start begins to ask the npu-smi at path. Call Close.
func Start(path string, opt Options) *Poller {
	if opt.Interval <= 0 {
		opt.Interval = time.Second
	}
	if opt.Timeout <= 0 {
		opt.Timeout = Timeout
	}
	if opt.Retry <= 0 {
		opt.Retry = time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Poller{path: path, opt: opt, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1),
		interval: opt.Interval, changed: make(chan struct{})}
	go p.loop(ctx)
	return p
}

// Close kills a running call and ends the goroutine.
func (p *Poller) Close() {
	p.stop()
	<-p.done
}

// Latest never blocks on the tool. The table and the slices in it are shared and must not be changed.
func (p *Poller) Latest() Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Next waits until a call ends after the given number of calls, or ctx ends.
func (p *Poller) Next(ctx context.Context, calls int) Reading {
	for {
		p.mu.Lock()
		r, changed := p.now, p.changed
		p.mu.Unlock()
		if r.Calls > calls {
			return r
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r
		}
	}
}

// SetInterval changes the pause from now on.
func (p *Poller) SetInterval(d time.Duration) {
	p.mu.Lock()
	p.interval = d
	p.mu.Unlock()
	p.poke()
}

// Watch asks for the details of one card from now on, at most each ten seconds; on is false for none.
func (p *Poller) Watch(npu int, on bool) {
	p.mu.Lock()
	same := p.watch == npu && p.watching == on
	p.watch, p.watching = npu, on
	p.mu.Unlock()
	if on && !same {
		p.poke()
	}
}

func (p *Poller) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Poller) loop(ctx context.Context) {
	defer close(p.done)
	refused := map[string]bool{}
	failures, slow := 0, false
	for {
		began := time.Now()
		p.set(func(r *Reading) { r.Since = began })
		t, f, err := ask(ctx, p.path, p.opt.Timeout)
		if err != nil {
			return
		}
		p.ended(t, f, began)
		if f != nil {
			failures++
		} else {
			failures = 0
		}
		if f == nil && !slow {
			slow = true
			p.once(ctx)
		}
		if !p.pause(ctx, began, p.backoff(f, failures), refused) {
			return
		}
	}
}

// backoff is the pause that a failure earns; 0 for none.
func (p *Poller) backoff(f *Fault, failures int) time.Duration {
	switch {
	case f == nil:
		return 0
	case !f.Transient():
		return 30 * p.opt.Retry
	}
	return time.Duration(min(10, 1<<min(failures-1, 4))) * p.opt.Retry
}

// ended stores the outcome of a call. A table with fewer devices than the last good one, from a call that failed or was
// cut, is less than what is known already: the last good one stays, with its age.
func (p *Poller) ended(t *Table, f *Fault, began time.Time) {
	p.set(func(r *Reading) {
		r.Since, r.Calls, r.Fault = time.Time{}, r.Calls+1, f
		less := t != nil && r.Table != nil && len(t.Devices) < len(r.Table.Devices)
		if less && t.Cut && f == nil {
			r.Fault = &Fault{Kind: Garbled, Says: "npu-smi printed half a table"}
		}
		if t == nil || less && r.Fault != nil {
			return
		}
		r.Table, r.At, r.Took = t, time.Now(), time.Since(began)
	})
	p.mu.Lock()
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
}

// once asks what does not change.
func (p *Poller) once(ctx context.Context) {
	if a, err := call(ctx, p.path, p.opt.Timeout, "info", "-m"); err == nil && !a.timedOut {
		m := ParseMap(a.text)
		p.set(func(r *Reading) { r.Map = m })
	}
}

// detailAge is how old the details of a watched card may become.
const detailAge = 10 * time.Second

// pause waits for the next call: interval after the last one began, or longer after failures. Details of a watched
// card are asked meanwhile. It reports false when ctx ended.
func (p *Poller) pause(ctx context.Context, began time.Time, backoff time.Duration, refused map[string]bool) bool {
	ended := time.Now()
	for {
		p.mu.Lock()
		next := began.Add(p.interval)
		if backoff > 0 {
			next = ended.Add(max(backoff, p.interval))
		}
		npu, due := p.watch, p.watching && (p.now.DetailNPU != p.watch || time.Since(p.now.DetailAt) > detailAge)
		links := p.now.Links == nil
		p.mu.Unlock()
		if due && backoff == 0 {
			p.details(ctx, npu, links && !refused["topo"], refused)
		}
		t := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			t.Stop()
			return false
		case <-p.wake:
			t.Stop()
		case <-t.C:
			return true
		}
	}
}

func (p *Poller) details(ctx context.Context, npu int, topo bool, refused map[string]bool) {
	b := askDetails(ctx, p.path, p.opt.Timeout, npu, refused)
	p.set(func(r *Reading) { r.Details, r.DetailNPU, r.DetailAt = b, npu, time.Now() })
	if !topo {
		return
	}
	refused["topo"] = true // once is enough: links do not change
	if a, err := call(ctx, p.path, p.opt.Timeout, "info", "-t", "topo"); err == nil && !a.timedOut {
		peers, rows := ParseTopo(a.text)
		p.set(func(r *Reading) { r.Peers, r.Links = peers, rows })
	}
}

func (p *Poller) set(change func(*Reading)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
}
