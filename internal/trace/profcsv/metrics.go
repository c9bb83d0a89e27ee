package profcsv

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// metric is a column of the PMU: all groups have their own, and new ones come with new chips.
type metric struct {
	at      int
	meaning ascend.Metric // in cycle accounts; the zero value for the others
	column  trace.SheetColumn
}

// metrics finds the PMU columns: those behind the context id, where the exporters put them, and those with known names.
func (t *table) metrics() []metric {
	after := len(t.header)
	if at := t.find("Context ID"); at >= 0 {
		after = at
	}
	var out []metric
	for i, name := range t.header {
		if name == "" || i <= after && !ascend.IsMetric(name) {
			continue
		}
		out = append(out, metric{at: i, meaning: ascend.MetricOf(strings.TrimSuffix(name, "(us)")), column: trace.FloatColumn(trace.Word(name))})
	}
	return out
}

// account reads the metrics of the row at hand into the columns of the sheet, and makes the sums of a cycle account.
func (r *reading) account(metrics []metric) (sum ascend.Metrics, some bool) {
	for i := range metrics {
		m := &metrics[i]
		v, err := strconv.ParseFloat(r.cell(m.at), 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			m.column.Float = append(m.column.Float, math.NaN())
			continue
		}
		some = true
		m.column.Float = append(m.column.Float, v)
		sum.Set(m.meaning, v)
	}
	return sum, some
}

// forget takes back what account added for a row without metrics.
func forget(metrics []metric) {
	for i := range metrics {
		c := &metrics[i].column
		c.Float = c.Float[:len(c.Float)-1]
	}
}

// describing is the columns that say more of an operator than a task holds.
var describing = []string{"OP State", "HF32 Eligible", "Task Wait Time(us)", "Wait Time(us)", "Mix Block Num", "Mix Block Dim", "Input Shapes", "Input Data Types", "Input Formats",
	"Output Shapes", "Output Data Types", "Output Formats", "Step Id", "Model Name", "Infer ID"}

// details collects the describing columns.
type details struct {
	columns []column
}

func (r *reading) details() details {
	var d details
	for _, name := range describing {
		at := r.find(name)
		if at < 0 {
			continue
		}
		base, ns, _ := unitOf(name)
		c := column{at: at, unit: ns}
		if c.Name = trace.Word(strings.TrimPrefix(base, "Task ")); ns > 0 {
			c.Name += "_ns"
		}
		c.SheetColumn.Type = trace.ColumnInt
		d.columns = append(d.columns, c)
	}
	return d
}

// keys is the columns that say which task a row of a sheet is of.
type keys struct {
	device, stream, task, start, duration trace.SheetColumn
	name, op                              trace.SheetColumn
	rows                                  int
}

func newKeys() *keys {
	return &keys{
		device: trace.IntColumn("device"), stream: trace.IntColumn("stream"), task: trace.IntColumn("task"), start: trace.IntColumn("start_ns"),
		duration: trace.IntColumn("duration_ns"), name: trace.TextColumn("name"), op: trace.TextColumn("op_type"),
	}
}

func (k *keys) add(t *trace.Task, name, op string) {
	k.device.Int = append(k.device.Int, int64(t.Device))
	k.stream.Int = append(k.stream.Int, int64(t.Stream))
	k.task.Int = append(k.task.Int, int64(t.Task))
	k.start.Int = append(k.start.Int, t.Start)
	k.duration.Int = append(k.duration.Int, t.End-t.Start)
	k.name.Text = append(k.name.Text, name)
	k.op.Text = append(k.op.Text, op)
	k.rows++
}

// sheet joins the keys with columns of the same rows.
func (k *keys) sheet(name string, columns []trace.SheetColumn) *trace.Sheet {
	s := trace.NewSheet(name, slices.Concat([]trace.SheetColumn{k.device, k.stream, k.task, k.start, k.duration, k.name, k.op}, columns)...)
	s.Rows = k.rows
	s.Trim()
	keysLeft := 0
	for _, name := range []string{"device", "stream", "task", "start_ns", "duration_ns", "name", "op_type"} {
		if s.Column(name) != nil {
			keysLeft++
		}
	}
	if len(s.Columns) == keysLeft {
		return nil // keys alone
	}
	return s
}
