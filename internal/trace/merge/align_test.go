package merge

import (
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
