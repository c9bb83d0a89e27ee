package merge

import (
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
)

// rank makes a rank whose clock is off, with collective operations that end together on all ranks.
func rank(n int, off int64, host string, ends ...int64) Part {
	r := trace.NewRecorder()
	r.SetSource(trace.Source{Ranks: 1, Devices: []trace.SourceDevice{{ID: 0, Rank: n, Host: host}}, Records: map[string]int64{}, Sheets: []trace.Sheet{*sheetOf(n, 100+off)}})
	name := r.Intern("hcom_allReduce__1_0")
	for i, end := range ends {
		start := end - 10 - int64(n*i)
		r.Tasks([]trace.Task{
			{Start: start + off, End: end + off, Submit: start + off, Ready: start + off, Name: name, Kind: trace.Communication, Stream: 9},
			{Start: start + off, End: end + off - 1, Submit: start + off, Ready: start + off, Name: r.Intern("Notify_Wait"), Kind: trace.Communication, Stream: 10},
		})
	}
	label := string(rune('a' + n))
	return Part{Trace: r.Finish(), Group: label, Label: label}
}

func sheetOf(n int, at int64) *trace.Sheet {
	s := trace.NewSheet("l2_cache", trace.IntColumn("device"), trace.IntColumn("start_ns"), trace.FloatColumn("hit_rate"))
	s.Add(int64(0), at, float64(n))
	return s
}

func TestAlign(t *testing.T) {
	ends := []int64{1000, 2000, 3000, 4000, 5000}
	parts := func(hosts ...string) []Part {
		return []Part{rank(0, 0, hosts[0], ends...), rank(1, 5_000_000, hosts[1], ends...), rank(2, -70, hosts[2], ends...)}
	}
	for _, tt := range []struct {
		name  string
		parts []Part
		mode  Mode
		want  []int64
		said  string
	}{
		{"collectives", parts("x", "x", "x"), Collectives, []int64{0, -5_000_000, 70}, "shifted by -5ms, so that the ends of 5 collective operations meet those of a"},
		{"auto on one host", parts("x", "x", "x"), Auto, []int64{0, 0, 0}, "b: clock of its host, which is that of a: the ends of 5 collective operations are 5ms apart"},
		{"auto on several", parts("x", "y", "z"), Auto, []int64{0, -5_000_000, 70}, "c: shifted by 70ns"},
		{"auto without names", parts("", "", ""), Auto, []int64{0, -5_000_000, 0}, "c: times as recorded"},
		{"host", parts("x", "y", "z"), Host, []int64{0, 0, 0}, "as recorded"},
		{"too few", []Part{rank(0, 0, "x", 1000, 2000), rank(1, 90, "y", 1000, 2000)}, Collectives, []int64{0, 0}, "only 2 collective operations"},
		{"none", []Part{rank(0, 0, "x"), rank(1, 90, "y")}, Collectives, []int64{0, 0}, "no collective operation is shared"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := strings.Join(Align(tt.parts, tt.mode), "; ")
			for i, want := range tt.want {
				if tt.parts[i].Shift != want {
					t.Errorf("part %d is shifted by %d, want %d", i, tt.parts[i].Shift, want)
				}
			}
			if !strings.Contains(said, tt.said) {
				t.Errorf("%q is not said: %s", tt.said, said)
			}
		})
	}
	all := parts("x", "y", "z")
	Align(all, Collectives)
	tr := Traces(all)
	byName := map[int64]int{}
	for _, k := range tr.Tasks.All() {
		if tr.String(k.Name) == "hcom_allReduce__1_0" {
			byName[k.End]++
		}
	}
	for _, end := range ends {
		if byName[end] != 3 {
			t.Errorf("%d operations end at %d, want 3: %v", byName[end], end, byName)
		}
	}
	s := tr.Source.Sheet("l2_cache")
	if s == nil || s.Rows != 3 || s.Column("start_ns").Int[1] != 100 || s.Column("device").Int[2] != 2 {
		t.Errorf("tables move with their ranks: %+v", s)
	}
}

func TestAttach(t *testing.T) {
	main, side := trace.NewRecorder(), trace.NewRecorder()
	main.Counters([]trace.Counter{{Time: 5, Value: 1, Name: main.Intern("a")}})
	main.SetSource(trace.Source{Sheets: []trace.Sheet{*sheetOf(0, 1)}})
	side.Counters([]trace.Counter{{Time: 3, Value: 2, Name: side.Intern("b")}, {Time: 9, Value: 3, Name: side.Intern("a")}})
	side.Tasks([]trace.Task{{End: 1, Kind: trace.Nop}})
	more := trace.NewSheet("more", trace.IntColumn("x"))
	more.Add(int64(7))
	side.SetSource(trace.Source{Missing: []string{"something"}, BadRecords: 2, Sheets: []trace.Sheet{*sheetOf(0, 1), *more}, Steps: []trace.Step{{Name: "1"}}})
	tr := Attach(main.Finish(), side.Finish())
	names := ""
	for _, c := range tr.Counters.All() {
		names += tr.String(c.Name)
	}
	if names != "baa" || tr.Tasks.Len() != 0 || tr.Source.Sheet("l2_cache").Rows != 1 || tr.Source.Sheet("more").Rows != 1 || tr.Source.BadRecords != 2 || len(tr.Source.Missing) != 1 || len(tr.Source.Steps) != 1 {
		t.Errorf("counters %s, %+v", names, tr.Source)
	}
}

// Two forms of one collection say the same things.
func TestAttach_again(t *testing.T) {
	main, text, database := trace.NewRecorder(), trace.NewRecorder(), trace.NewRecorder()
	main.SetSource(trace.Source{
		Devices: []trace.SourceDevice{{ID: 4, Rank: 2, Device: 4}}, Sheets: []trace.Sheet{*sheetOf(0, 1)},
		Steps: []trace.Step{{Name: "50", Type: "rank", Index: "2", Total: 9}},
	})
	text.Counters([]trace.Counter{{Time: 1, Name: text.Intern("l2")}})
	text.SetSource(trace.Source{Sheets: []trace.Sheet{*sheetOf(0, 1)}, Steps: []trace.Step{{Name: "50", Type: "rank", Index: "4", Computing: 5}, {Name: "51", Type: "rank"}}})
	database.SetSource(trace.Source{Steps: []trace.Step{{Name: "50", Type: "rank", Computing: 6}, {Name: "51", Type: "stage"}}})
	tr := Attach(main.Finish(), text.Finish(), database.Finish())
	want := []trace.Step{{Name: "50", Type: "rank", Index: "2", Total: 9, Computing: 5}, {Name: "51", Type: "rank", Index: "2"}, {Name: "51", Type: "stage"}}
	if tr.Counters.Len() != 0 || !slices.Equal(tr.Source.Steps, want) {
		t.Errorf("%d values, %+v", tr.Counters.Len(), tr.Source.Steps)
	}
}

// A database shows an operation as a whole and as the task that carries it: it is one.
func TestCollect_carriers(t *testing.T) {
	r := trace.NewRecorder()
	for i, end := range []int64{10, 20} {
		name := r.Intern("hcom_allReduce__1_" + string(rune('0'+i)))
		r.Tasks([]trace.Task{
			{Start: end - 9, End: end, Name: name, Kind: trace.Communication, Stream: 4},
			{Start: end - 8, End: end - 1, Name: name, Op: r.Intern("hcom_allReduce_"), Kind: trace.Communication, Stream: 9, Flags: trace.FlagPart},
		})
	}
	ends := map[collective]int64{}
	collect(r.Finish(), ends)
	if len(ends) != 2 || ends[collective{"hcom_allReduce__1_1", 0}] != 19 {
		t.Errorf("%v", ends)
	}
}
