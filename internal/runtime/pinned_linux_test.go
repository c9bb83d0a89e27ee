package runtime

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// memlockLimit is what the child of TestPinned_limit may lock.
const memlockLimit = 256 << 10

// dropIPCLock takes CAP_IPC_LOCK from the calling thread of the system, which would make the limit void.
func dropIPCLock(t *testing.T) {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var c [2]unix.CapUserData
	if err := unix.Capget(&h, &c[0]); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*uint32{&c[0].Effective, &c[0].Permitted, &c[0].Inheritable} {
		*m &^= 1 << unix.CAP_IPC_LOCK
	}
	if err := unix.Capset(&h, &c[0]); err != nil {
		t.Fatal(err)
	}
}

// Where the system forbids to lock pinned memory, it works all the same: each block is counted, the reason names the
// limit and what to do, and copies still go directly. The limit is that of a child process.
func TestPinned_limit(t *testing.T) {
	if os.Getenv("NPU_TEST_MEMLOCK") == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestPinned_limit$", "-test.v")
		cmd.Env = append(os.Environ(), "NPU_TEST_MEMLOCK=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestPinned_limit")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread() // for good: this thread of the system has lost a right
	dropIPCLock(t)
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: memlockLimit, Max: memlockLimit}); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Config{})
	start := r.rt.PinnedStats()
	small := must[HostMem](t)(r.MallocHost(16 << 10))
	if s := r.rt.PinnedStats(); s.Locked-start.Locked != 16<<10 || s.Fallbacks != start.Fallbacks || s.Reason != "" {
		t.Fatalf("a block below the limit: %+v", s)
	}
	large := must[HostMem](t)(r.MallocHost(1 << 20))
	s := r.rt.PinnedStats()
	if s.Fallbacks != start.Fallbacks+1 || s.Locked-start.Locked != 16<<10 || s.Bytes-start.Bytes != 16<<10+1<<20 {
		t.Errorf("a block beyond the limit: %+v", s)
	}
	for _, word := range []string{"1048576 bytes", "cannot allocate memory", "may lock 262144", "ulimit -l", "CAP_IPC_LOCK"} {
		if !strings.Contains(s.Reason, word) {
			t.Errorf("the reason %q does not say %q", s.Reason, word)
		}
	}
	mem := pageAligned(1 << 20)
	must[Ptr](t)(r.RegisterHost(mem, RegisterMapped|RegisterPinned))
	if s := r.rt.PinnedStats(); s.Fallbacks != start.Fallbacks+2 {
		t.Errorf("registered memory beyond the limit: %+v", s)
	}
	// It is pinned memory to copies: the call returns at once, and the DMA engine reads the block itself.
	dev := must[Ptr](t)(r.Malloc(1 << 20))
	stream := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, stream))
	large.Bytes[99] = 7
	at := r.Clock()
	r.ok(r.CopyMemoryAsync(At(dev), 1<<20, At(large.Addr), 1<<20, CopyHostToDevice, stream))
	if spent := r.Clock() - at; spent > 10_000 {
		t.Errorf("the copy took the thread %d ns", spent)
	}
	r.ok(r.SynchronizeStream(stream))
	var got [100]byte
	r.ok(r.MemcpyToHost(got[:], dev))
	if got[99] != 7 {
		t.Error("the copy brought something else")
	}
	r.ok(r.UnregisterHost(mem), r.FreeHost(large), r.FreeHost(small), r.Free(dev), r.DestroyStream(stream))
	if s := r.rt.PinnedStats(); s.Locked != s.Bytes || s.Fallbacks != start.Fallbacks+2 { // what is left is the copies' own
		t.Errorf("at the end %+v", s)
	}
	r.clean()
}
