package sim

import "fmt"

// Device codes of faults, as a completion entry carries them.
const (
	CodeAICoreTimeout      = 0x25
	CodeAICoreException    = 0x26
	CodeAICoreTrap         = 0x27
	CodeAICPUException     = 0x2A
	CodeVectorTimeout      = 0x30
	CodeVectorException    = 0x31
	CodeSDMACopy           = 0x217
	CodeIllegalInstruction = CodeAICoreException
)

// Fault is what went wrong on the device: an asynchronous error of one task.
type Fault struct {
	Code   uint32 // device code
	Addr   uint64 // address that missed, if HasAddr
	Detail string // in words

	HasAddr bool
	Device  int
	Stream  uint32
	Task    uint32 // flip count << 16 | task id
	Time    int64
	Name    uint32 // string id of the kernel or copy
	Model   uint32 // model instance, 0 none
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("device fault 0x%x", f.Code)
	if f.HasAddr {
		s += fmt.Sprintf(" at address 0x%x", f.Addr)
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// fail marks the head task of q as failed. The queue goes on with the next one (failure mode CONTINUE).
func (m *Machine) fail(q *Queue, f *Fault) {
	d := q.desc()
	f.Device, f.Stream, f.Time = q.dev.id, q.name, m.now
	f.Task = uint32(q.flip)<<16 | uint32(q.taskID)
	f.Name = uint32(d.name())
	if q.fn != nil && f.Name == 0 {
		f.Name = uint32(q.fn.Name)
	}
	q.code = f.Code
	if in := q.instance; in != nil {
		f.Task, f.Model = uint32(q.cur), in.id+1
		if in.fault == nil {
			in.fault = f
		}
	} else {
		q.fault = f
	}
	if m.onFault != nil {
		m.onFault(f)
	}
}
