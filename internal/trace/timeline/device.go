package timeline

import (
	"bytes"
	"math"

	"npu/internal/trace"
)

// taskArgs is the arguments of a task that matter.
type taskArgs struct {
	kind                  []byte
	stream, task, batch   int64
	connection, model     int64
	bytes, cycles         int64
	blocks                int64
	hasKind, hasStream    bool
	queued, wait          int64 // of this program's own traces
	event, gen, iteration int64
	code                  []byte
	op, direction         []byte
	part, noSubmit        bool
}

func (b *builder) args(text []byte) taskArgs {
	a := taskArgs{}
	number := func(v []byte) int64 {
		n, _ := whole(v)
		return n
	}
	for f := newFields(text); text != nil; {
		key, value, ok := f.next()
		if !ok {
			break
		}
		switch string(key) {
		case "Task Type", "task type", "kind":
			a.kind, a.hasKind = bare(value), true
		case "Physic Stream Id", "Stream Id", "stream id":
			if n, ok := whole(value); ok && n >= 0 && n <= math.MaxUint32 {
				a.stream, a.hasStream = n, true
			}
		case "Task Id", "task id", "task":
			a.task = number(value)
		case "Batch Id":
			a.batch = number(value)
		case "connection_id":
			a.connection = number(value)
		case "Model Id", "model id", "model":
			a.model = number(value)
		case "size(B)", "size(Byte)", "bytes":
			a.bytes = number(value)
		case "Total Cycle", "cycles":
			a.cycles = number(value)
		case "Block Num", "Block Dim", "block_dim":
			a.blocks = number(value)
		case "queued_ns":
			a.queued = number(value)
		case "engine_wait_ns":
			a.wait = number(value)
		case "event":
			a.event = number(value)
		case "generation":
			a.gen = number(value)
		case "iteration":
			a.iteration = number(value)
		case "code":
			a.code = bare(value)
		case "op_type":
			a.op = bare(value)
		case "part":
			a.part = string(value) == "true"
		case "submit":
			a.noSubmit = string(value) == `"unknown"`
		case "direction":
			a.direction = bare(value)
		}
	}
	return a
}

// connection is the id that joins a call with its tasks; 0 for none.
func (b *builder) connection(e *event) int64 {
	key := []byte(`"connection_id":`)
	at := bytes.Index(e.args, key)
	if at < 0 {
		return 0
	}
	from := at + len(key)
	for from < len(e.args) && e.args[from] == ' ' {
		from++
	}
	n, _ := whole(e.args[from:valueEnd(e.args, from)])
	return n
}

func u32(v int64) uint32 {
	if v < 0 || v > math.MaxUint32 {
		return 0
	}
	return uint32(v)
}

// task records a slice of the device.
func (b *builder) task(t *track, e *event, start, end int64) {
	if b.own {
		b.ownTask(t, e, start, end)
		return
	}
	a := b.args(e.args)
	if !a.hasKind {
		b.step(e, start, end)
		return
	}
	k := trace.Task{Start: start, End: end, Submit: start, Ready: start, Stream: t.stream, Device: t.process.device, Flags: trace.FlagNoSubmit, Bytes: max(a.bytes, 0), Blocks: u32(a.blocks)}
	if !t.known && a.hasStream {
		k.Stream = uint32(a.stream)
	}
	k.Task = u32(a.task)
	if a.task < 1<<16 {
		k.Task |= uint32(a.batch&0xFFFF) << 16
	}
	if a.model > 0 && a.model < math.MaxUint32 {
		k.Model = uint32(a.model)
	}
	kind := plain(a.kind)
	k.Kind, k.Engine = b.words.Kind(kind)
	if k.Kind == trace.Other {
		k.Op = b.rec.Intern(kind)
	}
	if !bytes.Equal(e.name, a.kind) {
		k.Name = b.intern(e.name)
	}
	if a.cycles > 0 {
		k.Acct = b.rec.AddAccount(trace.Account{Total: a.cycles})
	}
	b.detail(&k, e)
	b.tasks.add(queued{k, a.connection})
}

// detail adds what another file says of the task.
func (b *builder) detail(k *trace.Task, e *event) {
	if b.options.Details == nil {
		return
	}
	d := b.options.Details(k.Start, plain(e.name))
	if !d.Known {
		return
	}
	if kind, engine := b.words.Kind(d.Kind); kind != trace.Other && (k.Kind == trace.Other || k.Kind == trace.KernelAICore) {
		k.Kind, k.Engine, k.Op = kind, engine, 0
	}
	if k.Kind != trace.Other {
		k.Op = b.rec.Intern(d.Op)
	}
	if d.Blocks != 0 {
		k.Blocks = d.Blocks
	}
	if d.Account != (trace.Account{}) {
		k.Acct = b.rec.AddAccount(d.Account)
	}
}

// step keeps what the exporter says of an iteration, which stands among the tasks.
func (b *builder) step(e *event, start, end int64) {
	b.source.Records["step trace slices"]++
	if bytes.Equal(e.cat, []byte("Iteration Time")) || bytes.HasPrefix(e.name, []byte("Iteration ")) && !bytes.HasPrefix(e.name, []byte("Iteration Refresh")) {
		b.source.Steps = append(b.source.Steps, trace.Step{Name: plain(e.name), Type: "iteration", Total: end - start})
	}
}

// collective records a collective operation or a piece of one. The device's streams show the same work.
func (b *builder) collective(t *track, e *event, start, end int64) {
	a := b.args(e.args)
	k := trace.Task{Start: start, End: end, Submit: start, Ready: start, Stream: t.stream, Device: t.process.device, Flags: trace.FlagNoSubmit | trace.FlagPart, Name: b.intern(e.name), Kind: trace.Communication, Bytes: max(a.bytes, 0), Task: u32(a.task)}
	if a.hasKind {
		if kind, engine := b.words.Kind(plain(a.kind)); kind != trace.Other {
			k.Kind, k.Engine = kind, engine
		}
	}
	b.push(k)
}

func (b *builder) push(k trace.Task) {
	if b.batches.tasks = append(b.batches.tasks, k); len(b.batches.tasks) == 1024 {
		b.rec.Tasks(b.batches.tasks)
		b.batches.tasks = b.batches.tasks[:0]
	}
}

// link joins the tasks with the calls that submitted them, and records them.
func (b *builder) link() {
	b.tasks.drain(func(q *queued) {
		if b.own {
			q.Thread = b.submitters[submitted{q.Device, q.Stream, q.Task.Task}]
		} else if c, ok := b.calls[q.connection]; ok && q.connection > 0 && c.start <= q.Start {
			q.Submit, q.Thread = min(c.end, q.Start), c.thread
			q.Flags &^= trace.FlagNoSubmit
			if !c.linked {
				c.linked, c.stream, c.task = true, q.Stream, q.Task.Task
				b.calls[q.connection] = c
			}
		}
		b.push(q.Task)
	})
	b.rec.Tasks(b.batches.tasks)
	b.batches.tasks = nil
}
