package smi

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// driverLibs is where the driver keeps the libraries of npu-smi.
const driverLibs = "/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver"

// maxOutput bounds what one call may print: 64 cards of two chips with 32 processes each need a tenth of it.
const maxOutput = 4 << 20

// answer is what one call printed. Exit is -1 when it was killed; timedOut and ctx tell by whom.
type answer struct {
	text     string
	exit     int
	timedOut bool
}

// call runs npu-smi once, in a process group of its own, and kills the whole group at the time-out or when ctx ends.
// If the loader fails it runs a second time with the driver's library path.
func call(ctx context.Context, path string, timeout time.Duration, args ...string) (answer, error) {
	env := append(os.Environ(), "LC_ALL=C")
	a, err := callEnv(ctx, path, timeout, env, args)
	if err == nil && a.exit == 127 && Diagnose(a.text, a.exit).Kind == Loader {
		b, err := callEnv(ctx, path, timeout, append(env, "LD_LIBRARY_PATH="+driverLibs), args)
		if err == nil && b.exit == 0 {
			return b, nil
		}
	}
	return a, err
}

func callEnv(ctx context.Context, path string, timeout time.Duration, env, args []string) (answer, error) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limit, path, args...)
	var out capped
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond // a grandchild outside the group may hold the pipe
	err := cmd.Run()
	a := answer{text: out.buf.String(), exit: -1}
	if cmd.ProcessState != nil {
		a.exit = cmd.ProcessState.ExitCode()
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case limit.Err() != nil && a.exit != 0:
		a.timedOut = true
		return a, nil
	case err == nil || errors.As(err, new(*exec.ExitError)) || errors.Is(err, exec.ErrWaitDelay) || out.full:
		return a, nil
	}
	return a, err
}

// capped keeps the first maxOutput bytes; a write beyond them fails, which ends the call. The buffer is a field, not
// embedded: io.Copy would find its ReadFrom and go around the limit.
type capped struct {
	buf  bytes.Buffer
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.buf.Len()+len(p) > maxOutput {
		c.full = true
		return 0, errors.New("npu-smi prints without end")
	}
	return c.buf.Write(p)
}
