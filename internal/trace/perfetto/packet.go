package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// part is a field of a message with its value.
type part struct {
	*member
	v uint64 // of numbers
	b []byte // of framed ones
}

// parts is the fields of a message that the schema has; the others are said. What holds messages is looked into by the caller.
func (c *checker) parts(message int, b []byte) []part {
	var out []part
	name := schema[message].name
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			c.say("%s: no field where one starts", name)
			return out
		}
		p := part{member: memberOf(message, number)}
		b = b[n:]
		switch wire {
		case varint:
			p.v, n = protowire.ConsumeVarint(b)
		case fixed64:
			p.v, n = protowire.ConsumeFixed64(b)
		case framed:
			p.b, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, wire, b)
		}
		if n < 0 {
			c.say("%s: field %d is cut short", name, number)
			return out
		}
		b = b[n:]
		switch {
		case p.member == nil:
			c.say("%s has no field %d", name, number)
		case p.wire != wire:
			c.say("%s.%s has wire type %d, not %d", name, p.name, wire, p.wire)
		default:
			out = append(out, p)
		}
	}
	return out
}

// value is the number in a field; 0 when it is absent.
func value(parts []part, f protowire.Number) uint64 {
	p, _ := find(parts, f)
	return p.v
}

// find is the last value of a field: that is the one that counts.
func find(parts []part, f protowire.Number) (found part, ok bool) {
	for _, p := range parts {
		if p.number == f {
			found, ok = p, true
		}
	}
	return found, ok
}

func (c *checker) packet(b []byte) {
	packet := c.parts(inPacket, b)
	if value(packet, packetSequence) == 0 {
		c.say("a packet of no sequence: its clock and its names are those of none")
	}
	flags := value(packet, packetFlags)
	clock := uint64(0)
	if flags&flagsCleared != 0 {
		clear(c.known)
		c.begun = false
	}
	// Readers take what a packet sets before what it says, in whatever order they stand.
	if p, ok := find(packet, packetDefaults); ok {
		clock = value(c.parts(inDefaults, p.b), defaultsClock)
	}
	if p, ok := find(packet, packetClockSnapshot); ok {
		c.snapshot(p.b, clock)
	}
	if p, ok := find(packet, packetInterned); ok {
		c.interned(p.b)
	}
	if t, ok := find(packet, packetTimestamp); ok {
		if c.now += int64(t.v); int64(t.v) < 0 || c.now < 0 {
			c.say("time runs backwards")
		}
	}
	if p, ok := find(packet, packetTrack); ok {
		c.track(p.b)
	}
	if p, ok := find(packet, packetEvent); ok {
		if _, timed := find(packet, packetTimestamp); !timed || !c.begun {
			c.say("an event without a time: no timestamp, or no clock before it")
		}
		c.event(p.b, flags&flagsNeedIncremental != 0)
	}
}

// snapshot sets the clock whose times are differences.
func (c *checker) snapshot(b []byte, defaults uint64) {
	for _, p := range c.parts(inClockSnapshot, b) {
		if p.number != snapshotClocks {
			continue
		}
		k := c.parts(inClock, p.b)
		if id := value(k, clockID); value(k, clockIncremental) != 0 && id >= clockDelta && id < 128 && id == defaults {
			c.now, c.begun = int64(value(k, clockTime)), true
		}
	}
}

func (c *checker) interned(b []byte) {
	for _, p := range c.parts(inInterned, b) {
		entry := c.parts(p.within, p.b)
		id := value(entry, internedIID)
		if _, ok := find(entry, internedText); !ok || id == 0 {
			c.say("an entry of InternedData.%s without an id or a text", p.name)
		}
		if c.known[p.number] == nil {
			c.known[p.number] = map[uint64]bool{}
		}
		if c.known[p.number][id] {
			c.say("InternedData.%s has id %d twice", p.name, id)
		}
		c.known[p.number][id] = true
	}
}

// use looks an interned id up.
func (c *checker) use(t protowire.Number, id uint64, needs bool) {
	if !needs {
		c.say("a name is used by a packet that does not say that it needs the names before it")
	}
	if !c.known[t][id] {
		c.say("id %d is used before InternedData.%s has it", id, memberOf(inInterned, t).name)
	}
}

func (c *checker) track(b []byte) {
	d := c.parts(inTrack, b)
	uuid, t := value(d, trackUUID), &track{}
	if _, ok := find(d, trackUUID); !ok {
		c.say("a track without a uuid")
	}
	for _, p := range d {
		switch p.number {
		case trackProcess:
			if t.process = true; value(c.parts(inProcess, p.b), processPID) == 0 {
				c.say("a process without a pid")
			}
		case trackCounter:
			t.counter = true
			c.parts(inCounter, p.b)
		case trackParent:
			if c.tracks[p.v] == nil {
				c.say("track %d stands below track %d, which is not described before it", uuid, p.v)
			}
		case trackProcesses:
			if uuid != rootTrack {
				c.say("track %d orders processes, which only track 0 does", uuid)
			}
		}
	}
	if c.tracks[uuid] != nil {
		c.say("track %d is described twice", uuid)
		return
	}
	c.Tracks++
	c.tracks[uuid] = t
}

func (c *checker) event(b []byte, needs bool) {
	e := c.parts(inEvent, b)
	uuid := value(e, eventTrack)
	t := c.tracks[uuid]
	if t == nil {
		c.say("an event on track %d, which is not described before it", uuid)
		t = &track{}
		c.tracks[uuid] = t
	}
	began := c.now // of the slice that the event is of
	kind := value(e, eventType)
	if (kind == typeCounter) != t.counter {
		c.say("an event of type %d on track %d, which is of the other kind", kind, uuid)
	}
	switch kind {
	case typeBegin:
		t.open = append(t.open, c.now)
		c.Slices++
	case typeInstant:
		c.Instants++
	case typeCounter:
		if _, ok := find(e, eventDouble); !ok {
			c.say("a counter without a value")
		}
		c.Values++
	case typeEnd:
		last := len(t.open) - 1
		if last < 0 {
			c.say("an end on track %d, on which no slice is open", uuid)
			break
		}
		began, t.open = t.open[last], t.open[:last]
	default:
		c.say("an event of type %d", kind)
	}
	_, named := find(e, eventNameIID)
	if (kind == typeBegin || kind == typeInstant) && !named {
		c.say("a slice without a name")
	}
	for _, p := range e {
		switch p.number {
		case eventCategoryIIDs:
			c.use(internedCategories, p.v, needs)
		case eventNameIID:
			c.use(internedNames, p.v, needs)
		case eventAnnotations:
			c.annotation(p.b, needs)
		case eventFlows:
			if _, ok := c.arrows[p.v]; ok {
				c.say("arrow %d starts twice", p.v)
			}
			c.arrows[p.v] = began
		case eventFlowsEnd:
			c.arrowEnd(p.v, began)
		}
	}
}

func (c *checker) annotation(b []byte, needs bool) {
	a := c.parts(inAnnotation, b)
	c.use(internedKeys, value(a, annotationNameIID), needs)
	_, number := find(a, annotationInt)
	text, ok := find(a, annotationStringIID)
	if number == ok {
		c.say("an argument without a value, or with two")
	}
	if ok {
		c.use(internedStrings, text.v, needs)
	}
}

// arrowEnd ends an arrow at a slice that began then. Viewers turn an arrow round whose target began before its source.
func (c *checker) arrowEnd(id uint64, began int64) {
	from, ok := c.arrows[id]
	switch {
	case !ok:
		c.say("arrow %d ends before it starts", id)
	case from > began:
		c.say("arrow %d points backwards in time", id)
	}
	delete(c.arrows, id)
	c.Arrows++
}
