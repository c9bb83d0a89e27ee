package export_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"npu/internal/trace"
	"npu/internal/trace/export"
	"npu/internal/trace/load"
	"npu/internal/trace/pprofile"
)

// texts are names that formats have stumbled over.
var texts = []string{"", "Conv2D", "a,b", `quo"ted`, `back\slash`, "line\nbreak", "tab\there", "名前 é", "</script>", " lead and trail ", "x@y/z:0", "1e5", "NULL", "'; --"}

// drawTrace makes a trace with whatever the data model allows: several devices and streams, any kind, times at the edges,
// tasks of no length, odd names.
func drawTrace(t *rapid.T) *trace.Trace {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Chip: "Ascend910B3", Model: rapid.SampledFrom(texts).Draw(t, "model"), Devices: 2, ClockMHz: 1800})
	base := rapid.SampledFrom([]int64{0, 1, 999, 1_000_000, 1_784_177_144_514_943_513}).Draw(t, "base")
	text := func(label string) string { return rapid.SampledFrom(texts).Draw(t, label) }
	clock := map[[2]int]int64{}
	kinds := []trace.Kind{trace.KernelAICore, trace.KernelAIVector, trace.KernelMix, trace.KernelMixAIV, trace.KernelAICPU, trace.EventRecord, trace.EventWait, trace.EventReset,
		trace.NotifyRecord, trace.NotifyWait, trace.Memcpy, trace.Memset, trace.ModelExecute, trace.StreamActive, trace.LabelGoto, trace.ValueWrite, trace.Nop, trace.Reduce, trace.CacheOp}
	for i := range rapid.IntRange(0, 30).Draw(t, "tasks") {
		device, stream := rapid.IntRange(0, 1).Draw(t, "device"), rapid.IntRange(0, 2).Draw(t, "stream")
		at := [2]int{device, stream}
		gap := func(label string) int64 { return rapid.SampledFrom([]int64{0, 0, 1, 7, 1000, 1234567}).Draw(t, label) }
		submit := base + gap("submit")
		ready := max(submit+gap("ready"), clock[at])
		start := ready + gap("start")
		k := trace.Task{
			Submit: submit, Ready: ready, Start: start, End: start + gap("length"), Device: uint16(device), Stream: uint32(stream), Task: uint32(i), Thread: 1,
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Blocks: uint32(rapid.IntRange(0, 48).Draw(t, "blocks")), Bytes: gap("bytes"),
		}
		clock[at] = k.End
		k.Engine = engineOf(k.Kind)
		switch k.Kind {
		case trace.EventRecord, trace.EventWait, trace.NotifyRecord, trace.NotifyWait, trace.ValueWrite:
			k.Event, k.Gen = uint32(rapid.IntRange(1, 5).Draw(t, "event")), uint32(rapid.IntRange(1, 3).Draw(t, "generation"))
			k.Flags = trace.FlagForeign
		case trace.Memcpy:
			k.Dir = rapid.SampledFrom([]trace.Dir{trace.HostToHost, trace.HostToDevice, trace.DeviceToHost, trace.DeviceToDevice}).Draw(t, "direction")
		}
		if k.Kind.Kernel() {
			k.Name, k.Op = r.Intern(text("name")), r.Intern(text("type"))
			k.Acct = r.AddAccount(trace.Account{Total: 100 + gap("cycles"), Cube: 3, Vector: 4, Scalar: 5, MTE1: 6, MTE2: 7, MTE3: 8, Fixpipe: 9, ReadBytes: 10, WriteBytes: 11})
		}
		r.Tasks([]trace.Task{k})
		if rapid.Bool().Draw(t, "called") {
			r.Spans([]trace.Span{{Start: max(submit-2, 0), End: submit, Thread: 1, Device: k.Device, Stream: k.Stream, Task: k.Task, Name: r.Intern("aclrtLaunch")}})
		}
	}
	r.NameThread(1, "main")
	for i := range rapid.IntRange(0, 3).Draw(t, "values") {
		r.Counters([]trace.Counter{{Time: base + int64(i), Name: r.Intern("HBM in use (bytes)"), Value: rapid.SampledFrom([]float64{0, 1.5, -3, 1 << 40, 0.1}).Draw(t, "value")}})
	}
	return r.Finish()
}

func engineOf(k trace.Kind) trace.Engine {
	switch k {
	case trace.KernelAICore, trace.KernelMix:
		return trace.EngineCube
	case trace.KernelAIVector, trace.KernelMixAIV:
		return trace.EngineVector
	case trace.KernelAICPU:
		return trace.EngineAICPU
	case trace.Memcpy, trace.Memset, trace.Reduce:
		return trace.EngineDMA
	}
	return trace.EngineNone
}

// Whatever is written is read back to the nanosecond, as far as the format has a place for it.
func TestRoundTrip(t *testing.T) {
	base := func(tr *trace.Trace, k *trace.Task) string {
		return fmt.Sprint(k.Start, " ", k.End, " ", k.Device, " ", k.Stream, " ", k.Task, " ", k.Kind, " ", tr.Label(k))
	}
	all := func(tr *trace.Trace, k *trace.Task) string {
		return base(tr, k) + fmt.Sprint(" ", k.Submit, k.Ready, k.Thread, k.Blocks, k.Bytes, k.Event, k.Gen, k.Dir, k.Engine, tr.String(k.Op), tr.Account(k.Acct))
	}
	for _, f := range []struct {
		file, format string
		task         func(tr *trace.Trace, k *trace.Task) string
		calls, count bool
	}{
		{"x.npt", "npt", all, true, true},
		{"x.csv", "csv", all, false, false},
		{"x.json", "chrome", func(tr *trace.Trace, k *trace.Task) string {
			return base(tr, k) + fmt.Sprint(" ", k.Submit, k.Ready, k.Blocks, k.Bytes, k.Event, k.Gen, k.Dir, tr.String(k.Op), tr.Account(k.Acct).Total)
		}, true, true},
		{"x.json.gz", "chrome", base, true, true},
		{"x.json", "msprof", base, true, true},
		{"x.db", "msprof", func(tr *trace.Trace, k *trace.Task) string {
			bytes := int64(0) // the database has those of copies
			if k.Kind == trace.Memcpy {
				bytes = k.Bytes
			}
			return base(tr, k) + fmt.Sprint(" ", bytes, tr.String(k.Op))
		}, true, false},
	} {
		t.Run(f.format+" "+f.file, func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(t *rapid.T) {
				want := drawTrace(t)
				path := filepath.Join(dir, f.file)
				format, err := export.ByName(f.format, path)
				if err != nil {
					t.Fatal(err)
				}
				if err := export.File(path, want, format); err != nil {
					t.Fatal(err)
				}
				got, err := load.File(context.Background(), path)
				if err != nil {
					b, _ := os.ReadFile(path)
					t.Fatalf("%v in %.500s", err, b)
				}
				same(t, "task", lines(&got.Tasks, got, f.task), lines(&want.Tasks, want, f.task))
				if f.calls {
					same(t, "call", calls(got), calls(want))
				}
				if f.count {
					same(t, "value", values(got), values(want))
				}
			})
		})
	}
}

func lines(tasks *trace.Tasks, tr *trace.Trace, line func(tr *trace.Trace, k *trace.Task) string) (out []string) {
	for _, k := range tasks.All() {
		out = append(out, line(tr, &k))
	}
	slices.Sort(out)
	return out
}

func calls(tr *trace.Trace) (out []string) {
	for _, s := range tr.Spans.All() {
		out = append(out, fmt.Sprint(s.Start, "-", s.End, " ", strings.TrimPrefix(tr.String(s.Name), "AscendCL@"), " ", s.Task != trace.NoTask))
	}
	slices.Sort(out)
	return out
}

func values(tr *trace.Trace) (out []string) {
	for _, v := range tr.Counters.All() {
		out = append(out, fmt.Sprint(v.Time, " ", v.Value))
	}
	slices.Sort(out)
	return out
}

func same(t *rapid.T, what string, got, want []string) {
	for i := range max(len(got), len(want)) {
		x, y := "none", "none"
		if i < len(got) {
			x = got[i]
		}
		if i < len(want) {
			y = want[i]
		}
		if cmp.Compare(x, y) != 0 {
			t.Fatalf("%s %d of %d is %q, want %q of %d", what, i, len(got), x, y, len(want))
		}
	}
}

// A profile holds sums: those of the trace, whatever it is.
func TestRoundTrip_profileTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		var b bytes.Buffer
		if err := pprofile.Write(&b, tr); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]int64{}, map[string]int64{}
		for _, s := range p.Sample {
			for i, v := range s.Value {
				got[p.SampleType[i].Type] += v
			}
		}
		for _, k := range tr.Tasks.All() {
			a := tr.Account(k.Acct)
			switch k.Kind {
			case trace.EventWait, trace.NotifyWait, trace.ValueWait:
				want["wait"] += k.End - k.Start
			case trace.ModelExecute: // lasts over the tasks of the model
			default:
				want["device_time"] += k.End - k.Start
			}
			want["tasks"]++
			want["bytes"] += k.Bytes
			want["cycles"] += a.Total
			want["pipe_cycles"] += a.Cube + a.Vector + a.Scalar + a.MTE1 + a.MTE2 + a.MTE3 + a.Fixpipe + a.ICache
		}
		for _, v := range p.SampleType {
			if got[v.Type] != want[v.Type] {
				t.Fatalf("%s is %d, the trace has %d", v.Type, got[v.Type], want[v.Type])
			}
		}
	})
}
