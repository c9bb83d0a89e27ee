package query

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/stats"
)

type kept struct {
	names []string
	rows  [][]any
}

func (k *kept) Columns(names []string) error { k.names = names; return nil }
func (k *kept) Row(values []any) error {
	k.rows = append(k.rows, append([]any(nil), values...))
	return nil
}

func TestRun(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 500, Devices: 2})
	tr.Source.Devices = []trace.SourceDevice{{ID: 1, Rank: 3}}
	var got kept
	if err := Run(context.Background(), tr, "SELECT count(*) n, sum(duration_ns) AS total, max(rank), min(direction) FROM tasks;", &got); err != nil {
		t.Fatal(err)
	}
	in := stats.NewInfo(tr)
	if fmt.Sprint(got.names) != "[n total max(rank) min(direction)]" || fmt.Sprint(got.rows) != fmt.Sprintf("[[%d %d 3 D2H]]", in.Tasks, in.DeviceTimeNs) {
		t.Errorf("%v %v", got.names, got.rows)
	}
	for sql, want := range map[string]int{
		"select * from calls": tr.Spans.Len(), "select * from counters": tr.Counters.Len(), "select * from streams": len(tr.Streams), "select * from steps": 0,
	} {
		var got kept
		if err := Run(context.Background(), tr, sql, &got); err != nil || len(got.rows) != want {
			t.Errorf("%s: %v, %d rows, want %d", sql, err, len(got.rows), want)
		}
	}
}

func TestRun_errors(t *testing.T) {
	tr := gen.Trace(gen.Options{})
	for sql, want := range map[string]string{
		"": "no statement", "selec": "syntax error", "select x from tasks": "no such column", "select 1; select 2": "more than one", "delete from tasks": "readonly",
		"create table x(y)": "readonly", "attach 'file.db' as f": "too many attached",
	} {
		err := Run(context.Background(), tr, sql, &kept{})
		if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", sql, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ctx, tr, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c", &kept{}); err == nil {
		t.Error("a cancelled query goes on")
	}
}
