package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/runtime/ipc"
	"npu/internal/trace"
	"npu/internal/trace/live"
)

// Who follows a run sees every task and call from then on that its trace has, and that it has ended.
func TestWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	rec := trace.NewRecorder()
	rt, th := open(t, Config{RunDir: path, Recorder: rec, Spans: true})
	if err := rt.Alone(); err != nil {
		t.Skip("no run directory: ", err)
	}
	d, err := ipc.Look(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.OpenRecords(0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := must[*Kernel](t)(th.NewKernel("before", trace.KernelAICore, 1, 1000, nil))
	s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	for range 5000 {
		if err := th.LaunchKernel(k, nil, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := th.SynchronizeStream(s); err != nil {
		t.Fatal(err)
	}
	k = must[*Kernel](t)(th.NewKernel("after", trace.KernelAICore, 1, 1000, nil))
	r, err := live.Follow(f)
	if err != nil {
		t.Fatal(err)
	}
	seen, calls := 0, 0
	take := func() live.Batch {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range b.Tasks {
			if int(k.Name) < len(b.Names) && b.Names[k.Name] == "after" {
				seen++
			}
		}
		for _, c := range b.Spans {
			if b.Names[c.Name] == "aclrtLaunchKernel" {
				calls++
			}
		}
		return b
	}
	for range 10 {
		for range 1000 {
			if err := th.LaunchKernel(k, nil, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := th.SynchronizeStream(s); err != nil {
			t.Fatal(err)
		}
		rt.machine.WantSample()
		if before := seen; take().Ended || seen == before {
			t.Fatalf("%d tasks after a sample, %d before", seen, before)
		}
	}
	closeOnce(t, rt, th)
	if b := take(); !b.Ended || b.Lost > 0 || seen != 10_000 || calls < 10_000 {
		t.Errorf("%d tasks and %d calls, ended %v, %d lost", seen, calls, b.Ended, b.Lost)
	}
	if _, err := d.OpenRecords(0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that has ended left its records: %v", err)
	}
}
