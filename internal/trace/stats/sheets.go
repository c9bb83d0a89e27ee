package stats

import (
	"cmp"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"npu/internal/trace"
)

// Metrics is the PMU's figures of one operator type, or of one operator where the source names no types: ratios, rates and bandwidths as means
// weighted by duration, all others as sums.
type Metrics struct {
	Name    string             `json:"name"`
	Count   int64              `json:"count"`
	TotalNs int64              `json:"total_ns"`
	Values  map[string]float64 `json:"metrics"`
}

// CounterStat is the values of one counter. The mean is that of the samples.
type CounterStat struct {
	Device  uint16  `json:"device"`
	Name    string  `json:"name"`
	Samples int64   `json:"samples"`
	Min     float64 `json:"min"`
	Mean    float64 `json:"mean"`
	Max     float64 `json:"max"`
	Last    float64 `json:"last"`
}

// CommTime is how long the collective operations of a kind took on a rank, and with what, as the vendor's tools sum it up.
type CommTime struct {
	Rank      *int64 `json:"rank"`
	Op        string `json:"op"`
	Count     int64  `json:"count"`
	ElapseNs  int64  `json:"elapse_ns"`
	TransitNs int64  `json:"transit_ns"`
	WaitNs    int64  `json:"wait_ns"`
	SyncNs    int64  `json:"synchronization_ns"`
	IdleNs    int64  `json:"idle_ns"`
}

// Link is the traffic from one rank to another. Ranks are those of the group unless the cluster tools renamed them.
type Link struct {
	Group     string  `json:"group,omitempty"`
	Src       int64   `json:"src"`
	Dst       int64   `json:"dst"`
	Transport string  `json:"transport"`
	Bytes     int64   `json:"bytes"`
	TransitNs int64   `json:"transit_ns"`
	Bandwidth float64 `json:"bandwidth_gb_s"` // bytes over transit time, 10^9 bytes a second
}

// mean says whether a metric is one whose sum over kernels means nothing.
func mean(name string) bool {
	return strings.HasSuffix(name, "_ratio") || strings.HasSuffix(name, "_rate") || strings.HasSuffix(name, "_gb_s") || strings.HasSuffix(name, "_percent") || name == "memory_bound"
}

// keyColumns is the columns of the table of metrics that are none.
const keyColumns = " rank device stream task start_ns duration_ns name op_type "

// PMU is the metrics of the trace's table of PMU figures by operator type.
func PMU(t *trace.Trace) []Metrics { return metrics(t.Source.Sheet("pmu")) }

// metrics sums the table of PMU figures up by operator type.
func metrics(s *trace.Sheet) []Metrics {
	if s == nil {
		return []Metrics{}
	}
	group, ns, out := kernels(s)
	sums := make([][]groupSum, len(s.Columns))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var done sync.WaitGroup
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Type == trace.ColumnText || strings.Contains(keyColumns, " "+c.Name+" ") {
			continue
		}
		free <- struct{}{}
		done.Go(func() {
			defer func() { <-free }()
			sums[i] = sumByGroup(c, group, ns, len(out))
		})
	}
	done.Wait()
	for i := range s.Columns {
		c := &s.Columns[i]
		for g := range sums[i] {
			switch v := &sums[i][g]; {
			case !v.some:
			case !mean(c.Name):
				out[g].Values[c.Name] = v.sum
			case v.weight != 0:
				out[g].Values[c.Name] = v.weighted / v.weight
			}
		}
	}
	slices.SortFunc(out, func(a, b Metrics) int {
		return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// kernels puts the rows of the table of PMU figures into groups by operator type, and gives the group and the duration of each.
func kernels(s *trace.Sheet) (group []int32, durations []float64, list []Metrics) {
	op, name, duration := s.Column("op_type"), s.Column("name"), s.Column("duration_ns")
	known := map[string]int32{}
	list = []Metrics{}
	group, durations = make([]int32, s.Rows), make([]float64, s.Rows)
	last, at := "", int32(-1)
	for i := range s.Rows {
		label := ""
		for _, c := range []*trace.SheetColumn{op, name} {
			if c != nil && c.Type == trace.ColumnText && label == "" {
				label = c.TextAt(i)
			}
		}
		if at < 0 || label != last {
			g, ok := known[label]
			if !ok {
				g = int32(len(list))
				known[label] = g
				list = append(list, Metrics{Name: label, Values: map[string]float64{}})
			}
			last, at = label, g
		}
		ns := int64(0)
		if duration != nil && duration.Type == trace.ColumnInt {
			ns = max(duration.IntAt(i), 0)
		}
		group[i], durations[i] = at, float64(ns)
		list[at].Count++
		list[at].TotalNs += ns
	}
	return group, durations, list
}

// groupSum is the values of one column in one group.
type groupSum struct {
	sum, weighted, weight float64
	some                  bool
}

func sumByGroup(c *trace.SheetColumn, group []int32, durations []float64, groups int) []groupSum {
	sums := make([]groupSum, groups)
	for i, g := range group {
		to := &sums[g]
		v := math.NaN()
		if c.Type == trace.ColumnFloat {
			v = c.FloatAt(i)
		} else if n := c.IntAt(i); n != trace.NoInt {
			v = float64(n)
		}
		if math.IsNaN(v) {
			continue
		}
		to.some = true
		to.sum += v
		to.weighted += v * durations[i]
		to.weight += durations[i]
	}
	return sums
}

// MetricNames is the metrics that any of list has, in the order of the source's columns.
func MetricNames(t *trace.Trace, list []Metrics) []string {
	var out []string
	s := t.Source.Sheet("pmu")
	if s == nil {
		return out
	}
	for i := range s.Columns {
		name := s.Columns[i].Name
		if slices.ContainsFunc(list, func(m Metrics) bool { _, ok := m.Values[name]; return ok }) {
			out = append(out, name)
		}
	}
	return out
}

// counterStats sums the counters up.
func counterStats(t *trace.Trace) []CounterStat {
	type key struct {
		name   trace.StringID
		device uint16
	}
	sums := map[key]*CounterStat{}
	var recent [64]struct {
		key key
		sum *CounterStat
	}
	for _, c := range t.Counters.All() {
		k := key{c.Name, c.Device}
		r := &recent[(uint32(c.Name)^uint32(c.Device)<<2)%uint32(len(recent))]
		if r.sum == nil || r.key != k {
			s := sums[k]
			if s == nil {
				s = &CounterStat{Device: c.Device, Name: t.String(c.Name), Min: c.Value, Max: c.Value}
				sums[k] = s
			}
			r.key, r.sum = k, s
		}
		s := r.sum
		s.Samples++
		s.Min, s.Max, s.Last = min(s.Min, c.Value), max(s.Max, c.Value), c.Value
		s.Mean += (c.Value - s.Mean) / float64(s.Samples)
	}
	out := make([]CounterStat, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b CounterStat) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), strings.Compare(a.Name, b.Name))
	})
	return out
}

// row reads the columns of a table by name.
type row struct{ s *trace.Sheet }

func (r row) int(name string, i int) int64 {
	if c := r.s.Column(name); c != nil && c.Type == trace.ColumnInt && c.IntAt(i) != trace.NoInt {
		return c.IntAt(i)
	}
	return 0
}

func (r row) text(name string, i int) string {
	c := r.s.Column(name)
	switch {
	case c == nil:
		return ""
	case c.Type == trace.ColumnText:
		return c.TextAt(i)
	}
	return ""
}

// commTimes sums the table of collective operations up by rank and kind of operation.
func commTimes(t *trace.Trace) []CommTime {
	out := []CommTime{}
	s := t.Source.Sheet("communication")
	if s == nil {
		return out
	}
	ranks := map[int64]int64{}
	for _, d := range t.Source.Devices {
		if d.Rank >= 0 {
			ranks[int64(d.ID)] = int64(d.Rank)
		}
	}
	type key struct {
		rank int64
		op   string
	}
	sums := map[key]*CommTime{}
	r := row{s}
	rankColumn, device := s.Column("rank"), s.Column("device")
	for i := range s.Rows {
		op := r.text("op", i)
		if strings.HasPrefix(op, "Total") {
			continue // the sum of the others
		}
		k := key{trace.NoInt, operation(op)}
		if rankColumn != nil && rankColumn.Type == trace.ColumnInt {
			k.rank = rankColumn.IntAt(i)
		}
		if k.rank == trace.NoInt && device != nil && device.Type == trace.ColumnInt {
			if rank, ok := ranks[device.IntAt(i)]; ok {
				k.rank = rank
			}
		}
		c := sums[k]
		if c == nil {
			c = &CommTime{Op: k.op}
			if k.rank != trace.NoInt {
				rank := k.rank
				c.Rank = &rank
			}
			sums[k] = c
		}
		c.Count++
		c.ElapseNs += r.int("elapse_ns", i)
		c.TransitNs += r.int("transit_ns", i)
		c.WaitNs += r.int("wait_ns", i)
		c.SyncNs += r.int("synchronization_ns", i)
		c.IdleNs += r.int("idle_ns", i)
	}
	for _, k := range slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.op, b.op))
	}) {
		out = append(out, *sums[k])
	}
	return out
}

// operation is the kind of a collective operation: hcom_allReduce_ of hcom_allReduce__586_0_1.
func operation(name string) string {
	kind, _, _ := strings.Cut(name, "__")
	return kind
}

// links sums the matrix of communication up. Its totals hold the operations that it also lists.
func links(t *trace.Trace) []Link {
	out := []Link{}
	s := t.Source.Sheet("communication_matrix")
	if s == nil {
		return out
	}
	r := row{s}
	totals := false
	for i := range s.Rows {
		totals = totals || strings.HasPrefix(strings.ToLower(r.text("op", i)), "total")
	}
	type key struct {
		group, transport string
		src, dst         int64
	}
	sums := map[key]*Link{}
	for i := range s.Rows {
		if totals != strings.HasPrefix(strings.ToLower(r.text("op", i)), "total") {
			continue
		}
		k := key{r.text("group_name", i), r.text("transport", i), r.int("src", i), r.int("dst", i)}
		l := sums[k]
		if l == nil {
			l = &Link{Group: k.group, Src: k.src, Dst: k.dst, Transport: k.transport}
			sums[k] = l
		}
		l.Bytes += r.int("size_bytes", i)
		l.TransitNs += r.int("transit_ns", i)
	}
	for _, l := range sums {
		if l.TransitNs > 0 {
			l.Bandwidth = float64(l.Bytes) / float64(l.TransitNs)
		}
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Link) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), strings.Compare(a.Transport, b.Transport))
	})
	return out
}
