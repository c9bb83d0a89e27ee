package runtime

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim"
)

// LaunchKernel puts a launch into the stream (aclrtLaunchKernelWithConfig). The arguments are copied by the call. It
// returns before the kernel runs; what goes wrong on the device is reported by a later synchronise.
func (th *Thread) LaunchKernel(k *Kernel, args []uint64, s *Stream) error {
	c := th.open
	if s == nil {
		s = th.defaultStream()
	}
	if s != nil && c != nil && k != nil && s.open.Load() == c && k.open.Load() == c && len(args) <= sim.ArgWords && th.port.Fire(s.q, &k.shot, args, launchNs) {
		return nil
	}
	return th.launch(k, args, 0, s, 0)
}

// LaunchAttrs are attributes of one launch (aclrtLaunchKernelCfg). The zero value changes nothing.
type LaunchAttrs struct {
	// Timeout is the limit of this launch in seconds and TimeoutMicros in µs, for one of them, rounded up to the chip's
	// ticks (attributes TIMEOUT 7 and TIMEOUT_US 8). It stands in for that of SetOpExecuteTimeout.
	Timeout       int
	TimeoutMicros int64
}

// LaunchKernelWith is LaunchKernel with attributes (aclrtLaunchKernelWithConfig).
func (th *Thread) LaunchKernelWith(k *Kernel, args []uint64, s *Stream, a LaunchAttrs) error {
	us := a.TimeoutMicros
	switch {
	case a.Timeout != 0 && us != 0:
		return th.fail(InvalidParam, callLaunch.name, "time-out in seconds and in µs", "give one of TIMEOUT and TIMEOUT_US")
	case a.Timeout < 0 || us < 0 || us > 1<<50:
		return th.fail(InvalidParam, callLaunch.name, fmt.Sprintf("time-out %d s, %d µs", a.Timeout, us), "give 0 (what holds for all launches) or more")
	case a.Timeout > 0:
		us = int64(a.Timeout) * 1e6
	case us == 0:
		return th.LaunchKernel(k, args, s)
	}
	return th.launch(k, args, 0, s, sim.OpTicks(us*1000))
}

// LaunchPrepared launches a kernel whose argument block lies in device memory already.
func (th *Thread) LaunchPrepared(k *Kernel, args Ptr, s *Stream) error {
	return th.launch(k, nil, args, s, 0)
}

// launch is a launch with every check and in every case; limit is its own time-out in ns, 0 for none.
func (th *Thread) launch(k *Kernel, args []uint64, block Ptr, s *Stream, limit int64) error {
	s, err := th.use(s, callLaunch)
	if err != nil {
		return err
	}
	if err := th.kernel(k, callLaunch); err != nil {
		return err
	}
	if len(args) > sim.ArgWords {
		return th.fail(NotSupported, callLaunch.name, fmt.Sprintf("%d argument words, a launch carries %d", len(args), sim.ArgWords), "put the arguments into device memory and use LaunchPrepared")
	}
	t := sim.Task{Func: k.id, Kind: k.kind, Args: uint64(block), Words: uint8(min(k.Words(), 255))}
	if limit > 0 {
		t.Flags, t.A = sim.FlagLimit, uint64(limit)
	}
	return th.submit(s, &t, args, callLaunch)
}

// kernel checks the kernel of a launch.
func (th *Thread) kernel(k *Kernel, c call) error {
	switch {
	case k == nil:
		return th.fail(ACLInvalidParam, c.name, "kernel is null", "")
	case k.open.Load() == nil:
		return th.fail(InvalidHandle, c.name, fmt.Sprintf("kernel %s is unloaded", k.Name), "load its binary again")
	case k.ctx != th.ctx:
		return th.fail(StreamContext, c.name, fmt.Sprintf("kernel %s was loaded in another context", k.Name), "load it in the current one")
	}
	return nil
}

// Launch is a prepared launch: its descriptor is filled and its arguments lie on the device, so that submitting it is
// little more than writing it into the ring. It is for one stream.
type Launch struct {
	th     *Thread
	kernel *Kernel
	stream *Stream
	queue  *sim.Queue // of stream
	block  Ptr        // its argument block, 0 without arguments
	shot   sim.Shot
}

// Prepare makes a prepared launch of k on s with these arguments.
func (th *Thread) Prepare(k *Kernel, args []uint64, s *Stream) (*Launch, error) {
	s, err := th.use(s, callLaunch)
	if err != nil {
		return nil, err
	}
	if err := th.kernel(k, callLaunch); err != nil {
		return nil, err
	}
	l := &Launch{th: th, kernel: k, stream: s, queue: s.q, shot: k.shot}
	if n := int64(8 * len(args)); n > 0 {
		if l.block, err = th.Malloc(n); err != nil {
			return nil, err
		}
		err = th.Upload(l.block, n, func(dst []byte) {
			for i, a := range args {
				binary.LittleEndian.PutUint64(dst[8*i:], a)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	l.shot.SetArgs(uint64(l.block), len(args))
	return l, nil
}

// Submit puts the prepared launch into its stream once more.
func (th *Thread) Submit(l *Launch) error {
	if c := th.open; c != nil && l.stream.open.Load() == c && l.kernel.open.Load() == c && th.port.Fire(l.queue, &l.shot, nil, launchNs) {
		return nil
	}
	return th.launch(l.kernel, nil, l.block, l.stream, 0)
}

// DropLaunch frees what a prepared launch holds on the device, when the tasks under way have passed.
func (th *Thread) DropLaunch(l *Launch) error {
	if l.block == 0 {
		return nil
	}
	return th.Free(l.block)
}
