//go:build allocators && linux

package mempool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The same loops in C: a warm pair of 256 bytes, and one of 1,024 live blocks that is replaced by one of 512 bytes to
// 32 KiB. They print CPU time a pair in ns, since other work may share the machine.
const loops = `#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <time.h>
#include <pthread.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static uint64_t next(uint64_t *x) { *x = *x * 6364136223846793005ULL + 1442695040888963407ULL; return *x >> 33; }
static void *volatile sink;
static double pair(long n) {
	double t = cpu(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < n; i++) { void *p = malloc(256); sink = p; free(p); }
	return (cpu(CLOCK_THREAD_CPUTIME_ID) - t) / n;
}
static double mix(long n) {
	void *live[1024]; uint64_t x = 1;
	for (int i = 0; i < 1024; i++) { size_t s = 512ULL << (next(&x) % 6); live[i] = malloc(s + next(&x) % 512); }
	double t = cpu(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < n; i++) { int k = next(&x) % 1024; free(live[k]); size_t s = 512ULL << (next(&x) % 6); live[k] = malloc(s + next(&x) % 512); }
	return (cpu(CLOCK_THREAD_CPUTIME_ID) - t) / n;
}
int main(void) { pair(100000); printf("%f ", pair(3000000)); mix(100000); printf("%f\n", mix(3000000)); return 0; }
`

const libs = "/usr/lib/x86_64-linux-gnu/"

// cpuNs is the CPU time of f.
func cpuNs(t *testing.T, f func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var a, b unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &a); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &b); err != nil {
		t.Fatal(err)
	}
	return float64(b.Nano() - a.Nano())
}

// Compares the pool with allocators of the system in one run:
// go test -tags allocators -run TestAllocators -v ./internal/runtime/mempool
func TestAllocators(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "loops.c")
	if err := os.WriteFile(src, []byte(loops), 0o600); err != nil {
		t.Fatal(err)
	}
	ours := func() [2]float64 {
		const n = 3_000_000
		p := New(Config{Base: 1 << 40, Size: 64 << 30})
		pair := cpuNs(t, func() {
			for range n {
				a, _ := p.Alloc(Request{Bytes: 256})
				p.Free(a)
			}
		}) / n
		x := uint64(1)
		next := func() uint64 {
			x = x*6364136223846793005 + 1442695040888963407
			return x >> 33
		}
		draw := func() uint64 { return 512<<(next()%6) + next()%512 }
		var live [1024]uint64
		for i := range live {
			live[i], _ = p.Alloc(Request{Bytes: draw()})
		}
		mix := cpuNs(t, func() {
			for range n {
				i := next() % 1024
				p.Free(live[i])
				live[i], _ = p.Alloc(Request{Bytes: draw()})
			}
		}) / n
		return [2]float64{pair, mix}
	}
	sum := map[string][2]float64{}
	add := func(name string, v [2]float64) {
		s := sum[name]
		if s[0] == 0 || v[0] < s[0] {
			s[0] = v[0]
		}
		if s[1] == 0 || v[1] < s[1] {
			s[1] = v[1]
		}
		sum[name] = s
	}
	for _, lib := range []string{"libmimalloc.so", "libtcmalloc_minimal.so.4", ""} {
		args := []string{"-O2", "-fno-builtin", "-o", filepath.Join(dir, "loop"+lib), src}
		if lib != "" {
			found, _ := filepath.Glob(libs + lib + "*")
			if len(found) == 0 {
				t.Logf("%s is not installed", lib)
				continue
			}
			args = append(args, "-Wl,--no-as-needed", found[0])
		}
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v: %s", err, out)
		}
	}
	for range 5 {
		add("npu pool", ours())
		for _, lib := range []string{"libmimalloc.so", "libtcmalloc_minimal.so.4", ""} {
			out, err := exec.Command(filepath.Join(dir, "loop"+lib)).Output()
			if err != nil {
				continue
			}
			var v [2]float64
			if _, err := fmt.Sscan(string(out), &v[0], &v[1]); err == nil {
				name, _, _ := strings.Cut(lib, ".")
				add(strings.TrimPrefix(name, "lib"), v)
			}
		}
	}
	for name, v := range sum {
		if name == "" {
			name = "libc"
		}
		t.Logf("%-18s pair %6.1f ns, mix %6.1f ns; pool/it %.2f, %.2f", name, v[0], v[1], sum["npu pool"][0]/v[0], sum["npu pool"][1]/v[1])
	}
}
