package msprofile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/profdb"
	"npu/internal/trace/timeline"
)

func text(t *trace.Trace, account bool) (out []string) {
	for _, k := range t.Tasks.All() {
		s := fmt.Sprint(k.Start, " ", k.End, " ", k.Device, " ", k.Stream, " ", k.Task, " ", k.Kind, " ", t.Label(&k), " ", k.Thread)
		if account {
			a := t.Account(k.Acct)
			s += fmt.Sprint(" ", t.String(k.Op), k.Blocks, a.Total, a.Cube, a.Vector, a.MTE2, a.MTE3, a.Scalar, a.Fixpipe)
		}
		out = append(out, s)
	}
	for _, s := range t.Spans.All() {
		name := t.String(s.Name)
		if len(name) > 9 && name[:9] == "AscendCL@" {
			name = name[9:]
		}
		out = append(out, fmt.Sprint(s.Start, s.End, name, s.Thread, s.Task != trace.NoTask))
	}
	slices.Sort(out)
	return out
}

func sample() *trace.Trace {
	return gen.Trace(gen.Options{Tasks: 3000, Devices: 2, Streams: 3})
}

func TestWriteJSON_readsBack(t *testing.T) {
	want := sample()
	var b, again bytes.Buffer
	if err := WriteJSON(&b, want); err != nil {
		t.Fatal(err)
	}
	if WriteJSON(&again, want); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("written twice, the bytes differ")
	}
	var events []map[string]any
	if err := json.Unmarshal(b.Bytes(), &events); err != nil {
		t.Fatal(err)
	}
	got, err := timeline.Read(context.Background(), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, timeline.Options{})
	if err != nil || got.Source.Format != "msprof JSON" || got.Source.BadRecords != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if x, y := text(got, false), text(want, false); !slices.Equal(x, y) {
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("row %d is %s, want %s", i, x[i], y[i])
			}
		}
	}
	if got.Counters.Len() != want.Counters.Len() {
		t.Errorf("%d values, want %d", got.Counters.Len(), want.Counters.Len())
	}
}

func TestWriteDB_readsBack(t *testing.T) {
	want := sample()
	var b, again bytes.Buffer
	if err := WriteDB(&b, want); err != nil {
		t.Fatal(err)
	}
	if WriteDB(&again, want); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("written twice, the bytes differ")
	}
	path := filepath.Join(t.TempDir(), "msprof.db")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := profdb.Read(context.Background(), path)
	if err != nil || got.Source.BadRecords != 0 || got.Meta.Chip != want.Meta.Chip {
		t.Fatalf("%v, %+v", err, got)
	}
	x, y := text(got, true), text(want, true)
	for i := range y {
		if i >= len(x) || x[i] != y[i] {
			t.Fatalf("%d and %d rows; row %d is %s, want %s", len(x), len(y), i, x[min(i, len(x)-1)], y[i])
		}
	}
	for i, k := range got.Tasks.All() {
		if w := want.Tasks.At(i); k.Kind == trace.Memcpy && (k.Bytes != w.Bytes || k.Dir != w.Dir) {
			t.Fatalf("copy %+v, want %+v", k, w)
		}
	}
}

// A MIX kernel and its part: two rows of the database, one of the timeline, and one task for a reader of either.
func TestWrite_parts(t *testing.T) {
	r := trace.NewRecorder()
	k := trace.Task{Submit: 5, Ready: 10, Start: 10, End: 30, Stream: 3, Task: 9, Thread: 1, Kind: trace.KernelMix, Engine: trace.EngineCube, Name: r.Intern("mix")}
	part := k
	part.Start, part.End, part.Flags = 12, 28, trace.FlagPart|trace.FlagNoSubmit
	whole := trace.Task{Start: 10, End: 30, Stream: 1 << 30, Kind: trace.Communication, Name: r.Intern("hcom_allReduce_"), Flags: trace.FlagPart}
	r.Tasks([]trace.Task{k, part, whole})
	r.Spans([]trace.Span{{Start: 1, End: 5, Thread: 1, Stream: 3, Task: 9, Name: r.Intern("launch")}})
	tr := r.Finish()
	path := filepath.Join(t.TempDir(), "x.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteDB(f, tr); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got, err := profdb.Read(context.Background(), path)
	if err != nil || got.Tasks.Len() != 3 || got.Tasks.Flags.At(0)&trace.FlagPart != 0 || got.Tasks.Kind.At(1) != trace.Communication || got.Tasks.Flags.At(1)&got.Tasks.Flags.At(2)&trace.FlagPart == 0 {
		t.Errorf("%v, %+v", err, got)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, tr); err != nil || bytes.Count(b.Bytes(), []byte(`"Task Type"`)) != 1 {
		t.Errorf("%v, %s", err, b.String())
	}
}

func TestWrite_emptyTrace(t *testing.T) {
	empty := trace.NewRecorder().Finish()
	var b bytes.Buffer
	if err := WriteJSON(&b, empty); err != nil || b.String() != "[]\n" {
		t.Errorf("%v %q", err, b.String())
	}
	if err := WriteDB(io.Discard, empty); err != nil {
		t.Error(err)
	}
}
