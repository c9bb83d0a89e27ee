package replay

import (
	"encoding/json"
	"errors"
	"io"

	"npu/internal/problem"
)

// event is an entry of a device's trace in a memory snapshot of PyTorch; the other fields do not matter here.
type event struct {
	Action string `json:"action"`
	Addr   uint64 `json:"addr"`
	Size   uint64 `json:"size"`
	Stream uint64 `json:"stream"`
}

// readSnapshot reads a list of events, a list of such lists (one a device; the first that has any is taken), or an object
// whose device_traces is one.
func readSnapshot(r io.Reader, name string) (*Trace, error) {
	d := json.NewDecoder(r)
	b := newBuilder(name)
	err := snapshot(d, b)
	switch {
	case errors.Is(err, errDone):
		err = nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err != nil:
		return b.t, problem.Damagedf("%s: at offset %d: %w; the %d operations before it are good", name, d.InputOffset(), err, len(b.t.Ops))
	case b.t.Blocks == 0:
		return b.t, problem.Damagedf("%s: no allocations; expected a snapshot with device_traces, or a list of trace events", name)
	}
	return b.t, nil
}

var (
	errDone  = errors.New("done")
	errShape = errors.New("expected a list of events")
)

func snapshot(d *json.Decoder, b *builder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t == json.Delim('[') {
		return list(d, b)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == "device_traces" {
			if t, err = d.Token(); err != nil {
				return err
			}
			if t != json.Delim('[') {
				return errShape
			}
			return list(d, b)
		}
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	return errDone
}

// list reads the rest of a list of events, or of a list of lists.
func list(d *json.Decoder, b *builder) error {
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if raw[0] == '[' {
			var events []event
			if err := json.Unmarshal(raw, &events); err != nil {
				return err
			}
			for _, e := range events {
				b.event(e)
			}
			if b.t.Blocks > 0 {
				return errDone // one device is a trace
			}
			continue
		}
		var e event
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		b.event(e)
	}
	return errDone
}

// event adds what an event means for the blocks. A free is done when it is completed: until then other streams use the
// block. Where the list has no completions, the requests count.
func (b *builder) event(e event) {
	stream := uint32(e.Stream) ^ uint32(e.Stream>>32) // a handle, most often
	switch e.Action {
	case "alloc":
		if e.Size == 0 || e.Size > maxSize {
			return
		}
		if !b.alloc(e.Addr, e.Size, stream) {
			b.free(e.Addr, stream) // its free was lost
			b.alloc(e.Addr, e.Size, stream)
		}
	case "free_completed", "free":
		if !b.free(e.Addr, stream) {
			b.t.Unmatched++
		}
	}
}
