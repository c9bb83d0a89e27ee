package stats

import (
	"strings"

	"npu/internal/trace"
)

// Answer is a question that people ask of traces: whether this one can answer it, with which command, and if not, what to switch on
// the next time.
type Answer struct {
	Question string `json:"question"`
	Answered bool   `json:"answered"`
	With     string `json:"with"`
	Collect  string `json:"collect,omitempty"` // what is needed for the answer
}

const shapes = "which shapes it had"

// known is what tasks say of themselves.
type known struct{ typed, submitted, collectives, cycles bool }

func (x *known) add(v *view) {
	for i := range v.n {
		x.typed = x.typed || v.kind[i].Kernel() && v.op[i] != 0
		x.submitted = x.submitted || v.flags[i]&trace.FlagNoSubmit == 0
		x.collectives = x.collectives || v.kind[i] == trace.Communication
		x.cycles = x.cycles || v.acct[i] != 0
	}
}

// answers says what the trace can tell.
func (c *InfoCollector) answers(t *trace.Trace) []Answer {
	k := &c.known
	memory := false
	for _, c := range t.Counters.All() {
		if name := t.String(c.Name); strings.Contains(name, "(bytes)") || strings.Contains(name, "(KB)") {
			memory = true
			break
		}
	}
	s := &t.Source
	bounds := "npu trace stats --only pmu"
	if s.Sheet("pmu") == nil && s.Sheet("pipe_utilization") != nil {
		bounds = "npu trace query 'select * from pipe_utilization'" // of "msprof op": by block, of one operator
	}
	list := []Answer{
		{"where the device time went", c.rows > 0 || len(s.Totals) > 0, "npu trace stats", "--task-time=l0 or more"},
		{"which operator types take it", k.typed || len(s.Totals) > 0, "npu trace stats --only op_types", "--task-time=l1 (torch_npu: profiler_level Level1)"},
		{"what bounds a kernel", k.cycles || s.Sheet("pmu") != nil || s.Sheet("pipe_utilization") != nil, bounds, "--ai-core=on --aic-metrics=PipeUtilization (torch_npu: aic_metrics)"},
		{shapes, s.Sheet("op_details") != nil, "npu trace query 'select name, input_shapes from op_details'", "--task-time=l1 (torch_npu: profiler_level Level1)"},
		{"why the device was idle", k.submitted, "npu trace stats --only idle,streams", "the host's calls: --ascendcl=on --runtime-api=on"},
		{"what the host did", c.calls > 0, "npu trace stats --only apis", "--ascendcl=on --runtime-api=on (torch_npu: activities CPU)"},
		{"how long communication took", k.collectives || s.Sheet("communication") != nil, "npu trace stats --only collectives,communication", "--hccl=on (torch_npu: profiler_level Level1)"},
		{"how fast the links are", s.Sheet("communication_matrix") != nil, "npu trace stats --only links", "--hccl=on and analysis (torch_npu: profiler_level Level1)"},
		{"how much memory is in use", memory || s.Sheet("operator_memory") != nil, "npu trace stats --only counters", "--sys-hardware-mem=on (torch_npu: profile_memory=True)"},
		{"how long a step takes", len(s.Steps) > 0, "npu trace stats --only steps", "torch_npu: prof.step() and analysis"},
		{"which rank is late", s.Ranks > 1, "npu trace stats --only devices,steps", "the directories of all ranks"},
	}
	for i := range list {
		if list[i].Answered {
			list[i].Collect = ""
		}
		if list[i].Question == shapes && s.Records["node_basic_info"] > 0 {
			list[i].Collect = "operators that tell their tensors: those of aclnn, graphs and torch_npu do, kernels launched by hand do not"
		}
	}
	if t.Source.Format == "run" || strings.HasPrefix(t.Source.Format, "npt") || strings.HasPrefix(t.Source.Format, "npu ") {
		own := list[:0]
		for _, a := range list {
			if a.Answered {
				own = append(own, a)
			}
		}
		return own // what the simulator records is not switched on by the vendor's options
	}
	return list
}

// Gap is the longest time in which a device ran nothing.
type Gap struct {
	Device  uint16 `json:"device"`
	StartNs int64  `json:"start_ns"`
	Ns      int64  `json:"ns"`
}

// gaps finds them, a device each.
type gaps struct {
	devices []gap
	at      map[uint16]int
}

type gap struct {
	Gap
	end  int64
	some bool
}

func (g *gaps) add(v *view) {
	if g.at == nil {
		g.at = map[uint16]int{}
	}
	last, index := uint16(0), -1
	for i := range v.n {
		d := v.device[i]
		if index < 0 || d != last {
			k, ok := g.at[d]
			if !ok {
				k = len(g.devices)
				g.at[d] = k
				g.devices = append(g.devices, gap{Gap: Gap{Device: d}})
			}
			last, index = d, k
		}
		s := &g.devices[index]
		start, end := v.start[i], v.end[i]
		if s.some && start-s.end > s.Ns {
			s.StartNs, s.Ns = s.end, start-s.end
		}
		if !s.some || end > s.end {
			s.end, s.some = end, true
		}
	}
}

// list is the devices that have one.
func (g *gaps) list() []Gap {
	out := []Gap{}
	for _, s := range g.devices {
		if s.Ns > 0 {
			out = append(out, s.Gap)
		}
	}
	return out
}
