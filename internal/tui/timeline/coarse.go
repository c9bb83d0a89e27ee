package timeline

import (
	"fmt"
	"time"

	"npu/internal/trace"
)

// bundled is how many tasks of a stream become one slice of a coarse picture.
const bundled = 64

// coarse makes pictures of a trace while it is read: neighbours on a stream become one slice, which lasts as long as they did
// together. So the first picture of ten million tasks is there before the first million is read.
type coarse struct {
	name    string
	show    func(*Data)
	streams map[laneID]*bundle
	tasks   []trace.Task
	count   int
	next    time.Time
	pause   time.Duration
	last    laneID
	at      *bundle
}

type laneID struct {
	device uint16
	stream uint32
}

// bundle is the neighbours that are collected: of the task, Start is the first one's, End the last one's.
type bundle struct {
	trace.Task
	count      int
	busy, most int64
}

// newCoarse makes pictures until the trace is read: after a fifth of a second, then after twice as long each time, since each
// takes longer.
func newCoarse(name string, show func(*Data)) *coarse {
	const first = 200 * time.Millisecond
	return &coarse{name: name, show: show, streams: map[laneID]*bundle{}, next: time.Now().Add(first), pause: first}
}

// add takes rows as they are read, which is by time on each stream.
func (c *coarse) add(rows []trace.Task) {
	for i := range rows {
		k := &rows[i]
		if k.Kind.Envelope() || k.Flags&trace.FlagPart != 0 {
			continue
		}
		if id := (laneID{k.Device, k.Stream}); c.at == nil || id != c.last {
			if c.last, c.at = id, c.streams[id]; c.at == nil {
				c.at = &bundle{}
				c.streams[id] = c.at
			}
		}
		c.take(c.at, k)
	}
	if c.count += len(rows); time.Now().After(c.next) {
		c.show(c.picture())
		c.pause *= 2
		c.next = time.Now().Add(c.pause)
	}
}

func (c *coarse) take(b *bundle, k *trace.Task) {
	if b.count == bundled || b.count > 0 && (k.Start < b.End || k.Start-b.End > b.End-b.Start) {
		c.tasks = append(c.tasks, b.task())
		*b = bundle{}
	}
	if b.count == 0 {
		b.Task = trace.Task{Start: k.Start, Device: k.Device, Stream: k.Stream}
	}
	ns := k.End - k.Start
	if b.count == 0 || ns > b.most {
		b.most, b.Kind, b.Engine = ns, k.Kind, k.Engine
	}
	if b.Code == 0 {
		b.Code = k.Code
	}
	b.count, b.busy, b.End = b.count+1, b.busy+ns, max(b.End, k.End)
}

// task is the slice of a bundle. Its name, as yet, is the number of its tasks.
func (b *bundle) task() trace.Task {
	k := b.Task
	k.End = min(k.Start+b.busy, b.End)
	k.Submit, k.Ready, k.Flags, k.Name = k.Start, k.Start, trace.FlagNoSubmit, trace.StringID(b.count)
	return k
}

// picture lays out what was read so far.
func (c *coarse) picture() *Data {
	rec := trace.NewRecorder()
	for n := range trace.StringID(bundled) {
		rec.Intern(fmt.Sprintf("%d tasks", n+1)) // is number n+1
	}
	rec.Tasks(c.tasks)
	for _, b := range c.streams {
		if b.count > 0 {
			rec.Tasks([]trace.Task{b.task()})
		}
	}
	d := NewData(rec.Finish(), c.name)
	d.coarse = c.count
	return d
}
