package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"npu/internal/problem"
	"npu/internal/smi"
)

// fakeSMI is a npu-smi that runs a shell script.
func fakeSMI(t *testing.T, body string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "npu-smi")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

const oneCard = `cat <<'T'
| npu-smi 25.5.1                   Version: 25.5.1                                               |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===+
| 4     910B3               | OK            | NA          34                0    / 0             |
| 0                         | 0000:C1:00.0  | 17          0    / 0          1024 / 65536         |
+===+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===+
| 4       0                 | 71            |                          | 512                     |
+===+
T`

func TestSMI(t *testing.T) {
	s := NewSMI(fakeSMI(t, `[ $# = 1 ] || exit 1
`+oneCard), 10*time.Millisecond)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if f := s.Latest(); len(f.Devices) == 0 && f.Sources[0].State != Waiting {
		t.Errorf("before the first answer: %+v", f.Sources)
	}
	f := s.Next(ctx, 0)
	if len(f.Devices) != 1 || f.Devices[0].Util.N != 17 || f.Devices[0].Power.Known || f.Devices[0].Power.Why == "" || f.Sources[0].State != Live {
		t.Fatalf("%+v", f)
	}
	if g := s.Next(ctx, f.Seq); g.Seq <= f.Seq {
		t.Errorf("no newer frame: %d, %d", f.Seq, g.Seq)
	}
	p := f.Processes.Rows[0]
	if p.PID != 71 || p.User.S != "" || p.User.Why == "" {
		t.Errorf("a process without a name is not looked up: %+v", p)
	}
	want := map[string]float64{"": 512, "system": 512, "free": 64512}
	for _, m := range f.Memory.Rows {
		if m.Size.N != want[m.Owner] {
			t.Errorf("%s has %v", m.Owner, m.Size)
		}
	}
}

// The first frame never waits for the tool.
func TestSMI_hanging(t *testing.T) {
	s := NewSMI(fakeSMI(t, "sleep 100"), time.Second)
	defer s.Close()
	if f := s.Latest(); !f.Waiting() || f.Processes.Why == "" {
		t.Errorf("%+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := s.Next(ctx, 0); !f.Waiting() {
		t.Errorf("%+v", f)
	}
}

// Real tables come out of the JSON with the keys and values that are promised.
func TestJSON_real(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "npu-smi")
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Skip("no real npu-smi outputs beside the checkout: ", err)
	}
	var all map[string]struct{ Devices []map[string]any }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		s := &SMI{host: newHostReader(t.TempDir())}
		f := s.frame(smi.Reading{Table: smi.ParseTable(string(text)), Calls: 1, At: moment})
		var got struct{ Devices []map[string]any }
		if err := json.Unmarshal(MarshalFrame(f, moment), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Devices) != len(want.Devices) {
			t.Fatalf("%s: %d devices, expected %d", name, len(got.Devices), len(want.Devices))
		}
		for i, w := range want.Devices {
			for k, v := range w {
				if d := cmp.Diff(v, got.Devices[i][k]); d != "" {
					t.Errorf("%s: device %d: %s: (-want +got)\n%s", name, i, k, d)
				}
				if got.Devices[i][k] == nil && got.Devices[i][k+"_reason"] == nil {
					t.Errorf("%s: device %d: %s is null without a reason", name, i, k)
				}
			}
		}
	}
}

// A frame survives being written and read: a recording shows what was seen.
func TestJSON_roundTrip(t *testing.T) {
	for name, make := range machines {
		want := make(7)
		got, err := UnmarshalFrame(MarshalFrame(want, want.Time))
		if err != nil {
			t.Fatal(err)
		}
		got.Seq = want.Seq
		for i := range got.Devices {
			if len(got.Devices[i].Facts) == 0 {
				got.Devices[i].Facts = nil
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// A recording that is cut plays up to the cut and says where it is.
func TestReadRecording_damaged(t *testing.T) {
	var b bytes.Buffer
	for n := range 3 {
		b.Write(append(MarshalFrame(machines["8cards"](n), moment), '\n'))
	}
	line := b.Len() / 3
	for name, c := range map[string]struct {
		text   string
		frames int
		err    string
	}{
		"whole":  {b.String(), 3, ""},
		"cut":    {b.String()[:2*line+100], 2, "line 3 at offset"},
		"blank":  {"\n\n" + b.String() + "\n", 3, ""},
		"schema": {strings.Replace(b.String(), "npu.top/1", "npu.top/9", 1), 0, "schema"},
		"words":  {"hello\n", 0, "line 1 at offset 0"},
		"types":  {strings.Replace(b.String(), `"temp_c":`, `"temp_c":"x","a":`, 1), 0, "devices[0].temp_c"},
	} {
		frames, err := ReadRecording(strings.NewReader(c.text))
		if len(frames) != c.frames || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d frames, %v", name, len(frames), err)
		}
	}
	p := filepath.Join(t.TempDir(), "x.jsonl")
	if _, _, err := OpenRecording(p); problem.ClassOf(err) != problem.Damaged {
		t.Error(err)
	}
	if err := os.WriteFile(p, []byte(b.String()[:2*line+100]), 0o600); err != nil {
		t.Fatal(err)
	}
	r, warn, err := OpenRecording(p)
	if err != nil || warn == nil || r.Latest().Seq != 1 {
		t.Error(r, warn, err)
	}
}

func FuzzReadRecording(f *testing.F) {
	f.Add(append(MarshalFrame(machines["simulator"](1), moment), '\n'))
	f.Add([]byte(`{"schema":"npu.top/1","devices":[{"npu":1,"hbm_mb":[1]}]}`))
	f.Add([]byte(`{"schema":"npu.top/1","time":"2026-11-30T00:00:00Z","sources":[{"name":"a","age_ms":5}],"devices":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, _ := ReadRecording(bytes.NewReader(b))
		for _, fr := range frames {
			again, err := UnmarshalFrame(MarshalFrame(fr, fr.Time))
			if err != nil || len(again.Devices) != len(fr.Devices) {
				t.Fatalf("%v", err)
			}
		}
	})
}

func TestReplay(t *testing.T) {
	var frames []*Frame
	for n := range 5 {
		frames = append(frames, machines["8cards"](n))
	}
	r := NewReplay(frames)
	r.Pause(true)
	r.Step(3)
	if at, n := r.Position(); at != 3 || n != 5 || r.Latest() != frames[3] || len(r.Before(2)) != 2 || r.Before(2)[1] != frames[3] {
		t.Errorf("%d of %d", at, n)
	}
	r.Step(-9)
	if r.Latest() != frames[0] {
		t.Error("not at the beginning")
	}
	r.Pause(false)
	if f := r.Next(t.Context(), 1); f != frames[1] {
		t.Errorf("frame %d", f.Seq)
	}
	m := newModel(r, Screen{Theme: screenTheme(), Interval: time.Second})
	press(m, "]]")
	if at, _ := r.Position(); at != 3 || !m.paused || m.hist.samples != 4 || !strings.Contains(m.View(), "recording 4/5") {
		t.Errorf("at %d, %d samples\n%s", at, m.hist.samples, m.View())
	}
	press(m, "[")
	if m.hist.samples != 3 {
		t.Errorf("%d samples after a step back", m.hist.samples)
	}
}

// What one source does not know another may.
func TestMerge(t *testing.T) {
	a := &still{frames: []*Frame{machine("910B3", 2, 1, 1), machine("910B3", 2, 1, 2)}}
	b := &still{frames: []*Frame{simulator(1)}}
	m := Merge(a, b)
	f := m.Latest()
	if len(f.Devices) != 4 || f.Streams.Why != "" || len(f.Streams.Rows) == 0 || len(f.Sources) != 2 {
		t.Fatalf("%+v", f.Sources)
	}
	if g := m.Latest(); g != f {
		t.Error("the same figures give another frame")
	}
	a.at = 1
	if g := m.Latest(); g.Seq <= f.Seq {
		t.Error("a newer frame of one source is no newer frame")
	}
	none := Merge(NewNone("npu-smi", "missing", nil), b)
	if err := Absence(none.Latest()); err != nil {
		t.Errorf("one source has devices: %v", err)
	}
	if err := Absence(Merge(NewNone("npu-smi", "missing", []string{"install it"})).Latest()); err == nil || !strings.Contains(err.Error(), "install it") {
		t.Error(err)
	}
	k := Key{"simulator", 1, 0}
	m.Watch(&k)
	m.Interval(time.Minute)
	if a.watched == nil || b.interval != time.Minute {
		t.Error("not passed on")
	}
	m.Close()
}

func TestHostReader(t *testing.T) {
	proc := t.TempDir()
	write := func(pid, file, text string) {
		t.Helper()
		d := filepath.Join(proc, pid)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".", "uptime", "1000.50 2000.00\n")
	stat := func(utime string) string {
		return "71 (VLLM::Worker) S 1 2 3 4 5 6 7 8 9 10 " + utime + " 50 0 0 20 0 1 0 90000 123456 2560 18446744073709551615"
	}
	write("71", "stat", stat("100"))
	write("71", "cmdline", "python3\x00-m\x00vllm serve\x00")
	write("71", "status", "Name:\tVLLM\nUid:\t0\t0\t0\t0\n")
	h := newHostReader(proc)
	look := func(name string) Process {
		pass := h.begin()
		p := Process{PID: 71, Name: name}
		pass.fill(&p)
		pass.end()
		return p
	}
	p := look("VLLMWorker")
	if p.Command.S != "python3 -m vllm serve" || p.Age.N != 100.5 || p.HostMem.N != 10 || p.CPU.Known || p.User.S == "" {
		t.Errorf("%+v", p)
	}
	time.Sleep(20 * time.Millisecond)
	write("71", "stat", stat("150"))
	if p = look("VLLMWorker"); !p.CPU.Known || p.CPU.N <= 0 {
		t.Errorf("%+v", p.CPU)
	}
	if p = look("python3"); p.Command.S != "" || p.Command.Why == "" {
		t.Errorf("another process of that number: %+v", p)
	}
	write("71", "stat", "71 (x")
	if p = look("x"); p.Command.S != "" {
		t.Errorf("%+v", p)
	}
}

func TestNone(t *testing.T) {
	n := NewNone("npu-smi", "not found", []string{"install"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := n.Next(ctx, 1); f != n.Latest() || !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(f)
	}
}
