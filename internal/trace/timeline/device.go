package timeline

import (
	"bytes"
	"math"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// taskArgs is the arguments of a task that matter.
type taskArgs struct {
	kind                  []byte
	stream, task, batch   int64
	connection, model     int64
	bytes, cycles         int64
	blocks                int64
	hasKind, hasStream    bool
	context               bool  // it is one of several contexts of one task
	queued, wait          int64 // of this program's own traces
	event, gen, iteration int64
	code                  []byte
	op, direction         []byte
	part, noSubmit        bool
}

func (b *builder) args(e *event) taskArgs {
	a := taskArgs{}
	number := func(v []byte) int64 {
		n, _ := whole(v)
		return n
	}
	for i := range e.pairs {
		value := e.pairs[i].value
		switch string(e.pairs[i].key) {
		case "Task Type", "task type", "kind":
			a.kind, a.hasKind = bare(value), true
		case "Physic Stream Id", "Stream Id", "stream id":
			if n, ok := whole(value); ok && n >= 0 && n <= math.MaxUint32 {
				a.stream, a.hasStream = n, true
			}
		case "Task Id", "task id", "task":
			a.task = number(value)
		case "Subtask Id":
			n, ok := whole(value)
			a.context = ok && n >= 0 && n < math.MaxUint32
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
	n, _ := whole(e.arg("connection_id"))
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
	a := b.args(e)
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
	k.Kind, k.Engine = b.kind(a.kind)
	if k.Kind == trace.Other {
		k.Op = b.rec.Intern(plain(a.kind))
	}
	if !bytes.Equal(e.name, a.kind) {
		k.Name = b.intern(e.name)
	}
	if a.cycles > 0 {
		k.Acct = b.rec.AddAccount(trace.Account{Total: a.cycles})
	}
	b.detail(&k, e)
	if a.connection > 0 {
		k.Event, k.Gen, b.joined = uint32(a.connection), uint32(a.connection>>32), true // until link
		if a.context {
			k.Flags |= ofOperation
		}
	}
	b.push(k)
}

// kind is what a task type says; most are that of the task before.
func (b *builder) kind(word []byte) (trace.Kind, trace.Engine) {
	if !bytes.Equal(word, b.word) || b.word == nil {
		b.word = append(b.word[:0], word...)
		b.wordKind, b.wordEngine = b.words.Kind(plain(word))
	}
	return b.wordKind, b.wordEngine
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

// ofOperation marks, until link, a collective operation that names its call, and the contexts of tasks that may be its pieces.
const ofOperation = 1 << 7

// mostOperations is far more than a job executes between two profiles.
const mostOperations = 1 << 20

// collective records a collective operation or a piece of one. The device's streams show the same work.
func (b *builder) collective(t *track, e *event, start, end int64) {
	a := b.args(e)
	k := trace.Task{Start: start, End: end, Submit: start, Ready: start, Stream: t.stream, Device: t.process.device, Flags: trace.FlagNoSubmit | trace.FlagPart, Name: b.intern(e.name), Kind: trace.Communication, Bytes: max(a.bytes, 0), Task: u32(a.task)}
	if a.hasKind {
		if kind, engine := b.words.Kind(plain(a.kind)); kind != trace.Other {
			k.Kind, k.Engine = kind, engine
		}
	} else if a.connection > 0 && len(b.operations) < mostOperations {
		k.Event, k.Gen, b.joined = uint32(a.connection), uint32(a.connection>>32), true
		k.Flags |= ofOperation
		b.operations[a.connection] = true
	}
	b.push(k)
}

// pieces makes the contexts of tasks that carried out a collective operation parts of a task that lasts as long as it does, as
// databases have them. Timelines do not show that task.
func (b *builder) pieces() {
	if len(b.operations) == 0 {
		return
	}
	carriers := map[int64]*trace.Task{} // by connection: a piece
	b.rec.Amend(func(k *trace.Task) {
		if k.Flags&(ofOperation|trace.FlagPart) != ofOperation || !b.operations[connection(k)] {
			return
		}
		if carriers[connection(k)] == nil {
			first := *k
			carriers[connection(k)] = &first
		}
		k.Flags |= trace.FlagPart
	})
	var around []trace.Task
	b.rec.Amend(func(k *trace.Task) {
		if k.Flags&(ofOperation|trace.FlagPart) != ofOperation|trace.FlagPart || k.Kind != trace.Communication || k.Stream < ascend.CommunicationStream {
			return
		}
		if piece := carriers[connection(k)]; piece != nil {
			k := *k
			k.Flags, k.Stream, k.Task = trace.FlagNoSubmit|ofOperation, piece.Stream, piece.Task
			around = append(around, k)
		}
	})
	b.rec.Tasks(around)
}

// connection is the id of a task's call, which stands in it until link.
func connection(k *trace.Task) int64 { return int64(k.Gen)<<32 | int64(k.Event) }

func (b *builder) push(k trace.Task) {
	if b.batches.tasks = append(b.batches.tasks, k); len(b.batches.tasks) == 1024 {
		b.rec.Tasks(b.batches.tasks)
		b.batches.tasks = b.batches.tasks[:0]
	}
}

// link joins the tasks with the calls that submitted them.
func (b *builder) link() {
	if b.own {
		b.tasks.drain(func(k *trace.Task) {
			k.Thread = b.submitters[submitted{k.Device, k.Stream, k.Task}]
			b.push(*k)
		})
	}
	b.rec.Tasks(b.batches.tasks)
	b.batches.tasks = nil
	if b.own || b.calls.n == 0 && !b.joined {
		return
	}
	b.pieces()
	b.rec.Amend(func(k *trace.Task) {
		if k.Event == 0 && k.Gen == 0 {
			return
		}
		k.Flags &^= ofOperation
		c := b.calls.find(connection(k))
		if k.Event, k.Gen = 0, 0; c == nil || c.start > k.Start {
			return
		}
		k.Submit, k.Thread = min(b.calls.end(c), k.Start), c.thread
		k.Flags &^= trace.FlagNoSubmit
		if !c.linked && k.Flags&trace.FlagPart == 0 {
			c.linked, c.stream, c.task = true, k.Stream, k.Task
		}
	})
	b.rec.AmendSpans(func(s *trace.Span) {
		if s.Code != unlinked {
			return
		}
		c := b.calls.find(int64(s.Task)<<32 | int64(s.Stream))
		if s.Stream, s.Task, s.Code = 0, trace.NoTask, 0; c != nil && c.linked {
			s.Stream, s.Task = c.stream, c.task
		}
	})
	b.calls = nil // the trace is about to be put in order, which takes memory
}

// unlinked marks, in the error code of a call, that its stream and task are the halves of its connection id. Timelines of other
// programs hold no error codes.
const unlinked = ^uint32(0)
