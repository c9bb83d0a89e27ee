package soc

import (
	"fmt"
	"math"
	"strings"

	"npu/internal/tensor"
)

// Figure is one fact of a chip for display. Value is a string, bool, int, int64 or float64, or nil when it is not
// known; Note then says why, and of a known value where it is from if not from the part's own file.
type Figure struct {
	Key   string // with the unit where there is one: "memory_bytes"
	Value any
	Note  string
}

const (
	notInFile  = "the part's file has no such key"
	notPublic  = "no public figure"
	fromDriver = "assumed: the part's file leaves it to the driver"
)

// Figures lists what is known of the chip, related facts together.
func (c *Chip) Figures() []Figure {
	var f []Figure
	add := func(key string, v any, note string) { f = append(f, Figure{key, v, note}) }
	known := func(key string, n int64, why string) {
		if n == 0 {
			add(key, nil, why)
		} else {
			add(key, n, "")
		}
	}
	file := func(key string, n int) { known(key, int64(n), notInFile) }
	text := func(key, s, why string) {
		if s == "" {
			add(key, nil, why)
		} else {
			add(key, s, "")
		}
	}

	add("name", c.Name, "")
	add("short_soc_version", c.Short, "")
	if c.Like != "" {
		add("like", c.Like, "figures that are not transcribed for this part are those of this one")
	}
	text("aic_version", c.AICVersion, notInFile)
	file("npu_arch", c.NpuArch)

	add("ai_cores", c.AICores, "")
	file("cube_cores", c.CubeCores)
	add("vector_cores", c.VectorCores, "")
	file("mix_cores", c.MixCores)
	add("ai_cpus", c.AICPUs, "")
	add("split", c.Split, "")
	add("bf16", c.BF16, "")
	add("cube_mhz", c.CubeMHz, "")
	if c.VecMHz == 0 {
		add("vector_mhz", c.VectorMHz(), "the clock of the cube")
	} else {
		add("vector_mhz", c.VecMHz, "")
	}
	add("vector_lanes_fp16", c.VecLanes, "")
	add("vector_pipes", c.VecPipes, "")
	for _, t := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int8, tensor.Int4, tensor.Float8E4M3} {
		m := c.MKN(t)
		note := ""
		if t != tensor.Float16 && m == c.mknDefault {
			note = "the default: the part's file does not name the type"
		}
		add("mkn_"+t.String(), fmt.Sprintf("%dx%dx%d", m.M, m.K, m.N), note)
	}

	if c.MemoryAssumed {
		add("memory_bytes", c.MemoryBytes, fromDriver)
	} else {
		add("memory_bytes", c.MemoryBytes, "")
	}
	add("l2_bytes", c.L2Bytes, "")
	for _, b := range []struct {
		key string
		n   int
	}{
		{"l1_bytes", c.L1}, {"l0a_bytes", c.L0A}, {"l0b_bytes", c.L0B}, {"l0c_bytes", c.L0C}, {"ub_bytes", c.UB}, {"vector_ub_bytes", c.VecUB},
		{"ub_block_bytes", c.UBBlock}, {"ub_bank_bytes", c.UBBank}, {"ub_banks", c.UBBanks}, {"ub_bank_groups", c.UBBankGroups},
		{"bias_table_bytes", c.BiasTable}, {"fixpipe_buffer_bytes", c.FixpipeBuffer},
	} {
		file(b.key, b.n)
	}
	add("padding_bytes", c.PaddingSize, "")
	c.rateFigures(add)
	c.peakFigures(add, known)
	c.limitFigures(add, known, text)
	return f
}

func (c *Chip) rateFigures(add func(string, any, string)) {
	r := &c.Rates
	vec := ""
	if r.VecAssumed {
		vec = "half of the AI core's: the part's file has no such section"
	}
	for _, x := range []struct {
		key  string
		n    int
		note string
	}{
		{"ddr_read", r.DDRRead, ""}, {"ddr_write", r.DDRWrite, ""}, {"l2_read", r.L2Read, ""}, {"l2_write", r.L2Write, ""},
		{"l1_to_l0a", r.L1ToL0A, ""}, {"l1_to_l0b", r.L1ToL0B, ""}, {"l1_to_ub", r.L1ToUB, ""}, {"ub_to_l1", r.UBToL1, ""},
		{"l0c_to_ub", r.L0CToUB, ""}, {"ub_to_l2", r.UBToL2, ""}, {"ub_to_ddr", r.UBToDDR, ""},
		{"vector_ddr", r.VecDDR, vec}, {"vector_l2", r.VecL2, vec}, {"vector_ub_to_l2", r.VecUBToL2, vec}, {"vector_ub_to_ddr", r.VecUBToDDR, vec},
	} {
		if x.n == 0 {
			add(x.key+"_bytes_per_cycle", nil, "the part has no such path")
		} else {
			add(x.key+"_bytes_per_cycle", x.n, x.note)
		}
	}
}

func (c *Chip) peakFigures(add func(string, any, string), known func(string, int64, string)) {
	tenth := func(v float64) float64 { return math.Round(v*10) / 10 }
	const formula = "by formula"
	add("cube_tflops_fp16", tenth(c.CubeTFLOPS(tensor.Float16)), formula)
	add("cube_tops_int8", tenth(c.CubeTFLOPS(tensor.Int8)), formula)
	note := formula
	if c.VecPipes > 1 {
		note += "; the vendor states twice this, for two vector pipes"
	}
	add("vector_tflops_fp16", tenth(c.VectorTFLOPS()), note)
	add("memory_gb_s", math.Round(c.MemoryGBs()), formula)
	known("memory_nominal_mb_s", c.NominalMBs, notPublic)
	add("l2_gb_s", math.Round(c.L2GBs()), formula)
}

func (c *Chip) limitFigures(add func(string, any, string), known func(string, int64, string), text func(string, string, string)) {
	if len(c.VirtualSizes) > 0 {
		add("virtual_npu_cores", strings.Trim(strings.ReplaceAll(fmt.Sprint(c.VirtualSizes), " ", ","), "[]"), "")
	} else {
		add("virtual_npu_cores", nil, notInFile)
	}
	text("runtime_family", c.Runtime, notPublic)
	add("streams_physical", c.StreamsPhysical, "")
	add("streams_max", c.StreamMax, "")
	known("streams_documented", int64(c.StreamsDocumented), notPublic)
	known("compiler_streams", int64(c.CompilerStreams), notInFile)
	known("compiler_stream_depth", int64(c.CompilerDepth), notInFile)
	add("ring_depth", c.RingDepth, "")
	add("ring_usable", c.RingUsable, "")
	add("ring_held_back", c.RingHeld, "")
	known("task_objects_per_stream", int64(c.TaskObjects), "kept in a list without a limit of its own")
	add("tasks_per_persistent_stream", c.PersistentTasks, "")
	add("tasks_per_device", c.DeviceTasks, "")
	add("task_ids", c.TaskIDs, "")
	add("event_clock_hz", c.EventClockHz, "")
	add("event_id_pool", c.EventPool, "")
	add("events_max", c.EventMax, "")
	add("notifies_max", c.NotifyMax, "")
	add("counting_notify", c.CountingNotify, "")
	add("ai_cpu_stream_base", c.AICPUStreamBase, "")
	add("task_prefetch", c.Prefetch, "")
	add("dma_engines", c.DMAEngines, "assumed: one for each direction over PCIe, one inside the device")
	for _, l := range []struct {
		key string
		Link
	}{{"pcie", c.PCIe}, {"hccs", c.HCCS}, {"sio", c.SIO}, {"roce", c.RoCE}} {
		known(l.key+"_bytes_s", l.BytesPerSecond, notPublic)
		known(l.key+"_ns", l.LatencyNs, notPublic)
	}
	known("hccs_far_ns", c.HCCSFarNs, notPublic)
	add("link_efficiency_percent", c.LinkEfficiency, "")
	text("assumed", c.Assumed, "nothing besides the notes")
}
