package timeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/live"
)

// Next gives what a run has recorded since the last call.
type Next func() (live.Batch, error)

// Rows of a run that are kept: what happened before them scrolls out of the trace.
const (
	liveTasks = 200_000
	liveSpans = 200_000
)

// Times between two looks at a run, and between two pictures of it, unless making one takes longer than half of that.
const (
	liveDrain = 40 * time.Millisecond
	liveEvery = 250 * time.Millisecond
)

// Follow shows a run while it goes on. When it has ended, what it did last stays.
func Follow(name string, next Next) Source {
	ctx, stop := context.WithCancel(context.Background())
	f := &following{name: name, next: next, stop: stop, done: make(chan struct{})}
	go f.run(ctx)
	return f
}

type following struct {
	name string
	next Next
	stop context.CancelFunc
	done chan struct{}

	tasks []trace.Task
	spans []trace.Span
	names []string
	zero  int64
	some  bool
	seen  int64
	lost  int64
	ended bool

	mu   sync.Mutex
	data *Data
	err  error
	says string
}

// run takes what comes, so often that nothing is missed, and has pictures of it made beside.
func (f *following) run(ctx context.Context) {
	defer close(f.done)
	made := make(chan time.Duration, 1)
	busy, fresh, due := false, false, time.Now()
	for !f.ended || fresh || busy {
		if !f.ended {
			b, err := f.next()
			if err != nil {
				f.set(nil, err)
				break
			}
			fresh = f.take(b) || fresh
			f.set(nil, nil)
		}
		if fresh && !busy && (f.ended || time.Now().After(due)) {
			busy, fresh = true, false
			p := f.kept()
			go func() {
				begin := time.Now()
				p.data = p.picture()
				f.show(p.data)
				made <- time.Since(begin)
			}()
		}
		select {
		case took := <-made:
			busy, due = false, time.Now().Add(max(liveEvery, 2*took))
			continue
		case <-time.After(liveDrain):
			continue
		case <-ctx.Done():
		}
		break
	}
	if busy {
		<-made
	}
}

// kept is a copy of what a picture shows.
func (f *following) kept() *following {
	return &following{name: f.name, tasks: slices.Clone(f.tasks), spans: slices.Clone(f.spans), names: f.names, zero: f.zero, ended: f.ended}
}

// show gives a picture to the screen.
func (f *following) show(d *Data) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = d
}

// take keeps what came, and says whether anything did.
func (f *following) take(b live.Batch) bool {
	f.names, f.ended, f.lost = b.Names, b.Ended, f.lost+b.Lost
	f.tasks, f.spans = append(f.tasks, b.Tasks...), append(f.spans, b.Spans...)
	f.seen += int64(len(b.Tasks))
	for i := range b.Tasks {
		if start := b.Tasks[i].Start; !f.some || start < f.zero && f.seen == int64(len(b.Tasks)) {
			f.zero, f.some = start, true
		}
	}
	if n := len(f.tasks) - liveTasks; n > 0 {
		f.tasks = append(f.tasks[:0], f.tasks[n:]...)
	}
	if n := len(f.spans) - liveSpans; n > 0 {
		f.spans = append(f.spans[:0], f.spans[n:]...)
	}
	return len(b.Tasks)+len(b.Spans) > 0
}

// picture lays out what is kept.
func (f *following) picture() *Data {
	rec := trace.NewRecorder()
	ids := make([]trace.StringID, len(f.names))
	for i, s := range f.names {
		ids[i] = rec.Intern(s)
	}
	id := func(old trace.StringID) trace.StringID {
		if int(old) < len(ids) {
			return ids[old]
		}
		return 0
	}
	for _, k := range f.tasks {
		k.Name, k.Op, k.Acct = id(k.Name), id(k.Op), 0 // accounts stay with the run
		rec.Tasks([]trace.Task{k})
	}
	for _, s := range f.spans {
		s.Name = id(s.Name)
		rec.Spans([]trace.Span{s})
	}
	d := Finished(rec.Finish(), f.name)
	d.Zero, d.live = min(f.zero, d.To), true
	if n := d.T.Tasks.Len(); n > 0 && !f.ended { // calls run ahead of the device: its end is the one to keep in sight
		last := d.T.Tasks.Start.At(n - 1)
		for i := max(0, n-64); i < n; i++ {
			last = max(last, d.T.Tasks.End.At(i))
		}
		d.To = min(d.To, max(last, d.From+1))
	}
	return d
}

func (f *following) set(d *Data, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d != nil {
		f.data = d
	}
	f.err = err
	switch {
	case f.ended && f.seen == 0:
		f.says, f.err = "", fmt.Errorf("%s has ended before it recorded a task", f.name)
	case f.ended:
		f.says = fmt.Sprintf("ended after %d tasks", f.seen)
	case f.seen == 0:
		f.says = "waiting for the next task of " + f.name
	default:
		f.says = fmt.Sprintf("live: %d tasks", f.seen)
	}
	if f.lost > 0 {
		f.says += fmt.Sprintf(", %d missed", f.lost)
	}
}

func (f *following) Latest() (*Data, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.data, f.err
}

func (f *following) Says() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.says
}

// Close ends the looking and waits for it.
func (f *following) Close() {
	f.stop()
	<-f.done
}

// Glance follows a run until it has recorded something, for at most a moment, and shows that. It is nil with an error when
// nothing came.
func Glance(ctx context.Context, name string, next Next, moment time.Duration) (*Data, error) {
	f := &following{name: name, next: next}
	for end := time.Now().Add(moment); ; {
		b, err := next()
		if err != nil {
			return nil, err
		}
		if some := f.take(b); (f.ended || time.Now().After(end)) && (some || f.seen > 0) {
			return f.picture(), nil
		}
		if f.ended || time.Now().After(end) {
			return nil, fmt.Errorf("%s recorded no task within %s", name, moment)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
