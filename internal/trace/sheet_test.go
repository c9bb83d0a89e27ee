package trace

import (
	"fmt"
	"math"
	"testing"
)

func TestSheetColumn_takesWhatComes(t *testing.T) {
	for _, tt := range []struct {
		values []any
		want   ColumnType
		text   string
	}{
		{[]any{int64(1), nil, int64(3)}, ColumnInt, "[1 <nil> 3]"},
		{[]any{int64(1), 2.5, nil, int64(3)}, ColumnFloat, "[1 2.5 <nil> 3]"},
		{[]any{int64(1), 2.5, "x", int64(3), 0.25, nil}, ColumnText, "[1 2.5 x 3 0.25 <nil>]"},
		{[]any{int64(1 << 60), 2.5}, ColumnText, "[1152921504606846976 2.5]"},
		{[]any{2.5, int64(1<<60 + 1)}, ColumnText, "[2.5 1152921504606846977]"},
		{[]any{"", nil}, ColumnInt, "[<nil> <nil>]"},
		{[]any{math.NaN(), 1.0}, ColumnFloat, "[<nil> 1]"},
	} {
		c := IntColumn("x")
		for _, v := range tt.values {
			c.Take(v)
		}
		var got []any
		for i := range tt.values {
			got = append(got, c.Value(i))
		}
		if c.Type != tt.want || fmt.Sprint(got) != tt.text {
			t.Errorf("%v: type %d, %v", tt.values, c.Type, got)
		}
	}
}

func TestSheet_append(t *testing.T) {
	a := NewSheet("t", IntColumn("x"), TextColumn("y"))
	a.Add(int64(1), "a")
	b := NewSheet("t", FloatColumn("x"), IntColumn("z"))
	b.Add(2.5, int64(9))
	var s Source
	s.AddSheet(a)
	s.AddSheet(b)
	s.AddSheet(NewSheet("empty", IntColumn("x")))
	got := s.Sheet("t")
	if len(s.Sheets) != 1 || got.Rows != 2 || fmt.Sprint(got.Column("x").Text, got.Column("y").Text, got.Column("z").Value(0), got.Column("z").Value(1)) != "[1 2.5] [a ] <nil> 9" {
		t.Errorf("%+v", s.Sheets)
	}
}

func TestNewSheet_sameNames(t *testing.T) {
	got := ""
	s := NewSheet("t", IntColumn("a"), IntColumn("a"), IntColumn("a_2"), IntColumn("a"), IntColumn("b"))
	for _, c := range s.Columns {
		got += c.Name + " "
	}
	if got != "a a_2 a_2_2 a_3 b " {
		t.Errorf("%q", got)
	}
	many := make([]SheetColumn, 20_000)
	for i := range many {
		many[i].Name = "same"
	}
	seen := map[string]bool{}
	for _, c := range NewSheet("t", many...).Columns {
		seen[c.Name] = true
	}
	if len(seen) != len(many) {
		t.Errorf("%d names of %d columns", len(seen), len(many))
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"Total Allocated(MB)": "total_allocated_mb", "Ratio(%)": "ratio_percent", "deviceId": "device_id", "GM_to_L1_datas(KB)": "gm_to_l1_datas_kb", "rxPacket/s": "rx_packet_s", "L0C": "l0c",
		"": "c", "2nd": "c_2nd", "中文": "c", "a b": "a_b",
	} {
		if got := Word(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
