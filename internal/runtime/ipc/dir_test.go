package ipc

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"npu/internal/runtime/telemetry"
)

// The test binary is its own child process: NPU_IPC_CHILD names what the child does.
func TestMain(m *testing.M) {
	switch os.Getenv("NPU_IPC_CHILD") {
	case "":
		os.Exit(m.Run())
	case "hold":
		childHold()
	case "foreign":
		childForeign()
	}
}

// childHold takes a place, claims memory and waits for its end.
func childHold() {
	d, err := Open(os.Getenv("NPU_RUN_DIR"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s, err := d.Join()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	w, _ := telemetry.NewWriter(s.Page()) // its size is right
	w.Write(&telemetry.Snapshot{Program: "child"})
	s.Share(7, 100).Claim(60)
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour) // not select {}: without another goroutine that is a deadlock, and ends the process
	}
}

type child struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func start(t testing.TB, dir, what string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NPU_IPC_CHILD="+what, "NPU_RUN_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) want(t testing.TB, line string) {
	t.Helper()
	if !c.out.Scan() || c.out.Text() != line {
		t.Fatalf("the child says %q, want %q", c.out.Text(), line)
	}
}

func openDir(t testing.TB) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "deep", "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func join(t testing.TB, d *Dir) *Slot {
	t.Helper()
	s, err := d.Join()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestPath(t *testing.T) {
	tmp := filepath.Join(os.TempDir(), fmt.Sprintf("npu-%d", os.Getuid()))
	for _, c := range []struct{ run, xdg, want string }{
		{"/a/b", "/x", "/a/b"}, {"", "/x", "/x/npu"}, {"", "relative", tmp}, {"", "", tmp}, {"off", "/x", ""},
	} {
		env := map[string]string{"NPU_RUN_DIR": c.run, "XDG_RUNTIME_DIR": c.xdg}
		if got := Path(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestOpen_refuses(t *testing.T) {
	base := t.TempDir()
	wide, link, file := filepath.Join(base, "wide"), filepath.Join(base, "link"), filepath.Join(base, "file")
	private := filepath.Join(base, "private")
	for _, err := range []error{os.Mkdir(wide, 0o700), os.Chmod(wide, 0o755), os.Mkdir(private, 0o700), os.Symlink(private, link), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{wide, link, file} {
		if _, err := Open(p); !errors.Is(err, ErrNotPrivate) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if err := os.WriteFile(filepath.Join(private, "table"), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(private); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a foreign table: %v", err)
	}
	if d, err := Look(filepath.Join(base, "none")); d != nil || err != nil {
		t.Errorf("no directory: %v %v", d, err)
	}
}

// A process shows while it lives, also while it is stopped, and what it held is free within a second of its death.
func TestProcesses_life(t *testing.T) {
	d := openDir(t)
	c := start(t, d.Path(), "hold")
	c.want(t, "ready")
	list := d.Processes()
	if len(list) != 1 || list[0].PID != c.cmd.Process.Pid || list[0].Err != nil || list[0].Snapshot.Program != "child" {
		t.Fatalf("%+v", list)
	}
	mine := join(t, d).Share(7, 100)
	if mine.Claim(50) {
		t.Error("50 of 100 were given while the child holds 60")
	}
	if !mine.Claim(40) || mine.InUse() != 100 {
		t.Error("40 of 100 were refused")
	}
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if len(d.Processes()) != 2 || mine.Claim(41) {
		t.Error("a stopped process has lost its place")
	}
	dead := time.Now()
	c.kill()
	for !mine.Claim(100) {
		if time.Since(dead) > time.Second {
			t.Fatal("the memory of a killed process is still taken")
		}
	}
	if list := d.Processes(); len(list) != 1 || list[0].PID != os.Getpid() {
		t.Errorf("after the death: %+v", list)
	}
}

// Places are used again, and there is an end to them.
func TestJoin_places(t *testing.T) {
	d := openDir(t)
	var all []*Slot
	for range Slots {
		all = append(all, join(t, d))
	}
	if _, err := d.Join(); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	all[77].Share(1, 10).Claim(10)
	all[77].Close()
	all[77].Close()
	s := join(t, d)
	if s.Index() != 77 {
		t.Errorf("place %d, want the free one", s.Index())
	}
	if !s.Share(1, 10).Claim(10) {
		t.Error("the claim of a closed place is still there")
	}
}

// Two who want the last bytes never both get them.
func TestClaim_race(t *testing.T) {
	d := openDir(t)
	a, b := join(t, d).Share(3, 100), join(t, d).Share(3, 100)
	other := join(t, d).Share(4, 100)
	for range 2000 {
		got := make(chan bool, 2)
		for _, s := range []*Share{a, b} {
			go func() { got <- s.Claim(60) }()
		}
		if one, two := <-got, <-got; one && two {
			t.Fatal("120 of 100 bytes were given out")
		}
		a.Claim(0)
		b.Claim(0)
	}
	if !other.Claim(100) {
		t.Error("another device's memory was counted")
	}
}

// Another user can neither list, open nor connect.
func TestForeignUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	base, err := os.MkdirTemp("", "npu-foreign") // t.TempDir is closed to others anyway
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	exe := filepath.Join(base, "test")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.Chmod(base, 0o755), os.WriteFile(exe, b, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(filepath.Join(base, "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	s := join(t, d)
	f, mem, err := SharedFile(4096)
	if err != nil {
		t.Fatal(err)
	}
	Unmap(mem)
	x, err := s.Export(Memory, f, Info{}, true) // open to every process, of this user
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{"NPU_IPC_CHILD=foreign", "NPU_RUN_DIR=" + d.Path(), "NPU_IPC_KEY=" + x.Key(), fmt.Sprintf("NPU_IPC_OWNER=%d", os.Getpid())}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "refused" {
		t.Errorf("another user: %s, %v", out, err)
	}
	if n := x.Users(); n != 0 {
		t.Errorf("%d imports by another user", n)
	}
}

// childForeign tries what another user might.
func childForeign() {
	dir := os.Getenv("NPU_RUN_DIR")
	if _, err := os.ReadDir(dir); err == nil {
		fmt.Println("it can list the directory")
	}
	if _, err := os.Open(filepath.Join(dir, "000.slot")); err == nil {
		fmt.Println("it can read a page")
	}
	if _, err := Look(dir); err == nil {
		fmt.Println("it can map the table")
	}
	if _, err := Open(dir); err == nil {
		fmt.Println("it can join")
	}
	if _, err := net.Dial("unixpacket", filepath.Join(dir, "000.sock")); err == nil {
		fmt.Println("it can connect")
	}
	if _, err := (&Slot{dir: &Dir{path: dir}}).Import(Memory, os.Getenv("NPU_IPC_KEY"), nil); err == nil {
		fmt.Println("it can import with the key")
	}
	for fd := range 64 { // a descriptor of the owner would be the memory itself
		if f, err := os.Open(fmt.Sprintf("/proc/%s/fd/%d", os.Getenv("NPU_IPC_OWNER"), fd)); err == nil {
			f.Close()
			fmt.Println("it can open a descriptor of the owner")
		}
	}
	fmt.Println("refused")
}
