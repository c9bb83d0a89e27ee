package runtime

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npu/internal/trace"
)

// burst is how many submissions are timed in a row; the device drains them off the clock.
const burst = 1000

// bursts times f, which makes one burst, without what drain takes, and reports ns per operation.
func bursts(b *testing.B, per int, f, drain func()) {
	var ns time.Duration
	b.ReportAllocs()
	for b.Loop() {
		t := time.Now()
		f()
		ns += time.Since(t)
		drain()
	}
	b.ReportMetric(float64(ns.Nanoseconds())/float64(b.N)/float64(per), "ns/launch")
}

func benchRig(b *testing.B) *rig {
	r := &rig{t: b}
	r.rt, r.Thread = open(b, Config{TimingOnly: true})
	r.load()
	return r
}

// BenchmarkSubmission sets the launch forms beside what they are measured by: a buffered channel send of the same 64
// bytes, and a queue behind a contended mutex.
func BenchmarkSubmission(b *testing.B) {
	b.Run("channel", func(b *testing.B) {
		c := make(chan [8]uint64, burst)
		var d [8]uint64
		bursts(b, burst, func() {
			for i := range burst {
				d[0] = uint64(i)
				c <- d
			}
		}, func() {
			for range burst {
				<-c
			}
		})
	})
	args := []uint64{1, 2, 3, 4}
	// The loops stand in full, so that no call of a closure is timed.
	b.Run("launch", func(b *testing.B) {
		r := benchRig(b)
		s := r.stream()
		bursts(b, burst, func() {
			for range burst {
				if err := r.LaunchKernel(r.tiny, args, s); err != nil {
					b.Fatal(err)
				}
			}
		}, func() { r.ok(r.SynchronizeStream(s)) })
	})
	b.Run("prepared", func(b *testing.B) {
		r := benchRig(b)
		s := r.stream()
		l := must[*Launch](b)(r.Prepare(r.tiny, args, s))
		bursts(b, burst, func() {
			for range burst {
				if err := r.Submit(l); err != nil {
					b.Fatal(err)
				}
			}
		}, func() { r.ok(r.SynchronizeStream(s)) })
	})
	b.Run("shared", func(b *testing.B) {
		r := benchRig(b)
		s := r.stream()
		s.Share()
		bursts(b, burst, func() {
			for range burst {
				if err := r.LaunchKernel(r.tiny, args, s); err != nil {
					b.Fatal(err)
				}
			}
		}, func() { r.ok(r.SynchronizeStream(s)) })
	})
	b.Run("threads=4/mutex", contended)
	b.Run("threads=4/stream", sharedStream)
}

// together runs f on four goroutines that begin at the same moment.
func together(f func(i int)) {
	var wg sync.WaitGroup
	var ready atomic.Int32
	for i := range 4 {
		wg.Go(func() {
			for ready.Add(1); ready.Load() < 4; {
				runtime.Gosched()
			}
			f(i)
		})
	}
	wg.Wait()
}

func contended(b *testing.B) {
	var mu sync.Mutex
	ring := make([][8]uint64, 2048)
	n := 0
	bursts(b, burst, func() {
		together(func(int) {
			for i := range burst / 4 {
				mu.Lock()
				ring[n&2047] = [8]uint64{uint64(i)}
				n++
				mu.Unlock()
			}
		})
	}, func() {})
}

func sharedStream(b *testing.B) {
	r := benchRig(b)
	s := r.stream()
	s.Share()
	var all [4]*Thread
	for i := range all {
		all[i] = r.rt.Attach()
		all[i].setContext(r.ctx)
	}
	bursts(b, burst, func() {
		together(func(i int) {
			for range burst / 4 {
				if err := all[i].LaunchKernel(r.tiny, nil, s); err != nil {
					b.Error(err)
				}
			}
		})
	}, func() {
		var wg, synced sync.WaitGroup
		synced.Add(5)
		for _, th := range append(all[:], r.Thread) {
			wg.Go(func() {
				r.ok(th.SynchronizeStream(s))
				synced.Done()
				th.Outside(synced.Wait)
			})
		}
		wg.Wait()
	})
	gone := make(chan bool)
	for _, th := range all {
		go func() { th.Detach(); gone <- true }()
	}
	r.Outside(func() {
		for range all {
			<-gone
		}
	})
}

// BenchmarkScheduler is the device's side: tasks without arithmetic on 8 streams, with records. The fastest round is
// reported, which other load on the machine disturbs least.
func BenchmarkScheduler(b *testing.B) {
	rec := trace.NewRecorder()
	r := &rig{t: b}
	r.rt, r.Thread = open(b, Config{TimingOnly: true, Recorder: rec})
	r.load()
	var streams [8]*Stream
	for i := range streams {
		streams[i] = r.stream()
	}
	best := time.Hour
	for b.Loop() {
		for range burst {
			for _, s := range streams {
				r.ok(r.LaunchKernel(r.tiny, nil, s))
			}
		}
		t := time.Now()
		for _, s := range streams {
			r.ok(r.SynchronizeStream(s))
		}
		best = min(best, time.Since(t))
	}
	tasks := float64(burst * len(streams))
	b.ReportMetric(float64(best.Nanoseconds())/tasks, "ns/task")
	b.ReportMetric(tasks/best.Seconds()/1e6, "Mtasks/s")
}

func BenchmarkEventPair(b *testing.B) {
	r := benchRig(b)
	s1, s2 := r.stream(), r.stream()
	e := must[*Event](b)(r.CreateEvent())
	const pairs = 10_000
	b.ReportAllocs()
	best := time.Hour
	for b.Loop() {
		t := time.Now()
		for range pairs {
			if r.RecordEvent(e, s1) != nil || r.WaitEvent(s2, e) != nil {
				b.Fatal(r.PeekLastError())
			}
		}
		r.ok(r.SynchronizeStream(s2))
		best = min(best, time.Since(t))
	}
	b.ReportMetric(float64(best.Nanoseconds())/pairs, "ns/pair")
}

// fastest reports the best of many rounds of n calls, which other load on the machine disturbs least.
func fastest(b *testing.B, n int, f func() error) {
	best := time.Hour
	b.ReportAllocs()
	for b.Loop() {
		t := time.Now()
		for range n {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(t))
	}
	b.ReportMetric(float64(best.Nanoseconds())/float64(n), "ns/call")
}

func BenchmarkSynchronizeIdle(b *testing.B) {
	r := benchRig(b)
	s := r.stream()
	fastest(b, burst, func() error { return r.SynchronizeStream(s) })
}

func BenchmarkQueryStream(b *testing.B) {
	r := benchRig(b)
	s := r.stream()
	fastest(b, burst, func() error { _, err := r.QueryStream(s); return err })
}

// BenchmarkLockStep has three threads that synchronise after each of their launches.
func BenchmarkLockStep(b *testing.B) {
	r := benchRig(b)
	b.ResetTimer()
	const syncs = 2000
	for range b.N {
		var all []*Child
		for range 3 {
			all = append(all, must[*Child](b)(r.Go(func(th *Thread) error {
				s, err := th.CreateStream(StreamConfig{})
				for i := 0; i < syncs && err == nil; i++ {
					if err = th.LaunchKernel(r.tiny, nil, s); err == nil {
						err = th.SynchronizeStream(s)
					}
				}
				if err == nil {
					err = th.DestroyStream(s)
				}
				return err
			})))
		}
		r.ok(r.Wait(all...))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3/syncs, "ns/sync")
}

func BenchmarkHostFunc(b *testing.B) {
	r := benchRig(b)
	s := r.stream()
	f := func(*Thread) {}
	for b.Loop() {
		r.ok(r.LaunchHostFunc(s, f), r.SynchronizeStream(s))
	}
}

// BenchmarkRatios times a burst of each form in turn and compares the fastest bursts, which other load on the machine
// disturbs least. The goals are 0.9 for a launch, 0.65 for a prepared one and 2 for a shared stream.
func BenchmarkRatios(b *testing.B) {
	r := benchRig(b)
	own, shared := r.stream(), r.stream()
	shared.Share()
	args := []uint64{1, 2, 3, 4}
	l := must[*Launch](b)(r.Prepare(r.tiny, args, own))
	c := make(chan [8]uint64, burst)
	var d [8]uint64
	best := [4]time.Duration{1 << 40, 1 << 40, 1 << 40, 1 << 40}
	timed := func(i int, f func()) {
		t := time.Now()
		f()
		best[i] = min(best[i], time.Since(t))
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		timed(0, func() {
			for i := range burst {
				d[0] = uint64(i)
				c <- d
			}
		})
		for range burst {
			<-c
		}
		timed(1, func() {
			for range burst {
				check(r.LaunchKernel(r.tiny, args, own))
			}
		})
		check(r.SynchronizeStream(own))
		timed(2, func() {
			for range burst {
				check(r.Submit(l))
			}
		})
		check(r.SynchronizeStream(own))
		timed(3, func() {
			for range burst {
				check(r.LaunchKernel(r.tiny, args, shared))
			}
		})
		check(r.SynchronizeStream(shared))
	}
	ns := func(i int) float64 { return float64(best[i].Nanoseconds()) / burst }
	b.ReportMetric(ns(0), "ns/send")
	b.ReportMetric(ns(1), "ns/launch")
	b.ReportMetric(ns(1)/ns(0), "launch/send")
	b.ReportMetric(ns(2)/ns(0), "prepared/send")
	b.ReportMetric(ns(3)/ns(0), "shared/send")
}
