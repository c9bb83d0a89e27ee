package runtime

import (
	"fmt"
	"os"
	"slices"

	"npu/internal/runtime/ipc"
	"npu/internal/sim"
)

// Calls of events and notifies between processes, with their modelled cost.
var (
	callExportEvent  = call{"aclrtIpcGetEventHandle", 10000}
	callOpenEvent    = call{"aclrtIpcOpenEventHandle", 20000}
	callExportNotify = call{"aclrtNotifyGetExportKey", 10000}
	callAllowNotify  = call{"aclrtNotifySetImportPid", 2000}
	callImportNotify = call{"aclrtNotifyImportByKey", 20000}
)

// NoPidCheck lets every process of this user import a notify (flag of aclrtNotifyGetExportKey).
const NoPidCheck ExportFlags = 2

// notifyPeer is the flag of aclrtNotifyImportByKey; it has no effect.
const notifyPeer ImportFlags = 2

// remote is this process's side of an event or a notify that processes share.
type remote struct {
	ps     *process
	sim    *sim.Remote
	mem    []byte
	file   *os.File    // of the side that made it
	export *ipc.Export // once it has a key
	im     *ipc.Import // of the side that opened it
	over   func() bool // it was destroyed and no task names it; under Port.Call
}

func (r *remote) close() {
	if r.export != nil {
		r.export.Close()
	}
	if r.im != nil {
		r.im.Close()
	}
	if r.file != nil {
		r.file.Close()
	}
	ipc.Unmap(r.mem)
	r.mem = nil
}

// newRemote makes shared memory, or maps that of an import, and lets the devices' clocks follow those of the peers.
func (ps *process) newRemote(im *ipc.Import, flag bool) (*remote, error) {
	r := &remote{ps: ps, im: im}
	var err error
	if im == nil {
		r.file, r.mem, err = ipc.SharedFile(sim.RemoteBytes)
	} else {
		r.mem, err = ipc.MapShared(im.File, sim.RemoteBytes)
		im.File.Close()
	}
	if err == nil {
		err = ps.slot.OnPoke(ps.link.Poked)
	}
	if err != nil {
		if r.mem != nil || im != nil {
			r.close()
		}
		return nil, err
	}
	r.sim = sim.NewRemote(r.mem, flag)
	ps.linked.Store(true)
	if im != nil {
		ps.slot.Link(im.Slot)
	}
	return r, nil
}

// offer gives r a key, the same each time.
func (r *remote) offer(kind ipc.Kind, open bool) (string, error) {
	if r.export == nil {
		f, err := ipc.Duplicate(r.file)
		if err != nil {
			return "", err
		}
		if r.export, err = r.ps.slot.Export(kind, f, ipc.Info{}, open); err != nil {
			r.export = nil
			return "", err
		}
		r.sim.Sharers = r.export
	}
	return r.export.Key(), nil
}

// sweepRemotes unmaps what was destroyed and is through. Under Port.Call.
func (ps *process) sweepRemotes() {
	ps.remotes = slices.DeleteFunc(ps.remotes, func(r *remote) bool {
		if r.over == nil || !r.over() {
			return false
		}
		r.close()
		return true
	})
}

// newest is the number of the latest record that was asked for, in whatever process.
func (e *Event) newest() uint64 {
	if e.remote != nil {
		return e.remote.sim.Newest()
	}
	return e.gen.Load()
}

// next is the number of the record that is about to be submitted.
func (e *Event) next() uint64 {
	if e.remote != nil {
		return e.remote.sim.Next(e.remote.ps.slot)
	}
	return e.gen.Add(1)
}

// createIPCEvent makes an event that other processes can open, or opens theirs.
func (th *Thread) createIPCEvent(im *ipc.Import, c call) (e *Event, err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	fail := func(err error) (*Event, error) {
		if im != nil {
			im.File.Close()
			im.Close()
		}
		return nil, err
	}
	if err = th.forbidden(c); err != nil {
		return fail(err)
	}
	ctx, err := th.context(c)
	if err != nil {
		return fail(err)
	}
	r, err := th.rt.process.newRemote(im, false)
	if err != nil {
		return nil, th.fail(NoResource, c.name, err.Error(), "")
	}
	e = &Event{dev: ctx.dev, kind: softEvent, flags: EventIPC, remote: r}
	err = th.port.Call(func() {
		d := e.dev
		if d.hw.Events() >= d.eventLimit() {
			return
		}
		th.rt.process.link.Activate()
		hw := d.hw.NewEvent()
		hw.SetRemote(r.sim)
		e.hw.Store(hw)
		e.handle = d.rt.handles.add(eventHandle, e)
		r.over = func() bool { return e.destroyed.Load() && hw.Through() >= e.uses.Load() }
		th.rt.process.remotes = append(th.rt.process.remotes, r)
	})
	if err != nil || e.hw.Load() == nil {
		r.close()
	}
	if err == nil && e.hw.Load() == nil {
		return nil, th.fail(NoEvent, c.name, fmt.Sprintf("device %d has no event id left", ctx.dev.id), "destroy events that are not used")
	}
	return e, th.blocked(c.name, nil, err)
}

// ExportEvent writes the handle of an event of CreateEventExWithFlag(EventIPC), with which other processes open it, into
// handle, which has at least 65 bytes (aclrtIpcGetEventHandle). There is no list of who may.
func (th *Thread) ExportEvent(e *Event, handle []byte) (err error) {
	c := callExportEvent
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.event(e, c); err != nil {
		return err
	}
	switch {
	case e.remote == nil || e.remote.file == nil:
		return th.fail(InvalidParam, c.name, "the event is not one that this process has made for others", "make it with CreateEventExWithFlag(EventIPC)")
	case len(handle) < ipc.KeyBytes:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("a buffer of %d bytes for the handle", len(handle)), "give 65 or more")
	}
	text, err := e.remote.offer(ipc.Event, true)
	if err != nil {
		return th.fail(NoResource, c.name, err.Error(), "")
	}
	handle[copy(handle, text)] = 0
	return nil
}

// OpenEvent is another process's event (aclrtIpcOpenEventHandle). Either side records, waits, queries, synchronises and
// destroys it; it keeps no time.
func (th *Thread) OpenEvent(handle []byte) (*Event, error) {
	ps, err := th.shared(callOpenEvent)
	if err != nil {
		return nil, err
	}
	im, err := ps.slot.Import(ipc.Event, keyText(handle), nil)
	if err != nil {
		return nil, th.keyError(callOpenEvent, err)
	}
	return th.createIPCEvent(im, callOpenEvent)
}

// ExportNotify writes a key of the notify, with which other processes record it, into key, which has at least 65 bytes
// (aclrtNotifyGetExportKey). flags is 0, or NoPidCheck.
func (th *Thread) ExportNotify(n *Notify, key []byte, flags ExportFlags) (err error) {
	c := callExportNotify
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.notify(n, c); err != nil {
		return err
	}
	ps, err := th.shared(c)
	switch {
	case err != nil:
		return err
	case len(key) < ipc.KeyBytes:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("a buffer of %d bytes for the key", len(key)), "give 65 or more")
	case flags&^NoPidCheck != 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint64(flags)), "give 0 or 2")
	case n.remote != nil && n.remote.im != nil:
		return th.fail(InvalidParam, c.name, "the notify belongs to another process", "export it there")
	}
	if n.remote == nil {
		r, err := ps.newRemote(nil, true)
		if err != nil {
			return th.fail(NoResource, c.name, err.Error(), "")
		}
		if err := th.shareNotify(n, r); err != nil {
			return th.blocked(c.name, nil, err)
		}
	}
	text, err := n.remote.offer(ipc.Notify, flags&NoPidCheck != 0)
	if err != nil {
		return th.fail(NoResource, c.name, err.Error(), "")
	}
	key[copy(key, text)] = 0
	return nil
}

// shareNotify makes n one that several processes record.
func (th *Thread) shareNotify(n *Notify, r *remote) error {
	err := th.port.Call(func() {
		th.rt.process.link.Activate()
		n.hw.SetRemote(r.sim)
		r.over = n.destroyed.Load
		th.rt.process.remotes = append(th.rt.process.remotes, r)
	})
	if err == nil {
		n.remote = r
	}
	return err
}

// AllowNotify lets processes import a notify, by their pids on the host (aclrtNotifySetImportPid).
func (th *Thread) AllowNotify(key []byte, pids ...int) error {
	return th.allow(callAllowNotify, key, pids)
}

// ImportNotify is another process's notify (aclrtNotifyImportByKey): this process records it; only its maker waits.
func (th *Thread) ImportNotify(key []byte, flags ImportFlags) (*Notify, error) {
	c := callImportNotify
	ps, err := th.shared(c)
	if err != nil {
		return nil, err
	}
	if flags&^notifyPeer != 0 {
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint64(flags)), "give 0 or 2")
	}
	im, err := ps.slot.Import(ipc.Notify, keyText(key), nil)
	if err != nil {
		return nil, th.keyError(c, err)
	}
	n, err := th.CreateNotify(0)
	if err != nil {
		im.Close()
		return nil, err
	}
	r, err := ps.newRemote(im, true)
	if err != nil {
		return nil, th.fail(NoResource, c.name, err.Error(), "")
	}
	return n, th.blocked(c.name, nil, th.shareNotify(n, r))
}
