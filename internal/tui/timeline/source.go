package timeline

import (
	"context"
	"sync"
	"time"

	"npu/internal/trace"
)

// Source gives what to show. It never blocks: a nil Data means that there is none yet.
type Source interface {
	Latest() (*Data, error) // with nil Data an error is final; with Data it says what of it is damaged
	Says() string           // what is being done while there is no Data
	Close()
}

// Load reads a trace. As everywhere, a damaged one may come with an error.
type Load func(ctx context.Context) (*trace.Trace, error)

// Open reads a trace in the background.
func Open(name string, load Load) Source {
	ctx, stop := context.WithCancel(context.Background())
	f := &file{name: name, stop: stop, done: make(chan struct{}), says: "reading " + name, since: time.Now()}
	go f.read(ctx, load)
	return f
}

type file struct {
	name  string
	stop  context.CancelFunc
	done  chan struct{}
	since time.Time

	mu   sync.Mutex
	data *Data
	err  error
	says string
}

func (f *file) read(ctx context.Context, load Load) {
	defer close(f.done)
	t, err := load(ctx)
	if t != nil && ctx.Err() == nil {
		f.set(nil, nil, "laying out "+f.name)
		d := NewData(t, f.name)
		if err != nil {
			d.Note = err.Error()
		}
		f.set(d, err, "")
		go d.link() // not waited for: nothing can stop it, and nothing but d sees it
		return
	}
	f.set(nil, err, "")
}

func (f *file) set(d *Data, err error, says string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data, f.err, f.says = d, err, says
}

func (f *file) Latest() (*Data, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.data, f.err
}

func (f *file) Says() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.says + ", " + time.Since(f.since).Round(100*time.Millisecond).String()
}

// Close ends the reading and waits for it.
func (f *file) Close() {
	f.stop()
	<-f.done
}
