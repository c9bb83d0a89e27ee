package runtime

import (
	"npu/internal/runtime/ipc"
	"npu/internal/trace"
	"npu/internal/trace/live"
)

// watched is the recorder of a run with the file in which another process follows it (npu trace view --pid). It is the
// driver's; a nil one is of a run without a recorder.
type watched struct {
	rec   *trace.Recorder
	drain *trace.Drain // into rec
	out   *live.Writer // nil: nobody can look
	mem   []byte
	rows  []trace.Task // of a block, for who looks
	calls []trace.Span // that fill a block of the drain

	subs map[uint32]*Subscription // by the model's number in rows
}

// begin lets others look.
func (w *watched) begin(mem []byte) {
	if w == nil {
		ipc.ReleaseRecords(mem)
		return
	}
	w.mem, w.out = mem, live.NewWriter(mem)
}

// wanted says whether somebody looks. It may be called by any thread.
func (w *watched) wanted() bool { return w != nil && w.out.Wanted() }

// Swap records rows, shows them to who looks, and gives an empty block for theirs.
func (w *watched) Swap(b *trace.Block) (empty *trace.Block) {
	if told, wanted := len(w.subs) > 0, w.out.Wanted(); told || wanted {
		w.rows = b.AppendTasks(w.rows[:0])
		if told {
			w.tell(w.rows)
		}
		if wanted {
			w.out.Tasks(w.rows, w.rec.StringTable())
		}
	}
	return w.drain.Tasks(b)
}

// spans records host calls of a thread. Names of constants repeat: most need no look into the table.
func (w *watched) spans(rows []hostSpan) {
	name, id := "", trace.StringID(0)
	for i := range rows {
		if len(w.calls) == cap(w.calls) {
			w.flush()
		}
		if x := &rows[i]; x.name != name {
			name, id = x.name, w.rec.Intern(x.name)
		}
		w.calls = append(w.calls, rows[i].Span)
		w.calls[len(w.calls)-1].Name = id
	}
}

// flush records the calls that were collected, and shows them to who looks.
func (w *watched) flush() {
	if len(w.calls) > 0 && w.out.Wanted() {
		w.out.Spans(w.calls, w.rec.StringTable())
	}
	w.calls = w.drain.Spans(w.calls)
}

// end says that the run is over. Nothing is recorded after it.
func (w *watched) end() {
	if w == nil {
		return
	}
	w.flush()
	w.drain.Close()
	if w.out == nil {
		return
	}
	w.out.End()
	w.out = nil
	ipc.ReleaseRecords(w.mem)
}
