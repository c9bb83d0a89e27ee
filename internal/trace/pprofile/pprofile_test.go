package pprofile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/stats"
)

func parsed(t *testing.T, tr *trace.Trace) *profile.Profile {
	t.Helper()
	var b, again bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	if Write(&again, tr); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("written twice, the bytes differ")
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWrite_totalsAreThoseOfTheTrace(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Streams: 3})
	p := parsed(t, tr)
	var total [values]int64
	for _, s := range p.Sample {
		for i, v := range s.Value {
			total[i] += v
		}
	}
	in := stats.NewInfo(tr)
	var want [values]int64
	for _, k := range tr.Tasks.All() {
		a := tr.Account(k.Acct)
		if k.Kind == trace.EventWait {
			want[wait] += k.End - k.Start
		}
		want[tasks]++
		want[cycles] += a.Total
		want[moved] += k.Bytes
		want[pipeCycles] += a.Cube + a.Vector + a.Scalar + a.MTE1 + a.MTE2 + a.MTE3 + a.Fixpipe + a.ICache
	}
	want[deviceTime] = in.DeviceTimeNs - want[wait]
	if total != want {
		t.Errorf("totals %v, want %v", total, want)
	}
	if p.DurationNanos != in.SpanNs {
		t.Errorf("duration %d, want %d", p.DurationNanos, in.SpanNs)
	}
	if len(p.Sample) > 600 {
		t.Errorf("%d samples for 2000 tasks: they are not merged", len(p.Sample))
	}
}

func TestNew_stack(t *testing.T) {
	r := trace.NewRecorder()
	r.SetMeta(trace.Meta{Model: "net.om", Chip: "Ascend310P3", Lost: 2})
	r.NameStream(1, 7, "main", 0)
	k := trace.Task{End: 10, Device: 1, Stream: 7, Model: 1, Kind: trace.KernelAICore, Name: r.Intern("conv1"), Op: r.Intern("Conv2D"), Acct: r.AddAccount(trace.Account{Total: 9, Cube: 4})}
	r.Tasks([]trace.Task{k, {Start: 10, End: 12, Stream: 7, Kind: trace.Memcpy, Bytes: 5}})
	p := parsed(t, r.Finish())
	var got []string
	for _, s := range p.Sample {
		var frames []string
		for _, l := range s.Location {
			frames = append(frames, l.Line[0].Function.Name)
		}
		got = append(got, strings.Join(frames, " < "))
	}
	want := []string{
		"conv1 < Conv2D < Stream 7 main < net.om",
		"[cube] < conv1 < Conv2D < Stream 7 main < net.om",
		"MEMCPY_ASYNC < Stream 7 < eager launches",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if l := p.Sample[0].Label; l["device"][0] != "npu1" || l["kind"][0] != "KERNEL_AICORE" || l["stream"][0] != "Stream 7 main" {
		t.Errorf("labels %v", l)
	}
	if p.Sample[0].Location[0].Mapping.File != "npu1 Ascend310P3" || len(p.Comments) != 2 {
		t.Errorf("mapping %v, comments %v", p.Sample[0].Location[0].Mapping, p.Comments)
	}
}

func TestWrite_goToolReadsIt(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool on this machine")
	}
	file := filepath.Join(t.TempDir(), "x.pb.gz")
	var b bytes.Buffer
	if err := Write(&b, gen.Trace(gen.Options{Tasks: 200})); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Type: device_time") || !strings.Contains(string(out), "Conv2D_0") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWrite_emptyTrace(t *testing.T) { parsed(t, trace.NewRecorder().Finish()) }
