package torchraw

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"npu/internal/trace"
)

func i64(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// fixed reads records of size bytes.
func fixed(in io.Reader, size int, take func(rec []byte)) (n int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		rec, err := r.Peek(size)
		switch {
		case len(rec) == 0 && errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, io.EOF):
			return n, fmt.Errorf("at offset %#x: the file ends within a record; the %d records before it are good", n*int64(size), n)
		case err != nil:
			return n, err
		}
		take(rec)
		n++
		r.Discard(size)
	}
}

// operators reads torch.op_range: i64 start, end, sequence; u64 process, start, end and forward thread; u8 scope, async; then fields, of
// which 2 is the name.
func (r *reader) operators(in io.Reader) (int64, error) {
	return tlv(in, func(b []byte) {
		if len(b) < 58 {
			r.source.BadRecords++
			return
		}
		r.span(field(b[58:], 2), binary.LittleEndian.Uint64(b[32:]), i64(b), i64(b[8:]))
	})
}

// queueKey pairs the start and the end of an entry of the task queue.
type queueKey struct {
	thread  uint64
	dequeue bool
	name    string
}

// marks reads torch.op_mark: i64 time; u64 category, correlation, thread, process; field 1 is the name.
func (r *reader) marks(in io.Reader) (int64, error) {
	return tlv(in, func(b []byte) {
		if len(b) < 40 || b[8] > 3 || binary.LittleEndian.Uint64(b[8:]) > 3 {
			r.source.BadRecords++
			return
		}
		key := queueKey{binary.LittleEndian.Uint64(b[24:]), b[8] >= 2, field(b[40:], 1)}
		if b[8]%2 == 0 {
			r.queue[key] = i64(b)
			return
		}
		start, ok := r.queue[key]
		if !ok {
			r.lonely++
			return
		}
		delete(r.queue, key)
		name := "Enqueue"
		if key.dequeue {
			name = "Dequeue@" + key.name
		}
		r.span(name, key.thread, start, i64(b))
	})
}

func (r *reader) hashes(in io.Reader) (int64, error) {
	return tlv(in, func(b []byte) {
		if len(b) < 8 {
			r.source.BadRecords++
			return
		}
		r.names[binary.LittleEndian.Uint64(b)] = field(b[8:], 1)
	})
}

// call is a Python call that has not returned.
type call struct {
	start int64
	name  string
}

// python reads torch.python_tracer_func: u64 time, thread, process, hash; u8 tag: calls are even, returns odd.
func (r *reader) python(in io.Reader) (int64, error) {
	return fixed(in, 33, func(b []byte) {
		thread, key := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[24:])
		switch b[32] {
		case 0, 2:
			name := r.names[key]
			if name == "" {
				name = "function " + strconv.FormatUint(key, 16)
			}
			r.stacks[thread] = append(r.stacks[thread], call{i64(b), name})
		case 1, 3:
			stack := r.stacks[thread]
			if len(stack) == 0 {
				r.lonely++ // it was called before the recording
				return
			}
			c := stack[len(stack)-1]
			r.stacks[thread] = stack[:len(stack)-1]
			r.span(c.name, thread, c.start, i64(b))
		default:
			r.source.BadRecords++
		}
	})
}

// collections reads torch.gc_record: u64 process, start, end.
func (r *reader) collections(in io.Reader) (int64, error) {
	return fixed(in, 24, func(b []byte) {
		r.span("GC", binary.LittleEndian.Uint64(b), i64(b[8:]), i64(b[16:]))
	})
}

func (r *reader) parameters(in io.Reader) (int64, error) {
	return tlv(in, func(b []byte) {
		if len(b) < 8 {
			r.source.BadRecords++
		}
	})
}

// npu is the type of device that memory records give to NPUs.
const npu = 20

// usage reads torch.memory_usage: i64 address, time, size, allocated, reserved, active, stream; i8 device type and index; u8
// component, event, allocator; u64 thread, process.
func (r *reader) usage(in io.Reader) (int64, error) {
	return tlv(in, func(b []byte) {
		if len(b) < 77 {
			r.source.BadRecords++
			return
		}
		at, device := r.clock(i64(b[8:])), int64(int8(b[57]))
		event, component := "event "+strconv.Itoa(int(b[59])), "component "+strconv.Itoa(int(b[58]))
		if int(b[59]) < 3 {
			event = [...]string{"malloc", "free", "block_free"}[b[59]]
		}
		if int(b[58]) < 2 {
			component = [...]string{"caching allocator", "workspace allocator"}[b[58]]
		}
		r.memory.Add(at, device, event, component, "0x"+strconv.FormatUint(uint64(i64(b)), 16), i64(b[16:]), i64(b[24:]), i64(b[32:]), i64(b[40:]),
			"0x"+strconv.FormatUint(uint64(i64(b[48:])), 16), i64(b[61:]), i64(b[69:]))
		if b[56] != npu || device < 0 {
			return
		}
		for i, name := range []string{"allocated", "reserved", "active"} {
			r.rec.Counters([]trace.Counter{{Time: at, Value: float64(i64(b[24+8*i:])), Name: r.rec.Intern(component + " " + name + " (bytes)"), Device: uint16(device)}})
		}
	})
}
