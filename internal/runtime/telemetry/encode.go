package telemetry

import "encoding/binary"

// PageBytes is the size of a page.
const PageBytes = 32 << 10

// A page is 64-bit little-endian words: magic and version, sequence number, bytes of the body, the body. The body is
// the fields of Snapshot in order: numbers as 8 bytes, texts and lists behind their length.
const (
	magic  = uint64(0x31_4d_4c_54_55_50_4e) // "NPUTLM1"
	header = 24
)

// encoder appends to a buffer that never grows beyond its capacity; what does not fit sets full.
type encoder struct {
	b    []byte
	full bool
}

func (e *encoder) u64(v uint64) {
	if len(e.b)+8 > cap(e.b) {
		e.full = true
		return
	}
	e.b = binary.LittleEndian.AppendUint64(e.b, v)
}

func (e *encoder) i64(v int64) { e.u64(uint64(v)) }

func (e *encoder) text(s string) {
	s = s[:min(len(s), maxText)]
	if len(e.b)+1+len(s) > cap(e.b) {
		e.full = true
		return
	}
	e.b = append(append(e.b, byte(len(s))), s...)
}

// list writes a count and the entries that fit; a list that does not fit is cut.
func list[T any](e *encoder, rows []T, most int, put func(*encoder, *T)) {
	at := len(e.b)
	e.u64(0)
	if e.full {
		return
	}
	n := 0
	for i := range rows[:min(len(rows), most)] {
		back := len(e.b)
		put(e, &rows[i])
		if e.full {
			e.b, e.full = e.b[:back], false
			break
		}
		n++
	}
	binary.LittleEndian.PutUint64(e.b[at:], uint64(n))
}

// encode writes s from the start of the buffer and returns the used part. Streams come last, since they may be cut.
func (e *encoder) encode(s *Snapshot) []byte {
	e.b, e.full = e.b[:0], false
	e.i64(int64(s.PID))
	e.i64(s.Wall)
	e.i64(s.Started)
	e.text(s.Program)
	e.u64(s.Faults)
	list(e, s.Devices, MaxDevices, putDevice)
	list(e, s.Operators, MaxOperators, func(e *encoder, o *Operator) {
		e.i64(int64(o.Device))
		e.text(o.Name)
		e.text(o.Type)
		e.u64(o.Count)
		e.i64(o.Ns)
	})
	e.i64(int64(s.Hidden))
	list(e, s.Streams, MaxStreams, func(e *encoder, st *Stream) {
		e.i64(int64(st.Device))
		e.u64(uint64(st.ID))
		e.i64(int64(st.Priority))
		e.u64(uint64(st.State))
		e.text(st.Waits)
		e.u64(st.Depth)
		e.u64(st.Tasks)
	})
	return e.b
}

func putDevice(e *encoder, d *Device) {
	e.i64(int64(d.ID))
	e.text(d.Chip)
	e.i64(d.Ns)
	for _, v := range []uint64{d.Moved, d.Bandwidth, d.InUse, d.Peak, d.Total, d.Blocks, d.Tasks, d.Faults} {
		e.u64(v)
	}
	list(e, d.Engines, MaxEngines, func(e *encoder, x *Engine) {
		e.text(x.Name)
		e.i64(int64(x.Units))
		e.i64(x.BusyNs)
	})
}
