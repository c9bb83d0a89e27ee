package msprof

import (
	"strings"
	"testing"
)

// Slices that age are deleted from the front, and their borders lie within records: what is left is found by its marks.
func TestRead_startsWithinARecord(t *testing.T) {
	log, track := "", ""
	for i := range uint16(40) {
		log += starsRecordOf(acsqStart, 2*i%16, 0, 7, i, uint64(i)*100) + starsRecordOf(acsqEnd, (2*i+1)%16, 0, 7, i, uint64(i)*100+50)
		track += trackOf(7, uint32(i), 0, 2, uint64(i)*200)
	}
	what := control(map[string]string{
		// tasks 0 to 9 are gone, and half of the start of 10; of the middle 20 and a bit
		"device_0/data/stars_soc.data.0.slice_3": log[20*64+30 : 40*64], "device_0/data/stars_soc.data.0.slice_5": log[44*64+17:],
		"host/data/aging.compact.task_track.slice_2": track[5*64+9:],
	})
	tr := read(t, what)
	said := strings.Join(tr.Source.Missing, "; ")
	// 10 has no start, 22 no start; 11 to 19 and 23 to 39 are whole
	if tr.Tasks.Len() != 9+17 || !strings.Contains(said, "slices 0 to 2 of stars_soc") || !strings.Contains(said, "slices 4 to 4 of stars_soc") || !strings.Contains(said, "starts of 2 tasks") {
		t.Errorf("%d tasks, %s", tr.Tasks.Len(), said)
	}
	for _, k := range tr.Tasks.All() {
		if k.Kind.String() != "EVENT_RECORD" {
			t.Errorf("task %d is %v: the host's record was not found", k.Task, k.Kind)
		}
	}
	if n := tr.Source.Records["task_track"]; n != 34 {
		t.Errorf("%d records of the host, want 34", n)
	}
}

// Without a word about the chip, the length of its records tells the generation.
func TestRead_unknownChip(t *testing.T) {
	short := func(kind, counter uint16, task uint32, at uint64) string {
		s := starsRecordOf(kind, counter, 1, uint16(task), uint16(task>>16), at)
		return s[:starsRecordV6]
	}
	tr := read(t, map[string]string{"device_0/data/stars_soc.data.0.slice_0": short(acsqStart, 0, 1<<20, 100) + short(acsqEnd, 1, 1<<20, 150)})
	if tr.Tasks.Len() != 1 || tr.Tasks.At(0).Task != 1<<20 || tr.Source.BadRecords != 0 {
		t.Errorf("%d tasks, %+v", tr.Tasks.Len(), tr.Source)
	}
	// The host's description of the machine names the chip as well; some editors put a mark before it.
	what := control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": starsRecordOf(acsqStart, 0, 4, 7, 1, 10), "host/info.json": "\ufeff" + `{"platform_version":"5"}`})
	delete(what, "device_0/info.json.0")
	if tr := read(t, what); tr.Meta.Chip != "Ascend910B" {
		t.Errorf("chip %q", tr.Meta.Chip)
	}
}

// Fusion tasks of 950 have parts on several engines.
func TestRead_fusionParts(t *testing.T) {
	part := func(kind, what uint16, at uint64) string {
		b := []byte(starsRecordOf(kind, 0, 2, 9, 0, at)[:starsRecordV6])
		b[16], b[17] = byte(what), byte(what>>8)
		return string(b)
	}
	log := starsRecordOf(acsqStart, 0, 2, 9, 0, 100)[:32] + part(fusionStart, 4, 110) + part(fusionStart, 8|3<<5, 120) + part(fusionEnd, 4, 130) + part(fusionEnd, 8|3<<5, 140) + starsRecordOf(acsqEnd, 0, 2, 9, 0, 150)[:32]
	tr := read(t, control(map[string]string{"device_0/info.json.0": device950, "device_0/data/stars_soc.data.0.slice_0": log}))
	got := ""
	for _, k := range tr.Tasks.All() {
		got += strings.Join([]string{k.Kind.String(), tr.String(k.Op), k.Engine.String()}, " ") + "; "
	}
	if got != "OTHER FUSION Scheduler; KERNEL_AICORE  AI Core; OTHER CCU Scheduler; " {
		t.Errorf("%q", got)
	}
}

// The logs of other generations: vector cores of 310P, the scheduler of 310, small chips.
func TestRead_otherTaskLogs(t *testing.T) {
	hwts := func(kind uint8, task uint16, at uint64) string {
		return record(t, 64, 0, kind, 2, uint16(magic), 6, task, 8, at, 16, uint32(3))
	}
	line := func(state uint16, at uint64) string {
		return record(t, 32, 1, uint8(3), 10, state, 12, uint16(5), 14, uint16(6), 16, at)
	}
	chip := func(p string) string { return strings.Replace(deviceInfo, `"5"`, `"`+p+`"`, 1) }
	for name, tt := range map[string]struct {
		files map[string]string
		tasks int
		want  string
	}{
		"310P": {map[string]string{"device_0/info.json.0": chip("4"), "device_0/data/hwts.data.0.slice_0": hwts(0, 1, 10) + hwts(1, 1, 20), "device_0/data/hwts.aiv_data.0.slice_0": hwts(0, 2, 30) + hwts(1, 2, 40)}, 2, "KERNEL_AIVEC"},
		"310":  {map[string]string{"device_0/info.json.0": chip("0"), "device_0/data/ts_track.data.0.slice_0": line(1, 5) + line(2, 30) + line(3, 40)}, 1, "KERNEL_AICORE"},
		"nano": {map[string]string{"device_0/info.json.0": chip("9"), "device_0/sample.json": `{"ai_core_profiling_events":"0x300,0x400"}`,
			"device_0/data/nano_stars_profile.data.0.slice_0": record(t, 64, 1, uint8(2), 6, uint16(8), 8, uint32(30), 12, uint32(10), 16, uint32(500), 24, uint32(7), 28, uint32(9))}, 1, "KERNEL_AICORE"},
	} {
		tr := read(t, control(tt.files))
		said := strings.Join(tr.Source.Missing, "; ")
		if tr.Tasks.Len() != tt.tasks || tr.Source.BadRecords != 0 || strings.Contains(said, "no task log") {
			t.Errorf("%s: %d tasks, %d bad: %s", name, tr.Tasks.Len(), tr.Source.BadRecords, said)
			continue
		}
		k := tr.Tasks.At(tt.tasks - 1)
		if k.Start != unix+600 || k.End != unix+800 || k.Kind.String() != tt.want {
			t.Errorf("%s: %v %d to %d", name, k.Kind, k.Start-unix, k.End-unix)
		}
		if name == "nano" && (tr.Account(k.Acct).Total != 500 || tr.Source.Sheet("pmu") == nil || tr.Source.Sheet("pmu").Column("aic_total_cycles").Value(0) != int64(500)) {
			t.Errorf("nano: %+v, %+v", tr.Account(k.Acct), tr.Source.Sheets)
		}
	}
}
