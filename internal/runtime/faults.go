package runtime

import (
	"fmt"

	"npu/internal/sim"
)

// SetOpExecuteTimeout limits the execution of every later kernel, in seconds, rounded up to the chip's ticks; 0 is the
// maximum. A kernel that takes longer fails with 507014 or 507034 (aclrtSetOpExecuteTimeOut).
func (th *Thread) SetOpExecuteTimeout(seconds int) error {
	if seconds < 0 {
		return th.fail(InvalidParam, "aclrtSetOpExecuteTimeOut", fmt.Sprintf("time-out %d s", seconds), "give 0 (the maximum) or more")
	}
	_, err := th.SetOpExecuteTimeoutMicros(int64(seconds) * 1e6)
	return err
}

// SetOpExecuteTimeoutMicros is SetOpExecuteTimeout in µs; it returns what holds then (aclrtSetOpExecuteTimeOutV2).
func (th *Thread) SetOpExecuteTimeoutMicros(us int64) (actual int64, err error) {
	if us < 0 || us > 1<<50 {
		return 0, th.fail(InvalidParam, "aclrtSetOpExecuteTimeOutV2", fmt.Sprintf("time-out %d µs", us), "give 0 (the maximum) or more")
	}
	err = th.port.Call(func() { actual = th.rt.machine.SetOpTimeout(us*1000) / 1000 })
	return actual, th.blocked("aclrtSetOpExecuteTimeOutV2", nil, err)
}

// OpTimeoutInterval is the tick of these limits in µs (aclrtGetOpTimeOutInterval).
func (th *Thread) OpTimeoutInterval() int64 { return sim.OpTick / 1000 }

// MemUce is memory that cannot be corrected (aclrtMemUceInfo).
type MemUce struct {
	Addr  Ptr
	Bytes int64
}

// Limits of the calls for such memory.
const (
	uceMax    = 128
	repairMax = 20
)

// MemUceInfo lists the memory of a device that cannot be corrected, 128 places at most (aclrtGetMemUceInfo).
func (th *Thread) MemUceInfo(device int) ([]MemUce, error) {
	c := call{name: "aclrtGetMemUceInfo"}
	d, err := th.device(device, c)
	if err != nil {
		return nil, err
	}
	var out []MemUce
	err = th.port.Call(func() { out = d.uce() })
	return out, th.blocked(c.name, nil, err)
}

// MemUceRepair replaces such memory, 20 places a call at most; its contents are lost and read as zeros
// (aclrtMemUceRepair).
func (th *Thread) MemUceRepair(device int, list []MemUce) error {
	c := call{name: "aclrtMemUceRepair"}
	d, err := th.device(device, c)
	if err != nil {
		return err
	}
	if len(list) == 0 || len(list) > repairMax {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("%d places", len(list)), fmt.Sprintf("repair 1 to %d in a call", repairMax))
	}
	bad := -1
	err = th.port.Call(func() {
		for i, u := range list {
			if !d.hw.Repair(uint64(u.Addr)) && bad < 0 {
				bad = i
			}
		}
	})
	if err == nil && bad >= 0 {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("nothing is to repair at 0x%x", uint64(list[bad].Addr)), "take the places from aclrtGetMemUceInfo")
	}
	return th.blocked(c.name, nil, err)
}

// Inject raises faults from now on, beside those of Config. Injection.Spec names each in messages.
func (th *Thread) Inject(list ...*sim.Injection) error {
	err := th.port.Call(func() { th.rt.machine.Inject(list, th.rt.stringOf) })
	return th.blocked("inject", nil, err)
}
