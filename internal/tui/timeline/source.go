package timeline

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"npu/internal/trace"
)

// Source gives what to show. It never blocks: a nil Data means that there is none yet. Each further Data replaces the one before.
type Source interface {
	Latest() (*Data, error) // with nil Data an error is final; with Data it says what of it is damaged
	Says() string           // what is being done in the background; empty when nothing is
	Close()
}

// Load reads a trace. As everywhere, a damaged one may come with an error. Where its format can be shown while it is read, it
// gives rows to tap before they are stored.
type Load func(ctx context.Context, tap func(rows []trace.Task)) (*trace.Trace, error)

// Side is one of several traces.
type Side struct {
	Label string
	Load  Load
}

// File is a trace to show, and where its layout is kept for the next time.
type File struct {
	Name string
	Load Load
	More []Side // further traces, to hold against the first; it is then Side 0, with this label
	Side string
	Keep func() string          // path of the image, called once it is wanted; nil or an empty path for none
	Fits func(bytes int64) bool // whether there is room for an image; nil for always
	Kept func()                 // called when the image was written; may be nil
}

func (f *File) keep() string {
	if f.Keep == nil {
		return ""
	}
	return f.Keep()
}

// Read reads f at once, with its arrows, and keeps nothing.
func Read(ctx context.Context, f File) (*Data, error) {
	if d, img, err := loadSaved(f.keep(), f.Name); err == nil && img.Check(ctx) == nil {
		return d, nil
	}
	d, err := f.lay(ctx, nil)
	if d == nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	d.link()
	return d, err
}

// lay reads and lays out all traces of f. What could be read of damaged ones comes with the error.
func (f *File) lay(ctx context.Context, tap func(rows []trace.Task)) (*Data, error) {
	if len(f.More) > 0 {
		tap = nil
	}
	var list []*trace.Trace
	var labels []string
	var errs []error
	for _, s := range append([]Side{{f.Side, f.Load}}, f.More...) {
		t, err := s.Load(ctx, tap)
		if errs = append(errs, err); t != nil {
			list, labels = append(list, t), append(labels, s.Label)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(errs...)
		}
	}
	err := errors.Join(errs...)
	if len(errs) == 1 {
		err = errs[0]
	}
	var d *Data
	switch len(list) {
	case 0:
		return nil, err
	case 1:
		d = NewData(list[0], f.Name)
	default:
		d = Together(list, labels, f.Name)
	}
	if err != nil {
		d.Note = err.Error()
	}
	return d, err
}

// Finished lays t out and finds its arrows.
func Finished(t *trace.Trace, name string) *Data {
	d := NewData(t, name)
	d.link()
	return d
}

// Open shows f: its image at once where there is one. Else the trace is read in the background, coarse first, then its arrows
// are found, and its image is written.
func Open(f File) Source {
	ctx, stop := context.WithCancel(context.Background())
	s := &file{File: f, stop: stop, done: make(chan struct{}), since: time.Now(), path: f.keep()}
	d, img, err := loadSaved(s.path, f.Name)
	if err == nil {
		s.data = d
	}
	go func() {
		defer close(s.done)
		if err == nil {
			if img.Check(ctx) == nil || ctx.Err() != nil {
				return
			}
			_ = os.Remove(s.path) // damaged: made anew from the trace, which is there still
		}
		s.read(ctx)
	}()
	return s
}

type file struct {
	File
	path  string
	stop  context.CancelFunc
	done  chan struct{}
	since time.Time

	mu   sync.Mutex
	data *Data
	err  error
	says string
}

func (s *file) read(ctx context.Context) {
	s.set(nil, nil, "reading "+s.Name)
	c := newCoarse(s.Name, func(d *Data) { s.set(d, nil, "reading "+s.Name) })
	d, err := s.lay(ctx, c.add)
	if d == nil || ctx.Err() != nil {
		s.set(nil, errors.Join(err, ctx.Err()), "")
		return
	}
	s.set(d, err, "finding who waited for whom")
	d.link()
	s.set(d, err, "")
	if s.path != "" && err == nil && s.worth(d) && d.save(ctx, s.path) == nil && s.Kept != nil {
		s.Kept()
	}
}

// rowBytes is about what a task or a call takes in an image.
const rowBytes = 90

// worth says whether an image of d saves time, and has room.
func (f *File) worth(d *Data) bool {
	rows := int64(d.T.Tasks.Len() + d.T.Spans.Len())
	return rows >= leastSaved && (f.Fits == nil || f.Fits(rows*rowBytes))
}

// set says what is shown, where d is not nil, and what is being done.
func (s *file) set(d *Data, err error, says string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != nil || err != nil {
		s.data = d
	}
	s.err, s.says = err, says
}

func (s *file) Latest() (*Data, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.err
}

func (s *file) Says() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.says == "" {
		return ""
	}
	return s.says + ", " + time.Since(s.since).Round(100*time.Millisecond).String()
}

// Close ends the reading and waits for it.
func (s *file) Close() {
	s.stop()
	<-s.done
}
