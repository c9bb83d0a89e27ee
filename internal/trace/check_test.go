package trace

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	good := []Task{
		{Start: 0, End: 10, Stream: 1, Task: 1, Kind: KernelAICore},
		{Start: 10, End: 10, Stream: 1, Task: 2, Kind: EventRecord, Event: 4, Gen: 1},
		{Start: 12, End: 12, Stream: 2, Task: 1, Kind: EventWait, Event: 4, Gen: 1},
	}
	tests := []struct {
		name string
		edit func(k []Task)
		want string // empty: no finding
	}{
		{"good", func([]Task) {}, ""},
		{"backwards", func(k []Task) { k[0].End = -1 }, "ends at -1 ns, before it starts at 0 ns"},
		{"early", func(k []Task) { k[2].Ready = 13 }, "starts at 12 ns, before it is ready at 13 ns"},
		{"submitted late", func(k []Task) { k[0].Submit = 1; k[0].Start = 2 }, "is ready at 0 ns, before it was submitted at 1 ns"},
		{"overlap in a stream", func(k []Task) { k[0].End = 11 }, "before row 0 of the same stream ends at 11 ns"},
		{"wait without record", func(k []Task) { k[2].Gen = 2 }, "waits for generation 2 of event 4, which no record reached by 12 ns"},
		{"wait before its record", func(k []Task) { k[2].Start, k[2].End = 3, 3 }, "which no record reached by 3 ns"},
		{"notify and event are apart", func(k []Task) { k[2].Kind = NotifyWait }, "waits for generation 1 of event 4"},
		{"wait for another process", func(k []Task) { k[2].Gen = 2; k[2].Flags = FlagForeign }, ""},
		{"wait of an unrecorded event", func(k []Task) { k[2].Gen = 0 }, ""},
		{"name out of range", func(k []Task) { k[0].Name = 7 }, "is not one of the 1 strings"},
		{"operator out of range", func(k []Task) { k[0].Op = 7 }, "operator type"},
		{"account out of range", func(k []Task) { k[0].Acct = 1 }, "is not one of the 1 accounts"},
		{"unknown kind", func(k []Task) { k[0].Kind = kindCount }, "kind 29 is unknown"},
		{"unknown engine", func(k []Task) { k[0].Engine = 99 }, "engine 99 is unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows := append([]Task(nil), good...)
			tt.edit(rows)
			r := NewRecorder()
			r.Tasks(rows)
			err := r.Finish().Check()
			switch {
			case err == nil && tt.want != "":
				t.Errorf("no finding, want %q", tt.want)
			case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("found %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheck_manyFindingsAreCounted(t *testing.T) {
	r := NewRecorder()
	for i := range 100 {
		r.Tasks([]Task{{Start: int64(i), End: int64(i) - 1, Kind: Nop}})
	}
	if err := r.Finish().Check(); err == nil || !strings.HasSuffix(err.Error(), "and 84 more") {
		t.Errorf("got %v", err)
	}
}

func TestWaits_choosesTheLastRecordOnItsDevice(t *testing.T) {
	r := NewRecorder()
	r.Tasks([]Task{
		{Start: 1, End: 1, Stream: 1, Kind: NotifyRecord, Event: 3},
		{Start: 5, End: 5, Stream: 1, Kind: NotifyRecord, Event: 3},
		{Start: 6, End: 6, Stream: 1, Device: 1, Kind: NotifyRecord, Event: 3},
		{Start: 7, End: 7, Stream: 2, Kind: NotifyWait, Event: 3},
		{Start: 8, End: 8, Stream: 1, Kind: NotifyRecord, Event: 3},
	})
	tr := r.Finish()
	w := tr.Waits()
	if row, ok := w.Record(3); !ok || row != 1 {
		t.Errorf("row %d, %v; want 1", row, ok)
	}
	if _, ok := w.Record(0); ok {
		t.Error("a record is taken for a wait")
	}
}

func TestCheck_partsOfOneTaskRunAtOnce(t *testing.T) {
	r := NewRecorder()
	r.Tasks([]Task{
		{Start: 0, End: 9, Kind: NotifyWait, Task: 5}, {Start: 1, End: 5, Kind: Memcpy, Task: 5}, {Start: 2, End: 4, Kind: Memcpy, Task: 6, Flags: FlagPart},
	})
	for i := range r.tasks.n {
		r.tasks.Submit.set(i, r.tasks.Start.At(i))
		r.tasks.Ready.set(i, r.tasks.Start.At(i))
	}
	if err := r.Finish().Check(); err != nil {
		t.Error(err)
	}
}

func TestTrace_DeviceName(t *testing.T) {
	tr := Trace{Source: Source{Devices: []SourceDevice{{ID: 2, Rank: 7}, {ID: 3, Rank: -1}}}}
	for id, want := range map[uint16]string{2: "NPU 2 rank 7", 3: "NPU 3", 4: "NPU 4"} {
		if got := tr.DeviceName(id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
