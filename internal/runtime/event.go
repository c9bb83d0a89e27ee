package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
)

// Event orders streams: a record marks a position of one stream, a wait holds another stream until the mark is
// reached. There are three kinds, as the real runtime has them: see CreateEvent, CreateEventWithFlag and
// CreateEventExWithFlag. An event may be used by several threads.
type Event struct {
	dev       *Device
	handle    Handle
	kind      eventKind
	flags     EventFlags
	hw        atomic.Pointer[sim.Event] // nil while it has no hardware id
	gen       atomic.Uint64             // records submitted
	uses      atomic.Uint64             // descriptors submitted that name hw
	reset     atomic.Uint64             // gen at the last reset
	seen      atomic.Uint64             // generation<<16 | thread that has seen it complete
	recordAt  atomic.Int64              // clocks of the latest record and of the latest wait: see order
	waitAt    atomic.Int64
	mark      atomic.Pointer[mark] // of its record in a capture
	destroyed atomic.Bool
	remote    *remote // shared with other processes; nil: not

	// Under Port.Call.
	slot  int   // in Device.holders
	agedT int64 // when the last record was reached, for an event whose id was taken back
}

// eventKind is how an event was made.
type eventKind uint8

const (
	plainEvent eventKind = iota // aclrtCreateEvent
	flagEvent                   // aclrtCreateEventWithFlag
	softEvent                   // aclrtCreateEventExWithFlag
)

// EventFlags are the flags of aclrtCreateEventWithFlag.
type EventFlags uint32

// Event flags.
const (
	EventSync           EventFlags = 0x1 // streams can wait for it
	EventStreamProgress EventFlags = 0x2
	EventTimeLine       EventFlags = 0x8 // it keeps time
	EventDeviceUseOnly  EventFlags = 0x10
	EventExternal       EventFlags = 0x20
	EventIPC            EventFlags = 0x40
	eventFlags                     = EventSync | EventStreamProgress | EventTimeLine | EventDeviceUseOnly | EventExternal | EventIPC
	eventAlone                     = EventDeviceUseOnly | EventExternal | EventIPC // go with no other flag
)

// CreateEvent makes an event of the current context's device that streams can wait for and that keeps time
// (aclrtCreateEvent). A wait before the first record is an error; a wait belongs to the latest record at the call.
func (th *Thread) CreateEvent() (*Event, error) {
	return th.createEvent(plainEvent, EventSync|EventTimeLine|EventStreamProgress, callCreateEvent)
}

// CreateEventWithFlag makes an event that is a flag of the hardware (aclrtCreateEventWithFlag): a record sets it,
// ResetEvent clears it, a wait blocks its stream until it is set, also by a record that comes later. Ids are limited:
// 207007 when none is left.
func (th *Thread) CreateEventWithFlag(f EventFlags) (*Event, error) {
	return th.createEvent(flagEvent, f, callCreateEvent)
}

// CreateEventExWithFlag makes an event whose state is kept by software (aclrtCreateEventExWithFlag): a wait belongs to
// the latest record at the call, and does nothing if there is none.
func (th *Thread) CreateEventExWithFlag(f EventFlags) (*Event, error) {
	if f == EventIPC && th.rt.process != nil {
		return th.createIPCEvent(nil, callCreateEvent)
	}
	return th.createEvent(softEvent, f, callCreateEvent)
}

func (th *Thread) createEvent(k eventKind, f EventFlags, c call) (e *Event, err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return nil, err
	}
	switch {
	case f == 0 || f&^eventFlags != 0:
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint32(f)), "give at least one flag, and known ones only")
	case f&eventAlone != 0 && f&(f-1) != 0:
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint32(f)), "EXTERNAL, DEVICE_USE_ONLY and IPC go with no other flag")
	case f&EventIPC != 0:
		return nil, th.fail(NotSupported, c.name, "events between processes", "use an event of this process")
	}
	ctx, err := th.context(c)
	if err != nil {
		return nil, err
	}
	e = &Event{dev: ctx.dev, kind: k, flags: f}
	ok := true
	err = th.port.Call(func() {
		if k == flagEvent {
			if ok = e.dev.hw.Events() < e.dev.eventLimit(); !ok {
				return
			}
			e.hw.Store(e.dev.hw.NewEvent())
		}
		e.handle = e.dev.rt.handles.add(eventHandle, e)
	})
	if err == nil && !ok {
		return nil, th.fail(NoEvent, c.name, fmt.Sprintf("device %d has no event id left, %d are in use", ctx.dev.id, ctx.dev.eventLimit()), "destroy events that are not used")
	}
	return e, th.blocked(c.name, nil, err)
}

// eventLimit is how many event ids the device has.
func (d *Device) eventLimit() int {
	if n := d.hw.Chip().EventMax; n > 0 {
		return n
	}
	return 65536
}

func (th *Thread) event(e *Event, c call) error {
	if e == nil {
		return th.fail(InvalidParam, c.name, "event is null", "")
	}
	if e.destroyed.Load() {
		return th.fail(InvalidHandle, c.name, "event is destroyed", "")
	}
	return nil
}

// takeID gives e a hardware id for its next record. When none is left it takes one back from an event that is done
// and merely kept, and waits if there is no such event.
func (th *Thread) takeID(e *Event, c call) error {
	d := e.dev
	_, err := th.port.WaitCond(&d.hw.EventIDs, func() bool {
		if d.hw.Events() >= d.eventLimit() && !d.ageOne() {
			return false
		}
		e.hw.Store(d.hw.NewEvent())
		e.slot = len(d.holders)
		d.holders = append(d.holders, e)
		return true
	}, 0, 0)
	return th.blocked(c.name, nil, err)
}

// ageOne takes the id of the first event that nobody waits for any more.
func (d *Device) ageOne() bool {
	for _, e := range d.holders {
		if e.hw.Load().Through() >= e.uses.Load() {
			d.unhold(e)
			e.age()
			return true
		}
	}
	return false
}

// age takes e's hardware id. Under Port.Call.
func (e *Event) age() {
	hw := e.hw.Load()
	if hw == nil {
		return
	}
	_, e.agedT = hw.Reached()
	e.dev.rt.machine.DropEvent(hw, 0)
	e.hw.Store(nil)
	e.uses.Store(0)
}

// unhold takes e out of the list of events that can do without their id.
func (d *Device) unhold(e *Event) {
	last := len(d.holders) - 1
	if e.slot > last || d.holders[e.slot] != e {
		return
	}
	d.holders[e.slot] = d.holders[last]
	d.holders[e.slot].slot = e.slot
	d.holders = d.holders[:last]
}

// DestroyEvent gives the event up; records and waits that are under way keep working, and its id is released when
// they are through (aclrtDestroyEvent).
func (th *Thread) DestroyEvent(e *Event) (err error) {
	t := th.begin(callDestroyEvent)
	defer func() { th.end(callDestroyEvent, t, err) }()
	if e == nil {
		return th.fail(ACLInvalidParam, callDestroyEvent.name, "event is null", "")
	}
	if err = th.event(e, callDestroyEvent); err != nil {
		return err
	}
	e.destroyed.Store(true)
	err = th.port.Call(func() {
		d := e.dev
		d.rt.handles.remove(e.handle)
		d.rt.hostMem.order.dropEvent(e)
		if hw := e.hw.Load(); hw != nil {
			if e.kind != flagEvent {
				d.unhold(e)
			}
			d.rt.machine.DropEvent(hw, e.uses.Load())
		}
	})
	return th.blocked(callDestroyEvent.name, nil, err)
}
