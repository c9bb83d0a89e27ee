package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// member is a field of a message.
type member struct {
	number protowire.Number
	wire   protowire.Type
	name   string
	within int // place in schema of the message that it holds; 0 for text and numbers
}

// Places in schema.
const (
	inTrace = iota + 1
	inPacket
	inClockSnapshot
	inClock
	inDefaults
	inTrack
	inProcess
	inCounter
	inEvent
	inAnnotation
	inInterned
	inCategory
	inEventName
	inAnnotationName
	inInternedString
)

const (
	varint  = protowire.VarintType
	fixed64 = protowire.Fixed64Type
	framed  = protowire.BytesType
)

// schema is the part of Perfetto's public schema that this program writes, as facts: messages, and of each the number, the
// wire type and the name of its fields. They are those of github.com/google/perfetto at commit ec5d16b1 (August 2026), in
// protos/perfetto/trace: trace.proto, trace_packet.proto, trace_packet_defaults.proto, clock_snapshot.proto,
// interned_data/interned_data.proto and track_event/*.proto; they were compared with its compiled descriptors.
var schema = [...]struct {
	name    string
	members []member
}{
	inTrace: {"Trace", []member{{1, framed, "packet", inPacket}}},
	inPacket: {"TracePacket", []member{
		{6, framed, "clock_snapshot", inClockSnapshot}, {8, varint, "timestamp", 0}, {10, varint, "trusted_packet_sequence_id", 0},
		{11, framed, "track_event", inEvent}, {12, framed, "interned_data", inInterned}, {13, varint, "sequence_flags", 0},
		{59, framed, "trace_packet_defaults", inDefaults}, {60, framed, "track_descriptor", inTrack}, {87, varint, "first_packet_on_sequence", 0},
	}},
	inClockSnapshot: {"ClockSnapshot", []member{{1, framed, "clocks", inClock}, {2, varint, "primary_trace_clock", 0}}},
	inClock:         {"ClockSnapshot.Clock", []member{{1, varint, "clock_id", 0}, {2, varint, "timestamp", 0}, {3, varint, "is_incremental", 0}}},
	inDefaults:      {"TracePacketDefaults", []member{{58, varint, "timestamp_clock_id", 0}}},
	inTrack: {"TrackDescriptor", []member{
		{1, varint, "uuid", 0}, {2, framed, "name", 0}, {3, framed, "process", inProcess}, {5, varint, "parent_uuid", 0},
		{8, framed, "counter", inCounter}, {11, varint, "child_ordering", 0}, {12, varint, "sibling_order_rank", 0}, {19, varint, "process_ordering", 0},
	}},
	inProcess: {"ProcessDescriptor", []member{{1, varint, "pid", 0}, {6, framed, "process_name", 0}}},
	inCounter: {"CounterDescriptor", nil},
	inEvent: {"TrackEvent", []member{
		{3, varint, "category_iids", 0}, {4, framed, "debug_annotations", inAnnotation}, {9, varint, "type", 0}, {10, varint, "name_iid", 0},
		{11, varint, "track_uuid", 0}, {44, fixed64, "double_counter_value", 0}, {47, fixed64, "flow_ids", 0}, {48, fixed64, "terminating_flow_ids", 0},
	}},
	inAnnotation: {"DebugAnnotation", []member{{1, varint, "name_iid", 0}, {4, varint, "int_value", 0}, {17, varint, "string_value_iid", 0}}},
	inInterned: {"InternedData", []member{
		{1, framed, "event_categories", inCategory}, {2, framed, "event_names", inEventName}, {3, framed, "debug_annotation_names", inAnnotationName},
		{29, framed, "debug_annotation_string_values", inInternedString},
	}},
	inCategory:       {"EventCategory", []member{{1, varint, "iid", 0}, {2, framed, "name", 0}}},
	inEventName:      {"EventName", []member{{1, varint, "iid", 0}, {2, framed, "name", 0}}},
	inAnnotationName: {"DebugAnnotationName", []member{{1, varint, "iid", 0}, {2, framed, "name", 0}}},
	inInternedString: {"InternedString", []member{{1, varint, "iid", 0}, {2, framed, "str", 0}}},
}

// member is the field of a message with a number; nil when the message has none.
func memberOf(message int, number protowire.Number) *member {
	for i := range schema[message].members {
		if m := &schema[message].members[i]; m.number == number {
			return m
		}
	}
	return nil
}
