package ascend

import (
	"math"
	"strings"
)

// Formula is a derived metric of one group of events, by the formulas of the vendor's tools. Its name is that of the tools'
// tables without the prefix of the core, as a word: mac_ratio, ub_read_bw_gb_s.
type Formula struct {
	Name   string
	rule   rule
	events [5]int8 // places of the counters
	factor [5]float64
	n      int
}

type rule uint8

const (
	ofCycles  rule = iota // sum of factor times counter, over the cycles
	ofTime                // the same, times the time of the core
	division              // the second counter over the first
	bandwidth             // GiB/s
	amount                // sum of factor times counter
)

// Core is what formulas need to know beside the counters.
type Core struct {
	Cycles    int64
	Hz        float64 // clock in force
	NominalHz float64
	Blocks    int64 // 0 when nobody recorded it: then times are not known
	Cores     int64 // of the kind that counted
}

// TimeUs is how long the kernel kept the cores busy, in microseconds; NaN where the number of blocks is not known.
func (c *Core) TimeUs() float64 {
	if c.Blocks <= 0 || c.Cores <= 0 || c.Hz <= 0 {
		return math.NaN()
	}
	return float64(c.Cycles) / c.Hz * 1e6 / float64(c.Blocks) * float64((c.Blocks+c.Cores-1)/c.Cores)
}

// definition is a metric with its events and factors.
type definition struct {
	name   string
	rule   rule
	events []uint16
	factor []float64
}

// width is the factor of a bandwidth: bits a request, times requests counted as one.
func width(name string, event uint16, bits, scale float64) definition {
	return definition{name + "_bw_gb_s", bandwidth, []uint16{event}, []float64{bits * scale}}
}

// pipe is the two metrics of a pipe.
func pipe(name string, events ...uint16) []definition {
	return []definition{{name + "_time_us", ofTime, events, nil}, {name + "_ratio", ofCycles, events, nil}}
}

func definitions(platform int) []definition {
	small := 64.0 // vector lanes of int32
	misc := 32.0
	if platform >= 2 && platform <= 4 {
		small, misc = 16, 16
	}
	var all []definition
	add := func(d ...definition) { all = append(all, d...) }
	ratio := func(name string, events ...uint16) { add(definition{name + "_ratio", ofCycles, events, nil}) }
	data := func(name string, factor []float64, events ...uint16) {
		add(definition{name + "_datas_kb", amount, events, factor})
	}
	if platform >= 15 {
		add(pipe("vec", 0x501)...)
		add(pipe("mac", 0x301)...)
		add(pipe("scalar", 0x1)...)
		add(pipe("mte1", 0x701)...)
		add(pipe("mte2", 0x202)...)
		add(pipe("mte3", 0x203)...)
		add(pipe("fixpipe", 0x714)...)
		add(definition{"icache_miss_rate", division, []uint16{0x34, 0x35}, nil})
		ratio("mac_fp16", 0x323)
		ratio("mac_int8", 0x324)
		ratio("vec_bank_cflt", 0x540)
		ratio("vec_resc_cflt", 0x528)
		ratio("ub_cflt", 0x556)
		return all
	}
	add(pipe("vec", 0x8)...)
	add(pipe("mac", 0xa)...)
	add(pipe("mac", 0x416, 0x417)...)
	add(pipe("scalar", 0x9)...)
	add(pipe("mte1", 0xb)...)
	add(pipe("mte1", 0x302)...)
	add(pipe("mte2", 0xc)...)
	add(pipe("mte3", 0xd)...)
	add(pipe("fixpipe", 0x303)...)
	add(pipe("vec_exe", 0x12c)...)
	add(definition{"icache_miss_rate", division, []uint16{0x54, 0x55}, nil})
	ratio("mac_fp16", 0x49)
	ratio("mac_int8", 0x4a)
	ratio("vec_fp32", 0x4b)
	ratio("vec_fp16", 0x4c, 0x4d)
	ratio("vec_int32", 0x4e)
	ratio("vec_misc", 0x4f)
	add(definition{"cube_fops", amount, []uint16{0x49, 0x4a}, []float64{8192, 16384}})
	add(definition{"vector_fops", amount, []uint16{0x4b, 0x4c, 0x4d, 0x4e, 0x4f}, []float64{64, 128, 64, small, misc}})
	ratio("vec_bankgroup_cflt", 0x64)
	ratio("vec_bank_cflt", 0x65)
	ratio("vec_resc_cflt", 0x66)
	for i, name := range []string{"scalar", "cube", "vector", "mte1", "mte2", "mte3"} {
		ratio(name+"_waitflag", 0x57+uint16(i))
	}
	for i, name := range []string{"mte1", "mte2", "mte3", "cube", "vec"} {
		ratio(name+"_iq_full", 0x6b+uint16(i))
	}
	add(width("ub_read", 0x15, 256, 4), width("ub_write", 0x16, 256, 4), width("l1_read", 0x31, 256, 16), width("l1_write", 0x32, 128, 8),
		width("l2_read", 0xf, 256, 8), width("l2_write", 0x10, 256, 8), width("main_mem_read", 0x12, 8, 8), width("main_mem_write", 0x13, 8, 8),
		width("l0a_read", 0x1b, 256, 16), width("l0a_write", 0x1c, 256, 16), width("l0b_read", 0x21, 256, 16), width("l0b_write", 0x22, 256, 8),
		width("l0c_read", 0x27, 256, 8), width("l0c_write", 0x29, 256, 8),
		definition{"l0c_read_bw_cube_gb_s", bandwidth, []uint16{0x28}, []float64{256 * 32}}, definition{"l0c_write_bw_cube_gb_s", bandwidth, []uint16{0x2a}, []float64{256 * 32}})
	for _, u := range []struct {
		name        string
		read, write uint16
		bits        float64
	}{{"vector", 0x43, 0x44, 128 * 2}, {"scalar", 0x37, 0x38, 128}, {"mte", 0x3d, 0x3e, 128 * 8}} {
		add(definition{"ub_read_bw_" + u.name + "_gb_s", bandwidth, []uint16{u.read}, []float64{u.bits}},
			definition{"ub_write_bw_" + u.name + "_gb_s", bandwidth, []uint16{u.write}, []float64{u.bits}})
	}
	for i, name := range []string{"write_cache_hit", "write_cache_miss_allocate", "r0_read_cache_hit", "r0_read_cache_miss_allocate", "r1_read_cache_hit", "r1_read_cache_miss_allocate"} {
		add(definition{name, amount, []uint16{0x500 + 2*uint16(i)}, nil})
	}
	eighth := []float64{0.125, 0.125}
	data("read_main_memory", eighth, 0x50d, 0x50e)
	data("write_main_memory", eighth, 0x50c)
	data("gm_to_l1", []float64{0.25, -0.25}, 0x32, 0x206)
	data("l0c_to_l1", eighth, 0x206)
	data("l0c_to_gm", []float64{0.125, -0.125}, 0x20c, 0x206)
	data("gm_to_ub", eighth, 0x3e)
	data("ub_to_gm", eighth, 0x3d)
	return all
}

// Formulas is the metrics that counters of these events give, in the order of the documentation. Counters that no metric
// takes give themselves: event_0x1d. Of two groups that share events (Memory and MemoryUB with their access counts, MemoryAccess
// with its amounts) those that have all their events count.
func Formulas(events []uint16, platform int) []Formula {
	at := map[uint16]int8{}
	for i, e := range events {
		if _, ok := at[e]; !ok && i < 10 {
			at[e] = int8(i)
		}
	}
	_, access := at[0x50c]
	var out []Formula
	used := map[uint16]bool{}
	for _, d := range definitions(platform) {
		// 32, 3d and 3e count amounts in the group MemoryAccess, and accesses in the others.
		if strings.HasSuffix(d.name, "_datas_kb") != access && d.rule != ofCycles && (d.name == "l1_write_bw_gb_s" || strings.HasPrefix(d.name, "ub_") && strings.Contains(d.name, "_mte_") || strings.HasSuffix(d.name, "_datas_kb")) {
			continue
		}
		f := Formula{Name: d.name, rule: d.rule, n: len(d.events)}
		all := true
		for i, e := range d.events {
			place, ok := at[e]
			all = all && ok
			f.events[i], f.factor[i] = place, 1
			if d.factor != nil {
				f.factor[i] = d.factor[i]
			}
		}
		if !all {
			continue
		}
		for _, e := range d.events {
			used[e] = true
		}
		out = append(out, f)
	}
	for i, e := range events {
		if !used[e] && i < 10 {
			out = append(out, Formula{Name: "event_0x" + hex(e), rule: amount, events: [5]int8{int8(i)}, factor: [5]float64{1}, n: 1})
		}
	}
	return out
}

func hex(e uint16) string {
	const digits = "0123456789abcdef"
	s := ""
	for v := e; v > 0 || s == ""; v >>= 4 {
		s = string(digits[v&15]) + s
	}
	return s
}

// OfTime says whether the metric is a time, which is known only with the number of blocks.
func (f *Formula) OfTime() bool { return f.rule == ofTime }

// Value computes the metric of counters that were taken in core, one for each of the events. It is NaN where the core does not
// tell.
func (f *Formula) Value(counters []int64, core *Core) float64 {
	sum := 0.0
	for i := range f.n {
		sum += f.factor[i] * float64(counters[f.events[i]])
	}
	switch f.rule {
	case division:
		first, second := counters[f.events[0]], counters[f.events[1]]
		if first == 0 || second == 0 {
			return 0
		}
		return float64(second) / float64(first)
	case amount:
		return sum
	}
	if core.Cycles <= 0 {
		return 0
	}
	switch f.rule {
	case ofTime:
		return core.TimeUs() * sum / float64(core.Cycles)
	case bandwidth:
		if core.NominalHz <= 0 {
			return math.NaN()
		}
		return sum / (float64(core.Cycles) / core.NominalHz) / (1 << 33)
	}
	return sum / float64(core.Cycles)
}

// Factors says which of the published factors the bandwidths were computed with: the vendor's own tools disagree.
const Factors = "bandwidths of PMU counters use bits x scale: UB 256x4, L1 256x16 (write 128x8), L2 256x8, main memory 8x8, L0A 256x16, L0B 256x16 (write 256x8), " +
	"L0C vector 256x8, L0C cube 256x32, UB vector 128x2, UB scalar 128x1, UB mte 128x8"
