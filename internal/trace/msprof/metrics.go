package msprof

import (
	"cmp"
	"math"
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// kernelSum is what was counted while one task ran: on cube cores, or cores that do both, and on vector cores.
type kernelSum struct{ kinds [2]kindSum }

// kindSum is the counters of one kind of core, over all blocks.
type kindSum struct {
	cycles   int64
	counters [10]int64
	end      uint64
	whole    bool // a record of the whole task was seen: those of its blocks are in it
	some     bool
}

func (s *kindSum) add(c *count8) {
	s.some = true
	s.cycles += c.total
	s.end = max(s.end, c.end)
	for i, v := range c.counters {
		s.counters[i] += v
	}
}

// metricSheet makes the table of derived metrics, a row a kernel.
type metricSheet struct {
	d        *deviceData
	keys     [7]trace.SheetColumn
	kinds    [2]kindColumns
	occupied trace.SheetColumn
	rows     int
	unknown  int64 // rows without a number of blocks
}

type kindColumns struct {
	time, cycles trace.SheetColumn
	formulas     []ascend.Formula
	values       []trace.SheetColumn
	cores        int64
	mhz          float64
}

// split says whether cube and vector cores count apart: their metrics have names of their own.
func (d *deviceData) split() bool {
	p := d.info.Platform.number()
	return p == 5 || p >= 9
}

func newMetricSheet(d *deviceData) *metricSheet {
	m := &metricSheet{d: d, occupied: trace.FloatColumn("cube_utilization_percent")}
	for i, name := range []string{"device", "stream", "task", "start_ns", "duration_ns"} {
		m.keys[i] = trace.IntColumn(name)
	}
	m.keys[5], m.keys[6] = trace.TextColumn("name"), trace.TextColumn("op_type")
	var v device
	if len(d.info.Devices) > 0 {
		v = d.info.Devices[0]
	}
	platform := d.info.Platform.number()
	for i, k := range []struct {
		prefix, time, events string
		cores                int
		mhz                  word
	}{{"aic_", "aicore_time_us", d.sample.CubeEvents, v.Cube.number(), v.CubeMHz}, {"aiv_", "aiv_time_us", d.sample.VectorEvents, v.Vector.number(), cmp.Or(v.VectorMHz, v.CubeMHz)}} {
		if i == 0 && !d.split() {
			k.prefix = ""
		}
		c := &m.kinds[i]
		c.cores, c.mhz = int64(k.cores), float64(k.mhz.hertz())/1e6
		c.time, c.cycles = trace.FloatColumn(k.time), trace.IntColumn(k.prefix+"total_cycles")
		c.formulas = ascend.Formulas(events(k.events), platform)
		for f := range c.formulas {
			c.values = append(c.values, trace.FloatColumn(k.prefix+c.formulas[f].Name))
		}
	}
	rows := len(d.sums)
	for i := range 5 {
		m.keys[i].Int = make([]int64, 0, rows)
	}
	m.keys[5].Text, m.keys[6].Text, m.occupied.Float = make([]string, 0, rows), make([]string, 0, rows), make([]float64, 0, rows)
	for i := range m.kinds {
		c := &m.kinds[i]
		c.time.Float, c.cycles.Int = make([]float64, 0, rows), make([]int64, 0, rows)
		for f := range c.values {
			c.values[f].Float = make([]float64, 0, rows)
		}
	}
	return m
}

// add computes the metrics of task k; mix is the number of blocks on the other kind of core.
func (m *metricSheet) add(t *trace.Task, s *kernelSum, mix uint32, name, op string) {
	for i, v := range []any{int64(t.Device), int64(t.Stream), int64(t.Task), t.Start, t.End - t.Start, name, op} {
		m.keys[i].Add(v)
	}
	m.rows++
	occupied := math.NaN()
	for i := range m.kinds {
		c, sum := &m.kinds[i], &s.kinds[i]
		if !sum.some {
			c.time.Add(nil)
			c.cycles.Add(nil)
			for f := range c.values {
				c.values[f].Add(nil)
			}
			continue
		}
		blocks := int64(t.Blocks)
		if !sum.whole {
			blocks = int64(mix)
		}
		core := ascend.Core{Cycles: sum.cycles, Hz: m.d.mhzAt(sum.end, c.mhz) * 1e6, NominalHz: c.mhz * 1e6, Blocks: blocks, Cores: c.cores}
		if blocks == 0 {
			m.unknown++
		}
		c.time.Float = append(c.time.Float, core.TimeUs())
		c.cycles.Add(sum.cycles)
		for f := range c.formulas {
			c.values[f].Float = append(c.values[f].Float, c.formulas[f].Value(&sum.counters, &core))
		}
		if us := float64(t.End-t.Start) / 1000; i == 0 && us > 0 && core.Hz > 0 && c.cores > 0 {
			occupied = float64(sum.cycles) / (core.Hz / 1e6 * float64(c.cores) * us) * 100
		}
	}
	m.occupied.Float = append(m.occupied.Float, occupied)
}

// sheet is the table; nil without rows.
func (m *metricSheet) sheet() *trace.Sheet {
	if m == nil || m.rows == 0 {
		return nil
	}
	columns := slices.Clone(m.keys[:])
	for i := range m.kinds {
		columns = append(append(columns, m.kinds[i].time, m.kinds[i].cycles), m.kinds[i].values...)
	}
	s := trace.NewSheet("pmu", append(columns, m.occupied)...)
	s.Rows = m.rows
	s.Trim()
	return s
}

// tick is a clock that was in force from a count on.
type tick struct {
	count uint64
	mhz   float64
}

// mhzAt is the clock of the cores at count: on the chips that report theirs, the last one before; nominal for others, and where
// the device reports a stop.
func (d *deviceData) mhzAt(count uint64, nominal float64) float64 {
	if d.info.Platform.number() != 5 || count == 0 || d.stopped {
		return nominal
	}
	at, _ := slices.BinarySearchFunc(d.ticks, count, func(t tick, count uint64) int {
		if t.count <= count {
			return -1
		}
		return 1
	})
	if at == 0 {
		return nominal
	}
	return d.ticks[at-1].mhz
}
