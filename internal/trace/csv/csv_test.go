package csv

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"strings"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func records(t *testing.T, tr *trace.Trace) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	rows, err := stdcsv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = r[i]
		}
		out = append(out, m)
	}
	return out
}

func TestWrite_readsBack(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 3000, Devices: 2})
	got := records(t, tr)
	if len(got) != tr.Tasks.Len() {
		t.Fatalf("%d rows, want %d", len(got), tr.Tasks.Len())
	}
	for i, k := range tr.Tasks.All() {
		a := tr.Account(k.Acct)
		want := map[string]any{
			"device": k.Device, "stream": k.Stream, "task": k.Task, "kind": k.Kind, "name": tr.String(k.Name), "op_type": tr.String(k.Op),
			"submit_ns": k.Submit, "ready_ns": k.Ready, "start_ns": k.Start, "end_ns": k.End, "duration_ns": k.End - k.Start, "bytes": k.Bytes,
			"event": k.Event, "generation": k.Gen, "cycles": a.Total, "cube_cycles": a.Cube, "write_bytes": a.WriteBytes, "engine": k.Engine, "l2_misses": 0,
		}
		for name, v := range want {
			if got[i][name] != fmt.Sprint(v) {
				t.Fatalf("row %d: %s is %q, want %v", i, name, got[i][name], v)
			}
		}
	}
}

func TestWrite_quotes(t *testing.T) {
	r := trace.NewRecorder()
	name := "a,\"b\"\n c"
	r.NameStream(0, 0, " x", 0)
	r.Tasks([]trace.Task{{Name: r.Intern(name), Kind: trace.Memcpy, Dir: trace.DeviceToHost, Code: 507015}})
	got := records(t, r.Finish())[0]
	if got["name"] != name || got["stream_name"] != " x" || got["direction"] != "D2H" || got["code"] != "507015" {
		t.Errorf("%q", got)
	}
}

func TestWrite_headerNamesEveryColumn(t *testing.T) {
	var b bytes.Buffer
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{{}})
	if err := Write(&b, r.Finish()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if h, n := strings.Count(lines[0], ","), strings.Count(lines[1], ","); h != n {
		t.Errorf("%d commas in the header, %d in a row", h, n)
	}
}
