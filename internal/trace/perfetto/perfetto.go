// Package perfetto writes a trace as a Perfetto trace (.pftrace): track events with interned names on a time line of
// differences, several times smaller than Chrome JSON and exact at any time. Tracks and arrows are those of package
// chrome: a process a device with a track a stream and a track an engine, and one for the host threads.
package perfetto

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/trace"
	"npu/internal/trace/flow"
	"npu/internal/trace/lanes"
)

// Write writes t as one trace. The bytes depend on t alone.
func Write(w io.Writer, t *trace.Trace) error {
	c := &writer{
		w: w, t: t, lanes: lanes.New(t), arrows: flow.New(t), counters: map[counterKey]uint64{}, hold: map[int32]int{},
		categories: table{internedCategories, make([]bool, len(categories))},
		keys:       table{internedKeys, make([]bool, len(keys))},
		labels:     table{internedNames, make([]bool, len(t.Strings)+words)},
		values:     table{internedStrings, make([]bool, len(t.Strings)+words)},
	}
	c.begin()
	c.tracks()
	c.events()
	c.flush()
	if c.err != nil {
		return fmt.Errorf("write Perfetto trace: %w", c.err)
	}
	return nil
}

const flushAt = 1 << 16

// sequence is the number of the one writer sequence.
const sequence = 1

type writer struct {
	w        io.Writer
	t        *trace.Trace
	lanes    *lanes.Layout
	arrows   *flow.Arrows
	counters map[counterKey]uint64 // tracks
	base     int64                 // subtracted from all times: there are no negative ones
	now      int64                 // of the last packet
	ends     ends
	hold     map[int32]int // by lane: a wait whose end must come after the record at the same time

	categories, keys, labels, values table

	b, packet, event, part, names []byte // buffers, each within the one before
	err                           error
}

type counterKey struct {
	device uint16
	name   trace.StringID
}

func (c *writer) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.b)
	}
	c.b = c.b[:0]
}

// put ends the packet at hand.
func (c *writer) put() {
	c.b = field(c.b, tracePacket, c.packet)
	c.packet = c.packet[:0]
	if len(c.b) >= flushAt {
		c.flush()
	}
}

func number(b []byte, f protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, f, protowire.VarintType), v)
}

func field(b []byte, f protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, f, protowire.BytesType), v)
}

func text(b []byte, f protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, f, protowire.BytesType), v)
}

// begin defines the clock: each packet's time is the distance to the packet before.
func (c *writer) begin() {
	c.base = math.MaxInt64
	if c.t.Tasks.Len() > 0 {
		c.base = c.t.Tasks.Start.At(0)
	}
	if c.t.Spans.Len() > 0 {
		c.base = min(c.base, c.t.Spans.At(0).Start)
	}
	if c.t.Counters.Len() > 0 {
		c.base = min(c.base, c.t.Counters.At(0).Time)
	}
	first := c.base
	if c.base >= 0 {
		c.base = 0
	}
	if first == math.MaxInt64 {
		first = 0
	}
	c.now = first - c.base
	clock := func(id, at uint64, incremental bool) []byte {
		b := number(number(nil, clockID, id), clockTime, at)
		if incremental {
			b = number(b, clockIncremental, 1)
		}
		return b
	}
	snapshot := field(nil, snapshotClocks, clock(clockBoot, uint64(c.now), false))
	snapshot = field(snapshot, snapshotClocks, clock(clockDelta, uint64(c.now), true))
	snapshot = number(snapshot, snapshotPrimary, clockBoot)
	c.packet = number(c.packet, packetSequence, sequence)
	c.packet = number(c.packet, packetFlags, flagsCleared)
	c.packet = number(c.packet, packetFirst, 1)
	c.packet = field(c.packet, packetDefaults, number(nil, defaultsClock, clockDelta))
	c.packet = field(c.packet, packetClockSnapshot, snapshot)
	c.put()
}

// Track ids: lanes from 1, then processes, then counters.

func (c *writer) laneTrack(lane int) uint64 { return uint64(lane) + 1 }

func (c *writer) processTrack(pid int) uint64 { return uint64(len(c.lanes.Lanes) + 1 + pid) }

const (
	hostPid   = 1
	devicePid = 2 // of device 0
)

func pidOf(l *lanes.Lane) int {
	if l.Of == lanes.Thread {
		return hostPid
	}
	return devicePid + int(l.Device)
}

func (c *writer) track(b []byte) {
	c.packet = number(c.packet, packetSequence, sequence)
	c.packet = field(c.packet, packetTrack, b)
	c.put()
}

// tracks describes processes and lanes, and the tracks of counters. What holds for all processes the root track says.
func (c *writer) tracks() {
	c.track(number(number(nil, trackUUID, rootTrack), trackProcesses, orderExplicit))
	named := map[int]bool{}
	for i := range c.lanes.Lanes {
		l := &c.lanes.Lanes[i]
		pid := pidOf(l)
		c.process(pid, named)
		b := number(nil, trackUUID, c.laneTrack(i))
		b = number(b, trackParent, c.processTrack(pid))
		b = text(b, trackName, l.Name)
		c.track(number(b, trackRank, uint64(i)))
	}
	next := c.processTrack(devicePid + math.MaxUint16 + 1)
	for _, v := range c.t.Counters.All() {
		key := counterKey{v.Device, v.Name}
		if c.counters[key] != 0 {
			continue
		}
		c.process(devicePid+int(v.Device), named)
		c.counters[key] = next
		b := number(nil, trackUUID, next)
		b = number(b, trackParent, c.processTrack(devicePid+int(v.Device)))
		b = text(b, trackName, c.t.String(v.Name))
		b = number(b, trackRank, next) // behind all lanes
		c.track(field(b, trackCounter, nil))
		next++
	}
}

func (c *writer) process(pid int, named map[int]bool) {
	if named[pid] {
		return
	}
	named[pid] = true
	name := "Host"
	if pid != hostPid {
		name = c.t.DeviceName(uint16(pid - devicePid))
		if c.t.Meta.Chip != "" {
			name += " (" + c.t.Meta.Chip + ")"
		}
	}
	b := number(nil, trackUUID, c.processTrack(pid))
	b = field(b, trackProcess, text(number(nil, processPID, uint64(pid)), processName, name))
	b = number(b, trackOrder, orderByRank) // by name, Stream 10 would stand before Stream 2
	c.track(number(b, trackRank, uint64(pid)))
}
