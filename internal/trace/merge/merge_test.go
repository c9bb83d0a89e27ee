package merge

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func rows(t *trace.Trace, device func(uint16) uint16) (out []string) {
	for _, k := range t.Tasks.All() {
		out = append(out, fmt.Sprint(k.Start, k.End, t.Label(&k), t.String(k.Op), device(k.Device), k.Stream, k.Task, t.Account(k.Acct)))
	}
	for _, s := range t.Spans.All() {
		out = append(out, fmt.Sprint(s.Start, s.End, t.String(s.Name), device(s.Device)))
	}
	for _, c := range t.Counters.All() {
		out = append(out, fmt.Sprint(c.Time, c.Value, t.String(c.Name), device(c.Device)))
	}
	slices.Sort(out)
	return out
}

func TestTraces_keepsAllRows(t *testing.T) {
	same := func(d uint16) uint16 { return d }
	a, b := gen.Trace(gen.Options{Tasks: 3000, Devices: 2, Seed: 1}), gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Seed: 2})
	got := Traces([]Part{{Trace: a, Group: "a", Label: "a"}, {Trace: b, Group: "b", Label: "b"}})
	want := append(rows(a, same), rows(b, func(d uint16) uint16 { return d + 2 })...)
	slices.Sort(want)
	if !slices.Equal(rows(got, same), want) {
		t.Error("rows differ")
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if len(got.Threads) != 4 || got.Threads[2].Name != "b worker 0" || got.Meta.Devices != 4 || len(got.Source.Devices) != 4 {
		t.Errorf("%v, %+v, %v", got.Threads, got.Meta, got.Source.Devices)
	}
}

func TestTraces_numbersOfDevices(t *testing.T) {
	part := func(group string, device uint16, rank int) Part {
		r := trace.NewRecorder()
		r.Tasks([]trace.Task{{End: 1, Kind: trace.Nop, Device: device}})
		if rank >= 0 {
			steps := []trace.Step{{Name: "overlap analysis", Type: "device", Index: strconv.Itoa(int(device))}, {Name: "1", Type: "rank", Index: strconv.Itoa(rank)}}
			r.SetSource(trace.Source{Ranks: 1, Devices: []trace.SourceDevice{{ID: device, Rank: rank, Device: int(device)}}, Steps: steps})
		}
		return Part{Trace: r.Finish(), Group: group}
	}
	for name, tt := range map[string]struct {
		parts []Part
		want  []uint16
		ranks int
	}{
		"distinct":        {[]Part{part("a", 3, -1), part("b", 5, -1)}, []uint16{3, 5}, 0},
		"one group":       {[]Part{part("a", 3, -1), part("a", 3, -1)}, []uint16{3}, 0},
		"ranks":           {[]Part{part("a", 0, 9), part("b", 0, 4)}, []uint16{4, 9}, 2},
		"equal and alone": {[]Part{part("a", 0, -1), part("b", 0, -1)}, []uint16{0, 1}, 0},
	} {
		got := Traces(tt.parts)
		if devices := Used(got); !slices.Equal(devices, tt.want) || got.Source.Ranks != tt.ranks {
			t.Errorf("%s: devices %v, %d ranks", name, devices, got.Source.Ranks)
		}
		for i, s := range got.Source.Steps {
			if want := []string{"9", "9", "4", "4"}[i]; s.Index != want {
				t.Errorf("%s: step %d is of %s %s, want %s", name, i, s.Type, s.Index, want)
			}
		}
	}
	// Of some ranks there may be tables alone.
	r := trace.NewRecorder()
	r.SetSource(trace.Source{Ranks: 1, Steps: []trace.Step{{Name: "1", Type: "rank", Index: "7"}}})
	if got := Traces([]Part{part("a", 0, 9), {Trace: r.Finish(), Group: "b"}}); got.Source.Ranks != 2 {
		t.Errorf("%d ranks, want 2", got.Source.Ranks)
	}
}
