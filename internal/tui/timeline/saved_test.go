package timeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

// What is opened from the image is drawn as what was laid out anew, whatever one looks at.
func TestSaved_same(t *testing.T) {
	for name, tr := range map[string]*trace.Trace{"job": job(), "devices": gen.Trace(gen.Options{Tasks: 9000, Devices: 2, Streams: 3})} {
		fresh := Finished(tr, "x.npt")
		path := filepath.Join(t.TempDir(), "sub", "x.image")
		if err := fresh.save(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		kept, img, err := loadSaved(path, "x.npt")
		if err != nil {
			t.Fatal(err)
		}
		if err := img.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(kept.all(), fresh.all()) {
			t.Errorf("%s: statistics %+v, expected %+v", name, kept.all(), fresh.all())
		}
		for _, keys := range []string{"", "<tab>", "wwww....[[]]", "Gwww", "ji", "t", "gjjww.", "cccc", "{{<space>", "/conv<enter>nn"} {
			frame := func(d *Data) string {
				m := newModel(still{d}, theme.New(theme.None, false, theme.Braille))
				m.w, m.h = 120, 40
				m.resolve()
				press(t, m, keys)
				return m.View()
			}
			if got, want := frame(kept), frame(fresh); got != want {
				t.Errorf("%s, keys %q: from the image\n%s\nanew\n%s", name, keys, got, want)
			}
		}
	}
}

// A trace is read once, and shown from its image the next time; a damaged image is made anew, and one of no-one's is no error.
func TestOpen_kept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.image")
	tr := gen.Trace(gen.Options{Tasks: leastSaved, Devices: 2})
	reads, kept := 0, 0
	open := func() *model {
		src := Open(File{Name: "x", Keep: func() string { return path }, Kept: func() { kept++ },
			Load: func(context.Context, func([]trace.Task)) (*trace.Trace, error) { reads++; return tr, nil }})
		m, _ := look(t, src, "Stream 1")
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(path); err == nil {
				break
			}
		}
		<-src.(*file).done
		src.Close()
		m.Update(tick{})
		m.dirty = true
		return m
	}
	first := open().View()
	if reads != 1 || kept != 1 {
		t.Fatalf("%d reads, kept %d times", reads, kept)
	}
	if again := open().View(); again != first || reads != 1 {
		t.Errorf("%d reads\n%s\n%s", reads, again, first)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := errors.Join(os.Remove(path), os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	if again := open().View(); again != first || reads != 2 {
		t.Errorf("a damaged image: %d reads\n%s", reads, again)
	}
}

// Leaving while the image is written leaves nothing behind.
func TestSave_left(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dir := t.TempDir()
	if err := Finished(job(), "x").save(ctx, filepath.Join(dir, "x.image")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
}

// A coarse picture has the time of the trace, and the devices and streams that it will have.
func TestCoarse(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 20_000, Devices: 2, Streams: 3})
	c := newCoarse("x", func(*Data) {})
	for _, k := range tr.Tasks.All() {
		c.add([]trace.Task{k})
	}
	d, full := c.picture(), NewData(tr, "x")
	if d.coarse != tr.Tasks.Len() || d.T.Tasks.Len() > tr.Tasks.Len()/5 {
		t.Errorf("%d slices for %d of %d tasks", d.T.Tasks.Len(), d.coarse, tr.Tasks.Len())
	}
	busy := func(d *Data) (sum int64, streams int) {
		for _, l := range d.Lanes {
			if l.Kind == Stream {
				sum, streams = sum+l.index.Busy(d.From, d.To), streams+1
			}
		}
		return sum, streams
	}
	a, n := busy(d)
	b, k := busy(full)
	if n != k || a < b*98/100 || a > b*102/100 {
		t.Errorf("busy %d on %d streams, expected %d on %d", a, n, b, k)
	}
}

// What was chosen on a coarse picture stays when the whole trace is there.
func TestCarry(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 20_000, Devices: 2, Streams: 3})
	c := newCoarse("x", func(*Data) {})
	for _, k := range tr.Tasks.All() {
		c.add([]trace.Task{k})
	}
	src := &switching{c.picture()}
	m := newModel(src, theme.New(theme.None, false, theme.Braille))
	m.w, m.h = 120, 40
	m.resolve()
	press(t, m, "}jjpjxjwwd")
	from, to, lane, hidden := m.from, m.to, m.at.lane.Kind, len(m.hidden)
	src.d = NewData(tr, "x")
	m.Update(tick{})
	if m.from != from || m.to != to || m.at.lane.Kind != lane || len(m.pinned) != 1 || len(m.hidden) != hidden || m.d.coarse != 0 {
		t.Errorf("%d to %d, pinned %v, hidden %v", m.from, m.to, m.pinned, m.hidden)
	}
	press(t, m, "uuu")
	fits(t, m.View(), 120, 40)
}

type switching struct{ d *Data }

func (s *switching) Latest() (*Data, error) { return s.d, nil }
func (s *switching) Says() string           { return "" }
func (s *switching) Close()                 {}
