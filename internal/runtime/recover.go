package runtime

import (
	"fmt"

	"npu/internal/sim"
)

// ErrorKind is what part of a device an error is of (aclrtErrorType).
type ErrorKind int

// Kinds of errors.
const (
	NoError     ErrorKind = 0
	MemoryError ErrorKind = 1
	L2Error     ErrorKind = 2
	CoreError   ErrorKind = 3
	LinkError   ErrorKind = 4
	L3PortError ErrorKind = 5
	OtherError  ErrorKind = 0xffff
)

func (k ErrorKind) String() string {
	switch k {
	case NoError:
		return "none"
	case MemoryError:
		return "memory"
	case L2Error:
		return "l2"
	case CoreError:
		return "aicore"
	case LinkError:
		return "link"
	case L3PortError:
		return "l3 port"
	}
	return "other"
}

// CoreErrorKind says what a CoreError comes from (aclrtAicoreErrorType).
type CoreErrorKind int

// Kinds of errors of cores.
const (
	CoreUnknown  CoreErrorKind = iota
	CoreSoftware               // the program: an address, an instruction, a division
	CoreHardware               // the core itself
)

func (k CoreErrorKind) String() string {
	return [...]string{"unknown", "software", "hardware"}[k]
}

// ErrorVerbose is the latest error of a device (aclrtErrorInfo).
type ErrorVerbose struct {
	Kind      ErrorKind
	TryRepair bool // RepairError can put it right
	Core      CoreErrorKind
	Memory    []MemUce // of a MemoryError
}

// ErrorVerbose tells of the latest error of a task on a device that has not been repaired. Ask before the device's tasks
// are aborted (aclrtGetErrorVerbose).
func (th *Thread) ErrorVerbose(device int) (x ErrorVerbose, err error) {
	c := call{name: "aclrtGetErrorVerbose"}
	d, err := th.device(device, c)
	if err != nil {
		return x, err
	}
	err = th.port.Call(func() { x = d.verbose() })
	return x, th.blocked(c.name, nil, err)
}

// verbose is the latest error. Under Port.Call.
func (d *Device) verbose() (x ErrorVerbose) {
	f := d.hw.LastFault()
	if f == nil {
		return x
	}
	switch faultCode(f.Code) {
	case MemoryECC:
		x.Kind, x.Memory = MemoryError, d.uce()
		x.TryRepair = len(x.Memory) > 0
	case AICoreException, VectorException:
		x.Kind = CoreError
		if f.Software() {
			x.Core = CoreSoftware
		}
	case AICoreTimeout, VectorTimeout:
		x.Kind = CoreError
	default:
		x.Kind = OtherError
	}
	return x
}

// RepairError puts the latest error of a device right, as ErrorVerbose has told it: memory that cannot be corrected is
// replaced, its contents read as zeros. The device's tasks must have been aborted since the error (aclrtRepairError).
func (th *Thread) RepairError(device int, x ErrorVerbose) error {
	c := call{name: "aclrtRepairError"}
	d, err := th.device(device, c)
	if err != nil {
		return err
	}
	var now ErrorVerbose
	aborted := false
	err = th.port.Call(func() {
		f := d.hw.LastFault()
		now, aborted = d.verbose(), f != nil && d.aborted == f
		if aborted && now.Kind == x.Kind && now.TryRepair {
			for _, u := range d.hw.Poisoned() {
				d.hw.Repair(u)
			}
			d.hw.ForgetFault()
		}
	})
	switch {
	case err != nil:
		return th.blocked(c.name, nil, err)
	case now.Kind == NoError || now.Kind != x.Kind:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("the error to repair is %v, the device's latest one is %v", x.Kind, now.Kind), "give what aclrtGetErrorVerbose has told")
	case !now.TryRepair:
		return th.fail(NotSupported, c.name, fmt.Sprintf("an error of kind %v cannot be repaired", now.Kind), "reset the device: aclrtResetDeviceForce")
	case !aborted:
		return th.failAs(InvalidParam, "EE1018", c.name, "tasks of the device go on", "abort them first: aclrtDeviceTaskAbort")
	}
	return nil
}

// uce lists memory that cannot be corrected. Under Port.Call.
func (d *Device) uce() []MemUce {
	var out []MemUce
	for _, a := range d.hw.Poisoned() {
		if len(out) < uceMax {
			out = append(out, MemUce{Ptr(a), sim.PoisonUnit})
		}
	}
	return out
}
