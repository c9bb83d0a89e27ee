package perfetto

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/gen"
)

// What Write makes passes Check with the counts of the trace; written() checks all traces of the other tests.
func TestCheck_counts(t *testing.T) {
	sawLater := false
	for _, tr := range []*trace.Trace{gen.Trace(gen.Options{Tasks: 3000, Devices: 2, Streams: 4}), gen.Instants(1), small()} {
		var b bytes.Buffer
		if err := Write(&b, tr); err != nil {
			t.Fatal(err)
		}
		slices, arrows, later, values := int64(tr.Spans.Len()), int64(0), int64(0), int64(0)
		for i, k := range tr.Tasks.All() {
			if slices++; k.Engine != trace.EngineNone {
				slices++
			}
			if r, ok := tr.Waits().Record(i); ok {
				if arrows++; tr.Tasks.Start.At(r) > k.Start {
					later++
				}
			}
		}
		for _, row := range tr.Submissions() {
			if row >= 0 {
				arrows++
			}
		}
		for _, v := range tr.Counters.All() {
			if v.Value == v.Value {
				values++
			}
		}
		sum, err := Check(&b)
		if err != nil || sum.Problems != 0 || sum.Slices != slices || sum.Instants != later || sum.Values != values || sum.Arrows != arrows {
			t.Errorf("%v, %+v; want %d slices, %d instants, %d values, %d arrows", err, sum, slices, later, values, arrows)
		}
		sawLater = sawLater || later > 0
	}
	if !sawLater {
		t.Error("no wait began before its record")
	}
}

// packets builds a trace by hand.
func packets(list ...[]byte) []byte {
	var out []byte
	for _, p := range list {
		out = field(out, tracePacket, p)
	}
	return out
}

func on(sequence uint64, fields ...[]byte) []byte {
	return slices.Concat(append([][]byte{number(nil, packetSequence, sequence)}, fields...)...)
}

func TestCheck_findsWhatIsWrong(t *testing.T) {
	clock := field(nil, packetClockSnapshot, field(nil, snapshotClocks, number(number(number(nil, clockID, clockDelta), clockTime, 5), clockIncremental, 1)))
	start := on(1, number(nil, packetFlags, flagsCleared), field(nil, packetDefaults, number(nil, defaultsClock, clockDelta)), clock)
	lane := func(id uint64, more ...[]byte) []byte {
		return on(1, field(nil, packetTrack, slices.Concat(append([][]byte{number(nil, trackUUID, id)}, more...)...)))
	}
	event := func(kind, on1 uint64, more ...[]byte) []byte {
		return on(1, number(nil, packetTimestamp, 1), number(nil, packetFlags, flagsNeedIncremental),
			field(nil, packetEvent, slices.Concat(append([][]byte{number(nil, eventType, kind), number(nil, eventTrack, on1)}, more...)...)))
	}
	name := func(id uint64) []byte {
		return on(1, field(nil, packetInterned, field(nil, internedNames, text(number(nil, internedIID, id), internedText, "n"))))
	}
	named := number(nil, eventNameIID, 7)
	arrow := func(f protowire.Number, id uint64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(nil, f, protowire.Fixed64Type), id)
	}
	good := [][]byte{start, lane(3), name(7), event(typeBegin, 3, named), event(typeEnd, 3)}
	if sum, err := Check(bytes.NewReader(packets(good...))); err != nil || sum.Problems != 0 || sum.Slices != 1 || sum.Tracks != 1 {
		t.Fatalf("the good one: %v, %+v", err, sum)
	}
	for _, tt := range []struct {
		want string
		list [][]byte
	}{
		{"TracePacket has no field 1", [][]byte{start, on(1, number(nil, 1, 1))}},
		{"TracePacket.timestamp has wire type 5, not 0", [][]byte{start, on(1, protowire.AppendFixed32(protowire.AppendTag(nil, packetTimestamp, protowire.Fixed32Type), 1))}},
		{"TrackEvent has no field 99", [][]byte{start, lane(3), name(7), event(typeBegin, 3, named, number(nil, 99, 1)), event(typeEnd, 3)}},
		{"a packet of no sequence", [][]byte{start, number(nil, packetFlags, 0)}},
		{"field 60 is cut short", [][]byte{start, append(on(1), 0xe2, 0x03, 9, 1)}},
		{"no field where one starts", [][]byte{start, append(on(1), 0x07)}},
		{"an event without a time", append([][]byte{lane(3), name(7)}, event(typeBegin, 3, named), event(typeEnd, 3))},
		{"track 4, which is not described", [][]byte{start, lane(3, number(nil, trackParent, 4))}},
		{"track 3 is described twice", [][]byte{start, lane(3), lane(3)}},
		{"orders processes", [][]byte{start, lane(3, number(nil, trackProcesses, 1))}},
		{"a process without a pid", [][]byte{start, lane(3, field(nil, trackProcess, nil))}},
		{"on track 5, which is not described", [][]byte{start, name(7), event(typeBegin, 5, named), event(typeEnd, 5)}},
		{"of the other kind", [][]byte{start, lane(3, field(nil, trackCounter, nil)), name(7), event(typeBegin, 3, named), event(typeEnd, 3)}},
		{"a counter without a value", [][]byte{start, lane(3, field(nil, trackCounter, nil)), event(typeCounter, 3)}},
		{"on which no slice is open", [][]byte{start, lane(3), event(typeEnd, 3)}},
		{"1 slices of track 3 never end", good[:4]},
		{"a slice without a name", [][]byte{start, lane(3), event(typeBegin, 3), event(typeEnd, 3)}},
		{"id 7 is used before InternedData.event_names has it", [][]byte{start, lane(3), event(typeInstant, 3, named)}},
		{"id 7 is used before", append(slices.Clone(good), start, event(typeInstant, 3, named))},
		{"has id 7 twice", [][]byte{start, name(7), name(7)}},
		{"without an id or a text", [][]byte{start, name(0)}},
		{"does not say that it needs", [][]byte{start, lane(3), name(7), on(1, number(nil, packetTimestamp, 0), field(nil, packetEvent, slices.Concat(number(nil, eventType, typeInstant), number(nil, eventTrack, 3), named)))}},
		{"an argument without a value", [][]byte{start, lane(3), name(7), event(typeInstant, 3, named, field(nil, eventAnnotations, number(nil, annotationNameIID, 1)))}},
		{"an event of type 9", [][]byte{start, lane(3), event(9, 3)}},
		{"arrow 2 ends before it starts", [][]byte{start, lane(3), name(7), event(typeInstant, 3, named, arrow(eventFlowsEnd, 2))}},
		{"arrow 2 starts twice", [][]byte{start, lane(3), name(7), event(typeInstant, 3, named, arrow(eventFlows, 2)), event(typeInstant, 3, named, arrow(eventFlows, 2))}},
		{"arrows have no end", [][]byte{start, lane(3), name(7), event(typeInstant, 3, named, arrow(eventFlows, 2))}},
		{"arrow 2 points backwards", [][]byte{start, lane(3), name(7), event(typeBegin, 3, named), event(typeInstant, 3, named, arrow(eventFlows, 2)), event(typeEnd, 3, arrow(eventFlowsEnd, 2))}},
	} {
		sum, err := Check(bytes.NewReader(packets(tt.list...)))
		if err != nil || sum.Problems == 0 || !strings.Contains(strings.Join(sum.First, "\n"), tt.want) {
			t.Errorf("%v, %d problems %q, want %q", err, sum.Problems, sum.First, tt.want)
		}
	}
}

func TestCheck_damage(t *testing.T) {
	whole := packets(on(1))
	for _, tt := range []struct{ text, want string }{
		{"x", "byte 0x78 where a packet starts"},
		{string(whole[:len(whole)-1]), "at offset 0x0: the packet has 1 bytes of 2"},
		{string(whole) + "\x0a", "at offset 0x4: the length of the packet"},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "longer than 63 bits"},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\x7fabc", "has 3 bytes of 72057594037927935"},
	} {
		_, err := Check(strings.NewReader(tt.text))
		if problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	if _, err := Check(failing{}); !errors.Is(err, errDisk) {
		t.Errorf("a failing disk: %v", err)
	}
}

var errDisk = errors.New("disk")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDisk }

func FuzzCheck(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, small()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum, err := Check(io.LimitReader(bytes.NewReader(b), 1<<20))
		if sum.Packets*2 > int64(len(b)) {
			t.Errorf("%d packets in %d bytes, %v", sum.Packets, len(b), err)
		}
	})
}

func TestBegins(t *testing.T) {
	for head, want := range map[string]bool{"\n\x12\x38\x00": true, "\n\xd8\x01": true, "\n[{\"ph\":\"X\"}]": false, "\n\r\n\t{}": false, "": false, "\n": false, "{\x00}": false} {
		if got := Begins([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}
