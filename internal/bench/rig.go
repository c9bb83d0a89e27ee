package bench

import (
	"cmp"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// rig is an open runtime with the calling goroutine as a host thread.
type rig struct {
	rt   *runtime.Runtime
	th   *runtime.Thread
	tiny *runtime.Kernel // one block of 1 µs
}

// newRig opens a runtime for timing only, without records, unless change says otherwise.
func newRig(chip *soc.Chip, change func(c *runtime.Config)) (*rig, error) {
	c := runtime.Config{Chip: chip, TimingOnly: true}
	if change != nil {
		change(&c)
	}
	rt, err := runtime.Open(c)
	if err != nil {
		return nil, err
	}
	r := &rig{rt: rt, th: rt.Attach()}
	if err = r.th.SetDevice(0); err == nil {
		r.tiny, err = r.th.NewKernel("tiny", trace.KernelAICore, 1, 1000, nil)
	}
	if err != nil {
		return nil, cmp.Or(err, r.close())
	}
	return r, nil
}

func (r *rig) close() error { return r.rt.Close(r.th) }

// stream makes a stream; share lets several threads use it.
func (r *rig) stream(share bool) (*runtime.Stream, error) {
	s, err := r.th.CreateStream(runtime.StreamConfig{})
	if err == nil && share {
		s.Share()
	}
	return s, err
}

func (r *rig) streams(n int) (list []*runtime.Stream, err error) {
	for range n {
		s, err := r.stream(false)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *rig) sync(streams ...*runtime.Stream) error {
	for _, s := range streams {
		if err := r.th.SynchronizeStream(s); err != nil {
			return err
		}
	}
	return nil
}

// clock runs f, which makes ops operations, on the clock, and then drain off it. The simulated time is from the begin
// of f to its return on the thread's clock, or to the end of the last task if that is later.
func (r *rig) clock(m *meter, ops int, f, drain func() error) error {
	from := r.th.Clock()
	if err := m.run(f); err != nil {
		return err
	}
	to := r.th.Clock()
	if drain != nil {
		if err := drain(); err != nil {
			return err
		}
	}
	c, err := r.th.Counters()
	m.ops += ops
	m.timed = true
	m.device += max(to, c.DeviceTime) - from
	return err
}

// with makes a probe of a rig: set opens what the benchmark needs and returns its burst.
func with(change func(c *runtime.Config), set func(r *rig) (func(m *meter) error, error)) func(o *Options) (*probe, error) {
	return func(o *Options) (*probe, error) {
		r, err := newRig(o.Chip, change)
		if err != nil {
			return nil, err
		}
		burst, err := set(r)
		if err != nil {
			return nil, cmp.Or(err, r.close())
		}
		return &probe{burst, func() error {
			if s := r.rt.PinnedStats(); s.Fallbacks > 0 && o.Note != nil {
				o.Note("pinned memory is used unlocked: " + s.Reason)
			}
			return r.close()
		}}, nil
	}
}

// plain makes a probe without a device.
func plain(set func() func(m *meter) error) func(o *Options) (*probe, error) {
	return func(*Options) (*probe, error) { return &probe{burst: set()}, nil }
}

// recordRows is after how many operations a traced benchmark begins a new run, so that long ones do not fill the memory.
const recordRows = 1 << 18

// traced makes a probe of a rig that keeps records as a traced run does, columns included. It is opened anew off the clock.
func traced(set func(r *rig) (func(m *meter) error, error)) func(o *Options) (*probe, error) {
	return func(o *Options) (*probe, error) {
		open := with(func(c *runtime.Config) { c.Recorder = trace.NewRecorder() }, set)
		now, err := open(o)
		if err != nil {
			return nil, err
		}
		n := 0
		burst := func(m *meter) error {
			if n > recordRows {
				if err := now.close(); err != nil {
					return err
				}
				if now, err = open(o); err != nil {
					now = &probe{close: func() error { return nil }}
					return err
				}
				n = 0
			}
			err := now.burst(m)
			n += m.ops
			return err
		}
		return &probe{burst, func() error { return now.close() }}, nil
	}
}

// rawRig is a machine without the runtime above it.
type rawRig struct {
	m    *sim.Machine
	port *sim.Port
	q    *sim.Queue
	shot sim.Shot
	task sim.Task // the same launch
}

func newRawRig(chip *soc.Chip) (*rawRig, error) {
	m, err := sim.NewMachine(sim.Config{Chips: []*soc.Chip{chip}, TimingOnly: true})
	if err != nil {
		return nil, err
	}
	r := &rawRig{m: m, port: m.Attach(0)}
	var failed error
	err = r.port.Call(func() {
		d := m.Devices()[0]
		r.task = sim.Task{Kind: trace.KernelAICore, Func: m.Load(&sim.Function{Kind: trace.KernelAICore, Blocks: 1, BlockNs: 1000})}
		r.shot = sim.NewShot(r.task.Kind, r.task.Func)
		r.q, failed = m.NewQueue(d, sim.QueueConfig{Owner: r.port, Depth: 2 * burst})
	})
	return r, cmp.Or(err, failed)
}

func (r *rawRig) close() error {
	r.port.Detach(nil)
	r.m.Close()
	return nil
}
