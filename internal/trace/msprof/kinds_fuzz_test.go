package msprof

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzKinds gives one kind of records any bytes: what comes out has no more rows than the bytes can hold.
func FuzzKinds(f *testing.F) {
	var paths []string
	for _, l := range slices.Concat(deviceLayouts(false), deviceLayouts(true)) {
		paths = append(paths, "device_0/data/"+l.kind+".0.slice_0")
	}
	for _, l := range hostLayouts() {
		paths = append(paths, "host/data/aging.additional."+l.kind+".slice_0")
	}
	for _, kind := range []string{"stars_soc.data", "ffts_profile.data", "hwts.data", "hwts.aiv_data", "aicore.data", "aiVectorCore.data", "ts_track.data", "stars_soc_profile.data", "stars_block.data", "ccu0.instr", "ccu1.stat", "instr.group_0_aic",
		"instr.group_0_aiv1", "instr.biu_perf_group1_aic", "nano_stars_profile.data", "dvpp.data", "netdev_stats.data", "SystemCpuUsage.data", "Memory.data", "1-Memory.data", "1-CpuUsage.data", "training_trace", "lpmInfoConv.data", "npu_mem.data", "hbm.data", "ddr.data", "llc.data",
		"hccs.data", "nic.data", "roce.data", "qos.data", "l2_cache.data", "aicpu.data", "npu_module_mem.data", "DATA_PREPROCESS.AICPU"} {
		paths = append(paths, "device_0/data/"+kind+".0.slice_0")
	}
	for _, kind := range []string{"compact.task_track", "compact.task_track_v2", "compact.node_basic_info", "compact.memcpy_info", "additional.tensor_info", "additional.hccl_info", "additional.msproftx", "additional.hash_dic", "additional.type_info_dic", "api_event.data"} {
		paths = append(paths, "host/data/aging."+kind+".slice_0")
	}
	paths = append(paths, "host/data/host_cpu.data.slice_0", "host/data/host_mem.data.slice_0", "host/data/host_network.data.slice_0")
	record := []byte(starsRecordOf(acsqStart, 0, 4, 7, 1, 10))
	for i := range paths {
		f.Add(uint8(i), uint8(i%5), append(append(slices.Clone(record), record...), "TimeStamp:7\ncpu 1 2 3 4 5\ntime 5\n1 2 3\n"...))
	}
	dir := f.TempDir()
	for path, text := range control(nil) {
		full := filepath.Join(dir, filepath.FromSlash(path))
		os.MkdirAll(filepath.Dir(full), 0o755)
		os.WriteFile(full, []byte(text), 0o644)
	}
	f.Fuzz(func(t *testing.T, which, chip uint8, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(paths[int(which)%len(paths)]))
		os.WriteFile(path, data, 0o644)
		defer os.Remove(path)
		platform := []string{"0", "4", "5", "9", "15"}[chip%5]
		mode := []string{"task-based", "sample-based"}[chip/5%2]
		os.WriteFile(filepath.Join(dir, "device_0/info.json.0"), []byte(`{"platform_version":"`+platform+`","version":"2.0","DeviceInfo":[{"hwts_frequency":50,"aic_frequency":"1650","ai_core_num":20}]}`), 0o644)
		os.WriteFile(filepath.Join(dir, "device_0/sample.json"), []byte(`{"ai_core_profiling_mode":"`+mode+`","ai_core_profiling_events":"0x8,0xa,0x9","qosEvents":"a,b","l2CacheTaskProfilingEvents":"0xfb,0x90"}`), 0o644)
		tr, err := Read(context.Background(), dir)
		if err != nil {
			return
		}
		rows := tr.Tasks.Len() + tr.Spans.Len() + tr.Counters.Len()
		for i := range tr.Source.Sheets {
			s := &tr.Source.Sheets[i]
			rows += s.Rows
			for c := range s.Columns {
				for row := range s.Rows {
					s.Columns[c].Value(row)
				}
			}
		}
		if rows > 64+len(data) {
			t.Errorf("%d rows of %d bytes of %s", rows, len(data), path)
		}
	})
}
