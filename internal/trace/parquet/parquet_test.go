package parquet

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func TestWrite_readsBack(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 5000, Devices: 2, Streams: 3})
	tr.Source.Devices = []trace.SourceDevice{{ID: 1, Rank: 7}}
	var b, again bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	if Write(&again, tr); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("written twice, the bytes differ")
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != tr.Tasks.Len() {
		t.Fatalf("%v, %d rows, want %d", err, len(rows), tr.Tasks.Len())
	}
	for i, k := range tr.Tasks.All() {
		want := rowOf(tr, &k)
		got := rows[i]
		if (got.Rank != nil) != (k.Device == 1) || got.Rank != nil && *got.Rank != 7 || got.StreamName == "" {
			t.Fatalf("row %d: rank %v, stream name %q", i, got.Rank, got.StreamName)
		}
		if got.Rank, got.StreamName = nil, ""; !reflect.DeepEqual(got, want) {
			t.Fatalf("row %d is %+v, want %+v", i, got, want)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Lookup("chip"); v != "Ascend910B3" {
		t.Errorf("chip %q", v)
	}
	if float64(b.Len()) > 40*float64(len(rows)) {
		t.Errorf("%d bytes for %d rows", b.Len(), len(rows))
	}
}

func TestWrite_emptyTrace(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, trace.NewRecorder().Finish()); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("PAR1")) {
		t.Errorf("%v, %q", err, b.Bytes())
	}
}
