package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// npu run --top shows the run while it goes on; left with q, the run goes on and its report comes out.
func TestRun_top(t *testing.T) {
	exe, err := exec.LookPath("npu")
	if err != nil {
		t.Skip("the test binary is not on PATH as npu: ", err)
	}
	cmd := exec.Command(exe, "run", "-n", "60000", "--pace", "--top")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NPU_RUN_DIR="+filepath.Join(cmd.Dir, "run"))
	p, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	tm := &terminal{t: t, cmd: cmd, pty: p, em: vt.NewSafeEmulator(120, 40), done: make(chan struct{})}
	go func() {
		_, _ = io.Copy(tm.em, p) // ends with an error when the program is gone
		close(tm.done)
	}()
	go func() { _, _ = io.Copy(p, tm.em) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		p.Close()
		_ = tm.em.Close()
	})
	tm.want("simulator", "3 Streams", "Ascend910B3")
	tm.press("q")
	tm.want("60000 iterations")
	<-tm.done
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run ends with %v", err)
	}
}
