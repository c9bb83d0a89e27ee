package profcsv

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"strconv"

	"npu/internal/trace"
	"npu/internal/trace/timeline"
)

// row is a task with what decides whether it is a part of another.
type row struct {
	trace.Task
	context bool // the row has a context id
}

// Names of the columns that make a table one of tasks.
var (
	startNames    = []string{"Task Start Time", "Start Time", "task_start"}
	durationNames = []string{"Task Duration", "Duration", "task_time"}
	labelNames    = []string{"Op Name", "Name", "kernel_name"}
)

// taskRow reads a row of op_summary, kernel_details or task_time.
func (r *reading) taskRow() func() {
	start, duration, stop := r.findTime(startNames...), r.findTime(durationNames...), r.findTime("task_stop")
	name, op, core := r.find(labelNames...), r.find("OP Type", "Type"), r.find("Task Type", "Accelerator Core", "kernel_type")
	device, stream, task := r.find("Device_id"), r.find("Stream ID", "stream_id"), r.find("Task ID", "task_id")
	blocks, model, context := r.find("Block Num", "Block Dim"), r.find("Model ID"), r.find("Context ID")
	mix := r.find("Mix Block Num", "Mix Block Dim")
	metrics, more := r.metrics(), r.details()
	counted, described := newKeys(), newKeys()
	r.finishSheet = func() {
		columns := make([]trace.SheetColumn, len(metrics))
		for i := range metrics {
			columns[i] = metrics[i].column
		}
		r.source.AddSheet(counted.sheet("pmu", columns))
		columns = make([]trace.SheetColumn, len(more.columns))
		for i := range columns {
			columns[i] = more.columns[i].SheetColumn
		}
		r.source.AddSheet(described.sheet("op_details", columns))
	}
	return func() {
		from, ok1 := r.time(start)
		length, ok2 := r.length(duration)
		if !ok1 || !ok2 || length < 0 || from > math.MaxInt64/2 || length > math.MaxInt64/4 {
			r.source.BadRecords++
			return
		}
		k := trace.Task{Start: from, End: from + length, Submit: from, Ready: from, Flags: trace.FlagNoSubmit}
		if to, ok := r.time(stop); ok && to >= from && uint64(to)-uint64(from) <= math.MaxInt64/4 {
			k.End = to
		}
		k.Name, k.Op = r.rec.Intern(r.cell(name)), r.rec.Intern(r.cell(op))
		k.Device, k.Stream, k.Task = r.device(device), u32(r.whole(stream)), u32(r.whole(task))
		k.Blocks = u32(cmp.Or(r.whole(blocks), r.whole(mix)))
		if m := r.whole(model); m > 0 && m < math.MaxUint32 {
			k.Model = uint32(m)
		}
		sum, some := r.account(metrics)
		if account := sum.Account(); account != (trace.Account{}) {
			k.Acct = r.rec.AddAccount(account)
		}
		label, op := r.once(r.cell(name)), r.once(r.cell(op))
		if some {
			counted.add(&k, label, op)
		} else {
			forget(metrics)
		}
		described.add(&k, label, op)
		for i := range more.columns {
			more.columns[i].take(r, -1)
		}
		r.kind(&k, cmp.Or(r.cell(core), sum.Core()))
		r.tasks = append(r.tasks, row{k, r.cell(context) != "" && r.cell(context) != "4294967295"})
	}
}

// device is the device of the row at hand.
func (r *reading) device(column int) uint16 {
	if n, err := strconv.ParseUint(deviceNumber(r.cell(column)), 10, 16); err == nil {
		return uint16(n)
	}
	return r.Device
}

// kind decides what a row is. At level0 the exporter leaves the core out, and only the counters tell it.
func (r *reading) kind(k *trace.Task, core string) {
	k.Kind, k.Engine = r.words.Kind(core)
	if k.Kind == trace.Other {
		k.Op = r.rec.Intern(cmp.Or(core, "UNKNOWN"))
	}
}

// parts marks rows with a context that lie in a row of the same task without one: op_summary lists a MIX kernel twice.
func (r *reading) parts() {
	type key struct {
		device       uint16
		stream, task uint32
		name         trace.StringID
	}
	slices.SortStableFunc(r.tasks, func(a, b row) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	last := map[key]int64{} // end of the row without a context
	for i := range r.tasks {
		k := &r.tasks[i]
		at := key{k.Device, k.Stream, k.Task.Task, k.Name}
		if !k.context {
			last[at] = k.End
		} else if end, ok := last[at]; ok && k.End <= end {
			k.Flags |= trace.FlagPart
		}
	}
}

// Details reads what a table of tasks adds to another source of the same tasks: types, blocks and counters, by start and
// name, and the trace of its own.
func Details(ctx context.Context, in io.Reader) (func(start int64, name string) timeline.Detail, *trace.Trace, error) {
	t, err := Read(ctx, in, Options{Name: "kernel_details"})
	if t == nil {
		return nil, nil, err
	}
	type key struct {
		start int64
		name  string
	}
	all := map[key]timeline.Detail{}
	for _, k := range t.Tasks.All() {
		d := timeline.Detail{Op: t.String(k.Op), Kind: k.Kind.String(), Blocks: k.Blocks, Account: t.Account(k.Acct), Known: true}
		if k.Kind == trace.Other {
			d.Kind = d.Op
		}
		all[key{k.Start, t.String(k.Name)}] = d
	}
	return func(start int64, name string) timeline.Detail { return all[key{start, name}] }, t, err
}
