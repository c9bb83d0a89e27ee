package runtime

import (
	"npu/internal/runtime/ipc"
	"npu/internal/trace"
	"npu/internal/trace/live"
)

// watched is the recorder of a run with the file in which another process follows it (npu trace view --pid). It is the
// driver's; a nil one is of a run without a recorder.
type watched struct {
	rec *trace.Recorder
	out *live.Writer // nil: nobody can look
	mem []byte

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

// Tasks records rows, and shows them to who looks.
func (w *watched) Tasks(rows []trace.Task) {
	w.rec.Tasks(rows)
	if len(w.subs) > 0 {
		w.tell(rows)
	}
	if w.out.Wanted() {
		w.out.Tasks(rows, w.rec.StringTable())
	}
}

// Spans is as Tasks for a machine that records calls itself.
func (w *watched) Spans(rows []trace.Span) {
	w.rec.Spans(rows)
	w.spans(rows)
}

// spans shows calls that were recorded.
func (w *watched) spans(rows []trace.Span) {
	if w.wanted() {
		w.out.Spans(rows, w.rec.StringTable())
	}
}

// end says that the run is over. Nothing is recorded after it.
func (w *watched) end() {
	if w == nil || w.out == nil {
		return
	}
	w.out.End()
	w.out = nil
	ipc.ReleaseRecords(w.mem)
}
