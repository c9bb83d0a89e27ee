package timeline

import (
	"math"

	"npu/internal/trace"
	"npu/internal/trace/lod"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// pipe is one of the pipes of a core, with its cycles of an account.
type pipe struct {
	name string
	of   func(*trace.Account) int64
}

// pipesOf is the pipes of an engine's cores.
func pipesOf(e trace.Engine) []pipe {
	mte2 := pipe{"MTE2", func(a *trace.Account) int64 { return a.MTE2 }}
	mte3 := pipe{"MTE3", func(a *trace.Account) int64 { return a.MTE3 }}
	scalar := pipe{"scalar", func(a *trace.Account) int64 { return a.Scalar }}
	switch e {
	case trace.EngineCube:
		return []pipe{{"cube", func(a *trace.Account) int64 { return a.Cube }}, {"MTE1", func(a *trace.Account) int64 { return a.MTE1 }}, mte2, mte3,
			{"fixpipe", func(a *trace.Account) int64 { return a.Fixpipe }}, scalar}
	case trace.EngineVector:
		return []pipe{{"vector", func(a *trace.Account) int64 { return a.Vector }}, mte2, mte3, scalar}
	}
	return nil
}

// pipeLanes is a lane for each pipe that a task of an engine used: the engine's tasks, drawn by how busy they keep the pipe.
func (d *Data) pipeLanes(engine *Lane) []*Lane {
	var out []*Lane
	for _, p := range pipesOf(trace.Engine(engine.ID)) {
		for i := range d.T.Accounts {
			if p.of(&d.T.Accounts[i]) > 0 {
				out = append(out, &Lane{Name: "  " + p.name, Kind: engine.Kind, Device: engine.Device, ID: engine.ID, Group: engine.Group, index: engine.index, pipe: &p})
				break
			}
		}
	}
	return out
}

// showPipes shows the pipes of the engines below them, or hides them.
func (m *model) showPipes(on bool) {
	if m.piped = on; !on {
		if m.at.lane != nil && m.at.lane.pipe != nil {
			m.stand(0)
		}
		m.arrange()
		return
	}
	m.pipes = map[*Lane][]*Lane{}
	some := false
	for _, l := range m.d.Lanes {
		if l.Kind == Engine {
			m.pipes[l] = m.d.pipeLanes(l)
			some = some || len(m.pipes[l]) > 0
		}
	}
	if !some {
		m.piped = false
		m.say("this trace has no cycles of pipes: npu run records them, a profiler with its PMU counters")
		return
	}
	m.arrange()
}

// drawPipe draws how busy a pipe is: by the task that has most of a cell, while tasks run.
func (m *model) drawPipe(a cell.Area, l *Lane) {
	m.cells = grown(m.cells, a.W)
	l.index.Cells(m.from, m.to, m.cells)
	out := make([]float64, a.W)
	for x, c := range m.cells {
		out[x] = math.NaN()
		width := lod.Edge(m.from, m.to, x+1, a.W) - lod.Edge(m.from, m.to, x, a.W)
		if c.Count == 0 {
			continue
		}
		acct := m.d.T.Account(m.d.T.Tasks.Acct.At(l.index.Row(c.At)))
		if acct.Total > 0 {
			out[x] = min(1, float64(l.pipe.of(&acct))/float64(acct.Total)*min(1, float64(c.Busy)/float64(max(width, 1))))
		}
	}
	widget.Graph(a, stretched(out, widget.PerCell(m.th.Glyphs)), theme.UtilRamp, m.th.Glyphs)
}
