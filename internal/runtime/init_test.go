package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInit_references(t *testing.T) {
	r := bare(t, Config{})
	r.code("finalize before init", r.Finalize(), RepeatFinalize)
	_, err := r.FinalizeReference()
	r.code("one reference less before init", err, RepeatFinalize)
	r.ok(r.Init(""))
	r.code("second init", r.Init(""), RepeatInit)
	r.code("third init", r.Init(""), RepeatInit)
	for want := 2; want >= 0; want-- {
		if left := must[int](t)(r.FinalizeReference()); left != want {
			t.Errorf("%d references left, want %d", left, want)
		}
	}
	r.code("finalize after the last reference", r.Finalize(), RepeatFinalize)
	r.ok(r.Init(""))
	r.code("second init", r.Init(""), RepeatInit)
	r.ok(r.Finalize()) // all at once
	r.code("finalize twice", r.Finalize(), RepeatFinalize)
}

func TestInit_file(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		p := filepath.Join(dir, fmt.Sprintf("%d.json", len(text)))
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		text string
		want Code
	}{
		{`{`, ParseFile},
		{`[]`, ParseFile},
		{`{"defaultDevice": {"default_device": 2}}`, FileAttr},
		{`{"defaultDevice": {"default_device": "x"}}`, FileAttr},
		{`{"err_msg_mode": "2"}`, FileAttr},
		{`{"dump": {"dump_scene": "all"}}`, DumpConfig},
	} {
		r := bare(t, Config{Devices: 2})
		r.code(c.text, r.Init(file(c.text)), c.want)
		r.code("finalize after a failed init", r.Finalize(), RepeatFinalize)
	}
	r := bare(t, Config{Devices: 2})
	r.code("no file", r.Init(filepath.Join(dir, "none")), InvalidFile)
	r.ok(r.Init(file(`{"defaultDevice": {"default_device": "1"}, "err_msg_mode": "0", "more": [1]}`)))
	s := r.stream() // no SetDevice before
	if d := must[int](t)(r.Device()); d != 1 || s.ctx.dev.id != 1 {
		t.Errorf("the stream is on device %d, the current one is %d, want the default device 1", s.ctx.dev.id, d)
	}
	c := must[*Child](t)(r.Go(func(th *Thread) error {
		if _, err := th.Malloc(0); err == nil {
			return errors.New("nothing was refused")
		}
		return nil
	}))
	r.ok(r.Wait(c))
	if text := r.RecentErrorMessage(); !strings.Contains(text, "aclrtMalloc") {
		t.Errorf("messages of the process: %q, want the other thread's", text)
	}
	if text := r.RecentErrorMessage(); text != "" {
		t.Errorf("messages after they were read: %q", text)
	}
	r.ok(r.ResetDevice(1), r.Finalize())
	_, err := r.CreateStream(StreamConfig{})
	r.code("no default device after the end", err, ContextNull)
}

// A dump scene has failing tasks leave what DumpExceptions leaves; the environment names the place first.
func TestInit_dump(t *testing.T) {
	r := newRig(t, Config{})
	dir, other := t.TempDir(), t.TempDir()
	t.Setenv("NPU_COLLECT_PATH", "")
	t.Setenv("ASCEND_WORK_PATH", other)
	p := filepath.Join(dir, "acl.json")
	r.ok(os.WriteFile(p, fmt.Appendf(nil, `{"dump": {"dump_scene": "aic_err_detail_dump", "dump_path": %q}}`, dir), 0o600))
	r.ok(r.Init(p))
	s := r.stream()
	r.ok(r.LaunchKernel(r.boom, nil, s))
	r.code("synchronise", r.SynchronizeStream(s), VectorException)
	files, err := r.rt.Dumps()
	r.ok(err)
	if len(files) == 0 || !strings.HasPrefix(files[0], other) {
		t.Errorf("dumps %v, want some below %s", files, other)
	}
}

func TestSysParam(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.SysParam(Deterministic)
	r.code("get before set", err, OptionNotSet)
	r.ok(r.SetSysParam(Deterministic, 1))
	if v := must[int64](t)(r.SysParam(Deterministic)); v != 1 {
		t.Errorf("value %d", v)
	}
	_, err = r.ContextSysParam(Deterministic)
	r.code("get of the context", err, OptionNotSet)
	r.ok(r.SetContextSysParam(StrongConsistency, 0))
	if v := must[int64](t)(r.ContextSysParam(StrongConsistency)); v != 0 {
		t.Errorf("value %d", v)
	}
	must[*Context](t)(r.CreateContext(0))
	_, err = r.ContextSysParam(StrongConsistency)
	r.code("get in another context", err, OptionNotSet)
	r.code("unknown option", r.SetSysParam(3, 1), InvalidParam)
	r.code("unknown value", r.SetSysParam(DebugKernel, 2), InvalidParam)
	_, err = r.SysParam(-1)
	r.code("get of an unknown option", err, InvalidParam)
	b := bare(t, Config{})
	b.code("no context", b.SetContextSysParam(Deterministic, 1), ContextNull)
	b.ok(b.SetSysParam(Deterministic, 1)) // needs none
}

func TestDeviceState(t *testing.T) {
	r := bare(t, Config{Devices: 2})
	var got []string
	names := []string{"setting", "set", "resetting", "reset"}
	f := func(d int, s DeviceState) {
		got = append(got, fmt.Sprintf("%s %d", names[s], d))
		if _, err := r.CreateStream(StreamConfig{}); err == nil {
			t.Error("a callback may create a stream")
		}
	}
	r.ok(r.RegisterDeviceState("a", f))
	r.code("the name again", r.RegisterDeviceState("a", f), InvalidParam)
	r.ok(r.SetDevice(1), r.SetDevice(1), r.ResetDevice(1), r.ResetDeviceForce(1))
	r.code("one reset too many", r.ResetDevice(1), ContextRelease)
	want := []string{"setting 1", "set 1", "setting 1", "set 1", "resetting 1", "reset 1", "resetting 1", "reset 1", "resetting 1"}
	if !slices.Equal(got, want) {
		t.Errorf("heard %q,\nwant %q", got, want)
	}
	r.ok(r.RegisterDeviceState("a", nil), r.SetDevice(0))
	r.code("remove twice", r.RegisterDeviceState("a", nil), InvalidParam)
	if len(got) != len(want) {
		t.Error("heard something after the removal")
	}
	r.ok(r.ResetDevice(0))
}

// A persistent stream is emptied, its labels can be set again, and what is submitted then is the model.
func TestCleanStream(t *testing.T) {
	r := newRig(t, Config{})
	r.code("an ordinary stream", r.CleanStream(r.stream()), InvalidParam)
	s, e := r.stream(StreamConfig{Flags: Persistent}), r.stream()
	r.ok(r.CleanStream(s)) // nothing there
	m := must[*Model](t)(r.BuildModelBegin("m"))
	label := r.CreateLabel()
	r.ok(r.BindStream(m, s, true), r.LaunchKernel(r.boom, nil, s), r.SetLabel(label, s), r.EndTask(m, s))
	r.code("label set twice", r.SetLabel(label, s), InvalidParam)
	r.ok(r.CleanStream(s))
	r.code("end of the emptied model", r.BuildModelEnd(m), InvalidParam)
	r.ok(r.GotoLabel(label, s), r.LaunchKernel(r.boom, nil, s))
	r.code("a label that was forgotten", func() error {
		r.ok(r.EndTask(m, s))
		return r.BuildModelEnd(m)
	}(), InvalidParam)
	r.ok(r.CleanStream(s))
	r.ok(r.GotoLabel(label, s), r.LaunchKernel(r.boom, nil, s), r.SetLabel(label, s), r.inc(s), r.LaunchKernel(r.long, nil, s), r.EndTask(m, s), r.BuildModelEnd(m))
	r.ok(r.ExecuteModel(m, e))
	r.code("executing", r.CleanStream(s), ModelRunning)
	r.ok(r.SynchronizeStream(e))
	if v := r.value(); v != 1 {
		t.Errorf("counter %d after one execution, want 1", v)
	}
	r.code("built", r.CleanStream(s), NotSupported)
	r.ok(r.UnbindStream(m, s), r.CleanStream(s), r.DestroyModel(m))
}
