package runtime

import (
	"fmt"

	"npu/internal/trace"
)

// OpRecord is an operator that ran in an execution of a subscribed model. Times are in device ns.
type OpRecord struct {
	Type, Name string
	Start, End int64
	Duration   float64 // µs
	Model      uint32  // as in the trace
	Thread     uint16  // host thread that ordered the execution
}

// subscriptionMax bounds the records that nobody has read; the oldest are lost.
const subscriptionMax = 1 << 18

// Subscription is the reading end of what the operators of a model take (aclprofModelSubscribe with the pipe of its
// configuration). Its fields are under Port.Call.
type Subscription struct {
	id    uint32
	open  []OpRecord // of the execution that goes on
	ready []OpRecord
	lost  int
	ended bool
}

// SubscribeModel has the operators of the model recorded, from its next execution on (aclprofModelSubscribe). 148046:
// it is subscribed already; 148047: profiling is initialised or was switched on by the file of Init. It takes a
// Config.Recorder.
func (th *Thread) SubscribeModel(m *Model) (*Subscription, error) {
	c := callProfSubscribe
	switch {
	case m == nil || m.destroyed.Load() || m.inst == nil:
		return nil, th.fail(ACLInvalidParam, c.name, "the model is null, destroyed or not built", "subscribe it before it is executed")
	case th.rt.watched == nil:
		return nil, th.fail(NotSupported, c.name, "nothing is recorded in this run", "open the runtime with a recorder")
	}
	sub := &Subscription{id: uint32(m.inst.ID()) + 1}
	err := th.profile(c, func(p *profiling) profRefusal {
		if p.byFile || p.path != "" {
			return profRefusal{ProfAPIConflict, "profiling is initialised", "use aclprofInit or subscriptions, not both"}
		}
		if th.rt.watched.subs[sub.id] != nil {
			return profRefusal{RepeatSubscribe, fmt.Sprintf("model %s is subscribed already", m.name), "unsubscribe it first"}
		}
		th.rt.machine.Flush() // what has run was before
		th.rt.watched.subscribe(sub)
		p.subscribed++
		return profRefusal{}
	})
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// UnsubscribeModel ends a subscription, which also ends with its model; what it holds can still be read (aclprofModelUnSubscribe).
func (th *Thread) UnsubscribeModel(sub *Subscription) error {
	return th.profile(callProfSubscribe, func(p *profiling) profRefusal {
		if sub == nil || sub.ended {
			return profRefusal{ACLInvalidParam, "the subscription is null or has ended", ""}
		}
		th.rt.endSubscription(sub)
		return profRefusal{}
	})
}

// endSubscription gives sub what has run and nothing more. Under Port.Call.
func (rt *Runtime) endSubscription(sub *Subscription) {
	rt.machine.Flush()
	sub.ended = true
	delete(rt.watched.subs, sub.id)
	rt.profiling.subscribed--
}

// forgetModel ends the subscription of a model that goes, so that nobody hears of another one with its number. Under
// Port.Call.
func (rt *Runtime) forgetModel(m *Model) {
	if rt.watched == nil || m.inst == nil {
		return
	}
	if sub := rt.watched.subs[uint32(m.inst.ID())+1]; sub != nil {
		rt.endSubscription(sub)
	}
}

// ReadSubscription takes the records of the executions that have ended by the thread's clock, in the order in which the
// operators ended, and says how many were lost since nobody read them.
func (th *Thread) ReadSubscription(sub *Subscription) (records []OpRecord, lost int, err error) {
	if sub == nil {
		return nil, 0, th.fail(ACLInvalidParam, "subscription read", "the subscription is null", "")
	}
	err = th.port.Call(func() {
		if !sub.ended {
			th.rt.machine.Flush()
		}
		records, lost = sub.ready, sub.lost
		sub.ready, sub.lost = nil, 0
	})
	return records, lost, th.blocked("subscription read", nil, err)
}

// subscribe gives sub the rows of its model from now on.
func (w *watched) subscribe(sub *Subscription) {
	if w.subs == nil {
		w.subs = map[uint32]*Subscription{}
	}
	w.subs[sub.id] = sub
}

// tell passes rows to the subscriptions of their models.
func (w *watched) tell(rows []trace.Task) {
	names := w.rec.StringTable()
	for i := range rows {
		r := &rows[i]
		sub := w.subs[r.Model]
		switch {
		case sub == nil || r.Model == 0:
		case r.Kind == trace.ModelExecute:
			sub.complete(r.Thread)
		case r.Kind.Kernel():
			kind := names[r.Op]
			if kind == "" {
				kind = r.Kind.String()
			}
			sub.open = append(sub.open, OpRecord{Type: kind, Name: names[r.Name], Start: r.Start, End: r.End, Duration: float64(r.End-r.Start) / 1e3, Model: r.Model})
		}
		if sub != nil && len(sub.open) >= subscriptionMax {
			sub.complete(0)
		}
	}
}

// complete hands over the operators of an execution that thread ordered.
func (sub *Subscription) complete(thread uint16) {
	for i := range sub.open {
		sub.open[i].Thread = thread
	}
	sub.ready = append(sub.ready, sub.open...)
	sub.open = sub.open[:0]
	if n := len(sub.ready) - subscriptionMax; n > 0 {
		sub.lost += n
		sub.ready = sub.ready[n:] // append moves it from time to time
	}
}
