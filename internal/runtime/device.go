package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
)

// Device is one device as this process uses it: its contexts, the memory that was taken from it, its streams.
type Device struct {
	rt    *Runtime
	hw    *sim.Device
	id    int // as the program numbers the visible devices
	peers []atomic.Bool

	// Under Port.Call.
	primary  *Context
	refs     int // SetDevice minus ResetDevice
	contexts []*Context
	memory   *memory
	streams  []*Stream // alive, hidden ones included
	ids      []bool    // stream numbers in use
	public   int       // streams that count against the device's limit
	faults   uint64    // under the driver
	overflow overflow
	holders  []*Event // events that hold a hardware id and can do without

	aborted *sim.Fault // the latest error when the tasks were last aborted; under Port.Call
}

func newDevice(rt *Runtime, hw *sim.Device, id int) *Device {
	return &Device{rt: rt, hw: hw, id: id, memory: newMemory(hw)}
}

// device is the device of that number, or the error of a call.
func (th *Thread) device(id int, c call) (*Device, error) {
	n := len(th.rt.devices)
	if err := th.rt.visibleErr; err != nil {
		return nil, th.failAs(InvalidDevice, "EE2002", c.name, err.Error(), "list the devices in ascending order, each once")
	}
	if id < 0 || id >= n {
		hint := fmt.Sprintf("the range is [0, %d)", n)
		if n == 0 {
			hint = "no device is visible"
		}
		return nil, th.fail(InvalidDevice, c.name, fmt.Sprintf("device %d", id), hint)
	}
	return th.rt.devices[id], nil
}

// SetDevice makes the device's primary context current, which is created if need be, and clears an explicit one
// (aclrtSetDevice).
func (th *Thread) SetDevice(id int) (err error) {
	t := th.begin(callSetDevice)
	defer func() { th.end(callSetDevice, t, err) }()
	if err = th.forbidden(callSetDevice); err != nil {
		return err
	}
	d, err := th.device(id, callSetDevice)
	if err != nil {
		return err
	}
	th.tellDevice(d, DeviceSetting)
	ctx, err := th.newContext(d, ContextConfig{}, true, callSetDevice)
	if err != nil {
		return err
	}
	th.setContext(ctx)
	th.tellDevice(d, DeviceSet)
	return nil
}

// Device is the number of the current context's device (aclrtGetDevice).
func (th *Thread) Device() (int, error) {
	c, err := th.context(call{name: "aclrtGetDevice"})
	if err != nil {
		return 0, err
	}
	return c.dev.id, nil
}

// ResetDevice drops one reference to the device. With the last one its streams are finished, its contexts end, and its
// memory is freed (aclrtResetDevice).
func (th *Thread) ResetDevice(id int) error { return th.resetDevice(id, false) }

// ResetDeviceForce drops all references to the device at once (aclrtResetDeviceForce).
func (th *Thread) ResetDeviceForce(id int) error { return th.resetDevice(id, true) }

func (th *Thread) resetDevice(id int, force bool) (err error) {
	t := th.begin(callResetDevice)
	defer func() { th.end(callResetDevice, t, err) }()
	if err = th.forbidden(callResetDevice); err != nil {
		return err
	}
	d, err := th.device(id, callResetDevice)
	if err != nil {
		return err
	}
	th.tellDevice(d, DeviceResetting)
	var ending []*Context
	last, never := false, false
	err = th.port.Call(func() {
		switch {
		case d.refs == 0:
			never = true
		case force:
			d.refs = 0
		default:
			d.refs--
		}
		if last = d.refs == 0 && !never; last {
			ending = append(ending, d.contexts...)
		}
	})
	if err != nil {
		return th.blocked(callResetDevice.name, nil, err)
	}
	if never {
		return th.fail(ContextRelease, callResetDevice.name, fmt.Sprintf("device %d is reset more often than set", id), "pair each reset with a set")
	}
	defer th.tellDevice(d, DeviceReset)
	if !last {
		return nil
	}
	for _, c := range ending {
		if e := th.endContext(c, callResetDevice); e != nil && err == nil {
			err = e
		}
	}
	if e := th.port.Call(func() {
		d.memory.reset()
		d.overflow = overflow{}
		d.hw.ForgetFault()
		for _, e := range d.holders {
			e.age()
		}
		d.holders = nil
	}); e != nil && err == nil {
		err = th.blocked(callResetDevice.name, nil, e)
	}
	return err
}

// PriorityRange is the least and the greatest priority of a stream (aclrtDeviceGetStreamPriorityRange).
func (th *Thread) PriorityRange() (least, greatest int) { return leastPriority, 0 }

// CanAccessPeer says whether device a can be given access to the memory of device b (aclrtDeviceCanAccessPeer). The
// devices of one process all can.
func (th *Thread) CanAccessPeer(a, b int) (bool, error) {
	c := call{name: "aclrtDeviceCanAccessPeer"}
	for _, id := range []int{a, b} {
		if _, err := th.device(id, c); err != nil {
			return false, err
		}
	}
	if a == b {
		return false, th.fail(InvalidParam, c.name, fmt.Sprintf("device %d twice", a), "name two devices")
	}
	return true, nil
}

// EnablePeerAccess lets the current device reach the memory of another one, in this direction only; flags must be 0
// (aclrtDeviceEnablePeerAccess).
func (th *Thread) EnablePeerAccess(peer int, flags uint32) error {
	if flags != 0 {
		return th.fail(InvalidParam, callPeer.name, fmt.Sprintf("flags 0x%x", flags), "give 0")
	}
	return th.setPeer(peer, true)
}

// DisablePeerAccess undoes EnablePeerAccess (aclrtDeviceDisablePeerAccess).
func (th *Thread) DisablePeerAccess(peer int) error { return th.setPeer(peer, false) }

func (th *Thread) setPeer(peer int, on bool) (err error) {
	t := th.begin(callPeer)
	defer func() { th.end(callPeer, t, err) }()
	if err = th.forbidden(callPeer); err != nil {
		return err
	}
	ctx, err := th.context(callPeer)
	if err != nil {
		return err
	}
	d := ctx.dev
	if _, err = th.CanAccessPeer(d.id, peer); err != nil {
		return err
	}
	o := th.rt.devices[peer]
	err = th.port.Call(func() {
		if on {
			d.hw.SetPeer(o.hw, o.memory.shared.space)
		} else {
			d.hw.SetPeer(o.hw, nil)
		}
		d.peers[o.id].Store(on)
	})
	return th.blocked(callPeer.name, nil, err)
}
