package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"npu/internal/problem"
)

// event is an entry of a device's trace in a memory snapshot of PyTorch; the other fields do not matter here.
type event struct {
	action             action
	addr, size, stream uint64
}

// action is what an event means for the blocks.
type action uint8

const (
	other     action = iota
	allocated        // alloc
	requested        // free_requested: other streams may use the block still
	completed        // free_completed, free
	strange          // it has no action or no numbers
)

var actions = map[string]action{"alloc": allocated, "free_requested": requested, "free_completed": completed, "free": completed}

// snapshot is what is read of a file, as it comes: events by device.
type snapshot struct {
	d       *json.Decoder
	devices [][]event
	found   bool // a list of events, or of lists
}

var (
	errShape = errors.New("expected a list of events")
	errEvent = errors.New("expected an event")
)

// readSnapshot reads a list of events, a list of such lists (one a device), or an object whose device_traces is one. Each
// device that has allocations is a trace.
func readSnapshot(r io.Reader, name string) ([]*Trace, error) {
	s := snapshot{d: json.NewDecoder(r)}
	err := s.read()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	var list []*Trace
	ops := 0
	for i, events := range s.devices {
		t := build(events, fmt.Sprintf("%s device %d", name, i))
		if t.Blocks > 0 {
			list = append(list, t)
			ops += len(t.Ops)
		}
	}
	if len(list) == 1 {
		list[0].Name = name
	}
	switch {
	case err != nil:
		return list, problem.Damagedf("%s: at offset %d: %w; the %d operations before it are good", name, s.d.InputOffset(), err, ops)
	case len(list) == 0:
		return nil, problem.Damagedf("%s: no allocations; expected a snapshot with device_traces, or a list of trace events (a snapshot has them after torch.npu.memory._record_memory_history())", name)
	}
	return list, nil
}

func (s *snapshot) read() error {
	t, err := s.d.Token()
	if err != nil {
		return err
	}
	if t == json.Delim('[') {
		return s.list()
	}
	for s.d.More() {
		key, err := s.d.Token()
		if err != nil {
			return err
		}
		if key != "device_traces" || s.found {
			var skip json.RawMessage
			if err := s.d.Decode(&skip); err != nil {
				return err
			}
			continue
		}
		if t, err = s.d.Token(); err != nil {
			return err
		}
		if t == json.Delim('[') {
			if err := s.list(); err != nil {
				return err
			}
		} else if t != nil {
			return errShape
		}
	}
	_, err = s.d.Token()
	return err
}

// list reads the rest of a list of events, or of a list of lists.
func (s *snapshot) list() error {
	s.found = true
	flat := -1 // device of events that stand in the list itself
	for s.d.More() {
		t, err := s.d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'):
			if flat < 0 {
				flat = len(s.devices)
				s.devices = append(s.devices, nil)
			}
			err = s.event(flat)
		case json.Delim('['):
			s.devices = append(s.devices, nil)
			err = s.events(len(s.devices) - 1)
		case nil: // a device without a trace
			s.devices = append(s.devices, nil)
		default:
			err = errEvent
		}
		if err != nil {
			return err
		}
	}
	_, err := s.d.Token()
	return err
}

// events reads the rest of a device's list.
func (s *snapshot) events(device int) error {
	for s.d.More() {
		t, err := s.d.Token()
		switch {
		case err != nil:
			return err
		case t != json.Delim('{'):
			return errEvent
		}
		if err := s.event(device); err != nil {
			return err
		}
	}
	_, err := s.d.Token()
	return err
}

// event reads the rest of an event. One whose fields are not what they should be is kept as strange.
func (s *snapshot) event(device int) error {
	e := event{action: strange}
	bad := false
	for s.d.More() {
		key, err := s.d.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := s.d.Decode(&v); err != nil {
			return err
		}
		ok := true
		switch key {
		case "action":
			var word string
			if json.Unmarshal(v, &word) == nil {
				e.action = actions[word]
			}
		case "addr", "address":
			e.addr, ok = number(v)
		case "size":
			e.size, ok = number(v)
		case "stream":
			e.stream, ok = number(v)
		}
		bad = bad || !ok
	}
	if bad && e.action != other {
		e.action = strange
	}
	s.devices[device] = append(s.devices[device], e)
	_, err := s.d.Token()
	return err
}

// number is an integer however it was written: negative ones wrap, as handles do.
func number(v json.RawMessage) (uint64, bool) {
	text := string(v)
	if text == "null" {
		return 0, true
	}
	if s, err := strconv.Unquote(text); err == nil {
		text = s
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n, true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return uint64(f), err == nil && f >= 0 && f < 1<<63 && f == math.Trunc(f)
}

// build makes a trace of a device's events. A free is done when it is completed: until then other streams use the block.
// Where the list has no completions, the requests count.
func build(events []event, name string) *Trace {
	b := newBuilder(name)
	free := requested
	for _, e := range events {
		if e.action == completed {
			free = completed
		}
	}
	for _, e := range events {
		stream := uint32(e.stream) ^ uint32(e.stream>>32) // a handle, most often
		switch {
		case e.action == strange || e.action == allocated && (e.size == 0 || e.size > maxSize):
			b.t.Strange++
		case e.action == allocated:
			if !b.alloc(e.addr, e.size, stream) {
				b.free(e.addr, stream) // its free was lost
				b.alloc(e.addr, e.size, stream)
			}
		case e.action == free && !b.free(e.addr, stream):
			b.t.Unmatched++
		}
	}
	return b.t
}
