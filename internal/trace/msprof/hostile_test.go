package msprof

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
)

// collection writes a small PROF directory: what, by path below it.
func collection(t testing.TB, what map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range what {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// starsRecordOf makes a record of the task log.
func starsRecordOf(kind, counter, sqe uint16, stream, id uint16, count uint64) string {
	b := make([]byte, starsRecord)
	binary.LittleEndian.PutUint16(b, kind|counter<<6|sqe<<10)
	binary.LittleEndian.PutUint16(b[2:], magic)
	binary.LittleEndian.PutUint16(b[4:], stream)
	binary.LittleEndian.PutUint16(b[6:], id)
	binary.LittleEndian.PutUint64(b[8:], count)
	return string(b)
}

// trackOf makes a record of task_track.
func trackOf(stream uint16, id, batch uint32, kind uint64, count uint64) string {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint16(b, hostMagic)
	binary.LittleEndian.PutUint32(b[8:], 77)
	binary.LittleEndian.PutUint64(b[16:], count)
	binary.LittleEndian.PutUint16(b[26:], stream)
	binary.LittleEndian.PutUint32(b[28:], batch<<16|id)
	binary.LittleEndian.PutUint64(b[32:], kind)
	return string(b)
}

func flipOf(stream uint16, number, id uint16, count uint64) string {
	b := make([]byte, 40)
	b[0], b[1] = 1, 14
	binary.LittleEndian.PutUint64(b[8:], count)
	binary.LittleEndian.PutUint16(b[16:], stream)
	binary.LittleEndian.PutUint16(b[18:], number)
	binary.LittleEndian.PutUint16(b[22:], id)
	return string(b)
}

const (
	deviceInfo = `{"platform_version":"5","drvVersion":467992,"CPU":[{"Frequency":"100.0"}],"DeviceInfo":[{"hwts_frequency":50,"ai_core_num":"20","aiv_num":40,"aic_frequency":"1650"}]}`
	startInfo  = `{"clockMonotonicRaw":"1000000","collectionTimeBegin":"1700000000000000"}`
	hostLog    = "[Host]\nclock_monotonic_raw: 1000000\ncntvct: 0\n"
)

// control is the control files of one device and the host, whose clocks start at Unix time 1.7e18.
func control(more map[string]string) map[string]string {
	all := map[string]string{
		"device_0/info.json.0": deviceInfo, "device_0/start_info.0": startInfo, "device_0/host_start.log.0": hostLog, "device_0/dev_start.log.0": "clock_monotonic_raw: 5\ncntvct: 0\n",
		"host/info.json": `{"CPU":[{"Frequency":100}]}`, "host/start_info": startInfo, "host/host_start.log": hostLog, "host/sample.json": "{}",
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_2:EVENT_RECORD\n", "device_0/end_info.0": `{"collectionTimeEnd":"1700000000900000"}`,
	}
	for k, v := range more {
		all[k] = v
	}
	return all
}

const unix = 1_700_000_000_000_000_000

func read(t *testing.T, what map[string]string) *trace.Trace {
	t.Helper()
	tr, err := Read(context.Background(), collection(t, what))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestRead_slicesAreOneStream(t *testing.T) {
	log := ""
	for i := range uint16(30) {
		log += starsRecordOf(acsqStart, 2*i%16, 0, 7, i, uint64(i)*100) + starsRecordOf(acsqEnd, (2*i+1)%16, 0, 7, i, uint64(i)*100+50)
	}
	what := control(map[string]string{"host/data/aging.compact.task_track.slice_0": trackOf(7, 0, 0, 2, 0)})
	for i := 0; i < 12; i++ { // cut within records; slice_10 comes after slice_9
		what["device_0/data/stars_soc.data.0.slice_"+[...]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}[i]] = log[len(log)*i/12 : len(log)*(i+1)/12]
	}
	what["device_0/data/stars_soc.data.0.slice_0.done"] = "filesize:1\n"
	what["device_0/data/stars_soc.data.0.slice_3.complete"] = ""
	tr := read(t, what)
	if tr.Tasks.Len() != 30 || tr.Meta.Lost != 0 || tr.Source.BadRecords != 0 {
		t.Fatalf("%d tasks, %d lost, %+v", tr.Tasks.Len(), tr.Meta.Lost, tr.Source)
	}
	k := tr.Tasks.At(3)
	if k.Start != unix+3*2000 || k.End != k.Start+1000 || k.Stream != 7 || k.Task != 3 {
		t.Errorf("%+v", k)
	}
	if tr.Meta.Chip != "Ascend910B" || tr.Meta.CubeCores != 20 || tr.Meta.VectorCores != 40 || tr.Meta.ClockMHz != 1650 {
		t.Errorf("%+v", tr.Meta)
	}
}

func TestRead_lossIsCounted(t *testing.T) {
	log := starsRecordOf(acsqStart, 0, 0, 7, 1, 10) + starsRecordOf(acsqEnd, 1, 0, 7, 1, 20) + // good
		starsRecordOf(acsqStart, 5, 0, 7, 2, 30) + // three records lost before
		starsRecordOf(acsqStart, 6, 0, 7, 2, 40) + starsRecordOf(acsqEnd, 7, 0, 7, 2, 50) + // its end was lost
		starsRecordOf(acsqEnd, 8, 0, 7, 3, 60) + // its start was lost
		strings.Repeat("x", starsRecord) + "half"
	tr := read(t, control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": log}))
	said := strings.Join(tr.Source.Missing, "; ")
	if tr.Tasks.Len() != 2 || tr.Meta.Lost != 3 || tr.Source.BadRecords != 2 || !strings.Contains(said, "ends of 1 tasks") || !strings.Contains(said, "starts of 1 tasks") {
		t.Errorf("%d tasks, %d lost, %d bad, %s", tr.Tasks.Len(), tr.Meta.Lost, tr.Source.BadRecords, said)
	}
	if k := tr.Tasks.At(1); k.End-k.Start != 200 {
		t.Errorf("%+v", k)
	}
}

// Ids wrap, and streams are destroyed and made again: each task goes with the submission of its own batch.
func TestRead_batches(t *testing.T) {
	var log, track, flips string
	counter := uint16(0)
	device := func(id uint16, at uint64) {
		log += starsRecordOf(acsqStart, counter%16, 0, 7, id, at) + starsRecordOf(acsqEnd, (counter+1)%16, 0, 7, id, at+1)
		counter += 2
	}
	host := func(id, batch uint32, kind uint64, at uint64) { track += trackOf(7, id, batch, kind, at) }
	host(5, 0, 66, 100)
	host(6, 0, 1, 200)
	host(0xFFFF, 1, flipTask, 300)
	host(5, 1, 2, 400)
	host(0xFFFF, destroyed, flipTask, 500)
	host(5, 0, 3, 600)
	device(5, 1000)
	device(6, 1100)
	flips += flipOf(7, 1, 0, 1200)
	device(5, 1300)
	flips += flipOf(7, destroyed, 0, 1400)
	device(5, 1500)
	tr := read(t, control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0": log, "device_0/data/ts_track.data.0.slice_0": flips, "host/data/aging.compact.task_track.slice_0": track,
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_66:KERNEL_AIVEC\n5000_1:KERNEL_AICPU\n5000_2:EVENT_RECORD\n5000_3:EVENT_WAIT\n",
	}))
	want := []struct {
		kind trace.Kind
		task uint32
	}{{trace.KernelAIVector, 5}, {trace.KernelAICPU, 6}, {trace.EventRecord, 1<<16 | 5}, {trace.EventWait, 5}}
	for i, w := range want {
		if k := tr.Tasks.At(i); k.Kind != w.kind || k.Task != w.task {
			t.Errorf("task %d: %v %#x, want %v %#x", i, k.Kind, k.Task, w.kind, w.task)
		}
	}
	if len(tr.Source.Missing) > 2 { // hash_dic, api_event
		t.Errorf("missing %q", tr.Source.Missing)
	}
}

// A sunk graph runs again without new submissions.
func TestRead_oneSubmissionManyTasks(t *testing.T) {
	log := ""
	for i := range uint16(4) {
		log += starsRecordOf(acsqStart, 2*i, 0, 7, 9, 1000+uint64(i)*100) + starsRecordOf(acsqEnd, 2*i+1, 0, 7, 9, 1050+uint64(i)*100)
	}
	tr := read(t, control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": log, "host/data/aging.compact.task_track.slice_0": trackOf(7, 9, 0, 2, 10)}))
	for i := range 4 {
		if k := tr.Tasks.At(i); k.Kind != trace.EventRecord {
			t.Errorf("task %d is %v", i, k.Kind)
		}
	}
}

func TestRead_partsOfWhatShouldBeThere(t *testing.T) {
	log := starsRecordOf(acsqStart, 0, 4, 7, 1, 10) + starsRecordOf(acsqEnd, 1, 4, 7, 1, 20)
	for name, tt := range map[string]struct {
		what map[string]string
		want string
	}{
		"no host":      {map[string]string{"device_3/data/stars_soc.data.3.slice_0": log, "device_3/info.json.3": deviceInfo}, "the host folder"},
		"no control":   {map[string]string{"device_0/data/stars_soc.data.0.slice_0": log}, "frequency of its counter: taken as 50 MHz"},
		"broken json":  {control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": log, "device_0/info.json.0": "{"}), "info.json"},
		"no device":    {map[string]string{"host/data/aging.api_event.data.slice_0": strings.Repeat("\x00", 40)}, "the device folders"},
		"no task log":  {map[string]string{"device_0/data/ts_track.data.0.slice_0": ""}, "no task log"},
		"wrong magic":  {map[string]string{"device_0/data/stars_soc.data.0.slice_0": strings.Repeat("\x00", 640)}, "the host folder"},
		"lone console": {control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": log, "host/start_info": "nothing"}), "start_info"},
	} {
		tr := read(t, tt.what)
		if said := strings.Join(tr.Source.Missing, "; "); !strings.Contains(said, tt.want) {
			t.Errorf("%s: missing %q, want %q", name, said, tt.want)
		}
	}
	if _, err := Read(context.Background(), t.TempDir()); problem.ClassOf(err) != problem.Damaged {
		t.Errorf("empty directory: %v", err)
	}
}

func TestHash(t *testing.T) {
	if got := Hash("add_kernel"); got != 5048110452390837055 {
		t.Errorf("%d", got)
	}
}

func TestIDs(t *testing.T) {
	for _, tt := range []struct {
		expand           bool
		sqe              uint8
		stream, id       uint16
		toStream, toTask uint32
	}{
		{true, 0, 32769, 46, 46, 1}, {true, 3, 32769, 46, 1, 46}, {true, 0, 46, 3, 46, 3}, {false, 0, 46, 3, 46, 3},
		{false, 0, 0x1000 | 5, 7, 4096%2048 + 5, 7}, {false, 0, 0x2000 | 0x123, 0xF005, 5, 0xF123},
	} {
		if s, id := (ids{tt.expand}).decode(tt.sqe, tt.stream, tt.id); s != tt.toStream || id != tt.toTask {
			t.Errorf("%+v: stream %d task %#x", tt, s, id)
		}
	}
}

func FuzzRead(f *testing.F) {
	log := starsRecordOf(acsqStart, 0, 4, 7, 1, 10) + starsRecordOf(acsqEnd, 1, 4, 7, 1, 20)
	f.Add(log, flipOf(7, 1, 0, 15), trackOf(7, 1, 0, 2, 0), "5:a\n", deviceInfo)
	f.Add(strings.Repeat(log, 3), "", trackOf(7, 1, destroyed, flipTask, 0), "5000_2:b", `{"DeviceInfo":[{"hwts_frequency":0.0000001}]}`)
	f.Add("", "\x01\x0a", "", "", "[]")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, log, marks, host, dict, info string) {
		for path, text := range control(map[string]string{
			"device_0/data/stars_soc.data.0.slice_0": log, "device_0/data/ffts_profile.data.0.slice_0": log + host, "device_0/data/lpmInfoConv.data.0.slice_0": marks + log,
			"device_0/data/ts_track.data.0.slice_0": marks, "host/data/aging.compact.task_track.slice_0": host, "host/data/aging.compact.node_basic_info.slice_0": host,
			"host/data/aging.api_event.data.slice_0": host, "host/data/unaging.additional.hash_dic.slice_0": dict, "host/data/unaging.additional.type_info_dic.slice_0": dict,
			"device_0/info.json.0": info, "device_0/sample.json": info, "device_0/dev_start.log.0": dict, "device_1/data/hwts.data.1.slice_0": log, "device_1/data/aicore.data.1.slice_0": log,
			"device_0/data/npu_mem.data.0.slice_0": log + marks, "device_0/data/hbm.data.0.slice_0": log, "device_0/data/ddr.data.0.slice_0": log, "device_0/data/llc.data.0.slice_0": log + host,
			"device_0/data/qos.data.0.slice_0": host, "device_0/data/l2_cache.data.0.slice_0": log + host, "device_0/data/nic.data.0.slice_0": dict, "device_0/data/hccs.data.0.slice_0": dict,
			"device_0/data/npu_module_mem.data.0.slice_0": log, "device_0/data/aicpu.data.0.slice_0": log + host, "host/data/aging.additional.tensor_info.slice_0": host + host + host + host,
			"host/data/aging.additional.hccl_info.slice_0": host + host + host + host, "host/data/aging.additional.msproftx.slice_0": host + host + host + host, "host/data/aging.compact.memcpy_info.slice_0": host, "device_0/data/stars_soc.data.0.slice_0.done": dict,
		}) {
			full := filepath.Join(dir, filepath.FromSlash(path))
			os.MkdirAll(filepath.Dir(full), 0o755)
			os.WriteFile(full, []byte(text), 0o644)
		}
		tr, err := Read(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(log)/starsRecord*2 + 2; tr.Tasks.Len() > n {
			t.Errorf("%d tasks of %d bytes", tr.Tasks.Len(), len(log))
		}
	})
}

// Chips 15 and 16 write tasks of 32 bytes whose id holds for all streams; the host says which stream it was.
func TestRead_generation6(t *testing.T) {
	record := func(kind, counter uint16, id uint32, count uint64) string {
		b := []byte(starsRecordOf(kind, counter, 1, 0, 0, count))[:starsRecordV6]
		binary.LittleEndian.PutUint32(b[4:], id)
		return string(b)
	}
	const id = 3<<16 | 77
	tr := read(t, control(map[string]string{
		"device_0/info.json.0":                       strings.Replace(deviceInfo, `"5"`, `"15"`, 1),
		"device_0/data/stars_soc.data.0.slice_0":     record(acsqStart, 0, id, 100) + record(acsqEnd, 1, id, 200) + record(acsqStart, 2, 5, 300) + record(acsqEnd, 3, 5, 400),
		"host/data/aging.compact.task_track.slice_0": trackOf(42, 77, 3, 2, 10),
	}))
	a, b := tr.Tasks.At(0), tr.Tasks.At(1)
	if tr.Meta.Chip != "Ascend950" || a.Kind != trace.EventRecord || a.Stream != 42 || a.End-a.Start != 2000 || b.Kind != trace.KernelAIVector {
		t.Errorf("%+v, %+v, %+v", tr.Meta, a, b)
	}
}

func TestRead_devicesAtOnce(t *testing.T) {
	what := control(nil)
	for d := range 5 {
		at := "device_" + string(rune('0'+d)) + "/data/stars_soc.data." + string(rune('0'+d)) + ".slice_0"
		what[at] = starsRecordOf(acsqStart, 0, 4, 7, 1, 10) + starsRecordOf(acsqEnd, 1, 4, 7, 1, uint64(20+d))
	}
	tr := read(t, what)
	if tr.Tasks.Len() != 5 || tr.Meta.Devices != 5 || tr.Source.Records["stars_soc.data"] != 10 {
		t.Fatalf("%+v", tr)
	}
	for i, k := range tr.Tasks.All() {
		if int(k.Device) >= 5 || k.End-k.Start < 200 {
			t.Errorf("row %d: %+v", i, k)
		}
	}
}
