package msprof

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"npu/internal/trace"
)

const hostMagic = 0x5A5A

// hostData is what the host recorded: calls, submitted tasks and what it knew of operators.
type hostData struct {
	folder
	info    info
	sample  sample
	clock   clock
	dict    dictionary
	calls   []call
	tracks  []track
	nodes   []node
	expand  bool
	records map[string]int64
	bad     int64
	events  int64 // API events without an end: marks, not calls
	found   bool
	missing func(format string, args ...any)
	offset  int64 // from monotonic to Unix time; 0 when unknown
	apart   bool  // its times have nothing to do with the devices'
	copies  []copied
	tensors []tensors
	ranges  []userRange
	notes   []string
	groups  []groupOf
}

// copied is what the host says of a copy.
type copied struct {
	count  uint64
	bytes  uint64
	thread uint32
	kind   uint16
}

// readCopies reads memcpy_info: u64 bytes, u16 kind.
func (h *hostData) readCopies(ctx context.Context) error {
	err := h.each(ctx, "memcpy_info", 64, func(rec []byte) {
		h.copies = append(h.copies, copied{
			thread: binary.LittleEndian.Uint32(rec[8:]), count: binary.LittleEndian.Uint64(rec[16:]), bytes: binary.LittleEndian.Uint64(rec[24:]), kind: binary.LittleEndian.Uint16(rec[32:]),
		})
	})
	sortNearly(h.copies, func(a, b *copied) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count)) })
	return err
}

// copyOf is the copy that call c announced; nil when none.
func (h *hostData) copyOf(c *call) *copied {
	at, _ := slices.BinarySearchFunc(h.copies, copied{thread: c.thread, count: c.begin}, func(a, b copied) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count))
	})
	if at < len(h.copies) && h.copies[at].thread == c.thread && h.copies[at].count <= c.end {
		return &h.copies[at]
	}
	return nil
}

// call is an API event.
type call struct {
	begin, end uint64
	item       uint64 // hash of what a node launch launches
	kind       uint32
	level      uint16
	thread     uint32
}

// track is a task as the host submitted it.
type track struct {
	count  uint64
	name   uint64
	stream uint32
	id     uint32 // 16 bits, on v6 chips 32
	batch  uint32
	kind   uint32
	blocks uint32
	thread uint32
	device uint16
}

// node is what is known of an operator at level1.
type node struct {
	count    uint64
	name, op uint64
	kind     uint32
	blocks   uint32
	mix      uint32 // blocks on the other kind of core of a MIX kernel
	thread   uint32
}

func (h *hostData) read(ctx context.Context) error {
	var err error
	if h.dict, err = readDictionaries(ctx, &h.folder, &h.bad); err != nil {
		return err
	}
	for _, read := range []func(context.Context) error{h.readCalls, h.readTracks, h.readNodes, h.readCopies, h.readTensors, h.readRanges, h.readGroups} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(h.kinds)) {
		h.holes(kind, h.missing)
	}
	for kind, n := range h.unread(h.known) {
		h.records["bytes not read: "+kind] += n
		if why := notRead(kind); why != "" {
			h.notes = append(h.notes, fmt.Sprintf("%s of the host is not read: %s", kind, why))
		}
	}
	return nil
}

// known says whether the reader takes the records of kind.
func (h *hostData) known(kind string) bool {
	switch kind {
	case "api_event.data", "task_track", "task_track_v2", "node_basic_info", "expand_stream_spec", "hash_dic", "type_info_dic", "tensor_info", "hccl_info", "memcpy_info", "msproftx":
		return true
	}
	return usageKind(kind) != nil || slices.ContainsFunc(hostLayouts(), func(l layout) bool { return l.kind == kind })
}

// each gives the records with a good magic.
func (h *hostData) each(ctx context.Context, kind string, size int, take func(rec []byte)) error {
	n, left, err := h.folder.records(ctx, kind, size, func(rec []byte) {
		if binary.LittleEndian.Uint16(rec) != hostMagic {
			h.bad++
			return
		}
		take(rec)
	})
	if left > 0 {
		h.bad++
	}
	if n > 0 {
		h.records[kind] = n
	}
	return err
}

func (h *hostData) readExpand(ctx context.Context) error {
	return h.each(ctx, "expand_stream_spec", 64, func(rec []byte) { h.expand = rec[24] == 1 })
}

func (h *hostData) readCalls(ctx context.Context) error {
	h.calls = make([]call, 0, h.about("api_event.data", 40))
	return h.each(ctx, "api_event.data", 40, func(rec []byte) {
		c := call{
			level: binary.LittleEndian.Uint16(rec[2:]), kind: binary.LittleEndian.Uint32(rec[4:]), thread: binary.LittleEndian.Uint32(rec[8:]),
			begin: binary.LittleEndian.Uint64(rec[16:]), end: binary.LittleEndian.Uint64(rec[24:]), item: binary.LittleEndian.Uint64(rec[32:]),
		}
		switch {
		case c.end == ^uint64(0):
			h.events++
		case c.end < c.begin:
			h.bad++
		default:
			h.calls = append(h.calls, c)
		}
	})
}

func (h *hostData) readTracks(ctx context.Context) error {
	h.tracks = make([]track, 0, h.about("task_track", 64)+h.about("task_track_v2", 64))
	err := h.each(ctx, "task_track", 64, func(rec []byte) {
		id := binary.LittleEndian.Uint32(rec[28:])
		t := track{
			thread: binary.LittleEndian.Uint32(rec[8:]), count: binary.LittleEndian.Uint64(rec[16:]), device: binary.LittleEndian.Uint16(rec[24:]) & 0x0FFF,
			stream: uint32(binary.LittleEndian.Uint16(rec[26:])), id: id & 0xFFFF, batch: id >> 16,
			kind: uint32(binary.LittleEndian.Uint64(rec[32:])), name: binary.LittleEndian.Uint64(rec[40:]),
		}
		// At length 24 the record has no extension, and nobody knows the number of blocks.
		if binary.LittleEndian.Uint32(rec[12:]) >= 40 {
			t.blocks = uint32(binary.LittleEndian.Uint16(rec[48:]))
		}
		h.tracks = append(h.tracks, t)
	})
	if err != nil {
		return err
	}
	// What captured models submit has wider fields.
	return h.each(ctx, "task_track_v2", 64, func(rec []byte) {
		id := u32at(rec, 32)
		h.tracks = append(h.tracks, track{
			thread: u32at(rec, 8), count: u64at(rec, 16), device: binary.LittleEndian.Uint16(rec[24:]) & 0x0FFF, stream: u32at(rec, 28), id: id & 0xFFFF, batch: id >> 16, kind: u32at(rec, 36), name: u64at(rec, 40),
		})
	})
}

func (h *hostData) readNodes(ctx context.Context) error {
	h.nodes = make([]node, 0, h.about("node_basic_info", 64))
	return h.each(ctx, "node_basic_info", 64, func(rec []byte) {
		blocks := binary.LittleEndian.Uint32(rec[44:])
		n := node{
			thread: binary.LittleEndian.Uint32(rec[8:]), count: binary.LittleEndian.Uint64(rec[16:]),
			name: binary.LittleEndian.Uint64(rec[24:]), kind: binary.LittleEndian.Uint32(rec[32:]), op: binary.LittleEndian.Uint64(rec[36:]),
			blocks: blocks & 0xFFFF, mix: (blocks & 0xFFFF) * (blocks >> 16),
		}
		h.nodes = append(h.nodes, n)
	})
}

const flipTask = 98

// order brings the records into the order of time, and numbers the batches of task ids: the flip number, and above its 16
// bits how often the stream was destroyed before.
func (h *hostData) order() {
	h.calls = groupBy(h.calls, func(c *call) uint32 { return c.thread })
	sortNearly(h.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end), cmp.Compare(b.level, a.level))
	})
	h.nodes = groupBy(h.nodes, func(n *node) uint32 { return n.thread })
	sortNearly(h.nodes, func(a, b *node) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count)) })
	sortNearly(h.tracks, func(a, b *track) int { return cmp.Compare(a.count, b.count) })
	type key struct {
		device uint16
		stream uint32
	}
	gone := map[key]uint32{}
	for i := range h.tracks {
		t := &h.tracks[i]
		if t.kind == flipTask && t.batch == destroyed {
			gone[key{t.device, t.stream}] += 1 << 16
		} else if len(gone) > 0 {
			t.batch += gone[key{t.device, t.stream}]
		}
	}
}

// links is what the host's records say of its tracks, by track; -1 for none. All are nil without calls.
type links struct {
	caller   []int32 // the call that submitted it: the innermost that holds its stamp
	launch   []int32 // the node launch around it
	operator []int32 // the node that this launch announced
	comm     []int32 // the call of the level of communication around it
}

// setComm keeps the call of the level of communication; most collections have none.
func (l *links) setComm(row, call int32) {
	if l.comm == nil {
		l.comm = slices.Repeat([]int32{-1}, len(l.caller))
	}
	l.comm[row] = call
}

// of is the row of a link; -1 for none.
func of(link []int32, row int32) int32 {
	if link == nil {
		return -1
	}
	return link[row]
}

// links joins tracks, calls and nodes.
func (h *hostData) links() links {
	if len(h.calls) == 0 {
		return links{}
	}
	n := len(h.tracks)
	l := links{make([]int32, n), make([]int32, n), make([]int32, n), nil}
	rows := make([]int32, n)
	for i := range rows {
		l.caller[i], l.launch[i], l.operator[i] = -1, -1, -1
		rows[i] = int32(i)
	}
	rows = groupBy(rows, func(row *int32) uint32 { return h.tracks[*row].thread })
	for from := 0; from < len(h.calls); {
		to := from + 1
		for to < len(h.calls) && h.calls[to].thread == h.calls[from].thread {
			to++
		}
		thread := h.calls[from].thread
		lo, _ := slices.BinarySearchFunc(h.nodes, thread, func(n node, t uint32) int { return cmp.Compare(n.thread, t) })
		hi := lo
		for hi < len(h.nodes) && h.nodes[hi].thread == thread {
			hi++
		}
		for len(rows) > 0 && h.tracks[rows[0]].thread < thread {
			rows = rows[1:]
		}
		some := 0
		for some < len(rows) && h.tracks[rows[some]].thread == thread {
			some++
		}
		h.nest(from, to, rows[:some], lo, hi, &l)
		rows = rows[some:]
		from = to
	}
	return l
}

// nest walks the calls, tracks and nodes of one thread side by side.
func (h *hostData) nest(from, to int, tracks []int32, node, nodes int, l *links) {
	var open []int32 // calls around the stamp, the innermost last
	next := from
	for _, row := range tracks {
		at := h.tracks[row].count
		for next < to && h.calls[next].begin <= at {
			for len(open) > 0 && h.calls[open[len(open)-1]].end < h.calls[next].begin {
				open = open[:len(open)-1]
			}
			open = append(open, int32(next))
			next++
		}
		for len(open) > 0 && h.calls[open[len(open)-1]].end < at {
			open = open[:len(open)-1]
		}
		launch := int32(-1)
		for i := len(open) - 1; i >= 0; i-- {
			c := &h.calls[open[i]]
			if c.end < at {
				continue // calls of one thread that do not nest
			}
			if l.caller[row] < 0 {
				l.caller[row] = open[i]
			}
			if c.level == levelNode && launch < 0 {
				launch = open[i]
			}
			if c.level == levelComm && of(l.comm, row) < 0 {
				l.setComm(row, open[i])
			}
		}
		if l.launch[row] = launch; launch < 0 {
			continue
		}
		c := &h.calls[launch]
		for node < nodes && h.nodes[node].count < c.begin {
			node++
		}
		if node < nodes && h.nodes[node].count <= c.end {
			l.operator[row] = int32(node)
		}
	}
}

// spans records the calls. Those that submitted a task point at it.
func (h *hostData) spans(rec *trace.Recorder, offset int64, device uint16, caller []int32) {
	first := make([]int32, len(h.calls)) // by call: the track it submitted, plus one
	for i, c := range caller {
		if c >= 0 && first[c] == 0 {
			first[c] = int32(i) + 1
		}
	}
	threads, thread := h.threads(rec), uint16(0)
	batch := make([]trace.Span, 0, 1024)
	names := map[[2]uint32]trace.StringID{}
	var key [2]uint32
	var name trace.StringID
	for i := range h.calls {
		c := &h.calls[i]
		if k := [2]uint32{uint32(c.level), c.kind}; i == 0 || k != key {
			var ok bool
			if name, ok = names[k]; !ok {
				name = rec.Intern(h.dict.api(uint32(c.level), c.kind))
				names[k] = name
			}
			key = k
		}
		if i == 0 || c.thread != h.calls[i-1].thread {
			thread = threads[c.thread]
		}
		s := trace.Span{Start: h.clock.at(c.begin) + offset, End: h.clock.at(c.end) + offset, Name: name, Thread: thread, Device: device, Task: trace.NoTask}
		if t := first[i]; t > 0 {
			s.Stream, s.Task = h.tracks[t-1].stream, h.tracks[t-1].batch<<16|h.tracks[t-1].id
		}
		if batch = append(batch, s); len(batch) == cap(batch) {
			rec.Spans(batch)
			batch = batch[:0]
		}
	}
	rec.Spans(batch)
	h.rangeSpans(rec, offset, device, threads)
}

// threads numbers the host threads from 1, by their ids in the operating system.
func (h *hostData) threads(rec *trace.Recorder) map[uint32]uint16 {
	seen := map[uint32]bool{}
	last, some := uint32(0), false
	see := func(thread uint32) {
		if !some || thread != last {
			seen[thread], last, some = true, thread, true
		}
	}
	for i := range h.calls {
		see(h.calls[i].thread)
	}
	for i := range h.tracks {
		see(h.tracks[i].thread)
	}
	for i := range h.ranges {
		see(h.ranges[i].thread)
	}
	return number(rec, seen)
}
