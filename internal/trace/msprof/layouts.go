package msprof

import "fmt"

// cells numbers cells of one size that lie one after the other.
func cells(at, step int, as cellType, names ...string) []cell {
	out := make([]cell, len(names))
	for i, name := range names {
		out[i] = cell{name, at + i*step, as}
	}
	return out
}

func join(lists ...[]cell) (out []cell) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// numberedNames is so many names that differ by a number.
func numberedNames(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// deviceLayouts is the kinds of records of a device that become a table as they are. Their order is that in which they are read.
func deviceLayouts(v6 bool) []layout {
	directions := func(prefix string, what ...string) (names []string) {
		for _, w := range what {
			for _, of := range []string{"min", "max", "avg"} {
				names = append(names, prefix+"_"+w+"_"+of)
			}
		}
		return names
	}
	soc := layout{"socpmu.data", "soc_pmu", 80, 0, join([]cell{{"task_type", 8, asU16}, {"stream", 10, asU16}, {"task", 12, asU16}, {"data_type", 14, asU16}}, cells(16, 8, asU64, numberedNames("counter_%d", 8)...))}
	if v6 {
		soc.cells = join([]cell{{"task_type", 8, asU16}, {"stream", 10, asU16}, {"task", 12, asU32}, {"data_type", 6, asU16}}, cells(16, 8, asU64, numberedNames("counter_%d", 8)...))
	}
	return []layout{
		{"pcie.data", "pcie", 96, 0, join([]cell{{"time_ns", 0, asDevice}}, cells(12, 4, asU32, append(directions("tx", "p_bandwidth", "np_bandwidth", "cpl_bandwidth", "np_latency"), directions("rx", "p_bandwidth", "np_bandwidth", "cpl_bandwidth")...)...))},
		{"ub.data", "ub", 128, 0, join([]cell{{"port", 4, asU16}, {"time_ns", 8, asMicros}}, cells(16, 8, asU64, "udma_rx_bind", "udma_tx_bind", "rx_port_bandwidth", "rx_packet_rate", "rx_bytes", "rx_packets", "rx_errors", "rx_dropped",
			"tx_port_bandwidth", "tx_packet_rate", "tx_bytes", "tx_packets", "tx_errors", "tx_dropped"))},
		soc,
		{"tscpu.data", "ts_cpu", 304, 0xABAB, join([]cell{{"time_ns", 184, asStamp}, {"pc", 176, asAddress}}, cells(192, 16, asU64, numberedNames("event_%d", 7)...), cells(200, 16, asU64, numberedNames("count_%d", 7)...))},
		{"DATA_PREPROCESS.DP", "dp", 128, hostMagic, []cell{{"time_ns", 8, asHost}, {"action", 16, asText16}, {"source", 32, asText64}, {"idx", 96, asU64}, {"size", 104, asU64}}},
		{"DATA_PREPROCESS.AICPU_MODEL", "model_with_queue", 64, 0, []cell{{"time_ns", 8, asStamp}, {"index_id", 16, asU64}, {"model_id", 24, asU32}, {"tag_id", 28, asU16}, {"event_id", 32, asU64}}},
	}
}

// hostLayouts is the same for the host. Heads of 24 bytes hold the time at 16.
func hostLayouts() []layout {
	time := cell{"time_ns", 16, asCount}
	thread := cell{"thread_id", 8, asU32}
	return []layout{
		{"node_attr_info", "node_attributes", 64, hostMagic, []cell{time, thread, {"name", 24, asHash}, {"attributes", 36, asHash}}},
		{"hccl_op_info", "communication_op_info", 64, hostMagic, []cell{time, thread, {"relay_retry", 24, asU8}, {"data_type", 25, asU8}, {"alg_type", 26, asHash}, {"count", 34, asU64}, {"group_name", 42, asHash}}},
		{"capture_stream_info", "capture_streams", 64, hostMagic, []cell{time, {"status", 24, asU16}, {"model_stream", 26, asU16}, {"original_stream", 28, asU16}, {"model_id", 30, asU16}, {"device", 32, asU8}}},
		{"context_id_info", "context_ids", 256, hostMagic, []cell{time, thread, {"name", 24, asHash}, {"ids", 32, asU32}, {"first_id", 36, asU32}, {"second_id", 40, asU32}}},
		{"fusion_op_info", "fusion_op", 256, hostMagic, join([]cell{time, thread, {"fusion_op", 24, asHash}, {"original_ops", 32, asU32}}, cells(36, 8, asU64, "input_bytes", "output_bytes", "weight_bytes", "workspace_bytes", "total_bytes"),
			cells(76, 8, asHash, numberedNames("original_op_%d", 8)...))},
		{"graph_id_map", "graph_id_map", 256, hostMagic, []cell{time, {"model_name", 24, asHash}, {"graph_id", 32, asU32}, {"model_id", 36, asU32}}},
		{"logic_stream_info", "logic_streams", 256, hostMagic, join([]cell{time, {"logic_stream", 24, asU32}, {"physical_streams", 28, asU32}}, cells(32, 4, asU32, numberedNames("physical_stream_%d", 8)...))},
		{"mc2_comm_info", "mc2_comm_info", 256, hostMagic, join([]cell{time, {"group_name", 24, asHash}}, cells(32, 4, asU32, "rank_size", "rank_id", "user_rank_id", "stream", "comm_streams"), cells(52, 4, asU32, numberedNames("comm_stream_%d", 8)...))},
		{"task_memory_info", "npu_op_mem", 256, hostMagic, []cell{time, thread, {"name", 40, asHash}, {"address", 24, asAddress}, {"size_bytes", 32, asI64}, {"total_allocated_bytes", 48, asU64}, {"total_reserved_bytes", 56, asU64}, {"device", 64, asU32}, {"device_type", 68, asU32}}},
		{"memory_application", "memory_application", 256, hostMagic, []cell{time, thread, {"name", 24, asHash}, {"address", 32, asAddress}, {"size_bytes", 40, asU64}, {"total_bytes", 48, asU64}, {"used_bytes", 56, asU64}}},
		{"static_op_mem", "static_op_mem", 256, hostMagic, []cell{{"op_name", 32, asHash}, {"dynamic_op_name", 64, asHash}, {"graph_id", 72, asU32}, {"node_index_start", 40, asU64}, {"node_index_end", 48, asU64}, {"size_bytes", 24, asU64}, {"total_allocated_bytes", 56, asU64}}},
		{"capture_op_info", "capture_ops", 256, hostMagic, join([]cell{time}, cells(24, 4, asU32, "model_id", "device", "stream", "task", "task_type", "block_num"), []cell{{"name", 48, asHash}, {"op_type", 56, asHash}, {"attributes", 64, asHash}, {"tensors", 84, asU32}})},
		{"Multi_Thread", "sub_threads", 256, hostMagic, join([]cell{time, thread, {"sub_threads", 24, asU32}}, cells(28, 4, asU32, numberedNames("sub_thread_%d", 8)...))},
		{"ccu_task_info", "ccu_task_info", 256, hostMagic, []cell{time, {"version", 24, asU8}, {"work_flow_mode", 25, asU8}, {"name", 32, asHash}, {"group_name", 40, asHash}, {"rank_id", 48, asU32}, {"rank_size", 52, asU32},
			{"stream", 56, asU16}, {"task", 60, asU32}, {"die", 64, asU8}, {"mission", 65, asU8}, {"instr", 66, asU16}}},
		{"ccu_group_info", "ccu_group_info", 256, hostMagic, join(ccuHead(time), []cell{{"reduce_op_type", 68, asU8}, {"input_data_type", 69, asU8}, {"output_data_type", 70, asU8}, {"data_size", 72, asU64}},
			cells(80, 2, asU16, numberedNames("channel_%d", 16)...), cells(112, 4, asU32, numberedNames("remote_rank_%d", 16)...))},
		{"ccu_wait_signal_info", "ccu_wait_signal_info", 256, hostMagic, join(ccuHead(time), []cell{{"cke", 72, asU32}, {"mask", 76, asU32}}, cells(80, 2, asU16, numberedNames("channel_%d", 16)...), cells(112, 4, asU32, numberedNames("remote_rank_%d", 16)...))},
		{"dpu_track", "dpu_tasks", 64, hostMagic, []cell{time, thread, {"device", 24, asU16}, {"stream", 26, asU16}, {"task", 28, asU32}}},
	}
}

// ccuHead is what two kinds of records of communication units have in common.
func ccuHead(time cell) []cell {
	return []cell{time, {"version", 24, asU8}, {"name", 32, asHash}, {"group_name", 40, asHash}, {"rank_id", 48, asU32}, {"rank_size", 52, asU32}, {"work_flow_mode", 56, asU8},
		{"stream", 58, asU16}, {"task", 60, asU32}, {"die", 64, asU8}, {"instr", 66, asU16}, {"mission", 68, asU8}}
}
