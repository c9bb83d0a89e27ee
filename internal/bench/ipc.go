package bench

import (
	"cmp"
	"fmt"
	"os"

	"npu/internal/runtime"
	"npu/internal/runtime/mempool"
)

// rounds is how many round trips between two processes make a burst, imports how many imports.
const (
	rounds  = 100
	imports = 20
)

func ipcSpecs() []Spec {
	return []Spec{
		{Name: "IPC/export-import-2MiB", About: "allocate 2 MiB, make a key, send it over a pipe to another process, which imports and closes, close, free", open: joined(exportImport)},
		{Name: "IPC/import-2MiB", About: "in another process, import a key that exists and close it: ask on the socket, receive a descriptor, map it", open: joined(importOnly)},
		{Name: "IPC/notify-round-trip", About: "a notify recorded for another process that waits, and one back, in virtual-time order", Goal: Goal{Partner: "IPC/pipe-round-trip"}, open: joined(notifyRoundTrip)},
		{Name: "IPC/pipe-round-trip", About: "a byte over a pipe to another process, and one back", open: joined(pipeRoundTrip)},
		{Name: "IPC/telemetry-on", About: "simulate a task, 8 streams, in a run directory with a telemetry page", Goal: Goal{Partner: "IPC/telemetry-off"}, open: watched},
		{Name: "IPC/telemetry-off", About: "the same alone", open: with(nil, drainTasks)},
	}
}

// joined makes a probe of this process and another one that share a run directory.
func joined(set func(r *rig, p *peer) (func(m *meter) error, error)) func(o *Options) (*probe, error) {
	return func(o *Options) (*probe, error) {
		dir, err := os.MkdirTemp("", "npu-bench")
		if err != nil {
			return nil, err
		}
		r, err := newSharedRig(o.Chip, dir)
		if err != nil {
			return nil, cmp.Or(err, os.RemoveAll(dir))
		}
		p, err := startPeer(o, dir)
		if err != nil {
			return nil, cmp.Or(err, r.close(), os.RemoveAll(dir))
		}
		end := func() error { return cmp.Or(p.close(), r.close(), os.RemoveAll(dir)) }
		burst, err := set(r, p)
		if err != nil {
			return nil, cmp.Or(err, end())
		}
		return &probe{burst, end}, nil
	}
}

// watched is drainTasks in a run directory.
func watched(o *Options) (*probe, error) {
	dir, err := os.MkdirTemp("", "npu-bench")
	if err != nil {
		return nil, err
	}
	r, err := newSharedRig(o.Chip, dir)
	if err != nil {
		return nil, cmp.Or(err, os.RemoveAll(dir))
	}
	burst, err := drainTasks(r)
	end := func() error { return cmp.Or(r.close(), os.RemoveAll(dir)) }
	if err != nil {
		return nil, cmp.Or(err, end())
	}
	return &probe{burst, end}, nil
}

const sharedBytes = 2 << 20

// shareBlock allocates whole pages and makes a key for them.
func shareBlock(th *runtime.Thread, key []byte) (p runtime.Ptr, err error) {
	if err = th.MallocWith(&p, sharedBytes, runtime.MallocConfig{Policy: mempool.HugeOnly}); err == nil {
		err = th.ExportMemory(p, sharedBytes, key, runtime.ExportToAnyPid)
	}
	return p, err
}

func exportImport(r *rig, p *peer) (func(m *meter) error, error) {
	key := make([]byte, 65)
	f := func() error {
		block, err := shareBlock(r.th, key)
		if err != nil {
			return err
		}
		r.th.Outside(func() { _, err = p.ask("import 1 %s", key[:64]) })
		return cmp.Or(err, r.th.CloseMemory(key), r.th.Free(block))
	}
	return func(m *meter) error { return r.clock(m, 1, f, nil) }, nil
}

func importOnly(r *rig, p *peer) (func(m *meter) error, error) {
	key := make([]byte, 65)
	if _, err := shareBlock(r.th, key); err != nil {
		return nil, err
	}
	f := func() (err error) {
		r.th.Outside(func() { _, err = p.ask("import %d %s", imports, key[:64]) })
		return err
	}
	return func(m *meter) error { m.ops = imports; return m.run(f) }, nil
}

// side is one of two processes that play to each other.
type side struct {
	th          *runtime.Thread
	s           *runtime.Stream
	mine, other *runtime.Notify
	key         []byte
}

func newSide(th *runtime.Thread) (*side, error) {
	x := &side{th: th, key: make([]byte, 65)}
	var err error
	if x.s, err = th.CreateStream(runtime.StreamConfig{}); err == nil {
		if x.mine, err = th.CreateNotify(0); err == nil {
			err = th.ExportNotify(x.mine, x.key, runtime.NoPidCheck)
		}
	}
	return x, err
}

func (x *side) link(key []byte) (err error) {
	x.other, err = x.th.ImportNotify(key, 0)
	return err
}

// play records and waits, or waits and records, a burst long.
func (x *side) play(first bool) error {
	var err error
	for range rounds {
		if first {
			err = cmp.Or(err, x.th.RecordNotify(x.other, x.s), x.th.WaitNotify(x.mine, x.s, 0))
		} else {
			err = cmp.Or(err, x.th.WaitNotify(x.mine, x.s, 0), x.th.RecordNotify(x.other, x.s))
		}
	}
	return cmp.Or(err, x.th.SynchronizeStream(x.s))
}

func notifyRoundTrip(r *rig, p *peer) (func(m *meter) error, error) {
	a, err := newSide(r.th)
	if err != nil {
		return nil, err
	}
	key, err := p.ask("notify")
	if err == nil {
		_, err = p.ask("link %s", a.key[:64])
	}
	if err = cmp.Or(err, a.link(append([]byte(key), 0))); err != nil {
		return nil, err
	}
	f := func() error {
		err := cmp.Or(p.send("play"), a.play(true))
		r.th.Outside(func() {
			_, far := p.answer()
			err = cmp.Or(err, far)
		})
		if err != nil {
			return fmt.Errorf("round trip: %w", err)
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, rounds, f, nil) }, nil
}

func pipeRoundTrip(r *rig, p *peer) (func(m *meter) error, error) {
	f := func() error {
		err := p.send("echo")
		b := []byte{0}
		for range rounds {
			if err != nil {
				return err
			}
			if _, err = p.in.Write(b); err == nil {
				_, err = p.out.Read(b)
			}
		}
		_, last := p.answer()
		return cmp.Or(err, last)
	}
	return func(m *meter) (err error) {
		m.ops = rounds
		r.th.Outside(func() { err = m.run(f) })
		return err
	}, nil
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
