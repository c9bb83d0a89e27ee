package main

import (
	"fmt"
	"strconv"

	"npu/internal/model"
	"npu/internal/sim/pmu"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// count chooses the events of --pmu, once the chip is known.
func (o *runOptions) count(r *model.RunOptions) (err error) {
	if o.pmu != "" {
		r.PMU, err = pmu.New(r.Chip, o.pmu)
	}
	return err
}

// metrics prints what the PMU counted, a row a metric and a column an operator type, those that took longest first.
func (o *runOptions) metrics(p *printer, list []stats.Metrics, t *trace.Trace) {
	if len(list) == 0 {
		return
	}
	names := stats.MetricNames(t, list)
	const most = 6 // columns that fit on a line
	shown := list
	if o.outTTY {
		shown = list[:min(len(list), most)]
	}
	wide := len("PMU " + o.pmu)
	for _, n := range names {
		wide = max(wide, len(n))
	}
	p.printf("\n%-*s", wide, "PMU "+o.pmu)
	for _, m := range shown {
		p.printf("  %*s", columnWidth(m.Name), m.Name)
	}
	p.printf("\n")
	for _, n := range names {
		p.printf("%-*s", wide, n)
		for _, m := range shown {
			text := "-"
			if v, ok := m.Values[n]; ok {
				text = metricText(v)
			}
			p.printf("  %*s", columnWidth(m.Name), text)
		}
		p.printf("\n")
	}
	if n := len(list) - len(shown); n > 0 {
		p.printf("and %d more operator types (--json lists all; a row a kernel is in the trace: npu trace query 'select * from pmu')\n", n)
	}
}

func columnWidth(name string) int { return max(10, len(name)) }

// metricText is a metric in few characters: counts whole, others with four digits.
func metricText(v float64) string {
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return fmt.Sprintf("%.4g", v)
}
