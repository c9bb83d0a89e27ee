package torchraw

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
)

func le(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func record(kind uint16, value []byte) string {
	b := binary.LittleEndian.AppendUint16(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	return string(append(b, value...))
}

func operator(name string, start, end, thread uint64) string {
	b := append(le(start, end, 0, 1, thread, thread, 0), 0, 0)
	return record(1, append(b, record(4, []byte("1;2"))+record(2, []byte(name))...))
}

func mark(name string, at, category, thread uint64) string {
	return record(1, append(le(at, category, 9, thread, 1), record(1, []byte(name))...))
}

func python(at, thread, hash uint64, tag byte) string {
	return string(append(le(at, thread, 1, hash), tag))
}

func usage(at uint64, size, total int64) string {
	b := append(le(0xABC, at, uint64(size), uint64(total), 1<<30, uint64(total), 7), npu, 1, 0, 0, 0)
	return record(1, append(b, le(5, 1)...))
}

const rank = `{"start_info":{"syscnt_enable":true,"freq":100,"start_cnt":1000,"start_monotonic":5000},"end_info":{"collectionTimeEnd":1700000000000009000,"MonotonicTimeEnd":9000},"rank_id":3}`

func made(t testing.TB, what map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range what {
		full := filepath.Join(dir, filepath.FromSlash(path))
		os.MkdirAll(filepath.Dir(full), 0o755)
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const unix = 1_700_000_000_000_000_000

func TestRead(t *testing.T) {
	tr, err := Read(context.Background(), made(t, map[string]string{
		"profiler_info_3.json":                    rank,
		"FRAMEWORK/torch.op_range":                operator("aten::add", 1100, 1200, 5) + operator("", 1300, 1400, 6) + operator("backwards", 1500, 1400, 5),
		"FRAMEWORK/torch.op_mark":                 mark("add", 1150, 0, 5) + mark("add", 1160, 1, 5) + mark("add", 1170, 2, 8) + mark("add", 1190, 3, 8) + mark("mul", 1190, 3, 8),
		"FRAMEWORK/torch.python_tracer_hash":      record(1, append(le(42), record(1, []byte("train.py(7): step"))...)),
		"FRAMEWORK/torch.python_tracer_func":      python(1100, 5, 42, 0) + python(1110, 5, 43, 2) + python(1120, 5, 43, 3) + python(1200, 5, 42, 1) + python(1300, 5, 42, 0),
		"FRAMEWORK/torch.gc_record":               string(le(1, 1100, 1150)),
		"FRAMEWORK/torch.memory_usage":            usage(1100, 512, 2048) + usage(1200, -512, 1536),
		"PROF_000001_1_A/device_2/data/x.slice_0": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string][2]int64{}
	for _, s := range tr.Spans.All() {
		spans[tr.String(s.Name)] = [2]int64{s.Start - unix, s.End - unix}
	}
	for name, want := range map[string][2]int64{
		"aten::add": {6000, 7000}, "unknown": {8000, 9000}, "Enqueue": {6500, 6600}, "Dequeue@add": {6700, 6900}, "train.py(7): step": {6000, 7000}, "function 2b": {6100, 6200}, "GC": {6000, 6500},
	} {
		if spans[name] != want {
			t.Errorf("%s lasts %v, want %v", name, spans[name], want)
		}
	}
	said := strings.Join(tr.Source.Missing, "; ")
	if len(spans) != 7 || tr.Source.BadRecords != 1 || !strings.Contains(said, "ends of 1 calls") || !strings.Contains(said, "starts of 1 calls") {
		t.Errorf("%d calls, %d bad, missing %s", len(spans), tr.Source.BadRecords, said)
	}
	s := tr.Source.Sheet("memory_usage")
	if s == nil || s.Rows != 2 || s.Column("size_bytes").Int[1] != -512 || s.Column("device").Int[0] != 1 || s.Column("event").Text[0] != "malloc" {
		t.Errorf("%+v", s)
	}
	found := false
	for _, c := range tr.Counters.All() {
		found = found || tr.String(c.Name) == "caching allocator allocated (bytes)" && c.Value == 1536 && c.Device == 1 && c.Time == unix+7000
	}
	if !found {
		t.Error("no counter of allocated memory")
	}
}

func TestRead_damage(t *testing.T) {
	whole := operator("a", 1100, 1200, 5)
	tr, err := Read(context.Background(), made(t, map[string]string{
		"profiler_info.json": rank, "FRAMEWORK/torch.op_range": whole + whole[:20], "FRAMEWORK/torch.memory_usage": "\x01\x00\xff\xff\xff\xff", "FRAMEWORK/torch.gc_record": "short",
	}))
	said := strings.Join(tr.Source.Missing, "; ")
	if err != nil || tr.Spans.Len() != 1 || !strings.Contains(said, "torch.op_range: at offset") || !strings.Contains(said, "torch.memory_usage: at offset 0x0: a record of 4294967295 bytes") || !strings.Contains(said, "gc_record: at offset") {
		t.Errorf("%v, %d calls, %s", err, tr.Spans.Len(), said)
	}
	if _, err := Read(context.Background(), t.TempDir()); problem.ClassOf(err) != problem.Damaged {
		t.Errorf("an empty directory: %v", err)
	}
}

// A lie about the length of a record costs nothing.
func TestTLV_liesCostNothing(t *testing.T) {
	lie := string([]byte{1, 0, 0xFF, 0xFF, 0xFF, 3}) + "abc" // 67 million bytes
	allocated := testing.AllocsPerRun(10, func() {
		if _, err := tlv(strings.NewReader(lie), func([]byte) {}); err == nil {
			t.Fatal("no error")
		}
	})
	if allocated > 30 {
		t.Errorf("%v allocations", allocated)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(operator("a", 1100, 1200, 5), mark("add", 1150, 0, 5)+mark("add", 1160, 1, 5), python(1100, 5, 42, 0)+python(1200, 5, 42, 1), usage(1, 2, 3), rank)
	f.Add("\x01\x00\xff\xff\xff\xff", "", "x", "", "[]")
	dir := f.TempDir()
	os.MkdirAll(filepath.Join(dir, folder), 0o755)
	f.Fuzz(func(t *testing.T, ops, marks, calls, memory, info string) {
		for name, text := range map[string]string{
			"FRAMEWORK/torch.op_range": ops, "FRAMEWORK/torch.op_mark": marks, "FRAMEWORK/torch.python_tracer_func": calls, "FRAMEWORK/torch.python_tracer_hash": marks,
			"FRAMEWORK/torch.memory_usage": memory, "FRAMEWORK/torch.gc_record": calls, "FRAMEWORK/torch.param_tensor_info": ops, "profiler_info.json": info,
		} {
			os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644)
		}
		tr, err := Read(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(ops) + len(marks) + 2*len(calls); tr.Spans.Len() > n {
			t.Errorf("%d calls of %d bytes", tr.Spans.Len(), n)
		}
	})
}
