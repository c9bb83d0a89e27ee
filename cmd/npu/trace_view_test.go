package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"npu/internal/runtime/ipc"
	"npu/internal/trace"
	"npu/internal/trace/export"
	"npu/internal/trace/gen"
)

// startView runs npu trace view in a terminal, on a trace of 2,000 tasks.
func startView(t *testing.T, w, h int, args ...string) *terminal {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.npt")
	if err := export.Write(file, traceOf(2000)); err != nil {
		t.Fatal(err)
	}
	return startTopAs(t, w, h, "", func(exe, _ string) *exec.Cmd {
		return exec.Command(exe, append([]string{"trace", "view", file}, args...)...)
	})
}

func traceOf(tasks int) *trace.Trace { return gen.Trace(gen.Options{Tasks: tasks, Streams: 3}) }

// A person's way through it: read, zoom, walk, ask why, help, resize, leave.
func TestTraceView_terminal(t *testing.T) {
	tm := startView(t, 80, 24)
	tm.want("run.npt", "AI Core", "Stream 1")
	tm.press("wwwwww")
	tm.want("1.56%)")
	tm.press("i")
	tm.want("Idle for")
	tm.press("?")
	tm.want("closer, about the cursor")
	tm.press("?/relu\r")
	tm.want("Relu_")
	tm.press("\t")
	tm.want("operator", "total")
	tm.press("q")
	tm.ends(0)
}

func TestTraceView_interrupted(t *testing.T) {
	tm := startView(t, 80, 24)
	tm.want("AI Core")
	tm.press("\x03")
	tm.ends(130)
}

// A run is followed while it goes on: it is found by its pid, its tasks come, and it is left without harm.
func TestTraceView_live(t *testing.T) {
	exe, err := exec.LookPath("npu")
	if err != nil {
		t.Skip("the test binary is not on PATH as npu: ", err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	run := exec.Command(exe, "run", "-n", "1000000", "--pace", "--timing-only")
	run.Env = append(os.Environ(), "NPU_RUN_DIR="+dir)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		d, err := ipc.Look(dir)
		if d != nil {
			n := len(d.Processes())
			if d.Close(); n > 0 {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("the run does not show itself: ", err)
		}
	}
	tm := startTopAs(t, 120, 30, "", func(exe, _ string) *exec.Cmd {
		return exec.Command("/usr/bin/env", "NPU_RUN_DIR="+dir, exe, "trace", "view", "--pid", strconv.Itoa(run.Process.Pid))
	})
	tm.want("live: ", "AI Core", "Stream 3")
	tm.press("F")
	tm.want("the screen stays here")
	_ = run.Process.Kill()
	tm.want("ended after")
	tm.press("q")
	tm.ends(0)
}
