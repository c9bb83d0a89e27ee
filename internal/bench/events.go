package bench

import (
	"npu/internal/runtime"
)

// pairs is how many record/wait pairs are put behind each other before the one synchronise.
const pairs = 10_000

func eventSpecs() []Spec {
	return []Spec{
		{Name: "Event/record-wait", About: "record on one stream and wait on another, 10,000 pairs and the synchronise behind them", Goal: Goal{Partner: "Event/channel-handoff", MaxNs: 120}, open: with(nil, recordWait)},
		{Name: "Event/record", About: "record alone", open: with(nil, recordEvent)},
		{Name: "Event/query", About: "query of an event that is complete", open: with(nil, onEvent((*runtime.Thread).QueryEvent))},
		{Name: "Event/synchronize-complete", About: "synchronise on an event that is complete", open: with(nil, onEvent(func(th *runtime.Thread, e *runtime.Event) (bool, error) { return true, th.SynchronizeEvent(e) }))},
		{Name: "Event/create-destroy", About: "create and destroy an event", open: with(nil, eventLife)},
		{Name: "Event/notify-pair", About: "record of a notify on one stream and wait on another", open: with(nil, notifyPair)},
		{Name: "Event/channel-handoff", About: "a value handed to another goroutine and back over unbuffered Go channels, half of the round trip", open: handoff},
	}
}

func recordWait(r *rig) (func(m *meter) error, error) {
	s, err := r.streams(2)
	if err != nil {
		return nil, err
	}
	e, err := r.th.CreateEvent()
	if err != nil {
		return nil, err
	}
	th := r.th
	f := func() error {
		for range pairs {
			if err := th.RecordEvent(e, s[0]); err != nil {
				return err
			}
			if err := th.WaitEvent(s[1], e); err != nil {
				return err
			}
		}
		return th.SynchronizeStream(s[1])
	}
	return func(m *meter) error { return r.clock(m, pairs, f, nil) }, nil
}

func recordEvent(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, err
	}
	e, err := r.th.CreateEvent()
	if err != nil {
		return nil, err
	}
	f := func() error {
		for range burst {
			if err := r.th.RecordEvent(e, s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, func() error { return r.sync(s) }) }, nil
}

// onEvent calls something on an event whose record is complete.
func onEvent(call func(th *runtime.Thread, e *runtime.Event) (bool, error)) func(r *rig) (func(m *meter) error, error) {
	return func(r *rig) (func(m *meter) error, error) {
		s, err := r.stream(false)
		if err != nil {
			return nil, err
		}
		e, err := r.th.CreateEvent()
		if err != nil {
			return nil, err
		}
		if err = r.th.RecordEvent(e, s); err == nil {
			err = r.sync(s)
		}
		f := func() error {
			for range burst {
				if _, err := call(r.th, e); err != nil {
					return err
				}
			}
			return nil
		}
		return func(m *meter) error { return r.clock(m, burst, f, nil) }, err
	}
}

func eventLife(r *rig) (func(m *meter) error, error) {
	f := func() error {
		for range burst {
			e, err := r.th.CreateEvent()
			if err != nil {
				return err
			}
			if err := r.th.DestroyEvent(e); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, nil
}

func notifyPair(r *rig) (func(m *meter) error, error) {
	s, err := r.streams(2)
	if err != nil {
		return nil, err
	}
	n, err := r.th.CreateNotify(0)
	if err != nil {
		return nil, err
	}
	f := func() error {
		for range burst {
			if err := r.th.RecordNotify(n, s[0]); err != nil {
				return err
			}
			if err := r.th.WaitNotify(n, s[1], 0); err != nil {
				return err
			}
			// A second record before the wait would be lost.
			if err := r.th.SynchronizeStream(s[1]); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, nil
}

func handoff(*Options) (*probe, error) {
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v
		}
		close(back)
	}()
	f := func() error {
		for i := range burst {
			there <- i
			<-back
		}
		return nil
	}
	return &probe{func(m *meter) error {
		m.ops = 2 * burst
		return m.run(f)
	}, func() error {
		close(there)
		<-back
		return nil
	}}, nil
}
