package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/model/om"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// omInfo is what "npu inspect --json" prints of an offline model.
type omInfo struct {
	Kind          string            `json:"kind"`
	File          string            `json:"file"`
	FileBytes     int               `json:"file_bytes"`
	Name          string            `json:"name"`
	Model         string            `json:"model"`
	Soc           *string           `json:"soc"`
	SocReason     string            `json:"soc_reason,omitempty"`
	LoadsOn       []string          `json:"loads_on"`
	Compiler      *string           `json:"compiler"`
	CompilerNote  string            `json:"compiler_reason,omitempty"`
	Toolkit       string            `json:"toolkit,omitempty"`
	Framework     string            `json:"framework,omitempty"`
	CommandLine   string            `json:"command_line,omitempty"`
	Inputs        []omPort          `json:"inputs"`
	Outputs       []omPort          `json:"outputs"`
	Gears         *omGears          `json:"gears"`
	Models        int               `json:"models"`
	Dynamic       bool              `json:"dynamic_shape"`
	HostEnv       string            `json:"host_env,omitempty"`
	OppVersion    string            `json:"opp_version,omitempty"`
	Streams       *int64            `json:"streams"`
	Events        *int64            `json:"events"`
	Labels        *int64            `json:"labels"`
	Tasks         map[string]int    `json:"tasks"`
	Ops           map[string]int    `json:"ops"`
	FrameworkOps  map[string]int    `json:"framework_ops,omitempty"`
	Memory        *int64            `json:"memory_bytes"`
	Weights       *int64            `json:"weights_bytes"`
	ZeroCopy      *int64            `json:"zero_copy_bytes"`
	UnknownReason string            `json:"unknown_reason,omitempty"`
	Kernels       int               `json:"kernels"`
	HostLibs      int               `json:"host_libraries"`
	Partitions    []omPartition     `json:"partitions"`
	Header        om.Header         `json:"header"`
	Nested        []omNested        `json:"nested,omitempty"`
	Notes         []string          `json:"notes"`
	Graphs        []omGraph         `json:"graphs,omitempty"`      // --ops
	TaskList      []omTask          `json:"task_list,omitempty"`   // --tasks
	Plan          *om.MemoryUse     `json:"memory_plan,omitempty"` // --memory: the file's own,
	RunPlan       *model.MemoryPlan `json:"run_plan,omitempty"`    // and that of running it here
	RunPlanReason string            `json:"run_plan_reason,omitempty"`
}

type omPort struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	Format string  `json:"format"`
	Bytes  *int64  `json:"bytes"`
	AIPP   string  `json:"aipp,omitempty"`
}

type omGears struct {
	Flag   string    `json:"flag"`
	Values [][]int64 `json:"values"`
}

type omPartition struct {
	Model  int    `json:"model"`
	Name   string `json:"name"`
	Type   uint32 `json:"type"`
	Offset int    `json:"offset"`
	Bytes  int    `json:"bytes"`
}

type omNested struct {
	Name  string         `json:"name"`
	Type  string         `json:"type"`
	Bytes int            `json:"bytes"`
	Ops   map[string]int `json:"ops"`
}

type omGraph struct {
	Name string `json:"name"`
	Ops  []omOp `json:"ops"`
}

type omOp struct {
	ID      int64    `json:"id"`
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Stream  int64    `json:"stream"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Kernel  string   `json:"kernel,omitempty"`
}

type omTask struct {
	Type     string `json:"type"`
	Stream   uint32 `json:"stream"`
	Event    uint32 `json:"event,omitempty"`
	Op       string `json:"op,omitempty"`
	OpType   string `json:"op_type,omitempty"`
	BlockDim uint32 `json:"block_dim,omitempty"`
	Bytes    uint64 `json:"bytes,omitempty"`
}

// inspectOM shows an offline model. A file that is damaged further in is shown as far as it could be read.
func inspectOM(_ context.Context, o *inspectOptions, path string) error {
	m, err := om.Read(path)
	if m == nil {
		return err
	}
	if o.dot && err == nil {
		b, err := m.Build(nil)
		if err != nil {
			return problem.Mark(problem.ClassOf(err), fmt.Errorf("%s: %w", path, err))
		}
		return graph.WriteDOT(o.out, b.Graph)
	}
	if o.raw {
		if _, werr := io.WriteString(o.out, m.Text()); werr != nil {
			return werr
		}
		return err
	}
	info := newOMInfo(m, o)
	if o.json {
		if perr := o.printJSON(info); perr != nil {
			return perr
		}
		return err
	}
	if perr := o.printOM(m, info); perr != nil {
		return perr
	}
	if err == nil && o.check {
		_, perr := fmt.Fprintln(o.out, "\nvalid: container, graph, weights, tasks and kernels agree")
		return perr
	}
	return err
}

func newOMInfo(m *om.Model, o *inspectOptions) *omInfo {
	x := &omInfo{Kind: "om", File: o.file, FileBytes: m.Bytes, Name: m.Header.Name, Models: max(1, len(m.Groups)), Header: m.Header, Dynamic: m.Header.Dynamic == 1,
		Toolkit: m.Toolkit(), Framework: m.Attr("framework_type"), CommandLine: m.Attr("atc_cmdline"), OppVersion: m.Attr("opp_version"),
		Tasks: m.TaskTypes(), Ops: m.Ops(), FrameworkOps: m.FrameworkOps(), Kernels: m.KernelCount(), Notes: append([]string{}, m.Problems...), LoadsOn: []string{}, Inputs: []omPort{}, Outputs: []omPort{}}
	if len(m.Groups) > 0 {
		x.Model = m.Groups[0].Name
	}
	if soc, _ := m.Soc(); soc != "" {
		x.Soc, x.LoadsOn = &soc, []string{soc}
	} else {
		x.SocReason = "the file does not say it (compilers before 2021 did not write it)"
	}
	if v := m.Compiler(); v != "" {
		x.Compiler = &v
	} else {
		x.CompilerNote = "the file does not say it"
	}
	if os, cpu := m.Attr("host_env_os"), m.Attr("host_env_cpu"); os != "" || cpu != "" {
		x.HostEnv = os + "/" + cpu
	}
	x.Inputs, x.Outputs = omPorts(m.Inputs()), omPorts(m.Outputs())
	if g := m.Gears(); g != nil {
		x.Gears = &omGears{g.Flag, g.Values}
	}
	for _, f := range []struct {
		name string
		to   **int64
	}{{"stream_num", &x.Streams}, {"event_num", &x.Events}, {"label_num", &x.Labels}, {"memory_size", &x.Memory}, {"weight_size", &x.Weights}, {"zero_copy_memory_size", &x.ZeroCopy}} {
		if n, ok := m.Int(f.name); ok {
			*f.to = &n
		} else if x.UnknownReason == "" {
			x.UnknownReason = "attributes that the file does not have are null"
		}
	}
	for i, g := range m.Groups {
		x.HostLibs += len(g.HostLibs)
		for _, p := range g.Partitions {
			x.Partitions = append(x.Partitions, omPartition{i, p.Type.String(), uint32(p.Type), p.Offset, len(p.Data)})
		}
	}
	for _, n := range m.Nested {
		e := omNested{Name: n.Name, Type: n.Type, Bytes: n.Bytes}
		if n.Model != nil {
			e.Ops = n.Model.Ops()
		}
		x.Nested = append(x.Nested, e)
	}
	x.details(m, o)
	return x
}

// details adds what the flags ask for.
func (x *omInfo) details(m *om.Model, o *inspectOptions) {
	for _, g := range m.Groups {
		if o.ops && g.Def != nil {
			for _, gr := range g.Def.Graphs {
				e := omGraph{Name: gr.Name, Ops: []omOp{}}
				for _, op := range gr.Ops {
					e.Ops = append(e.Ops, omOp{ID: op.ID, Type: op.Type, Name: op.Name, Stream: op.Stream, Inputs: descTexts(op.In), Outputs: descTexts(op.Out), Kernel: op.KernelName()})
				}
				x.Graphs = append(x.Graphs, e)
			}
		}
		if o.tasks {
			for i := range g.Tasks {
				t := &g.Tasks[i]
				e := omTask{Type: t.Type.String(), Stream: t.Stream, Event: t.Event, BlockDim: t.BlockDim, Bytes: t.Count}
				if op := g.OpOf(t); op != nil {
					e.Op, e.OpType = op.Name, op.Type
				}
				x.TaskList = append(x.TaskList, e)
			}
		}
	}
	if o.memory {
		x.Plan = m.MemoryUse()
		o.runPlan(x)
	}
}

// runPlan plans the memory of running the file here.
func (o *inspectOptions) runPlan(x *omInfo) {
	shapes, err := model.ParseShapes(o.shapes)
	var m *model.Model
	if err == nil {
		m, err = model.Open(o.file, model.Options{Shapes: shapes})
	}
	if err == nil {
		x.RunPlan, err = o.memoryPlan(m)
	}
	if err != nil {
		x.RunPlanReason = strings.TrimPrefix(err.Error(), o.file+": ")
	}
}

func omPorts(list []om.Port) []omPort {
	out := []omPort{}
	for _, p := range list {
		e := omPort{Name: p.Name, DType: p.DType, Shape: p.Shape, Format: p.Format, AIPP: p.AIPP}
		if p.Bytes >= 0 {
			e.Bytes = &p.Bytes
		}
		out = append(out, e)
	}
	return out
}

func descTexts(list []*om.TensorDesc) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, d.String())
	}
	return out
}

func (o *inspectOptions) printOM(m *om.Model, x *omInfo) error {
	w := &printer{s: o.streams}
	w.line("file", "%s, Ascend offline model, %s", o.file, bytesText(int64(x.FileBytes)))
	w.line("name", "%s", x.Name)
	if x.Soc != nil {
		w.line("chip", "%s (loads on this chip only)", *x.Soc)
	} else {
		w.line("chip", "not known: %s", x.SocReason)
	}
	made := "compiler version not stored"
	if x.Compiler != nil {
		made = "compiler " + *x.Compiler
	}
	if x.Toolkit != "" {
		made += ", toolkit " + x.Toolkit
	}
	if x.Framework != "" {
		made += ", from " + x.Framework
	}
	w.line("made by", "%s", made)
	if x.CommandLine != "" {
		w.line("command", "%s", x.CommandLine)
	}
	if x.HostEnv != "" {
		w.line("host", "%s, operator package %s", x.HostEnv, x.OppVersion)
	}
	for _, io := range []struct {
		what string
		list []omPort
	}{{"input", x.Inputs}, {"output", x.Outputs}} {
		for _, p := range io.list {
			size := "size not known"
			if p.Bytes != nil {
				size = fmt.Sprintf("%d bytes", *p.Bytes)
			}
			if p.AIPP != "" {
				size += ", AIPP " + p.AIPP
			}
			w.line(io.what, "%s %s %s %s, %s", p.Name, p.DType, dimsText(p.Shape), p.Format, size)
		}
	}
	if g := x.Gears; g != nil {
		var list []string
		for _, v := range g.Values {
			list = append(list, dimsText(v))
		}
		w.line("gears", "%s (%s): choose one with --shape", strings.Join(list, " "), g.Flag)
	}
	w.line("memory", "features %s, weights %s, of them inputs and outputs %s", optBytes(x.Memory), optBytes(x.Weights), optBytes(x.ZeroCopy))
	w.line("device", "%s streams, %s events, %s labels", optInt(x.Streams), optInt(x.Events), optInt(x.Labels))
	w.line("kernels", "%d in the file, %d host libraries", x.Kernels, x.HostLibs)
	if x.Models > 1 || x.Dynamic {
		w.line("models", "%d in the file, dynamic shapes: %t", x.Models, x.Dynamic)
	}
	for _, n := range x.Nested {
		w.line("inside", "%s for %s, %d bytes, operators %s", n.Name, n.Type, n.Bytes, countsText(n.Ops))
	}
	for _, n := range x.Notes {
		w.line("note", "%s", n)
	}
	w.counts("operators", x.Ops)
	w.counts("operators of the framework, on the AI CPU", x.FrameworkOps)
	w.counts("tasks", x.Tasks)
	w.printf("\nwhat fills the file\n")
	for _, p := range x.Partitions {
		w.printf("  %-20s %10d bytes %5.1f %%  at %#x\n", p.Name, p.Bytes, 100*float64(p.Bytes)/float64(max(1, x.FileBytes)), p.Offset)
	}
	w.lists(x)
	return w.err
}

// lists prints what --ops, --tasks and --memory ask for.
func (p *printer) lists(x *omInfo) {
	for _, g := range x.Graphs {
		p.printf("\ngraph %s\n", g.Name)
		for _, op := range g.Ops {
			p.printf("  %4d %-20s %s\n       in  %s\n       out %s\n", op.ID, op.Type, op.Name, strings.Join(op.Inputs, " "), strings.Join(op.Outputs, " "))
		}
	}
	if len(x.TaskList) > 0 {
		p.printf("\ntask list\n")
	}
	for i, t := range x.TaskList {
		p.printf("  %4d stream %-3d %-20s %s %s\n", i, t.Stream, t.Type, t.OpType, t.Op)
	}
	if u := x.Plan; u != nil {
		p.printf("\nmemory plan of its compiler\n")
		if u.Tensors > 0 {
			p.line("features", "%s, %s, busiest at %s", bytesText(u.Features), above(u.Features, u.LowerBound), u.Busiest)
			p.line("tensors", "%d, %s without reuse", u.Tensors, bytesText(u.Total))
		} else {
			p.line("features", "none: no operator of the root graph makes a tensor of known size")
		}
		p.printf("\nmemory plan of running it here\n")
		if x.RunPlan != nil {
			p.memory(x.RunPlan)
		} else {
			p.line("features", "none: %s", x.RunPlanReason)
		}
	}
}

func (p *printer) counts(title string, n map[string]int) {
	if len(n) == 0 {
		return
	}
	p.printf("\n%s\n", title)
	for _, k := range slices.Sorted(maps.Keys(n)) {
		p.printf("  %6d× %s\n", n[k], k)
	}
}

func countsText(n map[string]int) string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(n)) {
		s = append(s, fmt.Sprintf("%d× %s", n[k], k))
	}
	return strings.Join(s, ", ")
}

func dimsText(d []int64) string {
	s := make(tensor.Shape, len(d))
	for i, n := range d {
		s[i] = int(n)
	}
	return s.String()
}

func optInt(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}

func optBytes(n *int64) string {
	if n == nil {
		return "?"
	}
	return bytesText(*n)
}
