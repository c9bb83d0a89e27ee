package main

import (
	"fmt"
	"strings"
	"unicode"

	"npu/internal/model"
	"npu/internal/tensor"
)

// printReport says what ran, where the device time went, and what came out.
func (o *runOptions) printReport(rep *model.Report, res *model.Result, checks []model.Check) error {
	p := &printer{s: o.streams}
	p.line("model", "%s, %d tasks compiled, %s mode", rep.Model, rep.Steps, rep.Mode)
	many := ""
	if rep.Devices > 1 {
		many = fmt.Sprintf("%d × ", rep.Devices)
	}
	p.line("chip", "%s%s, simulated, policy %s", many, rep.Soc, rep.Policy)
	p.line("memory", "weights %s resident, features %s (lower bound %s), peak %s of HBM",
		bytesText(rep.Memory.Weights), bytesText(rep.Memory.Features), bytesText(rep.Memory.LowerBound), bytesText(rep.Memory.PeakHBM))
	each := ""
	switch {
	case !res.Ended:
		each = fmt.Sprintf(", not all of %d iterations ended", rep.Iterations)
	case rep.Iterations > 1:
		each = fmt.Sprintf(" for %d iterations (loop: %s), %s each", rep.Iterations, rep.Loop, timeText(rep.DeviceTimeNs/int64(rep.Iterations)))
	}
	if rep.BetweenNs != nil {
		each += fmt.Sprintf(", %s idle between two", timeText(*rep.BetweenNs))
	}
	p.line("time", "%s on the device%s", timeText(rep.DeviceTimeNs), each)
	p.line("host", "%d interactions with the device, %d tasks on %d streams, %s of wall time", rep.Interactions, rep.Tasks, rep.Streams, timeText(rep.WallNs))
	p.randoms(rep, o.seed)
	p.printf("\nwhere the device time went (±: median error against measured kernels)\n")
	p.ops(rep)
	o.metrics(p, rep.PMU, res.Trace)
	if len(res.Outputs) > 0 {
		p.printf("\noutputs\n")
		for i, t := range res.Outputs {
			p.output(rep.Outputs[i], t)
		}
	}
	p.notes(rep.Warnings)
	for _, c := range checks {
		p.printf("%s\n", c)
	}
	o.dumps(p, res.Dumps)
	if o.trace != "" {
		p.printf("\ntrace written: %s", o.trace)
	}
	p.printf("\n%s\n", o.next())
	return p.err
}

// randoms names the inputs that were made up, one that all ranks lack once.
func (p *printer) randoms(rep *model.Report, seed uint64) {
	lack := map[string]int{}
	for _, in := range rep.Inputs {
		if in.Random {
			lack[in.Name]++
		}
	}
	for _, in := range rep.Inputs {
		switch {
		case !in.Random:
		case rep.Devices == 1 || lack[in.Name] < rep.Devices:
			p.line("input", "%s %s[%v] is random (seed %d): give it with -i %s=FILE", in.Title(), in.DType, in.Shape, seed, in.Title())
		case *in.Rank == 0:
			p.line("input", "%s %s[%v] is random on each rank (seed %d): give it with -i %s=FILE, that of rank 0 with -i %s@0=FILE", in.Name, in.DType, in.Shape, seed, in.Name, in.Name)
		}
	}
}

// next is the command that comes next: the one that shows the trace, or how to have one.
func (o *runOptions) next() string {
	path := shellQuoted(o.trace)
	view := "next: npu trace view " + path
	switch {
	case o.trace == "":
		return "next: add --trace run.npt, then npu trace view run.npt"
	case strings.HasSuffix(o.trace, ".npt"):
		return view
	case strings.HasSuffix(o.trace, ".json"), strings.HasSuffix(o.trace, ".json.gz"):
		return view + ", or open it in https://ui.perfetto.dev"
	case strings.HasSuffix(o.trace, ".pb.gz"):
		return "next: go tool pprof -top " + path
	case strings.HasSuffix(o.trace, ".pftrace"):
		return "next: open " + path + " in https://ui.perfetto.dev; --trace run.npt is for npu trace view"
	}
	return "next: --trace run.npt is for npu trace view"
}

// shellQuoted is a path as a shell takes it.
func shellQuoted(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./+=:,@%", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// dumps says where failing tasks left what.
func (o *runOptions) dumps(p *printer, files []string) {
	if len(files) == 0 {
		return
	}
	p.printf("\ndumps of the fault\n")
	for _, f := range files[:min(len(files), 6)] {
		p.printf("  %s\n", f)
	}
	if n := len(files) - 6; n > 0 {
		p.printf("  and %d more\n", n)
	}
	p.printf("  see 'npu dump decode %s' and 'npu log %s'\n", o.dumpDir, o.dumpDir)
}

// printer keeps the first error, so that what it prints reads as a list.
type printer struct {
	s   *streams
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.s.out, format, args...)
	}
}

func (p *printer) line(key, format string, args ...any) {
	p.printf("%-8s %s\n", key, fmt.Sprintf(format, args...))
}

// ops prints the operator types with their share of the busy time as a bar.
func (p *printer) ops(rep *model.Report) {
	wide := 4
	for _, x := range rep.Ops {
		wide = max(wide, len(x.Type))
	}
	limit := len(rep.Ops)
	if p.s.outTTY {
		limit = min(limit, 15)
	}
	for _, x := range rep.Ops[:limit] {
		share := float64(x.TimeNs) / float64(max(1, rep.BusyNs))
		p.printf("  %-*s %6d× %10s  %-21s %5.1f %%  %s\n", wide, x.Type, x.Count, timeText(x.TimeNs), trust(x), 100*share, strings.Repeat("█", int(share*30+0.5)))
	}
	if n := len(rep.Ops) - limit; n > 0 {
		p.printf("  and %d more operator types (--json lists all)\n", n)
	}
}

// notes prints what was assumed or inferred; on a terminal the first few.
func (p *printer) notes(list []string) {
	if len(list) == 0 {
		return
	}
	p.printf("\nnotes\n")
	limit := len(list)
	if p.s.outTTY && limit > 4 {
		limit = 3
	}
	for _, w := range list[:limit] {
		p.printf("  %s\n", w)
	}
	if n := len(list) - limit; n > 0 {
		p.printf("  and %d more (--json lists all)\n", n)
	}
}

// trust is how far the time of an operator type can be off: the median error of measured kernels that were kept out of
// the calibration; of those of other chips where this one was not measured.
func trust(x model.OpTime) string {
	switch {
	case x.Calibrated && x.ErrorPercent != nil:
		return fmt.Sprintf("±%d %%", *x.ErrorPercent)
	case x.ErrorPercent != nil:
		return fmt.Sprintf("not calibrated, ±%d %%", *x.ErrorPercent)
	}
	return "not calibrated"
}

// output prints an output's type, range and first values.
func (p *printer) output(io model.IO, t *tensor.Tensor) {
	v, err := tensor.Floats(t)
	if err != nil || len(v) == 0 {
		p.printf("  %s %s[%v]\n", io.Title(), io.DType, io.Shape)
		return
	}
	lo, hi, sum := v[0], v[0], 0.0
	for _, x := range v {
		lo, hi, sum = min(lo, x), max(hi, x), sum+x
	}
	var first []string
	for _, x := range v[:min(6, len(v))] {
		first = append(first, fmt.Sprintf("%.5g", x))
	}
	more := ""
	if len(v) > 6 {
		more = " …"
	}
	p.printf("  %s %s[%v]  min %.5g  max %.5g  mean %.5g  [%s%s]", io.Title(), io.DType, io.Shape, lo, hi, sum/float64(len(v)), strings.Join(first, " "), more)
	if io.File != "" {
		p.printf("  → %s", io.File)
	}
	p.printf("\n")
}

// timeText is a device time for people.
func timeText(ns int64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3f s", float64(ns)/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3f ms", float64(ns)/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%.2f µs", float64(ns)/1e3)
	}
	return fmt.Sprintf("%d ns", ns)
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
