package timeline

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/live"
	"npu/internal/tui/theme"
)

// running is a run that has recorded more each time it is asked: a task of 10 µs every 20 µs, on two streams.
type running struct {
	mu    sync.Mutex
	tasks int
	step  int
	ended bool
	err   error
}

func (r *running) next() (live.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := live.Batch{Names: []string{"", "Conv2D", "conv1"}, Ended: r.ended}
	for range r.step {
		at := 1000 + int64(r.tasks)*20_000
		b.Tasks = append(b.Tasks, trace.Task{Submit: at, Ready: at, Start: at, End: at + 10_000, Stream: uint32(1 + r.tasks%2), Task: uint32(r.tasks), Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: 1, Name: 2})
		r.tasks++
	}
	return b, r.err
}

func (r *running) set(step int, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.ended, r.err = step, ended, err
}

// A run is shown as it goes on, its end in sight, until one goes back.
func TestFollow(t *testing.T) {
	run := &running{step: 50}
	f := &following{name: "pid 7 job", next: run.next}
	more := func() {
		b, err := run.next()
		if err != nil {
			t.Fatal(err)
		}
		f.take(b)
		f.set(f.picture(), nil)
	}
	more()
	m := newModel(f, theme.New(theme.None, false, theme.Braille))
	m.w, m.h = 100, 30
	m.resolve()
	whole := m.to - m.from
	more()
	m.Update(tick{})
	if m.to-m.from != 2*whole+10_000 || m.cur != m.d.To-1 {
		t.Errorf("all in sight: %d ns, then %d, cursor at %d of %d", whole, m.to-m.from, m.cur, m.d.To)
	}
	press(t, m, "www")
	span := m.to - m.from
	more()
	m.Update(tick{})
	if m.to < m.d.To || m.to-m.from != span || m.cur < m.to-span/10 {
		t.Errorf("zoomed: %d to %d, cursor %d, the run is at %d", m.from, m.to, m.cur, m.d.To)
	}
	press(t, m, "A")
	from := m.from
	more()
	m.Update(tick{})
	if m.from != from || m.follow {
		t.Errorf("gone back to %d, and moved to %d", from, m.from)
	}
	press(t, m, "F")
	more()
	if m.Update(tick{}); m.to < m.d.To {
		t.Errorf("following again: up to %d of %d", m.to, m.d.To)
	}
	if view := m.View(); !strings.Contains(view, "live: 250 tasks") || !strings.Contains(view, "Stream 2") {
		t.Error(view)
	}
	press(t, m, "F")
	if m.follow {
		t.Error("F does not let go")
	}
}

// Only the last of a long run is kept, and times are still counted from its start.
func TestFollow_long(t *testing.T) {
	run := &running{step: liveTasks}
	f := &following{name: "x", next: run.next}
	for range 3 {
		b, _ := run.next()
		f.take(b)
		f.picture()
	}
	d := f.picture()
	if d.T.Tasks.Len() != liveTasks || d.Zero != 1000 || d.From != 1000+2*liveTasks*20_000 {
		t.Errorf("%d tasks from %d, counted from %d", d.T.Tasks.Len(), d.From, d.Zero)
	}
}

// The source ends by itself with the run, and when its records cannot be read.
func TestFollow_ends(t *testing.T) {
	run := &running{step: 10}
	src := Follow("pid 7", run.next)
	defer src.Close()
	look(t, src, "Stream 2")
	run.set(0, true, nil)
	<-src.(*following).done
	if says := src.Says(); !strings.HasPrefix(says, "ended after") {
		t.Error(says)
	}
	run.set(0, false, errors.New("gone"))
	src = Follow("pid 7", run.next)
	defer src.Close()
	if m, quit := look(t, src, ""); !quit || m.failure.Error() != "gone" {
		t.Error(m.failure)
	}
	run.set(0, true, nil)
	src = Follow("pid 7", run.next)
	defer src.Close()
	if m, quit := look(t, src, ""); !quit || !strings.Contains(m.failure.Error(), "pid 7 has ended before") {
		t.Error(m.failure)
	}
}

func TestGlance(t *testing.T) {
	run := &running{step: 10}
	d, err := Glance(t.Context(), "pid 7", run.next, 50*time.Millisecond)
	if err != nil || d.T.Tasks.Len() < 20 {
		t.Error(d, err)
	}
	run.set(0, false, nil)
	if d, err := Glance(t.Context(), "pid 7", run.next, 50*time.Millisecond); d != nil || err == nil {
		t.Error(d, err)
	}
}
