package bench

import (
	"cmp"
	"fmt"
	"os"

	"npu/internal/runtime"
	"npu/internal/runtime/mempool"
)

// rounds is how many round trips between two runtimes make a burst.
const rounds = 100

func ipcSpecs() []Spec {
	return []Spec{
		{Name: "IPC/export-import-2MiB", About: "allocate 2 MiB, make a key, import it in a second runtime, close both, free", open: joined(exportImport)},
		{Name: "IPC/import-2MiB", About: "import a key that exists and close it: ask on the socket, receive a descriptor, map it", open: joined(importOnly)},
		{Name: "IPC/notify-round-trip", About: "a notify recorded for a second runtime that waits, and one back, in virtual-time order", Goal: Goal{Partner: "IPC/pipe-round-trip"}, open: joined(notifyRoundTrip)},
		{Name: "IPC/pipe-round-trip", About: "a byte over a pipe to another goroutine, and one back", open: pipeRoundTrip},
		{Name: "IPC/telemetry-on", About: "simulate a task, 8 streams, in a run directory with a telemetry page", Goal: Goal{Partner: "IPC/telemetry-off"}, open: joined(func(r *rig, _ *runtime.Thread) (func(m *meter) error, error) { return drainTasks(r) })},
		{Name: "IPC/telemetry-off", About: "the same alone", open: with(nil, drainTasks)},
	}
}

// joined makes a probe of two runtimes that share a run directory, as two processes do. The second one's thread must
// leave its clock outside whenever it does nothing.
func joined(set func(r *rig, peer *runtime.Thread) (func(m *meter) error, error)) func(o *Options) (*probe, error) {
	return func(o *Options) (*probe, error) {
		dir, err := os.MkdirTemp("", "npu-bench")
		if err != nil {
			return nil, err
		}
		share := func(c *runtime.Config) { c.RunDir, c.Program = dir, "bench" }
		r, err := newRig(o.Chip, share)
		if err != nil {
			return nil, err
		}
		other, err := newRig(o.Chip, share)
		if err != nil {
			return nil, cmp.Or(err, r.close())
		}
		end := func() error { return cmp.Or(other.close(), r.close(), os.RemoveAll(dir)) }
		if err = cmp.Or(r.rt.Alone(), other.rt.Alone()); err == nil {
			var burst func(m *meter) error
			if burst, err = set(r, other.th); err == nil {
				return &probe{burst, end}, nil
			}
		}
		return nil, cmp.Or(err, end())
	}
}

const sharedBytes = 2 << 20

// shareBlock allocates whole pages and makes a key for them.
func shareBlock(th *runtime.Thread, key []byte) (p runtime.Ptr, err error) {
	if err = th.MallocWith(&p, sharedBytes, runtime.MallocConfig{Policy: mempool.HugeOnly}); err == nil {
		err = th.ExportMemory(p, sharedBytes, key, runtime.ExportToAnyPid)
	}
	return p, err
}

func exportImport(r *rig, peer *runtime.Thread) (func(m *meter) error, error) {
	key := make([]byte, 65)
	f := func() error {
		p, err := shareBlock(r.th, key)
		if err != nil {
			return err
		}
		if _, err = peer.ImportMemory(key, 0); err == nil {
			err = peer.CloseMemory(key)
		}
		return cmp.Or(err, r.th.CloseMemory(key), r.th.Free(p))
	}
	return func(m *meter) error { return r.clock(m, 1, f, nil) }, nil
}

func importOnly(r *rig, peer *runtime.Thread) (func(m *meter) error, error) {
	key := make([]byte, 65)
	if _, err := shareBlock(r.th, key); err != nil {
		return nil, err
	}
	f := func() error {
		_, err := peer.ImportMemory(key, 0)
		return cmp.Or(err, peer.CloseMemory(key))
	}
	return func(m *meter) error { return r.clock(m, 1, f, nil) }, nil
}

func notifyRoundTrip(r *rig, peer *runtime.Thread) (func(m *meter) error, error) {
	type side struct {
		th          *runtime.Thread
		s           *runtime.Stream
		mine, other *runtime.Notify
		key         []byte
	}
	a, b := &side{th: r.th, key: make([]byte, 65)}, &side{th: peer, key: make([]byte, 65)}
	for _, x := range []*side{a, b} {
		var err error
		if x.s, err = x.th.CreateStream(runtime.StreamConfig{}); err == nil {
			if x.mine, err = x.th.CreateNotify(0); err == nil {
				err = x.th.ExportNotify(x.mine, x.key, runtime.NoPidCheck)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	var err1, err2 error
	a.other, err1 = a.th.ImportNotify(b.key, 0)
	b.other, err2 = b.th.ImportNotify(a.key, 0)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	f := func() error {
		done := make(chan error, 1)
		go func() { // a goroutine of its own for this burst
			var err error
			for range rounds {
				err = cmp.Or(err, b.th.WaitNotify(b.mine, b.s, 0), b.th.RecordNotify(b.other, b.s))
			}
			done <- cmp.Or(err, b.th.SynchronizeStream(b.s))
		}()
		var err error
		for range rounds {
			err = cmp.Or(err, a.th.RecordNotify(a.other, a.s), a.th.WaitNotify(a.mine, a.s, 0))
		}
		err = cmp.Or(err, a.th.SynchronizeStream(a.s))
		a.th.Outside(func() { err = cmp.Or(err, <-done) })
		if err != nil {
			return fmt.Errorf("round trip: %w", err)
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, rounds, f, nil) }, nil
}

func pipeRoundTrip(*Options) (*probe, error) {
	r1, w1, err1 := os.Pipe()
	r2, w2, err2 := os.Pipe()
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	go func() {
		var b [1]byte
		for {
			if _, err := r1.Read(b[:]); err != nil {
				w2.Close()
				return
			}
			if _, err := w2.Write(b[:]); err != nil {
				return
			}
		}
	}()
	f := func() error {
		var b [1]byte
		for range rounds {
			if _, err := w1.Write(b[:]); err != nil {
				return err
			}
			if _, err := r2.Read(b[:]); err != nil {
				return err
			}
		}
		return nil
	}
	return &probe{func(m *meter) error {
		m.ops = rounds
		return m.run(f)
	}, func() error {
		return cmp.Or(w1.Close(), r2.Close(), r1.Close())
	}}, nil
}

// drainTasks simulates launches that were submitted off the clock.
func drainTasks(r *rig) (func(m *meter) error, error) {
	s, err := r.streams(8)
	if err != nil {
		return nil, err
	}
	return func(m *meter) error {
		for range burst {
			for _, x := range s {
				if err := r.th.LaunchKernel(r.tiny, nil, x); err != nil {
					return err
				}
			}
		}
		return r.clock(m, burst*len(s), func() error { return r.sync(s...) }, nil)
	}, nil
}
