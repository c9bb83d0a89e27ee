package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBusy is returned for a page that was being written whenever it was looked at: try again, or its writer has died
// in the middle.
var ErrBusy = errors.New("the page is being written")

// ErrEmpty is returned for a page that holds no sample yet.
var ErrEmpty = errors.New("the page holds no sample yet")

// Decode reads a copy of a page that was made while nobody wrote it. An error says at which offset it is damaged.
func Decode(page []byte) (*Snapshot, error) {
	if len(page) < header {
		return nil, fmt.Errorf("%d bytes are no telemetry page: expected at least %d", len(page), header)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(page[8*i:]) }
	switch m := word(0); {
	case m == 0:
		return nil, ErrEmpty
	case m != magic:
		return nil, fmt.Errorf("offset 0: 0x%x is not the mark of a telemetry page of this version", m)
	case word(1)&1 != 0:
		return nil, ErrBusy
	case word(2) == 0:
		return nil, ErrEmpty
	case word(2) > uint64(len(page)-header):
		return nil, fmt.Errorf("offset 16: a body of %d bytes in a page of %d", word(2), len(page))
	}
	d := &decoder{b: page[:header+int(word(2))], at: header}
	s := d.snapshot()
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

type decoder struct {
	b   []byte
	at  int
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("offset %d: %s", d.at, what)
	}
}

func (d *decoder) u64() uint64 {
	if d.err != nil || len(d.b)-d.at < 8 {
		d.fail("the page ends inside a number")
		return 0
	}
	d.at += 8
	return binary.LittleEndian.Uint64(d.b[d.at-8:])
}

func (d *decoder) i64() int64 { return int64(d.u64()) }

func (d *decoder) int() int {
	v := d.i64()
	if v < -1<<31 || v >= 1<<31 {
		d.fail(fmt.Sprintf("the number %d is out of range", v))
		return 0
	}
	return int(v)
}

func (d *decoder) text() string {
	if d.err != nil || d.at >= len(d.b) {
		d.fail("the page ends where a text should begin")
		return ""
	}
	n := int(d.b[d.at])
	if n > maxText || len(d.b)-d.at-1 < n {
		d.fail(fmt.Sprintf("a text of %d bytes", n))
		return ""
	}
	s := d.b[d.at+1 : d.at+1+n]
	d.at += 1 + n
	clean := make([]byte, n)
	for i, c := range s { // a terminal may show it
		if clean[i] = c; c < ' ' || c == 0x7f {
			clean[i] = '?'
		}
	}
	return string(clean)
}

func rows[T any](d *decoder, most int, get func(*decoder, *T)) []T {
	n := d.u64()
	if n > uint64(most) {
		d.fail(fmt.Sprintf("a list of %d entries, %d are possible", n, most))
		return nil
	}
	out := make([]T, 0, n)
	for range n {
		var x T
		if get(d, &x); d.err != nil {
			return nil
		}
		out = append(out, x)
	}
	return out
}

func (d *decoder) snapshot() *Snapshot {
	s := &Snapshot{PID: d.int(), Wall: d.i64(), Started: d.i64(), Program: d.text(), Faults: d.u64()}
	s.Devices = rows(d, MaxDevices, (*decoder).device)
	s.Operators = rows(d, MaxOperators, func(d *decoder, o *Operator) {
		*o = Operator{Device: d.int(), Name: d.text(), Type: d.text(), Count: d.u64(), Ns: d.i64()}
	})
	s.Hidden = d.int()
	s.Streams = rows(d, MaxStreams, func(d *decoder, t *Stream) {
		*t = Stream{Device: d.int(), ID: uint32(d.u64()), Priority: d.int(), State: State(min(d.u64(), 255)), Waits: d.text(), Depth: d.u64(), Tasks: d.u64()}
	})
	return s
}

func (d *decoder) device(x *Device) {
	*x = Device{ID: d.int(), Chip: d.text(), Ns: d.i64()}
	for _, p := range []*uint64{&x.Moved, &x.Bandwidth, &x.InUse, &x.Peak, &x.Total, &x.Blocks, &x.Tasks, &x.Faults} {
		*p = d.u64()
	}
	x.Engines = rows(d, MaxEngines, func(d *decoder, e *Engine) { *e = Engine{Name: d.text(), Units: d.int(), BusyNs: d.i64()} })
}
