package runtime

import (
	"fmt"
	"testing"
	"time"

	"npu/internal/runtime/ipc"
)

func TestX11_memoryByKey(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	b := startPeer(t, dir)
	p, key := r.block(ipcPage, 123), make([]byte, 65)
	r.ok(r.ExportMemory(p, ipcPage, key, 0), r.AllowMemory(key, 1, b.pid()))
	if r.first(p) != 123 {
		t.Error("the content was lost with the export")
	}
	b.want("ok", "import %s", keyText(key))
	b.want("ok 123", "read")
	b.want("ok", "add 7") // a kernel of the importer
	if v := r.first(p); v != 130 {
		t.Errorf("the exporter reads %d, want 130: the pages are not the same", v)
	}
	r.ok(r.LaunchKernel(r.add, []uint64{uint64(p), 1}, nil), r.SynchronizeDevice())
	b.want("ok 131", "read")
	b.want("ok", "close")
	b.want("code 507015", "add 1") // nothing is mapped there any more
	b.want("code 507899", "close")
	r.ok(r.CloseMemory(key), r.Free(p))
	r.clean()
}

func TestX12_whitelist(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	b := startPeer(t, dir)
	p, q := r.block(ipcPage, 1), r.block(ipcPage, 2)
	key, open := make([]byte, 65), make([]byte, 65)
	r.ok(r.ExportMemory(p, ipcPage, key, 0), r.ExportMemory(q, ipcPage, open, ExportToAnyPid))
	b.want("code 207006", "import %s", keyText(key))
	b.want("ok", "import %s", keyText(open))
	b.want("ok 2", "read")
	r.ok(r.AllowMemory(key, b.pid()))
	b.want("ok", "import %s", keyText(key))
	b.want("ok 1", "read")
}

func TestX13_pages(t *testing.T) {
	r := ipcRig(t, runDir(t))
	small := must[Ptr](t)(r.Malloc(1024))
	p, key := r.block(2*ipcPage, 0), make([]byte, 65)
	r.code("1 KiB", r.ExportMemory(small, 1024, key, 0), InvalidParam)
	r.code("a short buffer", r.ExportMemory(p, ipcPage, key[:60], 0), InvalidParam)
	r.code("unknown flag", r.ExportMemory(p, ipcPage, key, 4), InvalidParam)
	r.code("inside a block", r.ExportMemory(p+ipcPage, ipcPage, key, 0), InvalidParam)
	r.code("more than the block", r.ExportMemory(p, 64*ipcPage, key, 0), InvalidParam)
	r.ok(r.ExportMemory(p, 2*ipcPage, key, 0))
	r.code("twice", r.ExportMemory(p, 2*ipcPage, make([]byte, 65), 0), InvalidParam)
	_, err := r.ImportMemory(key, 2)
	r.code("unknown import flag", err, InvalidParam)
	for _, k := range []string{"", "zz", string(key[:20]), fmt.Sprintf("%064d", 0)} {
		_, err := r.ImportMemory([]byte(k), 0)
		r.code("key "+k, err, InvalidParam)
	}
	stale := append([]byte(nil), key...)
	r.ok(r.CloseMemory(key))
	_, err = r.ImportMemory(stale, 0)
	r.code("a key that is destroyed", err, DriverError)
	stale[40] ^= 1
	_, err = r.ImportMemory(stale, 0)
	if err == nil {
		t.Error("a guessed key was accepted")
	}
	alone := newRig(t, Config{})
	alone.code("without a run directory", alone.ExportMemory(0x1000, ipcPage, key, 0), NotSupported)
}

// inUse is what all processes hold of the device.
func (r *rig) heldByAll() uint64 { return r.rt.devices[0].memory.beside.InUse() }

func TestX14_freeWhileImported(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	before := r.heldByAll()
	p, key := r.block(ipcPage, 77), make([]byte, 65)
	r.ok(r.ExportMemory(p, ipcPage, key, ExportToAnyPid))
	b, c := startPeer(t, dir), startPeer(t, dir)
	peers := r.heldByAll() // with what they hold themselves
	b.want("ok", "import %s", keyText(key))
	r.ok(r.Free(p))
	b.want("ok 77", "read")
	c.want("code 507899", "import %s", keyText(key))
	// The pages are the exporter's own again: what it writes there the importer does not see.
	q := r.block(ipcPage, 5)
	if q != p {
		t.Logf("the block was not used again: 0x%x, 0x%x", p, q)
	}
	b.want("ok 77", "read")
	r.ok(r.Free(q))
	waitFor(t, "the freed block still counts while it is used", time.Second, func() bool { return r.heldByAll() >= peers-64 && r.heldByAll() > before+ipcPage })
	b.want("ok", "close")
	waitFor(t, "the memory comes back with the last user", time.Second, func() bool { return r.heldByAll() <= peers-ipcPage })
}

func TestX15_crashOfTheImporter(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	before := r.heldByAll()
	p, key := r.block(ipcPage, 9), make([]byte, 65)
	r.ok(r.ExportMemory(p, ipcPage, key, ExportToAnyPid))
	b := startPeer(t, dir)
	b.want("ok", "import %s", keyText(key))
	b.want("ok", "malloc 10000000")
	if r.heldByAll() < before+ipcPage+10_000_000 {
		t.Error("the peer's memory does not count")
	}
	b.kill()
	if r.first(p) != 9 {
		t.Error("the exporter has lost its memory")
	}
	r.ok(r.inc(nil), r.SynchronizeDevice(), r.CloseMemory(key), r.Free(p))
	look := must[*ipc.Dir](t)(ipc.Look(dir))
	defer look.Close()
	waitFor(t, "the crashed process is gone", time.Second, func() bool { return len(look.Processes()) == 1 && r.heldByAll() == before })
	r.clean()
}

// A process whose exporter dies keeps the memory, and it counts as the importer's from then on.
func TestIPC_crashOfTheExporter(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	before := r.heldByAll()
	b := startPeer(t, dir)
	a := b.ask("export")
	var key string
	if _, err := fmt.Sscanf(a, "ok %s", &key); err != nil {
		t.Fatal(a)
	}
	b.want("ok", "add 41")
	p := must[Ptr](t)(r.ImportMemory([]byte(key), 0))
	b.kill()
	if v := r.first(p); v != 41 {
		t.Errorf("the importer reads %d, want 41", v)
	}
	look := must[*ipc.Dir](t)(ipc.Look(dir))
	defer look.Close()
	waitFor(t, "the memory counts for the importer", time.Second, func() bool {
		look.Processes()
		return r.heldByAll() == before+ipcPage
	})
	r.ok(r.CloseMemory([]byte(key)))
	waitFor(t, "and is gone with it", time.Second, func() bool { return r.heldByAll() == before })
}

// Memory of a device is one for all processes: what others hold cannot be had.
func TestIPC_outOfMemoryAcrossProcesses(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	b := startPeer(t, dir)
	b.want("ok", "malloc %d", 180<<20)
	_, err := r.Malloc(100 << 20)
	r.code("more than is left", err, OutOfMemory)
	free, total, _, err := r.MemInfo()
	if err != nil || free > 76<<20 || total < 250<<20 {
		t.Errorf("%d of %d free, %v", free, total, err)
	}
	b.want("ok", "free")
	p := must[Ptr](t)(r.Malloc(100 << 20))
	b.want("code 207001", "malloc %d", 180<<20)
	r.ok(r.Free(p))
}

func TestX18_faultsStayAtHome(t *testing.T) {
	dir := runDir(t)
	r := ipcRig(t, dir)
	b := startPeer(t, dir)
	s := r.stream()
	for i := range 20 {
		r.ok(r.inc(s))
		b.want("code 507035", "fault")
		r.ok(r.SynchronizeStream(s))
		if v := r.value(); v != uint64(i+1) {
			t.Fatalf("counter %d, want %d", v, i+1)
		}
	}
	if c := must[Counters](t)(r.Counters()); c.Faults != 0 {
		t.Errorf("%d faults of another process", c.Faults)
	}
}

// ipcPage is a page of device memory, of whatever type.
const ipcPage = 2 << 20
