package msprof

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// groupOf is the group that the host names for a collective operation.
type groupOf struct {
	count  uint64
	group  uint64
	thread uint32
}

// readGroups reads hccl_op_info: u64 group at 42.
func (h *hostData) readGroups(ctx context.Context) error {
	_, _, err := h.folder.records(ctx, "hccl_op_info", 64, func(rec []byte) {
		if binary.LittleEndian.Uint16(rec) == hostMagic {
			h.groups = append(h.groups, groupOf{thread: u32at(rec, 8), count: u64at(rec, 16), group: u64at(rec, 42)})
		}
	})
	sortNearly(h.groups, func(a, b *groupOf) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count)) })
	return err
}

// groupIn is the group that was named within call c; 0 for none.
func (h *hostData) groupIn(c *call) uint64 {
	at, _ := slices.BinarySearchFunc(h.groups, groupOf{thread: c.thread, count: c.begin}, func(a, b groupOf) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count))
	})
	if at < len(h.groups) && h.groups[at].thread == c.thread && h.groups[at].count <= c.end {
		return h.groups[at].group
	}
	return 0
}

// collectives puts the tasks of collective operations together again. The host launches one as a node, and within it its
// pieces as calls of the level of communication; it lasts from the first to the last piece of the master's stream.
type collectives struct {
	m      *matcher
	device uint16
	open   map[int32]*collective // by launch
	list   []collective
}

type collective struct {
	launch     int32
	start, end int64 // of the pieces of the master; of all while there is none
	master     bool
	rows       map[int32]bool // tracks of pieces: one that comes again is of the next execution of a sunk model
	op         uint64         // hash of its type; 0 when nobody said
}

// add takes a task and its track.
func (c *collectives) add(row int32, k *trace.Task) {
	launch, piece := of(c.m.launch, row), of(c.m.comm, row)
	if launch < 0 || piece < 0 || k.Flags&trace.FlagPart != 0 {
		return
	}
	o := c.open[launch]
	if o == nil || o.rows[row] {
		if o != nil {
			c.list = append(c.list, *o)
		} else if c.open == nil {
			c.open = map[int32]*collective{}
		}
		o = &collective{launch: launch, start: k.Start, end: k.End, rows: map[int32]bool{}}
		if n := c.m.op(row); n != nil {
			o.op = n.op
		}
		c.open[launch] = o
	}
	o.rows[row] = true
	p := &c.m.host.calls[piece]
	switch master := c.m.host.dict.types[[2]uint32{levelComm, p.kind}] == "master"; {
	case master && !o.master:
		o.master, o.start, o.end = true, k.Start, k.End
	case master == o.master:
		o.start, o.end = min(o.start, k.Start), max(o.end, k.End)
	}
}

// record records the operations, on a stream of their group. Their pieces are tasks of their own, so that sums leave them out.
func (c *collectives) record(rec *trace.Recorder) {
	for _, o := range c.open {
		c.list = append(c.list, *o)
	}
	slices.SortFunc(c.list, func(a, b collective) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.launch, b.launch))
	})
	streams := map[uint64]uint32{}
	for i := range c.list {
		o := &c.list[i]
		h := c.m.host
		call := &h.calls[o.launch]
		group := h.groupIn(call)
		stream, ok := streams[group]
		if !ok {
			stream = ascend.CommunicationStream + uint32(len(streams))
			streams[group] = stream
			name := "communication"
			if group != 0 {
				name += " of group " + h.dict.name(group)
			}
			rec.NameStream(c.device, stream, name, 0)
		}
		name := h.dict.name(call.item)
		op := rec.Intern(operationType(name))
		if o.op != 0 {
			op = c.m.name(rec, o.op)
		}
		rec.Tasks([]trace.Task{{Start: o.start, End: o.end, Submit: o.start, Ready: o.start, Name: c.m.name(rec, call.item), Op: op, Kind: trace.Communication, Stream: stream, Device: c.device, Flags: trace.FlagPart | trace.FlagNoSubmit}})
	}
}

// operationType is hcom_allReduce_ of hcom_allReduce__503_1_1.
func operationType(name string) string {
	if at := strings.Index(name, "__"); at > 0 {
		return name[:at+1]
	}
	return name
}
