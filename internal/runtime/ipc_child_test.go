package runtime

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"npu/internal/runtime/mempool"
)

// peer is a real child process that runs this test binary as TestIPCChild: one command a line in, one answer out.
type peer struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner

	soon chan string // an answer that readSoon waits for
}

// runDir is a run directory for a test.
func runDir(t testing.TB) string { return filepath.Join(t.TempDir(), "run") }

func startPeer(t testing.TB, dir string, env ...string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestIPCChild$")
	cmd.Env = append(append(os.Environ(), "NPU_TEST_PEER=1", "NPU_RUN_DIR="+dir), env...)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(p.kill)
	if a := p.read(); a != "ready" {
		t.Fatalf("the peer says %q", a)
	}
	return p
}

func (p *peer) pid() int { return p.cmd.Process.Pid }

func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
}

func (p *peer) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// send gives a command without waiting for the answer.
func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// read is the next answer; empty when the peer has died.
func (p *peer) read() string {
	if !p.out.Scan() {
		return ""
	}
	return p.out.Text()
}

func (p *peer) ask(format string, args ...any) string {
	p.t.Helper()
	p.send(format, args...)
	return p.read()
}

// want asks and checks the answer.
func (p *peer) want(answer, format string, args ...any) {
	p.t.Helper()
	if a := p.ask(format, args...); a != answer {
		p.t.Errorf("%s: the peer says %q, want %q", fmt.Sprintf(format, args...), a, answer)
	}
}

// child is the other side.
type child struct {
	*rig
	t             *testing.T
	ptr           Ptr
	mine          Ptr
	key           []byte
	stream        *Stream
	event, opened *Event
	notify, other *Notify
	exp           []byte // the key of what it has exported
	hold          bool   // the next command belongs to virtual time
}

// TestIPCChild is not a test: it is what a peer runs.
func TestIPCChild(t *testing.T) {
	if os.Getenv("NPU_TEST_PEER") == "" {
		t.Skip("only as a child of other tests")
	}
	c := &child{t: t}
	c.rig = newRig(t, Config{RunDir: os.Getenv("NPU_RUN_DIR"), Program: "peer", MemoryBytes: 256 << 20})
	c.stream = c.rig.stream()
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for {
		more := false
		if next := func() { more = lines.Scan() }; c.hold {
			next() // its clock holds the peers back
			c.hold = false
		} else {
			c.Outside(next)
		}
		if !more {
			break
		}
		fmt.Println(c.do(strings.Fields(lines.Text())))
	}
	closeOnce(t, c.rt, c.Thread)
	os.Exit(0)
}

// answer is the code of an error, or ok.
func answer(err error, more ...any) string {
	var e *Error
	switch {
	case err == nil:
		return strings.TrimSpace("ok " + fmt.Sprintln(more...))
	case errors.As(err, &e):
		return fmt.Sprint("code ", int(e.Code))
	}
	return err.Error()
}

func (c *child) do(w []string) string {
	num := func(i int) (n int64) {
		if i < len(w) {
			_, _ = fmt.Sscan(w[i], &n)
		}
		return n
	}
	switch w[0] {
	case "import":
		c.key = append([]byte(w[1]), 0)
		var err error
		c.ptr, err = c.ImportMemory(c.key, 0)
		return answer(err)
	case "close":
		return answer(c.CloseMemory(c.key))
	case "read":
		var b [8]byte
		err := c.MemcpyToHost(b[:], c.ptr)
		return answer(err, binary.LittleEndian.Uint64(b[:]))
	case "add":
		err := c.LaunchKernel(c.rig.add, []uint64{uint64(c.ptr), uint64(num(1))}, c.stream)
		if err == nil {
			err = c.SynchronizeStream(c.stream)
		}
		return answer(err)
	case "export":
		c.exp = make([]byte, 65)
		err := c.MallocWith(&c.mine, 2<<20, MallocConfig{Policy: mempool.HugeOnly})
		if err == nil {
			c.ptr = c.mine
			err = c.ExportMemory(c.mine, 2<<20, c.exp, ExportToAnyPid)
		}
		return answer(err, keyText(c.exp))
	case "malloc":
		var err error
		c.mine, err = c.Malloc(num(1))
		return answer(err)
	case "free":
		return answer(c.Free(c.mine))
	case "fault":
		err := c.LaunchKernel(c.boom, nil, c.stream)
		if err == nil {
			err = c.SynchronizeStream(c.stream)
		}
		return answer(err)
	}
	return c.doOrder(w, num)
}

// waitFor polls until f holds.
func waitFor(t testing.TB, what string, limit time.Duration, f func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// block is a block of whole pages with a value in its first word.
func (r *rig) block(n int64, v uint64) Ptr {
	r.t.Helper()
	var p Ptr
	r.ok(r.MallocWith(&p, n, MallocConfig{Policy: mempool.HugeOnly}))
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	r.ok(r.MemcpyFromHost(p, b[:]))
	return p
}

func (r *rig) first(p Ptr) uint64 {
	r.t.Helper()
	var b [8]byte
	r.ok(r.MemcpyToHost(b[:], p))
	return binary.LittleEndian.Uint64(b[:])
}

// ipcRig is a rig that shares a run directory.
func ipcRig(t testing.TB, dir string) *rig {
	t.Helper()
	r := newRig(t, Config{RunDir: dir, Program: "test", MemoryBytes: 256 << 20})
	if err := r.rt.Alone(); err != nil {
		t.Fatal(err)
	}
	return r
}
