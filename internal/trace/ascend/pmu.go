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
	some  bool
}

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
type Metric struct{ known, total, vector, pipe uint8 }

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
	if m.total != 0 {
		s.total[m.vector] = v
	} else if v < 1e6 {
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
