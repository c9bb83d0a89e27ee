package pmu

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// Sheet is the table "pmu" of a trace: for each kernel the metrics that the group gives, by the formulas and under the
// names of the vendor's tools. counted is what kernels count; tasks of others have no row.
func (u *Unit) Sheet(t *trace.Trace, counted map[Key]Counters) *trace.Sheet {
	var keys []trace.SheetColumn
	for _, name := range []string{"device", "stream", "task", "start_ns", "duration_ns"} {
		keys = append(keys, trace.IntColumn(name))
	}
	keys = append(keys, trace.TextColumn("name"), trace.TextColumn("op_type"))
	occupied := trace.FloatColumn("cube_utilization_percent")
	prefix := "aic_"
	if !u.chip.Split {
		prefix = ""
	}
	kinds := [2]*columns{u.columns(cost.AIC, prefix, "aicore_time_us"), u.columns(cost.AIV, "aiv_", "aiv_time_us")}
	rows := 0
	for _, k := range t.Tasks.All() {
		c, ok := counted[Key{t.String(k.Name), t.Account(k.Acct)}]
		if !ok || !k.Kind.Kernel() {
			continue
		}
		for i, v := range []any{int64(k.Device), int64(k.Stream), int64(k.Task), k.Start, k.End - k.Start, t.String(k.Name), t.String(k.Op)} {
			keys[i].Add(v)
		}
		kind := 0
		if c.Core == cost.AIV && u.chip.VectorCores > 0 {
			kind = 1
		}
		kinds[kind].add(&c)
		kinds[1-kind].none()
		var share any
		if ns := k.End - k.Start; kind == 0 && ns > 0 {
			share = float64(c.Cycles) / (kinds[0].core.Hz / 1e9 * float64(kinds[0].core.Cores) * float64(ns)) * 100
		}
		occupied.Add(share)
		rows++
	}
	for _, k := range kinds {
		keys = append(append(keys, k.time, k.cycles), k.values...)
	}
	s := trace.NewSheet("pmu", append(keys, occupied)...)
	s.Rows = rows
	s.Trim()
	return s
}

// Note says what the table leaves open; empty when nothing.
func (u *Unit) Note() string {
	silent := u.Silent()
	if len(silent) == 0 {
		return ""
	}
	text := ""
	for i, e := range silent {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("0x%x", e)
	}
	return "PMU events that the simulator does not model count 0: " + text
}

// columns are the metrics of one kind of core.
type columns struct {
	core         ascend.Core
	formulas     []ascend.Formula
	time, cycles trace.SheetColumn
	values       []trace.SheetColumn
}

func (u *Unit) columns(core cost.Core, prefix, time string) *columns {
	hz := u.Hertz(core)
	c := &columns{core: ascend.Core{Hz: hz, NominalHz: hz, Cores: int64(cost.Units(u.chip, core))}, formulas: ascend.Formulas(u.Events(core), Platform(u.chip)),
		time: trace.FloatColumn(time), cycles: trace.IntColumn(prefix + "total_cycles")}
	for i := range c.formulas {
		c.values = append(c.values, trace.FloatColumn(prefix+c.formulas[i].Name))
	}
	return c
}

func (c *columns) add(n *Counters) {
	core := c.core
	core.Cycles, core.Blocks = n.Cycles, int64(n.Blocks)
	c.time.Add(core.TimeUs())
	c.cycles.Add(n.Cycles)
	for i := range c.formulas {
		c.values[i].Add(c.formulas[i].Value(n.Values[:], &core))
	}
}

func (c *columns) none() {
	c.time.Add(nil)
	c.cycles.Add(nil)
	for i := range c.values {
		c.values[i].Add(nil)
	}
}
