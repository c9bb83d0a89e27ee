package msprof

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
)

// record makes a record of so many bytes: text holds its values, "8 u64 100" a line.
func record(t *testing.T, size int, fields ...any) string {
	t.Helper()
	b := make([]byte, size)
	for i := 0; i+1 < len(fields); i += 2 {
		at := fields[i].(int)
		switch v := fields[i+1].(type) {
		case uint8:
			b[at] = v
		case uint16:
			binary.LittleEndian.PutUint16(b[at:], v)
		case uint32:
			binary.LittleEndian.PutUint32(b[at:], v)
		case uint64:
			binary.LittleEndian.PutUint64(b[at:], v)
		case string:
			copy(b[at:], v)
		default:
			t.Fatalf("%T", v)
		}
	}
	return string(b)
}

// head is the first 24 bytes of a record of the host.
func head(count uint64) []any { return []any{0, uint16(hostMagic), 8, uint32(77), 16, count} }

// line is a row of a sheet: name=value of all that it has. Times count from the start of the collection.
func line(s *trace.Sheet, row int) string {
	var out []string
	for i := range s.Columns {
		c := &s.Columns[i]
		v := c.Value(row)
		if n, ok := v.(int64); ok && strings.HasSuffix(c.Name, "_ns") && n > unix/2 {
			v = n - unix
		}
		if v != nil && v != int64(0) {
			out = append(out, fmt.Sprint(c.Name, "=", v))
		}
	}
	return strings.Join(out, " ")
}

const device950 = `{"platform_version":"15","DeviceInfo":[{"hwts_frequency":50,"ai_core_num":"20","aiv_num":40,"aic_frequency":"1000"}]}`

// Records are made by the layouts that the vendor's parser publishes. 20 ns are a count of the device, 10 one of the host.
func TestRead_tables(t *testing.T) {
	stars := func(size int, kind, counter, sqe uint16, more ...any) string {
		return record(t, size, append([]any{0, kind | counter<<6 | sqe<<10, 2, uint16(magic)}, more...)...)
	}
	channel := func() string {
		b := make([]byte, 704*4)
		put := func(word int, v uint32) { binary.LittleEndian.PutUint32(b[word*4:], v) }
		for i, v := range []uint32{50, 0, 7, 6, 8} {
			put(i, v)                   // channel 0
			put(11*5+i, v+100)          // channel 11, which has nine words
			put(640+6+i, v+200)         // channel 120, of which the first six mean nothing
			put(640+11+i, v+300)        // channel 121
			put(640+11+5+5+i, v+400)    // channel 123
			put(640+32+11+5+5+i, v+500) // channel 127
			put(640+32+6+i, v+600)      // channel 124
		}
		return string(b)
	}
	word := func(kind, events, cycles uint32) string { return words32(kind<<28 | events<<16 | cycles) }
	cube := make([]byte, 96)
	binary.LittleEndian.PutUint16(cube[32:], 11)     // read commands
	cube[32+4] = 3                                   // latency, 24 bits
	binary.LittleEndian.PutUint16(cube[86:], 0xBEEF) // l2 hits: the last two bytes of the fourth piece
	cube[40] = 0x34                                  // vector: nothing on a cube core
	cube[40+3] = 0x56                                // cube cycles, the third of 12 bits
	for _, tt := range []struct {
		name  string
		files map[string]string
		table string
		rows  int
		want  string // the first row
	}{
		{"pcie", map[string]string{"device_0/data/pcie.data.0.slice_0": record(t, 96, 0, uint64(5+2_000_000), 8, uint32(9), 12, uint32(1), 92, uint32(21))}, "pcie", 1, "time_ns=2000000 tx_p_bandwidth_min=1 rx_cpl_bandwidth_avg=21"},
		{"ub", map[string]string{"device_0/data/ub.data.0.slice_0": record(t, 128, 4, uint16(3), 8, uint64(1000), 16, uint64(1), 120, uint64(14))}, "ub", 1, "port=3 time_ns=1000000 udma_rx_bind=1 tx_dropped=14"},
		{"soc pmu", map[string]string{"device_0/data/socpmu.data.0.slice_0": record(t, 80, 8, uint16(1), 10, uint16(2), 12, uint16(3), 14, uint16(2), 16, uint64(5), 72, uint64(6))}, "soc_pmu", 1, "task_type=1 stream=2 task=3 data_type=2 counter_0=5 counter_7=6"},
		{"soc pmu of 950", map[string]string{"device_0/info.json.0": device950, "device_0/data/socpmu.data.0.slice_0": record(t, 80, 6, uint16(4), 8, uint16(1), 10, uint16(2), 12, uint32(1<<20), 16, uint64(5))}, "soc_pmu", 1,
			"task_type=1 stream=2 task=1048576 data_type=4 counter_0=5"},
		{"data pipeline", map[string]string{"device_0/data/DATA_PREPROCESS.DP.0.slice_0": record(t, 128, 0, uint16(hostMagic), 2, uint16(100), 8, uint64(1_000_000+500), 16, "dequeue", 32, "iterator_default", 96, uint64(4), 104, uint64(131))}, "dp", 1,
			"time_ns=500 action=dequeue source=iterator_default idx=4 size=131"},
		{"control processor", map[string]string{"device_0/data/tscpu.data.0.slice_0": record(t, 304, 0, uint32(0xABABABAB), 176, uint64(0xFFFFFFFF00001000), 184, uint64(1000), 192, uint64(0x11), 200, uint64(99), 296, uint64(7))}, "ts_cpu", 1,
			"time_ns=20000 pc=0xffffffff00001000 event_0=17 count_0=99 count_6=7"},
		{"sio", map[string]string{"device_0/data/stars_soc_profile.data.0.slice_0": stars(64, dieLink, 0, 0, 8, uint64(100), 18, uint16(1), 32, uint32(5), 60, uint32(6))}, "sio", 1, "time_ns=2000 link=1 request_rx=5 data_tx=6"},
		{"sio of 950", map[string]string{"device_0/info.json.0": device950, "device_0/data/stars_soc_profile.data.0.slice_0": record(t, 64, 0, uint8(dieLink), 1, uint8(2<<2), 8, uint64(100), 28, uint32(5), 60, uint32(6))}, "sio", 1,
			"time_ns=2000 link=2 request_rx=5 data_tx=6"},
		{"chip links", map[string]string{"device_0/data/stars_soc.data.0.slice_0": stars(64, chipLink, 0, 3, 8, uint64(100), 18, uint16(64+7), 32, uint64(5), 40, uint64(6))}, "chip_trans", 1, "time_ns=2000 type=3 id=7 rx_or_write=5 tx_or_read=6"},
		{"qos", map[string]string{"device_0/data/stars_soc_profile.data.0.slice_0": stars(64, qosSample, 0, 1, 8, uint64(100), 24, uint32(5), 60, uint32(6))}, "qos", 1, "time_ns=2000 die=1 bandwidth_0=5 bandwidth_9=6"},
		{"low power", map[string]string{"device_0/data/stars_soc_profile.data.0.slice_0": stars(64, lowPower, 0, 1, 8, uint64(100), 24, uint16(5), 26, uint16(6), 60, uint16(7))}, "low_power", 1, "time_ns=2000 die=1 data0_hard=6 data1_hard=5 data9_soft=7"},
		{"blocks", map[string]string{"device_0/info.json.0": device950, "device_0/data/stars_block.data.0.slice_0": stars(32, blockStart, 0, 0, 4, uint32(9), 8, uint64(100), 20, uint8(1), 21, uint8(17), 26, uint16(3)) +
			stars(32, blockStart, 0, 0, 4, uint32(9), 8, uint64(101), 20, uint8(1), 21, uint8(18), 26, uint16(4)) + stars(32, blockEnd, 0, 0, 4, uint32(9), 8, uint64(150), 20, uint8(1), 21, uint8(17), 26, uint16(3))}, "block_detail", 1,
			"time_ns=2000 duration_ns=1000 task=9 vector=1 core=17 block=3"},
		{"missions", map[string]string{"device_0/data/ccu1.instr.0.slice_0": record(t, 64, 0, uint16(5), 30, uint16(1), 32, uint64(100), 40, uint16(8), 42, uint64(90), 50, uint64(60), 58, uint16(4), 60, uint16(2), 62, uint16(3))}, "ccu_mission", 16,
			"die=1 stream=2 task=3 loop_instr=4 loop_start_ns=1200 loop_duration_ns=600 signal_instr=8 signal_start_ns=2000 other=15 signal_end_ns=2400"},
		{"channels", map[string]string{"device_0/data/ccu0.stat.0.slice_0": channel()}, "ccu_channel", 7, "time_ns=1000 min_bandwidth=6 avg_bandwidth=7 max_bandwidth=8"},
		{"instructions", map[string]string{"device_0/info.json.0": device950, "device_0/data/instr.biu_perf_group2_aiv1.0.slice_0": words32(0xE<<28|5<<16|1000, 0xE<<28|1<<16, 0xE<<28, 0xE<<28) +
			word(wordState, 0b10, 20) + word(wordState, 0, 40) + word(4, 9, 20) + words32(0xEFFFFFFF, 0xDDDDDDDD, 0xDDDDDDDD)}, "instruction_states", 2,
			"group_id=2 core=aiv1 block=261 pipe=VEC start_ns=20020 duration_ns=40"},
		{"monitors", map[string]string{"device_0/data/instr.group_3_aic.0.slice_0": string(cube)}, "biu_cycles", 1, "group_id=3 core=aic cube_cycles=86"},
		{"flow", map[string]string{"device_0/data/instr.group_3_aic.0.slice_0": string(cube)}, "biu_flow", 1, "group_id=3 core=aic read_commands=11 read_latency=3 l2_hits=48879"},
		{"core samples", map[string]string{"device_0/sample.json": `{"ai_core_profiling_mode":"sample-based","ai_core_profiling_events":"0x8,0xa","aiv_profiling_events":"0x8"}`,
			"device_0/data/ffts_profile.data.0.slice_0": record(t, 96, 8, uint64(11), 16, uint64(12), 72, uint64(1000), 80, uint64(5+3_000_000), 88, uint8(2), 89, uint8(4)) + record(t, 96, 8, uint64(21), 80, uint64(5+3_000_000), 88, uint8(1), 89, uint8(40))},
			"aicore_samples", 1, "time_ns=3000000 core=4 total_cycles=1000 event_0x8=11 event_0xa=12"},
		{"ai cpu of old", map[string]string{"device_0/data/DATA_PREPROCESS.dev.AICPU.0.slice_0": record(t, 128, 0, uint16(hostMagic), 2, uint16(aicpuTag), 4, uint16(7), 6, uint16(9), 16, uint64(1000), 56, uint64(2000), 108, uint32(12))}, "aicpu", 1,
			"stream=7 task=9 start_ns=20000 duration_ns=20000 dispatch_us=12"},

		{"attributes", map[string]string{"host/data/aging.compact.node_attr_info.slice_0": record(t, 64, append(head(200), 24, uint64(1), 36, uint64(2))...)}, "node_attributes", 1, "time_ns=2000 thread_id=77 name=conv attributes=pad"},
		{"operators of communication", map[string]string{"host/data/aging.compact.hccl_op_info.slice_0": record(t, 64, append(head(200), 24, uint8(2), 25, uint8(4), 26, uint64(1), 34, uint64(1024), 42, uint64(2))...)}, "communication_op_info", 1,
			"time_ns=2000 thread_id=77 relay_retry=2 data_type=4 alg_type=conv count=1024 group_name=pad"},
		{"fusion", map[string]string{"host/data/aging.additional.fusion_op_info.slice_0": record(t, 256, append(head(200), 24, uint64(1), 32, uint32(2), 36, uint64(10), 68, uint64(50), 76, uint64(2), 84, uint64(9))...)}, "fusion_op", 1,
			"time_ns=2000 thread_id=77 fusion_op=conv original_ops=2 input_bytes=10 total_bytes=50 original_op_0=pad original_op_1=9"},
		{"operators' memory", map[string]string{"host/data/aging.additional.task_memory_info.slice_0": record(t, 256, append(head(200), 24, ^uint64(0), 32, ^uint64(0)-99, 40, uint64(1), 48, uint64(7), 56, uint64(8))...)}, "npu_op_mem", 1,
			"time_ns=2000 thread_id=77 name=conv address=0xffffffffffffffff size_bytes=-100 total_allocated_bytes=7 total_reserved_bytes=8"},
		{"static memory", map[string]string{"host/data/aging.additional.static_op_mem.slice_0": record(t, 256, append(head(200), 24, uint64(4096), 32, uint64(1), 40, uint64(3), 48, uint64(5), 72, uint32(6))...)}, "static_op_mem", 1,
			"op_name=conv graph_id=6 node_index_start=3 node_index_end=5 size_bytes=4096"},
		{"mc2", map[string]string{"host/data/aging.additional.mc2_comm_info.slice_0": record(t, 256, append(head(200), 24, uint64(1), 32, uint32(8), 36, uint32(2), 44, uint32(5), 52, uint32(6))...)}, "mc2_comm_info", 1,
			"time_ns=2000 group_name=conv rank_size=8 rank_id=2 stream=5 comm_stream_0=6"},
		{"ccu groups", map[string]string{"host/data/aging.additional.ccu_group_info.slice_0": record(t, 256, append(head(200), 32, uint64(1), 48, uint32(3), 58, uint16(4), 60, uint32(5), 64, uint8(1), 72, uint64(99), 80, uint16(7), 112, uint32(8))...)}, "ccu_group_info", 1,
			"time_ns=2000 name=conv rank_id=3 stream=4 task=5 die=1 data_size=99 channel_0=7 remote_rank_0=8"},

		{"processors", map[string]string{"device_0/data/SystemCpuUsage.data.0.slice_0": "TimeStamp:2005\ncpu 1 2 3 4 5 6 7\ncpu0 9 8 7 6 5 4 3\n\n"}, "cpu_usage", 2, "time_ns=40100 user_jiffies=1 nice_jiffies=2 system_jiffies=3 idle_jiffies=4 iowait_jiffies=5 irq_jiffies=6 softirq_jiffies=7 cpu=cpu"},
		{"memory", map[string]string{"host/data/host_sys_mem.data.slice_0": "TimeStamp:1000500\nMemTotal:  100 kB\nMemFree: 40 kB\nHugePages_Free: 3\n\nTimeStamp:1000900\nMemTotal: 100 kB\n\n"}, "sys_mem", 2,
			"time_ns=500 mem_total_bytes=102400 mem_free_bytes=40960 huge_pages_free=3"},
		{"process", map[string]string{"host/data/123-Memory.data.slice_0": "TimeStamp:1000500\nProcessName: python3\n100 50 10 1 0 60 0\n\n"}, "process_mem", 1, "time_ns=500 pid=123 virtual_bytes=409600 resident_bytes=204800 shared_bytes=40960 process_name=python3"},
		{"threads", map[string]string{"host/data/host_cpu.data.slice_0": "time 1000500\n12.5 3\n9 (a) S 1" + strings.Repeat(" 0", 9) + " 31 32" + strings.Repeat(" 0", 23) + " 5 0\n"}, "host_cpu", 1, "time_ns=500 pid=9 process_group=1 cpu=5 user_jiffies=31 system_jiffies=32"},
		{"residency", map[string]string{"host/data/host_mem.data.slice_0": "1000500 10 5 1\n"}, "host_mem", 1, "time_ns=500 virtual_bytes=40960 resident_bytes=20480"},
		{"interfaces", map[string]string{"host/data/host_network.data.slice_0": "time 1000500\neth0: 1 2 3 4 5 6 7 8 9 10 11 12 13\n"}, "host_network", 1, "time_ns=500 rx_bytes=1 rx_packets=2 rx_errors=3 tx_bytes=9 tx_packets=10 tx_errors=11 interface=eth0"},
		{"controllers", map[string]string{"device_0/data/netdev_stats.data.0.slice_0": "2000 " + "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"}, "netdev_stats", 1,
			"time_ns=40000 mac_tx_pfc_packets=1 mac_rx_pfc_packets=2 mac_tx_bytes=3 mac_rx_bytes=4 mac_tx_bad_bytes=5 mac_rx_bad_bytes=6 roce_tx_packets=7 roce_rx_packets=8 roce_tx_error_packets=9 roce_rx_error_packets=10 roce_tx_cnp_packets=11 roce_rx_cnp_packets=12 roce_retried_packets=13 nic_tx_bytes=14 nic_rx_bytes=15"},
		{"images", map[string]string{"device_0/data/dvpp.data.0.slice_0": "time id engine_type engine_id a b c d e f g h\n2000:5 1 VDEC 0 10 20 30% 1 2 3% 4 5\n"}, "dvpp", 1,
			"time_ns=40000 unit=1 engine_type=VDEC engine=0 all_time_us=10 all_frames=20 all_utilization=30% process_time_us=1 process_frames=2 process_utilization=3% last_time_us=4 last_frames=5"},
	} {
		what := control(tt.files)
		what["host/data/unaging.additional.hash_dic.slice_0"] = "1:conv\n2:pad\n"
		if _, own := tt.files["device_0/data/stars_soc.data.0.slice_0"]; !own {
			what["device_0/data/stars_soc.data.0.slice_0"] = ""
		}
		tr := read(t, what)
		s := tr.Source.Sheet(tt.table)
		if s == nil || s.Rows != tt.rows || tr.Source.BadRecords != 0 {
			t.Errorf("%s: table %+v, %d bad records, %v", tt.name, s, tr.Source.BadRecords, tr.Source.Missing)
			continue
		}
		if got := line(s, 0); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		for kind := range tr.Source.Records {
			if strings.HasPrefix(kind, "bytes not read") {
				t.Errorf("%s: %s", tt.name, kind)
			}
		}
	}
}

// All kinds that become tables, with any bytes in them.
func TestRead_tablesOfAnyBytes(t *testing.T) {
	what := map[string]string{}
	noise := strings.Repeat("\x5a\x5a\xd3\x6b\xff\x00time 7: cpu TimeStamp:3\n", 300)
	for i, l := range slices.Concat(deviceLayouts(true), deviceLayouts(false), hostLayouts()) {
		folder := "device_0/data/" + l.kind + ".0.slice_0"
		if i >= 2*len(deviceLayouts(true)) {
			folder = "host/data/aging.additional." + l.kind + ".slice_0"
		}
		what[folder] = noise
	}
	for _, kind := range []string{"stars_soc_profile.data", "stars_block.data", "ccu0.instr", "ccu1.stat", "instr.group_0_aic", "instr.group_0_aiv0", "instr.biu_perf_group1_aic", "nano_stars_profile.data", "dvpp.data", "netdev_stats.data", "SystemCpuUsage.data",
		"Memory.data", "1-Memory.data", "1-CpuUsage.data", "hwts.aiv_data", "ts_track.aiv_data", "aiVectorCore.data", "ffts_profile.data"} {
		what["device_0/data/"+kind+".0.slice_0"] = noise
	}
	for _, mode := range []string{"sample-based", "task-based"} {
		for _, platform := range []string{"0", "4", "5", "9", "15"} {
			all := control(what)
			all["device_0/sample.json"] = `{"ai_core_profiling_mode":"` + mode + `","ai_core_profiling_events":"0x8,0x9","aiv_profiling_events":"0x8"}`
			all["device_0/info.json.0"] = strings.Replace(deviceInfo, `"5"`, `"`+platform+`"`, 1)
			tr := read(t, all)
			for i := range tr.Source.Sheets {
				s := &tr.Source.Sheets[i]
				for row := range s.Rows {
					line(s, row)
				}
			}
			if err := tr.Check(); err != nil && !strings.Contains(err.Error(), "time") {
				t.Error(err)
			}
		}
	}
	if n := len(slices.Collect(maps.Keys(what))); n < 30 {
		t.Errorf("%d kinds", n)
	}
}
