package npt

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"npu/internal/trace"
)

// TestWrite_layout pins the bytes of version 1: a change here makes old captures unreadable.
func TestWrite_layout(t *testing.T) {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "310P", Devices: 1})
	r.NameStream(0, 3, "copy", -1)
	r.NameThread(1, "main")
	r.Tasks([]trace.Task{
		{Submit: 10, Ready: 20, Start: 30, End: 130, Bytes: 64, Name: r.Intern("a"), Op: r.Intern("Add"), Stream: 3, Task: 1, Thread: 1, Kind: trace.KernelAIVector, Engine: trace.EngineVector, Acct: r.AddAccount(trace.Account{Total: 5})},
		{Submit: 10, Ready: 130, Start: 130, End: 130, Stream: 3, Task: 2, Thread: 1, Kind: trace.EventRecord, Event: 1, Gen: 2},
	})
	r.Counters([]trace.Counter{{Time: 7, Name: r.Intern("HBM"), Value: 1}})
	got := capture(t, r.Finish())
	at := 0
	part := func(n int) string {
		s := hex.EncodeToString(got[at:min(at+n, len(got))])
		at += n
		return s
	}
	want := []struct {
		n    int
		what string
		hex  string
	}{
		{16, "file header", "894e50540d0a1a0a" + "0100000000000000"},
		{16, "meta", "01000000" + "02000000" + "09000000" + "09000000"},
		{-8, "hash", ""},
		{9, "chip 310P, devices 1", "01" + "04" + "33313050" + "04" + "01" + "02"},
		{16, "streams", "04000000" + "01000000" + "08000000" + "08000000"},
		{-8, "hash", ""},
		{8, "0, 3, -1, copy", "00" + "03" + "01" + "04" + "636f7079"},
		{16, "threads", "05000000" + "01000000" + "06000000" + "06000000"},
		{-8, "hash", ""},
		{6, "1, main", "01" + "04" + "6d61696e"},
		{16, "strings", "02000000" + "03000000" + "0a000000" + "0a000000"},
		{-8, "hash", ""},
		{10, "a, Add, HBM", "0161" + "03416464" + "0348424d"},
		{16, "accounts", "03000000" + "01000000" + "1a000000" + "1a000000"},
		{-8, "hash", ""},
		{26, "total 5, else 0", "010a" + strings.Repeat("0000", 12)},
		{16, "tasks", "06000000" + "02000000" + "3d000000" + "3d000000"},
		{-8, "hash", ""},
		{5 + 4 + 3 + 4 + 4, "start, length, engine wait, queued, bytes", "013c8402" + "01c80100" + "011400" + "0114f001" + "01800100"},
		{3 + 3, "name, operator type", "010200" + "010400"},
		{2 + 3 + 2 + 3 + 3 + 2 + 2 + 2 + 3, "stream, task, blocks, event, generation, model, execution, code, account", "0006" + "010204" + "0000" + "010002" + "010004" + "0000" + "0000" + "0000" + "010200"},
		{2 + 2 + 3 + 3 + 2 + 2, "device, thread, kind, engine, direction, flags", "0000" + "0002" + "01040a" + "010400" + "0000" + "0000"},
		{16, "counters", "08000000" + "01000000" + "0a000000" + "0a000000"},
		{-8, "hash", ""},
		{10, "7, HBM, device 0, 1.0", "010e" + "0006" + "0000" + "00" + "fec007"},
		{16, "end", "ff000000" + "01000000" + "03000000" + "03000000"},
		{-8, "hash", ""},
		{3, "2 tasks, 0 spans, 1 counter", "020001"},
	}
	for _, w := range want {
		if w.n < 0 {
			part(-w.n)
			continue
		}
		if s := part(len(w.hex) / 2); s != w.hex {
			t.Fatalf("%s at offset %#x: %s, want %s", w.what, at-len(w.hex)/2, s, w.hex)
		}
	}
	if at != len(got) {
		t.Errorf("%d bytes, want %d", len(got), at)
	}
}

func TestFormat_documentKnowsAllKinds(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/formats/npt.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := trace.KindNone + 1; k.String() != "UNKNOWN"; k++ {
		if !bytes.Contains(doc, fmt.Appendf(nil, "| %d %v ", k, k)) {
			t.Errorf("docs/formats/npt.md does not name kind %d %v", k, k)
		}
	}
}
