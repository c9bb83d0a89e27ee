package runtime

import (
	"encoding/binary"
	"slices"

	"npu/internal/sim"
	"npu/internal/trace"
)

// Exception is what an exception callback is told (aclrtExceptionInfo). It is valid inside the call only.
type Exception struct {
	Task   uint32 // flip count << 16 | task id
	Stream uint32
	Thread uint16 // that submitted the task
	Device int
	Code   Code   // the aclError that the next synchronise returns
	Kernel string // name of the kernel; empty for other tasks
	Kind   trace.Kind
	// Args are the argument words of a kernel and ArgsAddr their place in device memory; for other tasks the
	// descriptor's operands.
	Args     []uint64
	ArgsAddr Ptr
	Fault    *sim.Fault
}

// ExceptionCallback is a function that hears of failing tasks; its address is its identity.
type ExceptionCallback struct {
	Func func(*Thread, *Exception)
}

// RegisterExceptionCallback has c called for each failing task, on a thread of the runtime, before the synchronise that
// reports the fault returns. Registering twice does nothing (aclrtExceptionInfoCallbackRegister). The callback must not
// allocate, submit or synchronise.
func (th *Thread) RegisterExceptionCallback(c *ExceptionCallback) error {
	if c == nil || c.Func == nil {
		return th.fail(ACLInvalidParam, callException.name, "callback is null", "")
	}
	return th.changeExceptions(func(x *exceptions) {
		if !slices.Contains(x.list, c) {
			x.list = append(x.list, c)
		}
	})
}

// UnregisterExceptionCallback undoes RegisterExceptionCallback (aclrtExceptionInfoCallbackUnregister).
func (th *Thread) UnregisterExceptionCallback(c *ExceptionCallback) error {
	return th.changeExceptions(func(x *exceptions) {
		if i := slices.Index(x.list, c); i >= 0 {
			x.list = slices.Delete(slices.Clone(x.list), i, i+1)
		}
	})
}

// SetExceptionCallback sets the one callback of the older interface, nil for none; those that are registered are called
// as well (aclrtSetExceptionInfoCallback).
func (th *Thread) SetExceptionCallback(f func(*Thread, *Exception)) error {
	return th.changeExceptions(func(x *exceptions) { x.old = f })
}

// exceptions are the callbacks of a runtime. Under Port.Call.
type exceptions struct {
	list    []*ExceptionCallback
	old     func(*Thread, *Exception)
	box     *blackBox // nil: nothing is written
	service *service
}

// changeExceptions changes the callbacks, and lets the device report faults as long as there are any.
func (th *Thread) changeExceptions(change func(*exceptions)) error {
	x := &th.rt.exceptions
	var sv *service
	if err := th.port.Call(func() { sv = x.service }); err != nil {
		return th.blocked(callException.name, nil, err)
	}
	if sv == nil {
		var err error
		if sv, err = th.startService(callException, (*Thread).reportException); err != nil {
			return err
		}
	}
	extra := sv
	err := th.port.Call(func() {
		if x.service == nil {
			x.service = sv
		}
		if x.service == sv {
			extra = nil
		}
		change(x)
		if len(x.list) > 0 || x.old != nil || x.box != nil {
			th.rt.machine.ReportFaults(x.service.mail)
		} else {
			th.rt.machine.ReportFaults(nil)
		}
	})
	extra.end() // another thread was faster
	return th.blocked(callException.name, nil, err)
}

// reportException tells the callbacks of one fault. It runs on the service thread.
func (cb *Thread) reportException(j *sim.Job) {
	f := j.Fault
	if f == nil {
		return
	}
	var all []func(*Thread, *Exception)
	var box *blackBox
	e := &Exception{Task: f.Task, Stream: f.Stream, Thread: f.Thread, Code: faultCode(f.Code), Kind: f.Kind, ArgsAddr: Ptr(f.Args), Args: f.Words, Fault: f}
	err := cb.port.Call(func() {
		x := &cb.rt.exceptions
		box = x.box
		for _, c := range x.list {
			all = append(all, c.Func)
		}
		if x.old != nil {
			all = append(all, x.old)
		}
		for _, d := range cb.rt.devices {
			if d.hw.ID() == f.Device {
				e.Device = d.id
				e.Args = d.argsOf(f)
			}
		}
		if t := cb.rt.strings.StringTable(); f.Kind.Kernel() && int(f.Name) < len(t) {
			e.Kernel = t[f.Name]
		}
	})
	if err != nil {
		return
	}
	if box != nil && !f.Benign() {
		cb.dump(box, e)
	}
	for _, call := range all {
		call(cb, e)
	}
}

// argsOf reads the argument words of a faulting kernel.
func (d *Device) argsOf(f *sim.Fault) []uint64 {
	if !f.Kind.Kernel() {
		return f.Words
	}
	b := d.hw.Bytes(f.Args, 8*f.ArgWords)
	args := make([]uint64, 0, f.ArgWords)
	for ; len(b) >= 8; b = b[8:] {
		args = append(args, binary.LittleEndian.Uint64(b))
	}
	return args
}
