package model

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/model/plan"
	"npu/internal/outfile"
	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace/stats"
)

// Report is what "npu run --json" prints of a model.
type Report struct {
	Model        string       `json:"model"`
	Soc          string       `json:"soc"`
	Mode         string       `json:"mode"`
	Policy       string       `json:"policy"`
	Devices      int          `json:"devices"`
	Iterations   int          `json:"iterations"`
	Loop         string       `json:"loop"`
	DeviceTimeNs int64        `json:"device_time_ns"`
	Interactions uint64       `json:"host_interactions"`
	BetweenNs    *int64       `json:"idle_between_iterations_ns"` // mean, on a device
	BetweenWhy   string       `json:"idle_between_iterations_ns_reason,omitempty"`
	WallNs       int64        `json:"wall_time_ns"` // of the executions on this machine
	Tasks        int          `json:"tasks"`        // kernels, copies and control on the device after loading
	Streams      int          `json:"streams"`
	Events       int          `json:"events"`
	Memory       MemoryReport `json:"memory"`
	Inputs       []IO         `json:"inputs"`
	Outputs      []IO         `json:"outputs"`
	Ops          []OpTime     `json:"ops"`
	// PMU is the metrics of the event group by operator type; only where one was counted.
	PMU      []stats.Metrics `json:"pmu,omitempty"`
	Warnings []string        `json:"warnings"`
	Faults   []string        `json:"faults"`
	Steps    int             `json:"-"`
	BusyNs   int64           `json:"-"` // sum of Ops
}

// MemoryReport is in bytes.
type MemoryReport struct {
	Weights    int64 `json:"weights_bytes"`
	Features   int64 `json:"features_bytes"`
	LowerBound int64 `json:"features_lower_bound_bytes"`
	PeakHBM    int64 `json:"hbm_peak_bytes"`
}

// IO is an input or output. File is where an output was written or an input came from; empty: nowhere, random. Rank is
// whose it is, where several devices run.
type IO struct {
	Rank   *int         `json:"rank,omitempty"`
	Name   string       `json:"name"`
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	File   string       `json:"file,omitempty"`
	Random bool         `json:"random,omitempty"`
}

// Title is the name as a user writes it: NAME, or NAME@RANK.
func (x IO) Title() string {
	if x.Rank == nil {
		return x.Name
	}
	return fmt.Sprintf("%s@%d", x.Name, *x.Rank)
}

// OpTime is the device time of one operator type, and how far it can be trusted.
type OpTime struct {
	Type   string `json:"type"`
	Count  int    `json:"count"`
	TimeNs int64  `json:"device_time_ns"`
	// ErrorPercent is the median error of the time of such operators, see cost.Trust; nil: nobody measured it.
	// Calibrated says that it was found on this chip.
	ErrorPercent *int   `json:"error_percent"`
	Reason       string `json:"error_percent_reason,omitempty"`
	Calibrated   bool   `json:"calibrated"`
}

func (x *OpTime) trust(chip *soc.Chip) {
	e, calibrated := cost.Trust(chip, x.Type)
	x.Calibrated = calibrated
	if e > 0 {
		x.ErrorPercent = &e
		return
	}
	x.Reason = "not calibrated: no measured kernel of this type or its class"
}

// NewReport describes a run. Tasks, memory and notes are those of the first model.
func NewReport(models []*Model, o RunOptions, r *Result) *Report {
	m := models[0]
	p := m.Plan
	rep := &Report{
		Model: m.Title(), Soc: o.Chip.Name, Mode: string(o.Mode), Policy: o.Policy.String(), Devices: len(models), Iterations: max(1, o.Iterations), Loop: string(o.Loop),
		DeviceTimeNs: r.DeviceTime, Interactions: r.Counters.Interactions(), Steps: plan.Count(p.Steps),
		Memory:   MemoryReport{p.Memory.WeightBytes, p.Memory.FeatureBytes, p.Memory.LowerBound, r.PeakHBM},
		Warnings: append(append([]string{}, m.Notes...), r.Warnings...), Faults: []string{}, Inputs: []IO{}, Outputs: []IO{}, Ops: []OpTime{},
	}
	rep.WallNs = r.Wall.Nanoseconds()
	switch {
	case r.Between >= 0:
		rep.BetweenNs = &r.Between
	case o.Mode == Eager:
		rep.BetweenWhy = "eager launches do not say which iteration they are of"
	default:
		rep.BetweenWhy = "fewer than two iterations ended"
	}
	if o.PMU != nil && r.Trace != nil {
		rep.PMU = stats.PMU(r.Trace)
		if n := o.PMU.Note(); n != "" {
			rep.Warnings = append(rep.Warnings, n)
		}
	}
	for rank, m := range models {
		var of *int
		if len(models) > 1 {
			of = &rank
		}
		for _, x := range m.Plan.Inputs {
			rep.Inputs = append(rep.Inputs, IO{Rank: of, Name: x.Name, DType: x.DType.String(), Shape: shape(x.Shape), Random: slices.Contains(r.Random[rank], x.Name)})
		}
		if m.Rest != nil {
			continue
		}
		for _, x := range m.Plan.Outputs {
			rep.Outputs = append(rep.Outputs, IO{Rank: of, Name: x.Name, DType: x.DType.String(), Shape: shape(x.Shape)})
		}
	}
	for i, name := range r.Names {
		if t := r.Outputs[i]; m.Rest != nil { // shapes that only the run told
			rep.Outputs = append(rep.Outputs, IO{Name: name, DType: t.DType.String(), Shape: shape(t.Shape)})
		}
	}
	for _, f := range r.Faults {
		rep.Faults = append(rep.Faults, f.Error())
	}
	rep.Ops, rep.Tasks, rep.Streams, rep.Events = append(rep.Ops, r.Ops...), r.Tasks, r.Streams, r.Events
	for i := range rep.Ops {
		rep.Ops[i].trust(o.Chip)
		rep.BusyNs += rep.Ops[i].TimeNs
	}
	return rep
}

// shape keeps a scalar's shape an empty list in JSON.
func shape(s tensor.Shape) tensor.Shape {
	if s == nil {
		return tensor.Shape{}
	}
	return s
}

// Title is the model's name for people: that of the graph, or of the file.
func (m *Model) Title() string {
	if m.Name != "" {
		return m.Name
	}
	return strings.TrimSuffix(filepath.Base(m.Path), filepath.Ext(m.Path))
}

// FileName is an output's name as a file name: characters other than letters, digits, '.', '-' and '_' become '_'.
func FileName(output string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, output)
}

// WriteOutputs writes each output as NAME.npy into dir, which is made if need be; those of several ranks as
// rankN/NAME.npy. A file appears when it is complete.
func WriteOutputs(dir string, rep *Report, outputs []*tensor.Tensor) error {
	for i, t := range outputs {
		o := &rep.Outputs[i]
		to := dir
		if o.Rank != nil {
			to = filepath.Join(dir, fmt.Sprintf("rank%d", *o.Rank))
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		path := filepath.Join(to, FileName(o.Name)+".npy")
		if err := outfile.Write(path, func(w io.Writer) error { return tensor.WriteNPY(w, t) }); err != nil {
			return problem.Mark(problem.Failed, err)
		}
		o.File = path
	}
	return nil
}
