package model

import (
	"encoding/binary"

	"npu/internal/model/plan"
	"npu/internal/runtime"
	"npu/internal/sim"
)

// begin starts the model of the device that the steps are written into. Each of their streams is one of the model's; the
// first one begins and ends an execution. A sunk loop counts in a device word:
//
//	head:  counter = 0, start body
//	body:  start the other streams, …steps…, wait for them, counter += 1; if counter < limit start again and stop here; end
//	again: start body
func (s *Session) begin() (err error) {
	if s.builder, err = s.th.BuildModel(); err != nil {
		return err
	}
	s.head = s.builder.Stream(true)
	if s.turns == 0 {
		s.lanes = []*runtime.SunkStream{s.head}
		for range s.streams.Lanes[1:] {
			s.lanes = append(s.lanes, s.builder.Stream(true))
		}
		return nil
	}
	if s.counter, err = s.malloc(16); err != nil {
		return err
	}
	err = s.th.Upload(s.counter, 16, func(dst []byte) { binary.LittleEndian.PutUint64(dst[8:], uint64(s.turns)) })
	if err != nil {
		return err
	}
	body := s.builder.Stream(false)
	s.head.WriteValue(s.counter, 0)
	s.head.Active(body)
	s.lanes = []*runtime.SunkStream{body}
	for range s.streams.Lanes[1:] {
		x := s.builder.Stream(false)
		body.Active(x)
		s.lanes = append(s.lanes, x)
	}
	return nil
}

// finish writes the model.
func (s *Session) finish() (err error) {
	body := s.lanes[0]
	if s.turns > 0 {
		again := s.builder.Stream(false)
		body.AddValue(s.counter, 1)
		body.Switch(s.counter, sim.Less, s.counter+8, again)
		again.Active(body)
	}
	body.End()
	s.sunk, err = s.builder.Build(s.name())
	s.builder, s.lanes, s.head = nil, nil, nil
	return err
}

// spread puts the steps on their streams, with the notifies between them. meet is called at those of communication,
// with the stream that they belong to.
func (s *Session) spread(meet func(*plan.Step, *runtime.SunkStream)) {
	x := s.streams
	notifies := make([]int, x.Notifies)
	for i := range notifies {
		notifies[i] = s.builder.Notify()
	}
	lane := make([]*runtime.SunkStream, len(s.m.Plan.Steps))
	for l := range x.Lanes {
		for _, i := range x.Lanes[l].Steps {
			lane[i] = s.lanes[l]
		}
	}
	for i, st := range lane {
		for _, n := range x.Waits[i] {
			st.Wait(notifies[n])
		}
		s.steps(st, s.m.Plan.Steps[i:i+1], meet)
		for _, n := range x.Records[i] {
			st.Record(notifies[n])
		}
	}
	for _, n := range x.Join {
		s.lanes[0].Wait(notifies[n])
	}
}

func (s *Session) name() string {
	if s.m.Name != "" {
		return s.m.Name
	}
	return "model"
}

func (s *Session) steps(st *runtime.SunkStream, steps []plan.Step, meet func(*plan.Step, *runtime.SunkStream)) {
	b := s.builder
	for i := range steps {
		x := &steps[i]
		switch x.Kind {
		case plan.Launch:
			l := s.launch[x]
			s.patches.launch(s, st.Launch(l.kernel, l.args), x)
		case plan.Copy:
			n := st.Copy(x.Name, s.addr(x.Out[0].Buffer), s.addr(x.In[0].Buffer), x.Out[0].Bytes)
			s.patches.add(s, n, 0, x.Out[0].Buffer)
			s.patches.add(s, n, 1, x.In[0].Buffer)
		case plan.Communicate:
			meet(x, st)
		case plan.Branch:
			els, then := b.Label(), b.Label()
			end := b.Label()
			st.SwitchByIndex(s.addr(x.Cond.Buffer), els, then)
			st.Place(els)
			s.steps(st, x.Else, meet)
			st.Goto(end)
			st.Place(then)
			s.steps(st, x.Then, meet)
			st.Place(end)
		}
	}
}
