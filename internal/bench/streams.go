package bench

import (
	"cmp"
	"fmt"

	"npu/internal/runtime"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

func streamSpecs() []Spec {
	list := []Spec{
		{Name: "Stream/synchronize-idle", About: "synchronise on a stream that has nothing to do", Goal: Goal{MaxNs: 100}, open: with(nil, syncIdle)},
		{Name: "Stream/launch-synchronize", About: "launch of a kernel and synchronise", open: with(nil, launchSync)},
		{Name: "Stream/lock-step-3-threads", About: "a synchronise of 3 threads that each launch and synchronise on a stream of their own", Goal: Goal{MaxNs: 1000}, open: with(nil, lockStep)},
		{Name: "Stream/query", About: "query of an idle stream", open: with(nil, queryStream)},
		{Name: "Stream/create-destroy", About: "create and destroy a stream", open: with(nil, streamLife)},
		{Name: "Stream/host-func", About: "host function and the synchronise behind it", open: with(nil, hostFunc)},
	}
	list = append(list,
		Spec{Name: "Stream/overlap-20us", About: "a launch with 20 µs of host work, of a kernel that computes for 20 µs; synchronise after 512. Kernels compute beside the host", Goal: Goal{Partner: "Stream/foreground-20us"}, open: overlap(20, false)},
		Spec{Name: "Stream/foreground-20us", About: "the same where only a thread that waits drives the devices", open: overlap(20, true)},
		Spec{Name: "Stream/overlap-1us", About: "the same with 1 µs of each: not worth waking a goroutine for", Goal: Goal{Partner: "Stream/foreground-1us"}, open: overlap(1, false)},
		Spec{Name: "Stream/foreground-1us", About: "the same where only a thread that waits drives the devices", open: overlap(1, true)})
	for _, n := range []int{1, 8, 64} {
		s := Spec{Name: fmt.Sprintf("Stream/scheduler-%d-streams", n), About: "a task of the device: decode, dispatch, end, record; no submission", Rate: "tasks_per_s", open: scheduler(n)}
		if n == 8 {
			s.Goal.MinRate = 10e6
		}
		list = append(list, s)
	}
	for n := 1; n <= 64; n *= 2 {
		list = append(list, Spec{Name: latencyName(n), About: "a kernel of one block of 100 µs; one on each stream at the same time, then synchronise. Device time is from submission to end", open: latency(n)})
	}
	return list
}

const latencyPrefix = "Stream/latency-"

func latencyName(streams int) string { return fmt.Sprintf("%s%d-streams", latencyPrefix, streams) }

func syncIdle(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	th := r.th
	f := func() error {
		for range burst {
			if err := th.SynchronizeStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, err
}

func launchSync(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	th, k := r.th, r.tiny
	f := func() error {
		for range burst {
			if err := th.LaunchKernel(k, nil, s); err != nil {
				return err
			}
			if err := th.SynchronizeStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, err
}

func queryStream(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	f := func() error {
		for range burst {
			if _, err := r.th.QueryStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, err
}

func streamLife(r *rig) (func(m *meter) error, error) {
	const lives = 20
	f := func() error {
		for range lives {
			s, err := r.stream(false)
			if err != nil {
				return err
			}
			if err := r.th.DestroyStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, lives, f, nil) }, nil
}

func hostFunc(r *rig) (func(m *meter) error, error) {
	const calls = 100
	s, err := r.stream(false)
	nothing := func(*runtime.Thread) {}
	f := func() error {
		for range calls {
			if err := r.th.LaunchHostFunc(s, nothing); err != nil {
				return err
			}
			if err := r.th.SynchronizeStream(s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, calls, f, nil) }, err
}

// lockStep times three threads from their start to their end; what that and their streams cost is spread over their
// synchronises.
func lockStep(r *rig) (func(m *meter) error, error) {
	const threads, syncs = 3, 500
	k := r.tiny
	children := make([]*runtime.Child, threads)
	f := func() error {
		for i := range children {
			c, err := r.th.Go(func(th *runtime.Thread) error {
				s, err := th.CreateStream(runtime.StreamConfig{})
				if err != nil {
					return err
				}
				for range syncs {
					if err := th.LaunchKernel(k, nil, s); err != nil {
						return err
					}
					if err := th.SynchronizeStream(s); err != nil {
						return err
					}
				}
				return th.DestroyStream(s)
			})
			if err != nil {
				return err
			}
			children[i] = c
		}
		return r.th.Wait(children...)
	}
	return func(m *meter) error {
		from := r.th.Clock()
		err := m.run(f)
		m.ops, m.timed = threads*syncs, true
		m.device = threads * (r.th.Clock() - from) // the threads wait at the same time
		return err
	}, nil
}

// scheduler times the drain of n streams that hold a burst each, as many as fit at least 8000 tasks together.
func scheduler(n int) func(o *Options) (*probe, error) {
	return traced(func(r *rig) (func(m *meter) error, error) {
		s, err := r.streams(n)
		each := min(burst, max(100, 8*burst/n))
		drain := func() error { return r.sync(s...) }
		return func(m *meter) error {
			from := r.th.Clock()
			for range each {
				for _, x := range s {
					if err := r.th.LaunchKernel(r.tiny, nil, x); err != nil {
						return err
					}
				}
			}
			err := m.run(drain)
			m.ops, m.timed, m.device = n*each, true, r.th.Clock()-from
			return err
		}, err
	})
}

// latency puts one kernel on each of n streams. More than the device has cores wait for one another.
func latency(n int) func(o *Options) (*probe, error) {
	return func(o *Options) (*probe, error) {
		device, err := latencyNs(o.Chip, n)
		if err != nil {
			return nil, err
		}
		return with(nil, func(r *rig) (func(m *meter) error, error) {
			f, err := r.oneOnEach(n)
			const times = 8
			all := func() error {
				for range times {
					if err := f(); err != nil {
						return err
					}
				}
				return nil
			}
			return func(m *meter) error {
				m.ops, m.timed = n*times, true
				m.device = device * int64(m.ops) / int64(n)
				return m.run(all)
			}, err
		})(o)
	}
}

// oneOnEach makes n streams and a function that launches a kernel on each and waits for all.
func (r *rig) oneOnEach(n int) (func() error, error) {
	s, err := r.streams(n)
	if err != nil {
		return nil, err
	}
	k, err := r.th.NewKernel("work", trace.KernelAICore, 1, 100_000, nil)
	return func() error {
		for _, x := range s {
			if err := r.th.LaunchKernel(k, nil, x); err != nil {
				return err
			}
		}
		return r.sync(s...)
	}, err
}

// latencyNs is what the records of such kernels say, from submission to end, summed over the n streams.
func latencyNs(chip *soc.Chip, n int) (sum int64, err error) {
	rec := trace.NewRecorder()
	r, err := newRig(chip, func(c *runtime.Config) { c.Recorder = rec })
	if err != nil {
		return 0, err
	}
	f, err := r.oneOnEach(n)
	if err == nil {
		err = f()
	}
	if err = cmp.Or(err, r.close()); err != nil {
		return 0, err
	}
	t := rec.Finish()
	for _, k := range t.Tasks.All() {
		if t.String(k.Name) == "work" {
			sum += k.End - k.Submit
		}
	}
	return sum, nil
}
