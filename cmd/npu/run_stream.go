package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"npu/internal/problem"
	"npu/internal/program"
	"npu/internal/runtime/ipc"
	"npu/internal/sim/soc"
	"npu/internal/trace/export"
)

// isStream says whether the file is a stream program: by its name, or by its first statement.
func isStream(path string) bool {
	if strings.HasSuffix(path, ".stream") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head) // a shorter file is read as far as it goes
	return program.Is(head[:n])
}

// runStream runs a stream program and shows what it printed, who did what when, and what it came to.
func runStream(ctx context.Context, o *runOptions) error {
	if err := o.streamFlags(); err != nil {
		return err
	}
	p, err := program.Read(o.file)
	var warnings []string
	if err == nil {
		warnings, err = p.Check()
	}
	if err != nil {
		return showMistakes(o.streams, err)
	}
	chip := o.soc
	if chip == "" {
		chip = p.Setup.Chip
	}
	if chip != "" {
		if _, err := soc.Lookup(chip); err != nil {
			return err
		}
	}
	policy := o.policy
	if !o.policySet {
		policy = p.Setup.Policy
	}
	inject, err := o.injections()
	if err != nil {
		return err
	}
	var res *program.Result
	runErr := o.watched(ctx, func(ctx context.Context) (err error) {
		res, err = p.Run(ctx, program.Options{Chip: chip, Policy: policy, Threads: o.threads, Visible: os.Getenv("ASCEND_RT_VISIBLE_DEVICES"), RunDir: ipc.Path(os.Getenv), Pace: o.pace, Inject: inject, DumpDir: o.dumpDir, PMU: o.pmu})
		return err
	})
	if res == nil {
		return runErr
	}
	if o.trace != "" {
		if err := export.Write(o.trace, res.Trace); err != nil {
			return err
		}
	}
	rep := program.NewReport(p, res, warnings)
	if o.json {
		return cmpErr(o.printJSON(rep), runErr)
	}
	return cmpErr(o.printStream(rep, res), runErr)
}

// showMistakes prints the mistakes of a program, each with its line, and returns the error.
func showMistakes(s *streams, err error) error {
	if bad := (*program.Mistakes)(nil); errors.As(err, &bad) {
		fmt.Fprint(s.err, bad.Show())
	}
	return err
}

// streamFlags refuses the flags that say something about a model.
func (o *runOptions) streamFlags() error {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{len(o.inputs) > 0, "--input"}, {o.output != "", "--output"}, {len(o.verify) > 0, "--verify"}, {len(o.shapes) > 0, "--shape"},
		{o.iterations != 1, "--iterations"}, {o.loop != "host", "--loop"}, {o.mode != "graph", "--mode"}, {o.timingOnly, "--timing-only"},
	} {
		if f.set {
			return problem.Usagef("%s is for models: a stream program says it itself, see docs/stream-programs.md", f.name)
		}
	}
	return nil
}

// printStream prints the program's lines, the timeline and the summary.
func (o *runOptions) printStream(rep *program.Report, res *program.Result) error {
	p := &printer{s: o.streams}
	p.line("program", "%s", rep.Program)
	p.line("chip", "%s, simulated, policy %s", rep.Soc, rep.Policy)
	for _, w := range rep.Warnings {
		p.line("note", "%s", w)
	}
	if len(rep.Output) > 0 {
		p.printf("\n")
		wide := 0
		for _, l := range rep.Output {
			wide = max(wide, len([]rune(l.Thread)))
		}
		for _, l := range rep.Output {
			p.printf("%16s  %-*s  %s\n", program.Micros(l.TimeNs), wide, l.Thread, strings.ReplaceAll(l.Text, "\n", "\n"+strings.Repeat(" ", 20+wide)))
		}
	}
	o.printTimeline(p, res)
	p.printf("\n")
	var failed []string
	for i, f := range rep.Failures {
		where := "end of the program"
		if f.Line > 0 {
			where = fmt.Sprintf("line %d", f.Line)
		}
		failed = append(failed, where)
		switch { // the first one is the command's error
		case i > 0 && f.Deadlock && rep.Failures[0].Deadlock:
			p.line("also", "%s: %s: in the same deadlock", where, f.Statement)
		case i > 0:
			p.line("also", "%s", strings.ReplaceAll(f.Error(), "\n", "; "))
		}
	}
	verdict := "no failure"
	if len(failed) > 0 {
		verdict = "failed: " + strings.Join(failed, ", ")
	}
	p.line("summary", "%s on %s, %s checked; %s", count(rep.Statements, "statement"), count(int64(rep.Threads), "thread"),
		count(rep.Expectations, "expectation"), verdict)
	p.line("device", "%s on %s in %s, %s; the host met the device %d times", count(rep.Tasks, "task"), count(int64(rep.Streams), "stream"),
		program.Micros(rep.DeviceTimeNs), count(int64(len(rep.Faults)), "fault"), rep.Interactions)
	o.dumps(p, res.Dumps)
	if o.trace != "" {
		p.line("trace", "%s", o.trace)
	}
	p.line("next", "%s", strings.TrimPrefix(o.next(), "next: "))
	return p.err
}

// count is a number of things.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// paintMark gives a run of cells the colour of its mark.
func paintMark(m program.Mark, s string) string {
	c := map[program.Mark]string{program.KernelRuns: "32", program.CopyRuns: "34", program.Failed: "31", program.ForOther: "33",
		program.ForEngine: "33", program.HostWorks: "35", program.HostWaits: "2", program.HostCall: "2"}[m]
	if c == "" {
		return s
	}
	return "\x1b[" + c + "m" + s + "\x1b[0m"
}

// printTimeline prints a row for each thread and stream.
func (o *runOptions) printTimeline(p *printer, res *program.Result) {
	width, name := 100, 0
	if o.width > 0 {
		width = o.width
	}
	tl := program.NewTimeline(res.Trace, width)
	for _, r := range tl.Rows {
		name = max(name, len([]rune(r.Name)))
	}
	if res.Trace.Tasks.Len() == 0 {
		return
	}
	tl = program.NewTimeline(res.Trace, width-name-3)
	cells := program.Cells(o.outTTY)
	var paint func(program.Mark, string) string
	if o.colors {
		paint = paintMark
	}
	p.printf("\n%s to %s, a column is %s\n", program.Micros(tl.From), program.Micros(tl.To), program.Micros(tl.Column))
	for _, r := range tl.Rows {
		p.printf("%-*s |%s\n", name, r.Name, r.Text(cells, paint))
	}
	var legend []string
	for _, m := range tl.Marks() {
		mark := string(cells[m])
		if paint != nil {
			mark = paint(m, mark)
		}
		legend = append(legend, mark+" "+m.Legend())
	}
	p.printf("%*s  %s\n", name, "", strings.Join(legend, "  "))
}
