// Package bench is the micro-benchmarks of the runtime behind `npu bench`: the wall time that its calls cost, the
// simulated time of the same calls beside it, and what each is measured by (a channel send, a mutex queue, a plain copy)
// in the same run.
//
// A benchmark is a Spec of a family, one file a family. It is run in bursts; what a burst prepares and what the device
// then drains is off the clock. All benchmarks of a family run in interleaved rounds, so that a change of the machine's
// speed meets all of them; a round's sample is the median of its bursts, a result is the median of the samples, and a
// ratio is the median of the ratios within a round.
//
// It is no profiler of programs, and its figures are no figures of hardware: wall time is the cost of our code, device
// time is the simulator's. The two are never added.
//
// A benchmark runs on the caller's goroutine; those with several threads or processes start theirs and wait for them.
package bench

import (
	"os/exec"
	"time"

	"npu/internal/sim/soc"
)

// Options say how to measure.
type Options struct {
	Chip     *soc.Chip
	Count    int           // rounds, a sample of each benchmark in each
	Duration time.Duration // wall time of a benchmark in a round
	// Peer starts this program again, as a process that runs Peer on its standard input and output. Only the benchmarks
	// between processes need it.
	Peer func() (*exec.Cmd, error)
	// Progress, if not nil, is told before each round of a benchmark.
	Progress func(done, total int, name string)
	// Note, if not nil, is told what a reader of the figures should know about the machine.
	Note func(text string)
}

// Spec is what a benchmark is, apart from how it ran.
type Spec struct {
	Name  string // Family/what
	About string // what one operation is
	Goal  Goal
	Bytes int64  // moved by an operation, 0 for none
	Pages bool   // new pages of memory are counted, see newPages
	Rate  string // the metric that is operations a second, for instance tasks_per_s; empty for none

	open func(o *Options) (*probe, error)
}

// Goal is what a benchmark should reach; its zero value is none.
type Goal struct {
	Partner  string  // name of the benchmark that it is compared with
	MaxRatio float64 // of its time to the partner's; 0: the ratio is only shown
	MaxNs    float64 // of an operation
	MinRate  float64 // operations a second
	Formula  float64 // how far the device's time may be off its formula, as a part of it
}

// Sample is what one round measured of a benchmark.
type Sample struct {
	N        int64   // operations
	Ns       float64 // wall time of one
	Allocs   float64
	Bytes    float64
	Pages    float64 // new ones; 0 where they are not counted
	DeviceNs float64 // simulated time of one; NaN where no device takes part
	Formula  float64 // what DeviceNs should be by a formula; 0 without one
}

// Series is a benchmark with its samples.
type Series struct {
	Spec
	Samples []Sample
}
