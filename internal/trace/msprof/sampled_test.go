package msprof

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"npu/internal/trace"
)

func words32(v ...uint32) string {
	b := []byte{}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return string(b)
}

func words64(v ...uint64) string {
	b := []byte{}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return string(b)
}

func counterOf(t *trace.Trace, name string) []trace.Counter {
	var out []trace.Counter
	for _, c := range t.Counters.All() {
		if t.String(c.Name) == name {
			out = append(out, *c)
		}
	}
	return out
}

// Stamps of all clocks become the same time: microseconds since the start, microseconds and nanoseconds of the device's
// monotonic clock, and counts.
func TestRead_sampledValues(t *testing.T) {
	const at = 20_000_000 // ns after the start
	mem := func(stamp uint64) string { return words32(1, 0) + words64(1<<20, 2<<20, stamp) }
	for name, stamp := range map[string]uint64{
		"relative microseconds": at / 1000, "counts": at / 20, "monotonic nanoseconds": 7_000_000_000_000 + at, "monotonic microseconds": (7_000_000_000_000 + at) / 1000,
	} {
		what := control(map[string]string{"device_0/data/npu_mem.data.0.slice_0": mem(stamp)})
		what["device_0/dev_start.log.0"] = "clock_monotonic_raw: 7000000000000\ncntvct: 0\n"
		if name == "relative microseconds" {
			what["device_0/dev_start.log.0"] = "clock_monotonic_raw: 7000000000000\ncntvct: 900000000000\n"
		}
		got := counterOf(read(t, what), "Device HBM in use (bytes)")
		if len(got) != 1 || got[0].Value != 2<<20 || got[0].Time != unix+at {
			t.Errorf("%s: %+v, want time %d", name, got, unix+at)
		}
	}
	tr := read(t, control(map[string]string{"device_0/data/npu_mem.data.0.slice_0": mem(1 << 60)}))
	if said := strings.Join(tr.Source.Missing, ";"); len(counterOf(tr, "Device HBM in use (bytes)")) != 0 || !strings.Contains(said, "the clock of npu_mem.data") {
		t.Errorf("a stamp of no clock: %s", said)
	}
}

func TestRead_otherSampledKinds(t *testing.T) {
	l2 := func(stream, id uint16, counters ...uint64) string {
		b := binary.LittleEndian.AppendUint16(nil, 0)
		b = binary.LittleEndian.AppendUint16(b, stream)
		b = binary.LittleEndian.AppendUint16(b, id)
		return string(append(b, 0, 0)) + words64(counters...)
	}
	cpu := make([]byte, 128)
	binary.LittleEndian.PutUint16(cpu, hostMagic)
	cpu[2], cpu[4], cpu[6], cpu[108] = aicpuTag, 7, 9, 12
	copy(cpu[16:], words64(1000, 500, 530, 535, 0, 2000))
	acc := []byte(starsRecordOf(acceleratorPMU, 0, 0, 0, 0, 50))
	binary.LittleEndian.PutUint16(acc[18:], 3)
	binary.LittleEndian.PutUint64(acc[32:], 11)
	what := control(map[string]string{
		"device_0/data/hbm.data.0.slice_0":       words64(100, 7) + words32(0, 2) + words64(200, 9) + words32(1, 2),
		"device_0/data/llc.data.0.slice_0":       words64(100, 5) + words32(4, 1),
		"device_0/data/ddr.data.0.slice_0":       words32(100, 6, 1, 0, ^uint32(0)),
		"device_0/data/hccs.data.0.slice_0":      "time tx rx\n100: 4096 8192\n",
		"device_0/data/nic.data.0.slice_0":       "100: 1000 1 2 3 4 5 6 7 8 9 10 11 12 0\nbroken line\n",
		"device_0/data/l2_cache.data.0.slice_0":  l2(7, 1, 100, 0, 0, 0, 75, 0, 10, 0),
		"device_0/data/aicpu.data.0.slice_0":     string(cpu) + strings.Repeat("x", 128),
		"device_0/data/stars_soc.data.0.slice_0": string(acc),
		"device_0/sample.json":                   `{"l2CacheTaskProfilingEvents":"0xfb,0xfc,0xF6,0xBF,0x90,0x91,0x9c,0x9D","nicProfiling":"on","roceProfiling":"on"}`,
	})
	tr := read(t, what)
	for name, want := range map[string]float64{
		"HBM 2 read (bytes)": 7 * 32, "HBM 2 write (bytes)": 9 * 32, "LLC 1 event 4 (count)": 5, "DDR 0 write (accesses)": 6, "HCCS rx (bytes so far)": 8192, "NIC 0 rx (bytes/s)": 2, "NIC 0 tx dropped": 12,
		"accelerator 3 read bandwidth level": 11,
	} {
		if got := counterOf(tr, name); len(got) != 1 || got[0].Value != want {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	s := tr.Source.Sheet("l2_cache")
	if s == nil || fmt.Sprint(s.Column("hit_rate").Float, s.Column("victim_rate").Float, s.Column("stream").Int) != "[0.75] [0.1] [7]" {
		t.Errorf("%+v", s)
	}
	a := tr.Source.Sheet("aicpu")
	if a == nil || a.Rows != 1 || fmt.Sprint(a.Column("stream").Int, a.Column("task").Int, a.Column("start_ns").Int[0]-unix, a.Column("duration_ns").Int, a.Column("compute_us").Int, a.Column("memcpy_us").Int, a.Column("dispatch_us").Int) != "[7] [9] 20000 [20000] [30] [5] [12]" {
		t.Errorf("%+v", a)
	}
	said := strings.Join(tr.Source.Missing, "; ")
	if tr.Source.BadRecords != 2 || !strings.Contains(said, "RoCE (roce.data), which was switched on") || strings.Contains(said, "nic.data") {
		t.Errorf("%d bad, missing %s", tr.Source.BadRecords, said)
	}
}

// What the host says of copies goes with the tasks that its calls submitted.
func TestRead_copies(t *testing.T) {
	call := func(begin, end uint64) string {
		b := make([]byte, 40)
		binary.LittleEndian.PutUint16(b, hostMagic)
		binary.LittleEndian.PutUint16(b[2:], levelRuntime)
		binary.LittleEndian.PutUint32(b[8:], 77)
		binary.LittleEndian.PutUint64(b[16:], begin)
		binary.LittleEndian.PutUint64(b[24:], end)
		return string(b)
	}
	copied := func(at, bytes uint64, kind byte) string {
		b := make([]byte, 64)
		binary.LittleEndian.PutUint16(b, hostMagic)
		binary.LittleEndian.PutUint32(b[8:], 77)
		binary.LittleEndian.PutUint64(b[16:], at)
		binary.LittleEndian.PutUint64(b[24:], bytes)
		b[32] = kind
		return string(b)
	}
	tr := read(t, control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0":             starsRecordOf(acsqStart, 0, 11, 7, 1, 1000) + starsRecordOf(acsqEnd, 1, 11, 7, 1, 1100) + starsRecordOf(acsqStart, 2, 11, 7, 2, 2000) + starsRecordOf(acsqEnd, 3, 11, 7, 2, 2100),
		"host/data/aging.compact.task_track.slice_0":         trackOf(7, 1, 0, 5, 150) + trackOf(7, 2, 0, 5, 350),
		"host/data/aging.api_event.data.slice_0":             call(100, 200) + call(300, 400),
		"host/data/aging.compact.memcpy_info.slice_0":        copied(160, 4096, 1) + copied(360, 64, 2),
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_5:MEMCPY_ASYNC\n",
	}))
	for i, want := range []struct {
		bytes int64
		dir   trace.Dir
	}{{4096, trace.HostToDevice}, {64, trace.DeviceToHost}} {
		if k := tr.Tasks.At(i); k.Bytes != want.bytes || k.Dir != want.dir || k.Kind != trace.Memcpy {
			t.Errorf("copy %d: %+v, want %+v", i, k, want)
		}
	}
}

// Slices that are not there and bytes that are short are said.
func TestRead_holes(t *testing.T) {
	log := starsRecordOf(acsqStart, 0, 0, 7, 1, 1000) + starsRecordOf(acsqEnd, 1, 0, 7, 1, 1100)
	tr := read(t, control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0": log, "device_0/data/stars_soc.data.0.slice_0.done": "filesize:1000\nstarttime:0\n", "device_0/data/stars_soc.data.0.slice_4": "",
		"host/data/aging.api_event.data.slice_3": "", "host/data/unaging.compact.task_track.slice_2": "",
	}))
	said := strings.Join(tr.Source.Missing, "; ")
	for _, want := range []string{"872 bytes of stars_soc.data.0.slice_0, which held 1000", "slices 1 to 3 of stars_soc.data.0", "slices 0 to 1 of unaging.compact.task_track"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
	if strings.Contains(said, "api_event.data,") || strings.Contains(said, "of aging.api_event") {
		t.Errorf("old slices are deleted in order: %s", said)
	}
}

// Without a clock that host and device share, tasks go with their submissions in the order of both logs.
func TestRead_withoutACommonClock(t *testing.T) {
	what := control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0":             starsRecordOf(acsqStart, 0, 0, 7, 1, 10) + starsRecordOf(acsqEnd, 1, 0, 7, 1, 20) + starsRecordOf(acsqStart, 2, 0, 7, 1, 30) + starsRecordOf(acsqEnd, 3, 0, 7, 1, 40),
		"host/data/aging.compact.task_track.slice_0":         trackOf(7, 1, 0, 2, 1<<40) + trackOf(7, 1, 0, 3, 1<<41),
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_2:EVENT_RECORD\n5000_3:EVENT_WAIT\n",
	})
	delete(what, "device_0/dev_start.log.0")
	tr := read(t, what)
	if tr.Tasks.Len() != 2 || tr.Tasks.At(0).Kind != trace.EventRecord || tr.Tasks.At(1).Kind != trace.EventWait || tr.Tasks.At(0).Flags&trace.FlagNoSubmit == 0 {
		t.Errorf("%+v, %+v", tr.Tasks.At(0), tr.Tasks.At(1))
	}
}

// The tensors that were announced within a launch are those of its kernel, also when they take several records.
func TestRead_tensors(t *testing.T) {
	name := Hash("conv1")
	call := make([]byte, 40)
	binary.LittleEndian.PutUint16(call, hostMagic)
	binary.LittleEndian.PutUint16(call[2:], levelNode)
	binary.LittleEndian.PutUint32(call[8:], 77)
	copy(call[16:], words64(100, 200, name))
	node := []byte(trackOf(0, 0, 0, 0, 150))
	copy(node[24:], words64(name)+words32(0)+words64(Hash("Conv2D"))+words32(4<<16|8))
	info := func(at uint64, list ...string) string {
		b := make([]byte, 256)
		binary.LittleEndian.PutUint16(b, hostMagic)
		binary.LittleEndian.PutUint32(b[8:], 77)
		copy(b[16:], words64(at, name)+words32(uint32(len(list)))+strings.Join(list, ""))
		return string(b)
	}
	one := func(output, format, kind uint32, shape ...uint32) string {
		return (words32(append([]uint32{output, format, kind}, shape...)...) + strings.Repeat("\x00", 44))[:44]
	}
	track := []byte(trackOf(7, 1, 0, 0, 180))
	tr := read(t, control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0":             starsRecordOf(acsqStart, 0, 0, 7, 1, 1000) + starsRecordOf(acsqEnd, 1, 0, 7, 1, 1100),
		"host/data/aging.compact.task_track.slice_0":         string(track),
		"host/data/aging.api_event.data.slice_0":             string(call),
		"host/data/aging.compact.node_basic_info.slice_0":    string(node),
		"host/data/aging.additional.tensor_info.slice_0":     info(150, one(0, 0, 1, 32, 3, 224, 224), one(0, 2, 0, 64), one(0, 2, 0), one(0, 2, 0), one(0, 2, 0)) + info(151, one(1, 3, 27, 32, 1)) + info(300, one(0, 0, 0, 9)),
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_0:KERNEL_AICORE\n",
		"host/data/unaging.additional.hash_dic.slice_0":      fmt.Sprintf("%d:conv1\n%d:Conv2D\n", name, Hash("Conv2D")),
	}))
	s := tr.Source.Sheet("op_details")
	if s == nil || s.Rows != 1 {
		t.Fatalf("%+v, %+v", s, tr.Source)
	}
	got := ""
	for _, c := range []string{"name", "op_type", "input_shapes", "input_data_types", "input_formats", "output_shapes", "output_data_types", "output_formats"} {
		got += fmt.Sprint(s.Column(c).Value(0)) + " | "
	}
	if want := "conv1 | Conv2D | 32,3,224,224;64;;; | FLOAT16;FLOAT;FLOAT;FLOAT;FLOAT | NCHW;ND;ND;ND;ND | 32,1 | DT_BF16 | NC1HWC0 | "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Ranges of the user's program become calls, and pieces of collective operations a table.
func TestRead_rangesAndPieces(t *testing.T) {
	tx := make([]byte, 256)
	binary.LittleEndian.PutUint16(tx, hostMagic)
	copy(tx[36:], words32(1, 99))
	copy(tx[64:], words64(100, 300))
	copy(tx[100:], "epoch 1\x00rubbish")
	piece := make([]byte, 256)
	binary.LittleEndian.PutUint16(piece, hostMagic)
	copy(piece[16:], words64(500, Hash("Memcpy"), Hash("tag"), Hash("group")))
	copy(piece[48:], words32(0, 3, 8, 0, 2, ^uint32(0)))
	copy(piece[72:], words64(^uint64(0)))
	copy(piece[88:], words64(0x4004000000000000, 0, 0, 4096)) // 2.5
	copy(piece[120:], words32(0, 4, 1, 0, 255))
	tr := read(t, control(map[string]string{
		"host/data/aging.additional.msproftx.slice_0": string(tx), "host/data/aging.additional.hccl_info.slice_0": string(piece),
		"host/data/unaging.additional.hash_dic.slice_0": fmt.Sprintf("%d:Memcpy\n%d:tag\n%d:group\n", Hash("Memcpy"), Hash("tag"), Hash("group")),
	}))
	if s := tr.Spans.At(0); tr.Spans.Len() != 1 || tr.String(s.Name) != "mstx@epoch 1" || s.Start != unix+1000 || s.End != unix+3000 || tr.Threads[0].Name != "tid 99" {
		t.Errorf("%+v %q", s, tr.String(s.Name))
	}
	c := tr.Source.Sheet("communication_tasks")
	if c == nil || c.Rows != 1 {
		t.Fatalf("%+v", tr.Source)
	}
	got := ""
	for i := range c.Columns {
		got += fmt.Sprint(c.Columns[i].Name, "=", c.Columns[i].Value(0), " ")
	}
	if want := fmt.Sprint("time_ns=", unix+5000, " name=Memcpy tag=tag group_name=group local_rank=0 remote_rank=3 rank_size=8 plane_id=2 duration_estimated_us=2.5 size_bytes=4096 data_type=FP32 link_type=HCCS transport_type=SDMA "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
