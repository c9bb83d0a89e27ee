package ascend

import (
	"strings"

	"npu/internal/trace"
)

// Metrics collects the PMU figures of a task as exporters write them: total cycles of the cube and the vector cores, and
// ratios of the pipes to them. Other figures are left out.
type Metrics struct {
	total [2]float64
	ratio [2][pipes]float64
	count [counts]float64
	some  bool
}

// Counts that are not cycles of a pipe.
const (
	countL2Hits = iota
	countL2Misses
	countRead
	countWritten
	counts
)

const (
	pipeCube = iota
	pipeVector
	pipeScalar
	pipeMTE1
	pipeMTE2
	pipeMTE3
	pipeFixpipe
	pipes
)

// Metric is what a figure is; the zero value is one that this program has no place for.
type Metric struct{ known, total, vector, pipe, count uint8 }

// IsMetric says whether a column or metric name is one of the PMU: those of the cube and vector cores, and of chips whose
// cores do both.
func IsMetric(name string) bool {
	for _, start := range []string{"aic_", "aiv_", "aicore_time", "aiv_time", "total_cycles", "cube_utilization", "icache_", "mac_", "vec_", "scalar_", "mte1_", "mte2_", "mte3_", "fixpipe_",
		"cube_fops", "vector_fops", "ub_", "l1_", "l2_", "l0a_", "l0b_", "l0c_", "main_mem_", "write_cache_", "r0_read_cache_", "r1_read_cache_", "read_main_memory", "write_main_memory",
		"GM_to_", "L0C_to_", "UB_to_", "memory_bound"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// MetricOf finds the meaning of a column or metric name: aic_mac_ratio, aiv_total_cycles, or without a prefix on chips
// whose cores do both.
func MetricOf(name string) Metric {
	m := Metric{}
	switch {
	case strings.HasPrefix(name, "aiv_"):
		m.vector = 1
		name = name[4:]
	case strings.HasPrefix(name, "aic_"):
		name = name[4:]
	}
	if name == "total_cycles" {
		m.known, m.total = 1, 1
		return m
	}
	switch strings.TrimSuffix(name, "(KB)") {
	case "write_cache_hit", "r0_read_cache_hit", "r1_read_cache_hit":
		return Metric{known: 1, count: 1 + countL2Hits}
	case "write_cache_miss_allocate", "r0_read_cache_miss_allocate", "r1_read_cache_miss_allocate":
		return Metric{known: 1, count: 1 + countL2Misses}
	case "read_main_memory_datas":
		return Metric{known: 1, count: 1 + countRead}
	case "write_main_memory_datas":
		return Metric{known: 1, count: 1 + countWritten}
	}
	pipe, ok := strings.CutSuffix(name, "_ratio")
	if !ok {
		return Metric{}
	}
	m.known = 1
	switch pipe {
	case "mac", "cube":
		m.pipe = pipeCube
	case "vec":
		m.pipe = pipeVector
	case "scalar":
		m.pipe = pipeScalar
	case "mte1":
		m.pipe = pipeMTE1
	case "mte2":
		m.pipe = pipeMTE2
	case "mte3":
		m.pipe = pipeMTE3
	case "fixpipe":
		m.pipe = pipeFixpipe
	default:
		return Metric{}
	}
	return m
}

// Known says whether Set has a place for the metric.
func (m Metric) Known() bool { return m.known != 0 }

// Set takes a figure. Values that no hardware counts are ignored.
func (s *Metrics) Set(m Metric, v float64) {
	if m.known == 0 || !(v >= 0 && v < 1e18) {
		return
	}
	s.some = true
	switch {
	case m.count > 1+countL2Misses:
		s.count[m.count-1] += v * 1024
	case m.count != 0:
		s.count[m.count-1] += v
	case m.total != 0:
		s.total[m.vector] = v
	case v < 1e6:
		s.ratio[m.vector][m.pipe] = v
	}
}

// Account is the cycle account: ratios times totals, to the precision that the exporter left.
func (s *Metrics) Account() trace.Account {
	if !s.some {
		return trace.Account{}
	}
	sum := func(pipe int) int64 {
		return int64(s.ratio[0][pipe]*s.total[0]+0.5) + int64(s.ratio[1][pipe]*s.total[1]+0.5)
	}
	return trace.Account{
		Total: int64(s.total[0]) + int64(s.total[1]), Cube: sum(pipeCube), Vector: sum(pipeVector), Scalar: sum(pipeScalar),
		L2Hits: int64(s.count[countL2Hits]), L2Misses: int64(s.count[countL2Misses]), ReadBytes: int64(s.count[countRead]), WriteBytes: int64(s.count[countWritten]),
		MTE1: sum(pipeMTE1), MTE2: sum(pipeMTE2), MTE3: sum(pipeMTE3), Fixpipe: sum(pipeFixpipe),
	}
}

// Core is the core type that counted: what exporters leave out at level0. It is empty when nothing was counted.
func (s *Metrics) Core() string {
	switch {
	case s.total[0] > 0 && s.total[1] > 0:
		return "MIX_AIC"
	case s.total[1] > 0:
		return "AI_VECTOR_CORE"
	case s.total[0] > 0:
		return "AI_CORE"
	}
	return ""
}
