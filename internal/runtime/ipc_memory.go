package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"npu/internal/runtime/ipc"
	"npu/internal/sim"
)

// Calls of memory by key, with their modelled cost.
var (
	callExportMem = call{"aclrtIpcMemGetExportKey", 20000}
	callAllowMem  = call{"aclrtIpcMemSetImportPid", 2000}
	callImportMem = call{"aclrtIpcMemImportByKey", 30000}
	callCloseMem  = call{"aclrtIpcMemClose", 10000}
)

// ExportFlags and ImportFlags are those of the calls that hand out and take in keys.
type (
	ExportFlags uint64
	ImportFlags uint64
)

// Flags of memory keys.
const (
	ExportToAnyPid   ExportFlags = 1 // every process of this user may import; else only those that Allow… names
	ImportEnablePeer ImportFlags = 1 // has no effect: an import is reachable from its device
)

// exportedBlock is a block of this process's device memory that has a key.
type exportedBlock struct {
	export *ipc.Export
	addr   uint64
	bytes  int64
	dev    *Device
	phys   *sim.Physical
	freed  bool
	closed bool
}

// importedBlock is memory of another process.
type importedBlock struct {
	im     *ipc.Import
	key    string
	dev    *Device
	addr   uint64
	bytes  int64
	space  *sim.Space
	rng    *sim.Range
	phys   *sim.Physical
	after  []ringPosition // with closed: tasks that may still use it
	closed bool
	orphan atomic.Bool // its exporter is gone: it counts here now
}

// keyText is a key out of a caller's buffer.
func keyText(key []byte) string {
	if i := slices.Index(key, 0); i >= 0 {
		key = key[:i]
	}
	return string(key)
}

// shared is the process's part in the run directory, or the error of a call that needs one.
func (th *Thread) shared(c call) (*process, error) {
	if p := th.rt.process; p != nil {
		return p, nil
	}
	why := "the runtime was opened without a run directory"
	if th.rt.alone != nil {
		why = th.rt.alone.Error()
	}
	return nil, th.fail(NotSupported, c.name, why, "open it with one that is yours alone")
}

// keyError is the error of a call whose key another process has refused or does not know.
func (th *Thread) keyError(c call, err error) error {
	switch {
	case errors.Is(err, ipc.ErrBadKey):
		return th.fail(InvalidParam, c.name, err.Error(), "give the key as the export has written it")
	case errors.Is(err, ipc.ErrDenied):
		return th.fail(NoPermission, c.name, err.Error(), "let the exporter name this process, or export to any")
	}
	return th.fail(DriverError, c.name, err.Error(), "")
}

// ExportMemory makes a key for n bytes at p, with which other processes can map the same memory, and writes it into
// key, which has at least 65 bytes (aclrtIpcMemGetExportKey). The block must be whole pages of 2 MiB. Its content and
// its address stay.
func (th *Thread) ExportMemory(p Ptr, n int64, key []byte, flags ExportFlags) (err error) {
	c := callExportMem
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	ps, err := th.shared(c)
	switch {
	case err != nil:
		return err
	case len(key) < ipc.KeyBytes:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("a buffer of %d bytes for the key", len(key)), "give 65 or more")
	case flags&^ExportToAnyPid != 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint64(flags)), "give 0 or 1")
	case p%sim.Page != 0 || n <= 0 || n%sim.Page != 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes at 0x%x are not whole pages of 2 MiB", n, uint64(p)), "allocate whole pages (ACL_MEM_MALLOC_HUGE_ONLY)")
	}
	var text, why string
	err = th.port.Call(func() { text, why = ps.exportBlock(th.rt, uint64(p), n, flags) })
	if err != nil {
		return th.blocked(c.name, nil, err)
	}
	if why != "" {
		return th.fail(InvalidParam, c.name, why, "export a whole block that is not exported yet")
	}
	copy(key, text)
	key[len(text)] = 0
	return nil
}

// exportBlock moves a block into a memory file and gives it a key, or says why not. Under Port.Call.
func (ps *process) exportBlock(rt *Runtime, p uint64, n int64, flags ExportFlags) (key, why string) {
	for _, d := range rt.devices {
		b, ok := d.memory.pool.Containing(p)
		if !ok {
			continue
		}
		switch {
		case b.Addr != p || b.Room%sim.Page != 0 || uint64(n) > b.Room || b.Leaving:
			return "", fmt.Sprintf("0x%x is not a block of %d bytes that has its pages for itself", p, n)
		case d.memory.exported[p] != nil:
			return "", fmt.Sprintf("0x%x is exported already", p)
		}
		phys, err := d.hw.Share(p, n)
		if err != nil {
			return "", err.Error()
		}
		x := &exportedBlock{addr: p, bytes: n, dev: d, phys: phys}
		f, err := phys.File()
		if err == nil {
			x.export, err = ps.slot.Export(ipc.Memory, f, ipc.Info{uint64(n), uint64(d.hw.ID())}, flags&ExportToAnyPid != 0)
		}
		if err != nil {
			phys.Drop()
			return "", err.Error()
		}
		if d.memory.exported == nil {
			d.memory.exported = map[uint64]*exportedBlock{}
		}
		d.memory.exported[p] = x
		ps.exports = append(ps.exports, x)
		return x.export.Key(), ""
	}
	return "", fmt.Sprintf("0x%x is no device memory of this process", p)
}

// exportOf is what this process exports under a key. Under Port.Call.
func (ps *process) exportOf(key string) *exportedBlock {
	for _, x := range ps.exports {
		if !x.closed && x.export.Key() == key {
			return x
		}
	}
	return nil
}

// AllowMemory lets processes import the memory of a key that this process has made, by their pids on the host
// (aclrtIpcMemSetImportPid).
func (th *Thread) AllowMemory(key []byte, pids ...int) (err error) {
	return th.allow(callAllowMem, key, pids)
}

func (th *Thread) allow(c call, key []byte, pids []int) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	ps, err := th.shared(c)
	if err != nil {
		return err
	}
	x := ps.slot.Exported(keyText(key))
	if x == nil {
		return th.fail(InvalidParam, c.name, "this process exports nothing under the key", "")
	}
	x.Allow(pids...)
	return nil
}

// importAt is where imported memory lies, behind everything else of a device's addresses.
const (
	importAt  = uint64(7) << 37
	importEnd = uint64(1) << 40
)

// ImportMemory maps the memory of a key that another process has made into the current device's address space
// (aclrtIpcMemImportByKey). The address is this process's own. A key imported twice has two mappings.
func (th *Thread) ImportMemory(key []byte, flags ImportFlags) (p Ptr, err error) {
	c := callImportMem
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return 0, err
	}
	ctx, err := th.context(c)
	if err != nil {
		return 0, err
	}
	if flags&^ImportEnablePeer != 0 {
		return 0, th.fail(InvalidParam, c.name, fmt.Sprintf("flags 0x%x", uint64(flags)), "give 0 or 1")
	}
	ps, err := th.shared(c)
	if err != nil {
		return 0, err
	}
	b := &importedBlock{key: keyText(key), dev: ctx.dev, space: ctx.pages.space}
	if b.im, err = ps.slot.Import(ipc.Memory, b.key, func() { b.orphan.Store(true) }); err != nil {
		return 0, th.keyError(c, err)
	}
	b.bytes = int64(b.im.Info[0])
	b.phys, err = sim.AdoptPhysical(b.im.File, b.bytes)
	b.im.File.Close()
	if err != nil {
		b.im.Close()
		return 0, th.keyError(c, err)
	}
	var mapErr error
	err = th.port.Call(func() { mapErr = ps.mapImport(b) })
	if err == nil && mapErr == nil {
		return Ptr(b.addr), nil
	}
	b.phys.Drop()
	b.im.Close()
	if err != nil {
		return 0, th.blocked(c.name, nil, err)
	}
	return 0, th.fail(OutOfMemory, c.name, mapErr.Error(), "close imports that are not used")
}

// mapImport finds room in the device's addresses and maps b there. Under Port.Call.
func (ps *process) mapImport(b *importedBlock) error {
	ps.sweep()
	base, _ := b.dev.hw.Memory()
	at, end := base+importAt, base+importEnd
	var mine []*importedBlock
	for _, x := range ps.imports {
		if x.dev == b.dev {
			mine = append(mine, x)
		}
	}
	slices.SortFunc(mine, func(x, y *importedBlock) int { return int(int64(x.addr) - int64(y.addr)) })
	for _, x := range mine {
		if x.addr-at > uint64(b.bytes) { // with a page between two
			break
		}
		at = x.addr + uint64(x.bytes) + sim.Page
	}
	if at+uint64(b.bytes) > end {
		return fmt.Errorf("no room for %d bytes among the device's addresses", b.bytes)
	}
	b.addr = at
	var err error
	if b.rng, err = b.space.Reserve(at, b.bytes); err != nil {
		return err
	}
	if err = b.rng.Map(0, b.phys, sim.ReadWrite); err != nil {
		b.space.Release(b.rng)
		return err
	}
	ps.imports = append(ps.imports, b)
	return nil
}

// CloseMemory lets go of a key (aclrtIpcMemClose). In an importer it drops this process's oldest mapping of it, after
// the tasks under way; in the exporter it destroys the key: importers keep what they have, nobody new gets it.
func (th *Thread) CloseMemory(key []byte) (err error) {
	c := callCloseMem
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	ps, err := th.shared(c)
	if err != nil {
		return err
	}
	text := keyText(key)
	known := false
	err = th.port.Call(func() {
		for _, b := range ps.imports {
			if b.key == text && !b.closed {
				known, b.closed = true, true
				b.after = b.dev.memory.busy(nil, b.dev, 0)
				ps.sweep()
				return
			}
		}
		if x := ps.exportOf(text); x != nil {
			known, x.closed = true, true
			x.export.Close()
			ps.sweep()
		}
	})
	if err == nil && !known {
		return th.fail(DriverError, c.name, "this process has neither exported nor imported the key", "")
	}
	return th.blocked(c.name, nil, err)
}

// sweep takes away closed imports whose last user has passed, and forgets exports that nobody has any more. Under
// Port.Call.
func (ps *process) sweep() {
	ps.imports = slices.DeleteFunc(ps.imports, func(b *importedBlock) bool {
		if !b.closed || slices.ContainsFunc(b.after, func(a ringPosition) bool { return !a.passed() }) {
			return false
		}
		_ = b.rng.Unmap(0, b.bytes) // the range goes anyway
		b.space.Release(b.rng)
		b.phys.Drop()
		b.im.Close()
		return true
	})
	ps.exports = slices.DeleteFunc(ps.exports, func(x *exportedBlock) bool {
		if !x.freed || x.export.Users() > 0 {
			return false
		}
		x.phys.Drop()
		return true
	})
}

// unshare ends the export of a block that is being released: its pages become the device's own again. Importers keep
// the memory, and it counts here until they let go. Under Port.Call.
func (m *memory) unshare(addr uint64) {
	x := m.exported[addr]
	if x == nil {
		return
	}
	delete(m.exported, addr)
	if !x.closed {
		x.closed = true
		x.export.Close()
	}
	x.freed = true
	_ = m.hw.Unshare(x.addr, x.bytes) // it fails only where the mapping could not be split; then the pages stay shared
}

// claim tells the other processes how much this one holds, and says whether that fits beside them. Under Port.Call.
func (m *memory) claim() bool {
	if m.beside == nil {
		return true
	}
	return m.beside.Claim(m.pool.InUse() + m.kept)
}

// left is how much of the device nobody holds; never less than 0.
func (m *memory) left() int64 {
	_, total := m.hw.Memory()
	if m.beside == nil {
		return total
	}
	return max(0, total-int64(m.beside.InUse()))
}

// account counts what this process holds besides its blocks: memory that it has freed and others still use, and memory
// of others that have died. Under Port.Call, or on the driver.
func (ps *process) account() {
	ps.sweep()
	ps.sweepRemotes()
	for _, d := range ps.rt.devices {
		d.memory.kept = 0
	}
	for _, x := range ps.exports {
		if x.freed {
			x.dev.memory.kept += uint64(x.bytes)
		}
	}
	for _, b := range ps.imports {
		if b.orphan.Load() {
			b.dev.memory.kept += uint64(b.bytes)
		}
	}
	for _, d := range ps.rt.devices {
		d.memory.claim() // more than fits is stated all the same: it is a fact
	}
}

// shares is what other processes have to do with a device's memory.
type shares struct {
	beside   *ipc.Share                // nil: the device is this process's alone
	kept     uint64                    // bytes that count here besides the blocks
	exported map[uint64]*exportedBlock // by address
}
