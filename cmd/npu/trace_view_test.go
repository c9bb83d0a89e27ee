package main

import (
	"os/exec"
	"path/filepath"
	"testing"

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
	tm.want("%)")
	tm.press("i")
	tm.want("Idle for")
	tm.press("?")
	tm.want("closer, about the cursor")
	tm.press("?")
	tm.press("/relu\r")
	tm.want("Relu")
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
