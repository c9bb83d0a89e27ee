// Package timeline reads Chrome trace events (JSON): what msprof and torch_npu export, what this program writes, and those
// of any other program. Times are read from decimal text to integer nanoseconds.
//
// The file is read twice, first for the names of processes and threads, which may stand anywhere, then for the events: so
// memory is that of the trace alone. Nothing runs in the background.
package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// Options is what a caller knows that the file does not say.
type Options struct {
	Device  uint16                                // of processes that say only that they are an NPU
	Details func(start int64, name string) Detail // of tasks; nil when there are none
}

// Detail is what another file says of a task.
type Detail struct {
	Op, Kind string
	Blocks   uint32
	Account  trace.Account
	Known    bool
}

// Read reads the events of the file that open opens, which it calls twice. Where the file is damaged or ends early, what was
// read before is given with a problem.Damaged error; the trace is nil when it holds no events at all.
func Read(ctx context.Context, open func() (io.ReadCloser, error), o Options) (*trace.Trace, error) {
	b := &builder{
		ctx: ctx, options: o, rec: trace.NewRecorder(), words: ascend.NewWords(), processes: map[string]*process{}, tracks: map[string]*track{},
		names: map[string]trace.StringID{}, calls: newCallTable(), stacks: map[*track][]opened{}, async: map[string][]opened{}, open: map[*process]overlap{}, flows: map[string]*[2]int64{}, submitters: map[submitted]uint16{}, operations: map[int64]bool{},
		source: trace.Source{Format: "Chrome trace", Records: map[string]int64{}},
	}
	if err := b.metadata(open); err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.layout()
	damage := b.events(open)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if damage != nil && b.phased == 0 {
		return nil, problem.Mark(problem.Damaged, damage)
	}
	b.finish()
	return b.rec.Finish(), problem.Mark(problem.Damaged, damage)
}

// metadata is the first pass: names of processes and threads, and the head of the file.
func (b *builder) metadata(open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	s := newScanner(&reader{b.ctx, in})
	err = s.metadata(b.name)
	b.other = s.other
	if err != nil && !s.inside {
		return fmt.Errorf("read trace events: at offset %#x: %w", s.offset+int64(s.at), err)
	}
	return nil // what is wrong behind the head the second pass says
}

// events is the second pass.
func (b *builder) events(open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	s := newScanner(&reader{b.ctx, in})
	var e event
	for {
		more, err := s.next(&e)
		if err != nil {
			return fmt.Errorf("read trace events: at offset %#x: %w; the %d events before it are good", s.offset+int64(s.at), err, b.scanned)
		}
		if !more {
			if b.bad = s.bad; b.bad+b.scanned > 0 && b.phased == 0 {
				return fmt.Errorf("read trace events: none among the %d values of the array: events are objects with a phase (ph)", b.bad+b.scanned)
			}
			return nil
		}
		b.scanned++
		b.event(&e)
	}
}

type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read: %w", err)
	}
	return n, err
}

// layer is what a process of a trace shows.
type layer uint8

const (
	hostLayer    layer = iota // calls on threads
	deviceLayer               // tasks on streams
	commLayer                 // collective operations and their pieces
	overlapLayer              // times summed up by the exporter
	engineLayer               // engines of this program's own traces: tasks shown again
	countLayer                // values only
	stepLayer                 // iterations
)

// process is a process of the file: a layer of one device or of the host.
type process struct {
	name, labels string
	order        int
	layer        layer
	device       uint16
	own          bool // written by this program
	guessed      bool // a device whose name was lost
}

// track is a thread of a process.
type track struct {
	process *process
	name    string
	stream  uint32 // of device and communication layers
	known   bool   // stream comes from the file
	thread  uint16 // of host layers
}

// name reads a metadata event.
func (b *builder) name(e *event) {
	if e.args == nil {
		return
	}
	text := ""
	for i := range e.pairs {
		if k := string(e.pairs[i].key); k == "name" || k == "labels" {
			text = plain(bare(e.pairs[i].value))
		}
	}
	switch p := b.process(e.pid); string(e.name) {
	case "process_name":
		p.name = text
	case "process_labels":
		p.labels = text
	case "thread_name":
		b.track(e.pid, e.tid).name = text
	}
}

func (b *builder) process(pid []byte) *process {
	if p := b.processes[string(pid)]; p != nil {
		return p
	}
	p := &process{order: len(b.processes)}
	b.processes[string(pid)] = p
	b.ordered = append(b.ordered, p)
	return p
}

// seen is a track with its ids as the file writes them.
type seen struct {
	pid, tid []byte
	track    *track
}

// track finds the track of an event. A few tracks have most of the events.
func (b *builder) track(pid, tid []byte) *track {
	var at *seen
	if len(pid) > 0 && len(tid) > 0 {
		at = &b.recent[(pid[len(pid)-1]*3+tid[len(tid)-1])%uint8(len(b.recent))]
		if at.track != nil && bytes.Equal(pid, at.pid) && bytes.Equal(tid, at.tid) {
			return at.track
		}
	}
	b.key = append(append(append(b.key[:0], pid...), 0), tid...)
	t := b.tracks[string(b.key)]
	if t == nil {
		t = &track{process: b.process(pid)}
		if n, ok := whole(tid); ok && n >= 0 && n < ascend.CommunicationStream {
			t.stream, t.known = uint32(n), true
		}
		b.tracks[string(b.key)] = t
		if b.laid {
			b.place(t)
		}
	}
	if at != nil {
		at.track, at.pid, at.tid = t, append(at.pid[:0], pid...), append(at.tid[:0], tid...)
	}
	return t
}

// layout decides what each process is, once all names are known.
func (b *builder) layout() {
	b.ownHead()
	bare := map[string]uint16{} // devices of layers that do not number theirs
	for _, p := range b.ordered {
		p.layer = layerOf(p)
		switch n, ok := deviceOf(p); {
		case ok:
			p.device = n
		case p.layer == deviceLayer || p.layer == commLayer || p.layer == overlapLayer:
			p.device = b.options.Device + bare[p.name]
			bare[p.name]++
		default:
			p.device = b.options.Device
		}
		if p.layer == deviceLayer {
			b.devices = true
		}
		if strings.HasPrefix(p.name, "Ascend Hardware") || p.layer == commLayer || p.layer == stepLayer {
			b.source.Format = "msprof JSON"
		}
		b.layers[p.layer] = true
	}
	for _, p := range b.ordered {
		if p.name == "Python" && b.source.Format == "msprof JSON" {
			b.source.Format = "torch_npu JSON"
		}
	}
	if b.own {
		b.source.Format = "npu Chrome trace"
	}
	b.laid = true
	for _, key := range sortedKeys(b.tracks) {
		b.place(b.tracks[key])
	}
}

func layerOf(p *process) layer {
	switch name := p.name; {
	case p.own && name != "Host":
		return deviceLayer
	case name == "Ascend Hardware":
		return deviceLayer
	case name == "HCCL" || name == "Communication":
		return commLayer
	case name == "Overlap Analysis":
		return overlapLayer
	case name == "Step Trace":
		return stepLayer
	case strings.HasPrefix(p.labels, "NPU"):
		return countLayer
	}
	return hostLayer
}

// deviceOf is the device that a process names: by its label "NPU 3", or by its name in this program's own traces.
func deviceOf(p *process) (uint16, bool) {
	for _, s := range []string{p.labels, p.name} {
		if rest, ok := strings.CutPrefix(s, "NPU "); ok {
			rest, _, _ = strings.Cut(rest, " ")
			if n, ok := whole([]byte(rest)); ok && n >= 0 && n < 1<<16 {
				return uint16(n), true
			}
		}
	}
	return 0, false
}

// place gives a track its stream or thread number.
func (b *builder) place(t *track) {
	switch t.process.layer {
	case deviceLayer:
		name, named := strings.CutPrefix(t.name, "Stream ")
		number, rest, _ := strings.Cut(name, " ")
		if n, ok := whole([]byte(number)); named && ok && n >= 0 && n < 1<<32 {
			t.stream, t.known = uint32(n), true
			if rest != "" && !strings.HasPrefix(rest, "(overlap") && b.own {
				b.rec.NameStream(t.process.device, t.stream, strings.TrimSpace(strings.Split(rest, " (overlap")[0]), 0)
			}
		} else if t.name != "" {
			t.known = false // an engine, a step trace
		}
	case commLayer:
		t.stream = ascend.CommunicationStream + b.groups
		b.groups++
		b.rec.NameStream(t.process.device, t.stream, strings.TrimSpace(t.process.name+" "+t.name), 0)
	case hostLayer:
		if b.threads < 1<<16-1 {
			b.threads++
		}
		t.thread = b.threads
		name := t.name
		if rest, ok := strings.CutPrefix(name, "Thread "); ok {
			name = "tid " + rest
		}
		if p := t.process.name; p != "" && !b.own {
			name = strings.TrimSpace(p + " " + name)
		}
		if b.own {
			number, rest, _ := strings.Cut(strings.TrimPrefix(name, "tid "), " ")
			if n, ok := whole([]byte(number)); ok && n > 0 && n < 1<<16 {
				t.thread = uint16(n)
			}
			if strings.HasPrefix(rest, "(overlap ") {
				rest = ""
			}
			name, _, _ = strings.Cut(rest, " (overlap ")
		}
		if name != "" {
			b.rec.NameThread(t.thread, name)
		}
	}
}
