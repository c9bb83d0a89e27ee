package msprof

import (
	"cmp"
	"math"
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// metricTable is the table of derived metrics, a row a kernel. Its columns are computed when somebody asks for them: it keeps the
// counters.
type metricTable struct {
	tasks   []task
	clock   clock
	offset  int64
	device  uint16
	rows    []kernelRow
	texts   []string // of the recorder's names
	kinds   [2]kindMetrics
	unknown int64 // rows without a number of blocks
	counted
}

// kernelRow is a kernel whose cycles were counted.
type kernelRow struct {
	task        int32 // row of the tasks
	stream, id  uint32
	blocks, mix uint32 // mix is the number of blocks on the other kind of core
	name, op    trace.StringID
}

// kindMetrics is the metrics of a kind of core.
type kindMetrics struct {
	prefix, time string
	formulas     []ascend.Formula
	cores        int64
	mhz          float64
	some, timed  bool // it counted at all; with a number of blocks
}

// split says whether cube and vector cores count apart: their metrics have names of their own.
func (d *deviceData) split() bool {
	return d.platform == 5 || d.platform >= 9
}

// nominalMHz is the clock that the cores are made for.
func (d *deviceData) nominalMHz(vector bool) float64 {
	if len(d.info.Devices) == 0 {
		return 0
	}
	v := &d.info.Devices[0]
	if vector {
		return float64(cmp.Or(v.VectorMHz, v.CubeMHz).hertz()) / 1e6
	}
	return float64(v.CubeMHz.hertz()) / 1e6
}

func newMetricTable(d *deviceData) *metricTable {
	m := &metricTable{tasks: d.tasks, clock: d.clock, offset: d.offset, device: d.number, rows: make([]kernelRow, 0, len(d.counts)), counted: d.counted}
	var v device
	if len(d.info.Devices) > 0 {
		v = d.info.Devices[0]
	}
	m.kinds[0] = kindMetrics{prefix: "aic_", time: "aicore_time_us", formulas: ascend.Formulas(events(d.sample.CubeEvents), d.platform), cores: int64(v.Cube.number()), mhz: d.nominalMHz(false)}
	m.kinds[1] = kindMetrics{prefix: "aiv_", time: "aiv_time_us", formulas: ascend.Formulas(events(d.sample.VectorEvents), d.platform), cores: int64(v.Vector.number()), mhz: d.nominalMHz(true)}
	if !d.split() {
		m.kinds[0].prefix = ""
	}
	return m
}

// add takes kernel k, the task row of the device; mix is the number of blocks on the other kind of core.
func (m *metricTable) add(k *trace.Task, row int32, mix uint32) {
	m.rows = append(m.rows, kernelRow{task: row, stream: k.Stream, id: k.Task, blocks: k.Blocks, mix: mix, name: k.Name, op: k.Op})
	for kind := range m.kinds {
		at := m.kind(row, kind == 1)
		if at < 0 {
			continue
		}
		m.kinds[kind].some = true
		if m.blocksOf(&m.rows[len(m.rows)-1], at) == 0 {
			m.unknown++
		} else {
			m.kinds[kind].timed = true
		}
	}
}

// blocksOf is on how many blocks the counts of place at were taken.
func (m *metricTable) blocksOf(r *kernelRow, at int32) int64 {
	if m.counts[at].whole {
		return int64(r.blocks)
	}
	return int64(r.mix)
}

// core is what the formulas need to know of row i beside the counters, and where those are; at is -1 when nothing was counted
// on the kind of core.
func (m *metricTable) core(i, kind int) (at int32, c ascend.Core) {
	r := &m.rows[i]
	if at = m.kind(r.task, kind == 1); at >= 0 {
		k := &m.kinds[kind]
		c = ascend.Core{Cycles: m.counts[at].cycles, Hz: m.counts[at].mhz * 1e6, NominalHz: k.mhz * 1e6, Blocks: m.blocksOf(r, at), Cores: k.cores}
	}
	return at, c
}

// span is when the kernel of row i ran.
func (m *metricTable) span(i int) (from, to int64) {
	t := &m.tasks[m.rows[i].task]
	return m.clock.span(t.start, t.end)
}

// occupation is how busy the cube cores were during the kernel of row i, in percent.
func (m *metricTable) occupation(i int) float64 {
	at, c := m.core(i, 0)
	from, to := m.span(i)
	us := float64(to-from) / 1000
	if at < 0 || us <= 0 || c.Hz <= 0 || c.Cores <= 0 {
		return math.NaN()
	}
	return float64(c.Cycles) / (c.Hz / 1e6 * float64(c.Cores) * us) * 100
}

// sheet is the table; nil without rows. No task is added any more.
func (m *metricTable) sheet(texts []string) *trace.Sheet {
	if m == nil || len(m.rows) == 0 {
		return nil
	}
	m.texts = texts
	n := len(m.rows)
	columns := []trace.SheetColumn{
		trace.ComputedInt("device", n, func(int) int64 { return int64(m.device) }),
		trace.ComputedInt("stream", n, func(i int) int64 { return int64(m.rows[i].stream) }),
		trace.ComputedInt("task", n, func(i int) int64 { return int64(m.rows[i].id) }),
		trace.ComputedInt("start_ns", n, func(i int) int64 { from, _ := m.span(i); return from + m.offset }),
		trace.ComputedInt("duration_ns", n, func(i int) int64 { from, to := m.span(i); return to - from }),
		trace.ComputedText("name", n, func(i int) string { return m.texts[m.rows[i].name] }),
		trace.ComputedText("op_type", n, func(i int) string { return m.texts[m.rows[i].op] }),
	}
	for kind := range m.kinds {
		if m.kinds[kind].some {
			columns = append(columns, m.columns(kind)...)
		}
	}
	if m.kinds[0].some {
		columns = append(columns, trace.ComputedFloat("cube_utilization_percent", n, m.occupation))
	}
	s := trace.NewSheet("pmu", columns...)
	s.Rows = n
	s.Trim()
	return s
}

// columns is the columns of a kind of core.
func (m *metricTable) columns(kind int) []trace.SheetColumn {
	k, n := &m.kinds[kind], len(m.rows)
	var columns []trace.SheetColumn
	if k.timed {
		columns = append(columns, trace.ComputedFloat(k.time, n, func(i int) float64 {
			at, core := m.core(i, kind)
			if at < 0 {
				return math.NaN()
			}
			return core.TimeUs()
		}))
	}
	columns = append(columns, trace.ComputedInt(k.prefix+"total_cycles", n, func(i int) int64 {
		if at := m.kind(m.rows[i].task, kind == 1); at >= 0 {
			return m.counts[at].cycles
		}
		return trace.NoInt
	}))
	for f := range k.formulas {
		formula := &k.formulas[f]
		if formula.OfTime() && !k.timed {
			continue
		}
		columns = append(columns, trace.ComputedFloat(k.prefix+formula.Name, n, func(i int) float64 {
			at, core := m.core(i, kind)
			if at < 0 {
				return math.NaN()
			}
			return formula.Value(m.values(at), &core)
		}))
	}
	return columns
}

// tick is a clock that was in force from a count on.
type tick struct {
	count uint64
	mhz   float64
}

// mhzAt is the clock of the cores at count: on the chips that report theirs, the last one before; nominal for others, and where
// the device reports a stop.
func (d *deviceData) mhzAt(count uint64, nominal float64) float64 {
	if d.platform != 5 || count == 0 || d.stopped {
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
