package bench

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"

	"npu/internal/runtime"
	"npu/internal/sim"
)

// burst is how many submissions are timed in a row; the device drains them off the clock.
const burst = 1000

const (
	channelSend = "Launch/channel-send"
	mutexFour   = "Launch/mutex-queue-4-threads"
	producers   = 4
)

// launchSpecs are the ways to put a kernel into a stream, beside the queues that a program could use instead. All
// carry 64 bytes.
func launchSpecs() []Spec {
	return []Spec{
		{Name: "Launch/owned", About: "launch with 4 argument words on a stream of the thread's own", Goal: Goal{Partner: channelSend, MaxRatio: 0.9}, open: launches(4, false, true)},
		{Name: "Launch/owned-no-args", About: "launch without arguments", Goal: Goal{Partner: channelSend}, open: launches(0, false, true)},
		{Name: "Launch/prepared", About: "submission of a prepared launch", Goal: Goal{Partner: channelSend, MaxRatio: 0.65}, open: with(nil, prepared)},
		{Name: "Launch/shared", About: "launch with 4 argument words on a shared stream", Goal: Goal{Partner: channelSend, MaxRatio: 2}, open: launches(4, true, true)},
		{Name: "Launch/default-stream", About: "launch with 4 argument words on the default stream", Goal: Goal{Partner: channelSend}, open: launches(4, false, false)},
		{Name: "Launch/ring-push", About: "descriptor and doorbell alone, without the runtime's checks", Goal: Goal{Partner: channelSend}, open: ringPush},
		{Name: "Launch/spsc-push", About: "the least that a queue for two threads needs: store 64 bytes, publish", Goal: Goal{Partner: channelSend}, open: plain(spscPush)},
		{Name: channelSend, About: "send of 64 bytes to a buffered Go channel", open: plain(sends)},
		{Name: "Launch/mutex-queue", About: "64 bytes into a bounded ring under a mutex that nobody else wants", Goal: Goal{Partner: channelSend}, open: plain(mutexQueue)},
		{Name: "Launch/shared-4-threads", About: "4 threads launch on one stream", Goal: Goal{Partner: mutexFour, MaxRatio: 1}, open: sharedFour},
		{Name: mutexFour, About: "4 threads put 64 bytes into a bounded ring under one mutex", open: plain(contended)},
	}
}

// launches launches on a stream of its own, or on the default stream.
func launches(words int, share, explicit bool) func(o *Options) (*probe, error) {
	return with(nil, func(r *rig) (func(m *meter) error, error) {
		var s *runtime.Stream
		if explicit {
			var err error
			if s, err = r.stream(share); err != nil {
				return nil, err
			}
		}
		th, k, args := r.th, r.tiny, make([]uint64, words)
		f := func() error {
			for range burst {
				if err := th.LaunchKernel(k, args, s); err != nil {
					return err
				}
			}
			return nil
		}
		drain := func() error { return th.SynchronizeStream(s) }
		return func(m *meter) error { return r.clock(m, burst, f, drain) }, nil
	})
}

func prepared(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, err
	}
	l, err := r.th.Prepare(r.tiny, []uint64{1, 2, 3, 4}, s)
	if err != nil {
		return nil, err
	}
	th := r.th
	f := func() error {
		for range burst {
			if err := th.Submit(l); err != nil {
				return err
			}
		}
		return nil
	}
	drain := func() error { return th.SynchronizeStream(s) }
	return func(m *meter) error { return r.clock(m, burst, f, drain) }, nil
}

func ringPush(o *Options) (*probe, error) {
	r, err := newRawRig(o.Chip)
	if err != nil {
		return nil, err
	}
	p, q, shot := r.port, r.q, &r.shot
	f := func() error {
		for range burst {
			if !p.Fire(q, shot, nil, 3000) {
				if _, err := p.Submit(q, &r.task, nil, 3000); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return &probe{func(m *meter) error {
		from := p.Clock()
		if err := m.run(f); err != nil {
			return err
		}
		m.ops, m.timed, m.device = burst, true, p.Clock()-from
		_, err := p.WaitQueue(q, sim.Everything, 0, 0)
		return err
	}, r.close}, nil
}

// spsc is a ring between one producer and one consumer.
type spsc struct {
	tail atomic.Uint64
	_    [64]byte
	head atomic.Uint64
	_    [64]byte
	buf  [2048][8]uint64
}

func spscPush() func(m *meter) error {
	q := new(spsc)
	f := func() error {
		tail, room := q.tail.Load(), q.head.Load()+2048
		for i := range uint64(burst) {
			if tail == room {
				return nil
			}
			q.buf[tail&2047] = [8]uint64{i, tail, 2, 3, 4, 5, 6, 7}
			tail++
			q.tail.Store(tail)
		}
		return nil
	}
	return func(m *meter) error {
		m.ops = burst
		err := m.run(f)
		q.head.Store(q.tail.Load())
		return err
	}
}

func sends() func(m *meter) error {
	c := make(chan [8]uint64, burst)
	f := func() error {
		var d [8]uint64
		for i := range uint64(burst) {
			d[0] = i
			c <- d
		}
		return nil
	}
	return func(m *meter) error {
		m.ops = burst
		err := m.run(f)
		for range burst {
			<-c
		}
		return err
	}
}

// locked is the queue that a program writes first: a bounded ring under a mutex.
type locked struct {
	mu         sync.Mutex
	tail, head uint64
	buf        [2048][8]uint64
}

// push says whether there was room.
func (q *locked) push(d [8]uint64) bool {
	q.mu.Lock()
	if q.tail-q.head >= 2048 {
		q.mu.Unlock()
		return false
	}
	q.buf[q.tail&2047] = d
	q.tail++
	q.mu.Unlock()
	return true
}

func (q *locked) pop() (d [8]uint64, ok bool) {
	q.mu.Lock()
	if ok = q.head < q.tail; ok {
		d = q.buf[q.head&2047]
		q.head++
	}
	q.mu.Unlock()
	return d, ok
}

// fill pushes n descriptors; the queue has room for all that a burst pushes.
func (q *locked) fill(n int) {
	for i := range uint64(n) {
		if !q.push([8]uint64{i}) {
			return
		}
	}
}

// drain takes out everything, as the device does off the clock.
func (q *locked) drain() error {
	for {
		if d, ok := q.pop(); !ok {
			return nil
		} else if d[1] != 0 {
			return errors.New("a descriptor came out damaged")
		}
	}
}

func mutexQueue() func(m *meter) error {
	q := new(locked)
	f := func() error {
		q.fill(burst)
		return nil
	}
	return func(m *meter) error {
		m.ops = burst
		return cmp.Or(m.run(f), q.drain())
	}
}

func contended() func(m *meter) error {
	q := new(locked)
	return func(m *meter) error {
		var g gate
		for range producers {
			go g.pass(func() { q.fill(burst / producers) })
		}
		return cmp.Or(m.gate(&g, burst), q.drain())
	}
}

// gate times the producers from the gate to their end.
func (m *meter) gate(g *gate, ops int) error {
	m.ops += ops
	g.ready(producers)
	return m.run(g.run)
}

// sharedFour has host threads that live as long as the benchmark. Between bursts they are outside the runtime, so that
// they hold nobody's time back.
func sharedFour(o *Options) (*probe, error) {
	r, err := newRig(o.Chip, nil)
	if err != nil {
		return nil, err
	}
	s, err := r.stream(true)
	if err != nil {
		return nil, cmp.Or(err, r.close())
	}
	k, gates := r.tiny, make(chan *gate)
	launch := func(th *runtime.Thread) error {
		for range burst / producers {
			if err := th.LaunchKernel(k, nil, s); err != nil {
				return err
			}
		}
		return nil
	}
	launches := func(th *runtime.Thread) (err error) {
		for {
			var g *gate
			th.Outside(func() { g = <-gates })
			if g == nil {
				return err
			}
			g.pass(func() { err = cmp.Or(err, launch(th)) })
		}
	}
	var children []*runtime.Child
	for range producers {
		c, err := r.th.Go(launches)
		if err != nil {
			return nil, cmp.Or(err, r.close())
		}
		children = append(children, c)
	}
	return &probe{func(m *meter) error {
		g := new(gate)
		from := r.th.Clock()
		for range producers {
			gates <- g
		}
		if err := m.gate(g, burst); err != nil {
			return err
		}
		// What the others have submitted lies ahead of this thread's clock.
		r.th.Work(burst * 10_000)
		if err := r.sync(s); err != nil {
			return err
		}
		c, err := r.th.Counters()
		m.timed, m.device = true, c.DeviceTime-from
		return err
	}, func() error {
		close(gates)
		return cmp.Or(r.th.Wait(children...), r.close())
	}}, nil
}
