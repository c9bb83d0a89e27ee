//go:build allocators && linux

package mempool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// The same loops in C: a warm pair of 256 bytes, the same in two threads at once, and one of 1,024 live blocks that is
// replaced by one of 512 bytes to 32 KiB. They print CPU time a pair in ns, since other work may share the machine.
const loops = `#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <time.h>
#include <pthread.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static uint64_t next(uint64_t *x) { *x = *x * 6364136223846793005ULL + 1442695040888963407ULL; return *x >> 33; }
static double pair(long n) {
	static void *volatile sink[64]; static int threads; void *volatile *s = &sink[32 * __sync_fetch_and_add(&threads, 1) % 64];
	double t = cpu();
	for (long i = 0; i < n; i++) { void *p = malloc(256); *s = p; free(p); }
	return (cpu() - t) / n;
}
static void *pairs(void *r) { pair(100000); *(double *)r = pair(3000000); return 0; }
static double two(void) {
	pthread_t t; double a, b;
	pthread_create(&t, 0, pairs, &a); pairs(&b); pthread_join(t, 0);
	return (a + b) / 2;
}
static double mix(long n) {
	void *live[1024]; uint64_t x = 1;
	for (int i = 0; i < 1024; i++) { size_t s = 512ULL << (next(&x) % 6); live[i] = malloc(s + next(&x) % 512); }
	double t = cpu();
	for (long i = 0; i < n; i++) { int k = next(&x) % 1024; free(live[k]); size_t s = 512ULL << (next(&x) % 6); live[k] = malloc(s + next(&x) % 512); }
	return (cpu() - t) / n;
}
int main(void) { pair(100000); printf("%f ", pair(3000000)); printf("%f ", two()); mix(100000); printf("%f\n", mix(3000000)); return 0; }
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

// figures are CPU times a pair in ns: of one thread, of two at once, and of the mix.
type figures [3]float64

// desk is a pool that threads share, and the rings whose tasks may use its blocks.
type desk struct {
	mu         sync.Mutex
	pool       *Pool
	head, tail atomic.Uint64
	late       []uint64 // freed under a task
}

func (d *desk) back() Back {
	return Back{AtOnce: d.head.Load() == d.tail.Load(), End: func(a uint64) { d.late = append(d.late, a) }}
}

// alloc and free are what a thread does: by its cache if that can, else with the pool, behind a lock, and with a look at
// the ring.
func (d *desk) alloc(c *Cache, n uint64) uint64 {
	if a := c.Alloc(n); a != 0 {
		return a
	}
	return d.restock(c, n)
}

func (d *desk) restock(c *Cache, n uint64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.Restock(d.pool, n, d.back()) {
		a, _ := d.pool.Alloc(Request{Bytes: n})
		return a
	}
	return c.Alloc(n)
}

func (d *desk) free(c *Cache, a uint64) {
	if !c.Free(a) {
		d.freeSlowly(c, a)
	}
}

func (d *desk) freeSlowly(c *Cache, a uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.FreeWith(d.pool, a, d.back()) {
		d.pool.Free(a)
	}
}

const rounds = 3_000_000

func (d *desk) pairs(t *testing.T, tag uint32) float64 {
	c := NewCache(tag, 9)
	return cpuNs(t, func() {
		for range rounds {
			a := c.Alloc(256 + Round)
			if a == 0 {
				a = d.restock(c, 256+Round)
			}
			if !c.Free(a) {
				d.freeSlowly(c, a)
			}
		}
	}) / rounds
}

func ours(t *testing.T) figures {
	d := &desk{pool: New(Config{Base: 1 << 40, Size: 64 << 30})}
	one := d.pairs(t, 1)
	other := make(chan float64)
	go func() { other <- d.pairs(t, 2) }()
	two := (d.pairs(t, 3) + <-other) / 2
	x := uint64(1)
	next := func() uint64 {
		x = x*6364136223846793005 + 1442695040888963407
		return x >> 33
	}
	c := NewCache(4, 9)
	draw := func() uint64 { return Padded(512<<(next()%6)+next()%512, Round) }
	var live [1024]uint64
	for i := range live {
		live[i] = d.alloc(c, draw())
	}
	mix := cpuNs(t, func() {
		for range rounds {
			i := next() % 1024
			d.free(c, live[i])
			live[i] = d.alloc(c, draw())
		}
	}) / rounds
	return figures{one, two, mix}
}

// Compares a thread's cache in front of the pool with allocators of the system in one run, the least of seven rounds:
// go test -tags allocators -run TestAllocators -v ./internal/runtime/mempool
func TestAllocators(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "loops.c")
	if err := os.WriteFile(src, []byte(loops), 0o600); err != nil {
		t.Fatal(err)
	}
	least := map[string]figures{}
	add := func(name string, v figures) {
		old, ok := least[name]
		for i := range v {
			if ok {
				v[i] = min(v[i], old[i])
			}
		}
		least[name] = v
	}
	names := map[string]string{"mimalloc": "libmimalloc.so", "tcmalloc": "libtcmalloc_minimal.so.4", "glibc": ""}
	for name, lib := range names {
		args := []string{"-O2", "-fno-builtin", "-o", filepath.Join(dir, name), src, "-lpthread"}
		if lib != "" {
			found, _ := filepath.Glob(libs + lib + "*")
			if len(found) == 0 {
				t.Logf("%s is not installed", lib)
				delete(names, name)
				continue
			}
			args = append(args, "-Wl,--no-as-needed", found[0])
		}
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v: %s", err, out)
		}
	}
	for range 7 {
		add("npu", ours(t))
		for name := range names {
			out, err := exec.Command(filepath.Join(dir, name)).Output()
			if err != nil {
				t.Fatal(err)
			}
			var v figures
			if _, err := fmt.Sscan(string(out), &v[0], &v[1], &v[2]); err != nil {
				t.Fatal(err)
			}
			add(name, v)
		}
	}
	n := least["npu"]
	for _, name := range []string{"npu", "mimalloc", "tcmalloc", "glibc"} {
		if v, ok := least[name]; ok {
			t.Logf("%-9s pair %5.2f ns, two threads %5.2f ns, mix %5.1f ns; ours/it %.2f, %.2f, %.2f", name, v[0], v[1], v[2], n[0]/v[0], n[1]/v[1], n[2]/v[2])
		}
	}
}
