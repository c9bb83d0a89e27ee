package runtime_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"npu/internal/runtime"
	"npu/internal/sim/soc"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// The overlap pattern: while the device computes on one chunk, DMA brings the next. Events order the two streams on
// the device; the host is blocked nowhere until the end.
func Example_overlap() {
	chip, _ := soc.Lookup("Ascend910B3")
	rec := trace.NewRecorder()
	rt, _ := runtime.Open(runtime.Config{Chip: chip, Recorder: rec})
	th := rt.Attach()
	_ = th.SetDevice(0)

	copies, _ := th.CreateStream(runtime.StreamConfig{Name: "copies"})
	compute, _ := th.CreateStream(runtime.StreamConfig{Name: "compute"})
	const chunk, chunks = 4 << 20, 16
	host, _ := th.MallocHost(chunk)     // page-locked: DMA reads it directly
	dev, _ := th.Malloc(chunk * chunks) // one place for each chunk
	work, _ := th.NewKernel("work", trace.KernelAICore, 20, 150_000, nil)

	for i := range chunks {
		arrived, _ := th.CreateEvent()
		_ = th.MemcpyAsync(dev+runtime.Ptr(i*chunk), host.Addr, chunk, copies)
		_ = th.RecordEvent(arrived, copies) // a mark behind the copy
		_ = th.WaitEvent(compute, arrived)  // holds the other stream until the mark
		_ = th.LaunchKernel(work, nil, compute)
	}
	_ = th.SynchronizeStream(compute)
	_ = rt.Close(th)

	t := rec.Finish()
	copying, computing := total(t, stats.IsCopy), total(t, stats.IsKernel)
	both := stats.Overlap(t, stats.IsCopy, stats.IsKernel)
	fmt.Printf("copies %d µs, kernels %d µs, both at once %d µs\n", copying/1000, computing/1000, both/1000)
	fmt.Printf("%d %% of the shorter part is hidden\n", 100*both/min(copying, computing))
	// Output:
	// copies 1545 µs, kernels 2400 µs, both at once 1447 µs
	// 93 % of the shorter part is hidden
}

func total(t *trace.Trace, of func(*trace.Task) bool) (ns int64) {
	for _, k := range t.Tasks.All() {
		if of(&k) {
			ns += k.End - k.Start
		}
	}
	return ns
}

// The listing in docs/runtime.md is the example above.
func TestExample_isInTheDocs(t *testing.T) {
	src, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/runtime.md")
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(string(src), "func Example_overlap()")
	to := from + strings.Index(string(src[from:]), "\n}\n") + 3
	if listing := string(src[from:to]); !strings.Contains(string(doc), listing) {
		t.Errorf("docs/runtime.md does not hold the example as it is; put this between the code fences:\n%s", listing)
	}
}
