package runtime

import (
	"fmt"
	"os"
	"testing"
)

// resident is the memory of this process in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("this system does not say what memory a process has: ", err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Skip("this system does not say what memory a process has: ", err)
	}
	return pages * int64(os.Getpagesize())
}

// Memory that nobody has touched costs next to nothing, however much of it is allocated.
func TestOpen_untouchedMemoryIsFree(t *testing.T) {
	before := resident(t)
	r := newRig(t, Config{MemoryBytes: 64 << 30})
	_, total, _, err := r.MemInfo()
	r.ok(err)
	if total < 63<<30 {
		t.Skipf("the system's limits leave %d bytes of address space", total)
	}
	var list []Ptr
	for range 60 {
		list = append(list, must[Ptr](t)(r.Malloc(1<<30)))
	}
	for range 10000 {
		list = append(list, must[Ptr](t)(r.Malloc(100)))
	}
	if d := resident(t) - before; d > 64<<20 {
		t.Errorf("a device of 64 GiB with 60 GiB allocated and untouched takes %d MiB", d>>20)
	} else {
		t.Logf("%d KiB", d>>10)
	}
	for _, p := range list {
		r.ok(r.Free(p))
	}
	r.clean()
}

// What can be locked is locked; where the limit forbids it the memory works all the same, and is counted.
func TestMallocHost_locksOrSaysSo(t *testing.T) {
	r := newRig(t, Config{})
	start := r.rt.PinnedStats()
	small := must[HostMem](t)(r.MallocHost(16 << 10))
	large := must[HostMem](t)(r.MallocHost(64 << 20))
	small.Bytes[0], large.Bytes[0] = 1, 1
	s := r.rt.PinnedStats()
	if got := s.Bytes - start.Bytes; got != 64<<20+16<<10 {
		t.Errorf("%d bytes are counted", got)
	}
	if s.Fallbacks == start.Fallbacks && s.Locked-start.Locked != s.Bytes-start.Bytes {
		t.Errorf("neither locked nor counted: %+v", s)
	}
	if s.Fallbacks > start.Fallbacks && s.Reason == "" {
		t.Errorf("no reason: %+v", s)
	}
	r.ok(r.FreeHost(small), r.FreeHost(large))
	if s := r.rt.PinnedStats(); s.Bytes != start.Bytes || s.Locked != start.Locked {
		t.Errorf("at the end %+v, at the start %+v", s, start)
	}
}
