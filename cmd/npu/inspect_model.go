package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/model/plan"
	"npu/internal/sim/soc"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// modelInfo is what "npu inspect --json" prints of an ONNX model; the keys are those of every model file.
type modelInfo struct {
	Kind         string         `json:"kind"`
	Name         string         `json:"name"`
	Compiler     string         `json:"compiler"`
	IRVersion    int64          `json:"ir_version"`
	Opset        int            `json:"opset"`
	Inputs       []portInfo     `json:"inputs"`
	Outputs      []portInfo     `json:"outputs"`
	Ops          map[string]int `json:"ops"`
	WeightsBytes int            `json:"weights_bytes"`
	FileBytes    int            `json:"file_bytes"`
	// With --tasks or --memory, which need all shapes.
	Tasks       map[string]int    `json:"tasks,omitempty"`
	MemoryBytes *model.MemoryPlan `json:"memory_bytes,omitempty"`
}

type portInfo struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Shape  string `json:"shape"`
	Format string `json:"format"`
	Bytes  *int   `json:"bytes"`
}

func inspectONNX(o *inspectOptions) error {
	src, err := onnx.Read(o.file)
	if err != nil {
		return err
	}
	if o.dot || o.raw {
		g, err := src.Graph()
		if err != nil {
			return err
		}
		if o.dot {
			return graph.WriteDOT(o.out, g)
		}
		_, err = io.WriteString(o.out, g.String())
		return err
	}
	info := modelInfo{Kind: "onnx", Name: src.GraphName, Compiler: strings.TrimSpace(src.Producer + " " + src.ProducerVersion),
		IRVersion: src.IRVersion, Opset: src.Opset(), Ops: src.Ops, WeightsBytes: src.WeightBytes, FileBytes: src.Bytes}
	info.Inputs, info.Outputs = ports(src.Inputs), ports(src.Outputs)
	var p *plan.Plan
	if o.tasks || o.memory || o.check {
		shapes, err := model.ParseShapes(o.shapes)
		if err != nil {
			return err
		}
		m, err := model.Open(o.file, model.Options{Shapes: shapes})
		if err != nil {
			return err
		}
		p = m.Plan
		info.Tasks = map[string]int{}
		countTasks(info.Tasks, p.Steps)
		if info.MemoryBytes, err = o.memoryPlan(m); err != nil {
			return err
		}
	}
	if o.json {
		return o.printJSON(info)
	}
	return o.printModel(&info, p)
}

func ports(list []onnx.ValueInfo) []portInfo {
	out := []portInfo{}
	for _, v := range list {
		p := portInfo{Name: v.Name, DType: v.DType.String(), Format: "ND"}
		if v.Kind != "tensor" {
			p.DType = v.Kind
		}
		var dims []string
		for _, d := range v.Dims {
			switch {
			case d.Size >= 0:
				dims = append(dims, fmt.Sprint(d.Size))
			case d.Symbol != "":
				dims = append(dims, d.Symbol)
			default:
				dims = append(dims, "?")
			}
		}
		p.Shape = strings.Join(dims, "x")
		switch {
		case !v.Known:
			p.Shape = "unknown"
		case len(dims) == 0:
			p.Shape = "scalar"
		}
		if n, err := v.Shape().Bytes(v.DType); err == nil && v.Known {
			p.Bytes = &n
		}
		out = append(out, p)
	}
	return out
}

// countTasks counts what the steps become on the device, by kind.
func countTasks(n map[string]int, steps []plan.Step) {
	for i := range steps {
		switch s := &steps[i]; s.Kind {
		case plan.Launch:
			n[s.Kernel.Core.String()]++
		case plan.Communicate:
			n[trace.Communication.String()]++
		case plan.Copy:
			n[trace.Memcpy.String()]++
		case plan.Branch:
			n[trace.LabelSwitch.String()]++
			n[trace.LabelGoto.String()]++
		}
		countTasks(n, steps[i].Then)
		countTasks(n, steps[i].Else)
	}
}

func (o *inspectOptions) printModel(info *modelInfo, p *plan.Plan) error {
	w := &printer{s: o.streams}
	w.line("file", "%s, ONNX model, %s", o.file, bytesText(int64(info.FileBytes)))
	w.line("name", "%s", info.Name)
	w.line("made by", "%s, IR version %d, opset %d", info.Compiler, info.IRVersion, info.Opset)
	n := 0
	for _, c := range info.Ops {
		n += c
	}
	w.line("weights", "%s", bytesText(int64(info.WeightsBytes)))
	w.line("nodes", "%d of %d operator types", n, len(info.Ops))
	for _, io := range []struct {
		what string
		list []portInfo
	}{{"input", info.Inputs}, {"output", info.Outputs}} {
		for _, x := range io.list {
			size := "size depends on the shape"
			if x.Bytes != nil {
				size = fmt.Sprintf("%d bytes", *x.Bytes)
			}
			w.line(io.what, "%s %s %s, %s", x.Name, x.DType, x.Shape, size)
		}
	}
	if o.ops {
		w.printf("\noperators\n")
		for _, name := range slices.Sorted(maps.Keys(info.Ops)) {
			w.printf("  %6d× %s\n", info.Ops[name], name)
		}
	}
	if p != nil && o.tasks {
		w.printf("\ntasks\n")
		w.assigned(p.Steps, info.MemoryBytes.Assignment)
	}
	if p != nil && o.memory {
		w.printf("\nmemory plan\n")
		w.memory(info.MemoryBytes)
	}
	if p != nil && o.check {
		w.printf("\nvalid: every operator is supported, shapes agree\n")
	}
	return w.err
}

// memoryPlan plans a model's memory as running it does.
func (o *inspectOptions) memoryPlan(m *model.Model) (*model.MemoryPlan, error) {
	n, err := streamLimit(o.streamCount)
	if err != nil {
		return nil, err
	}
	name := m.Soc
	if name == "" {
		name = m.SocGuess
	}
	chip, err := soc.Lookup(name)
	if err != nil {
		chip, err = soc.Lookup(soc.Default)
	}
	if err != nil {
		return nil, err
	}
	p := m.MemoryPlan(chip, n)
	return &p, nil
}

// memory prints a plan against its lower bound.
func (p *printer) memory(m *model.MemoryPlan) {
	p.line("weights", "%s resident", bytesText(m.Weights))
	p.line("features", "%s on one stream, %s", bytesText(m.Features), above(m.Features, m.LowerBound))
	if m.Streams > 1 {
		p.line("", "%s on %d streams, notifies between them %d, %s", bytesText(m.SpreadFeatures), m.Streams, m.Assignment.Notifies, above(m.SpreadFeatures, m.SpreadLower))
	}
}

// above says how far a plan lies above what it needs at least.
func above(n, bound int64) string {
	over := 0.0
	if bound > 0 {
		over = 100 * (float64(n)/float64(bound) - 1)
	}
	return fmt.Sprintf("lower bound %s (%.1f %% above it)", bytesText(bound), over)
}

// assigned lists compiled tasks with the stream of each and what it waits for on other streams; of one stream as they are.
func (p *printer) assigned(steps []plan.Step, s *plan.Streams) {
	if len(s.Lanes) == 1 {
		p.steps(steps, "  ")
		return
	}
	lane, recorder := make([]int, len(steps)), make([]int, s.Notifies)
	for l, x := range s.Lanes {
		for _, i := range x.Steps {
			lane[i] = l
		}
	}
	for i, list := range s.Records {
		for _, n := range list {
			recorder[n] = i
		}
	}
	for i := range steps {
		for _, n := range s.Waits[i] {
			p.printf("  stream %d  %-16s %-22s %s on stream %d\n", lane[i], trace.NotifyWait, "", steps[recorder[n]].Name, lane[recorder[n]])
		}
		p.printf("  stream %d", lane[i])
		p.steps(steps[i:i+1], "  ")
	}
	for _, n := range s.Join {
		p.printf("  stream 0  %-16s %-22s %s on stream %d, at the end\n", trace.NotifyWait, "", steps[recorder[n]].Name, lane[recorder[n]])
	}
}

// steps lists compiled tasks, branches indented.
func (p *printer) steps(steps []plan.Step, indent string) {
	for i := range steps {
		s := &steps[i]
		switch s.Kind {
		case plan.Launch:
			p.printf("%s%-16s %-22s %s\n", indent, s.Kernel.Core, s.Kernel.Type, s.Name)
		case plan.Communicate:
			p.printf("%s%-16s %-22s %s\n", indent, trace.Communication, s.Op, s.Name)
		case plan.Copy:
			p.printf("%s%-16s %-22s %s\n", indent, trace.Memcpy, "", s.Name)
		case plan.Branch:
			p.printf("%s%-16s %-22s %s\n", indent, trace.LabelSwitch, "then", s.Name)
			p.steps(s.Then, indent+"  ")
			p.printf("%s%-16s %-22s\n", indent, trace.LabelGoto, "else")
			p.steps(s.Else, indent+"  ")
		}
	}
}

// inspectTrace shows a capture as "npu trace info" does.
func inspectTrace(ctx context.Context, o *inspectOptions) error {
	return readTrace(ctx, o.file, func(t *trace.Trace) error {
		if o.check {
			if err := t.Check(); err != nil {
				return err
			}
		}
		in := stats.NewInfo(t)
		if o.json {
			return o.printJSON(in)
		}
		return printTraceInfo(o.streams, &in)
	})
}
