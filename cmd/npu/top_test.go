package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is npu top in a pseudo-terminal, seen through an emulator.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	em   *vt.SafeEmulator
	done chan struct{}
}

// startTop runs npu top with a fake npu-smi, a shell script.
func startTop(t *testing.T, w, h int, smi string, args ...string) *terminal {
	t.Helper()
	return startTopAs(t, w, h, smi, func(exe, fake string) *exec.Cmd {
		return exec.Command(exe, append([]string{"top", "--npu-smi", fake}, args...)...)
	})
}

func startTopAs(t *testing.T, w, h int, smi string, command func(exe, fake string) *exec.Cmd) *terminal {
	t.Helper()
	exe, err := exec.LookPath("npu")
	if err != nil {
		t.Skip("the test binary is not on PATH as npu: ", err)
	}
	fake := filepath.Join(t.TempDir(), "npu-smi")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+smi+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := command(exe, fake)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NPU_RUN_DIR="+filepath.Join(cmd.Dir, "run"))
	p, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	tm := &terminal{t: t, cmd: cmd, pty: p, em: vt.NewSafeEmulator(w, h), done: make(chan struct{})}
	go func() {
		_, _ = io.Copy(tm.em, p) // ends with an error when the program is gone
		close(tm.done)
	}()
	go func() { _, _ = io.Copy(p, tm.em) }() // answers to the program's questions
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		p.Close()
		_ = tm.em.Close()
	})
	return tm
}

// want waits until the screen shows a text.
func (tm *terminal) want(texts ...string) {
	tm.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		screen := tm.em.String()
		missing := ""
		for _, s := range texts {
			if !strings.Contains(screen, s) {
				missing = s
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			tm.t.Fatalf("no %q on the screen:\n%s", missing, screen)
		}
	}
}

func (tm *terminal) press(keys string) {
	tm.t.Helper()
	if _, err := tm.pty.WriteString(keys); err != nil {
		tm.t.Fatal(err)
	}
}

// ends waits for the program's end and checks that the terminal is as before.
func (tm *terminal) ends(code int) {
	tm.t.Helper()
	err := tm.cmd.Wait()
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		tm.t.Errorf("exit status %d, expected %d", got, code)
	}
	<-tm.done
	if tm.em.IsAltScreen() {
		tm.t.Error("the alternate screen was not left")
	}
	if tm.raw() {
		tm.t.Error("the terminal does not show what is typed")
	}
}

const fakeTable = `[ $# = 1 ] || exit 1
cat <<'T'
| npu-smi 25.5.1                   Version: 25.5.1                                               |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===+
| 4     910B3               | OK            | 99.4        34                0    / 0             |
| 0                         | 0000:C1:00.0  | 17          0    / 0          1024 / 65536         |
+===+
| 9     910B3               | Alarm         | 91.1        32                0    / 0             |
| 0                         | 0000:C2:00.0  | 83          0    / 0          60000/ 65536         |
+===+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===+
| 9       0                 | 4194303       | 训练 worker               | 50128                   |
+===+
T`

// The mouse is taken when it is asked for, and given back with the terminal.
func TestTop_mouse(t *testing.T) {
	tm := startTop(t, 80, 24, fakeTable, "--mouse")
	tm.want("2 devices", "83%")
	if runtime.GOOS == "linux" && !tm.raw() {
		t.Error("the terminal is not raw: this test cannot see whether it is restored")
	}
	tm.press("\x1b[<0;4;4M\x1b[<0;4;4m") // the second device
	tm.want("▸ 9")
	row := 0
	for i, l := range strings.Split(tm.em.String(), "\n") {
		if strings.Contains(l, "3 Streams") {
			row = i + 1
		}
	}
	tm.press(fmt.Sprintf("\x1b[<0;26;%dM\x1b[<0;26;%dm", row, row))
	tm.want("[3 Streams 0]", "No run of npu has a stream")
	tm.press("%")
	tm.want("mouse off")
	tm.press(":q\r")
	tm.ends(0)
}

func TestTop_terminal(t *testing.T) {
	tm := startTop(t, 80, 24, fakeTable)
	tm.want("2 devices", "!! Alarm", "训练 worker", "17%")
	tm.press("jj")
	tm.press("?")
	tm.want("Look closer")
	tm.press("\x1b")
	if err := pty.Setsize(tm.pty, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	tm.em.Resize(120, 40)
	tm.want("1 Devices", "2 Processes")
	tm.press("/4194303\r2S")
	tm.want("wrote npu-top-")
	tm.press("q")
	tm.ends(0)
	files, _ := filepath.Glob(filepath.Join(tm.cmd.Dir, "npu-top-*.svg"))
	if len(files) != 1 {
		t.Errorf("pictures: %v", files)
	}
}

// The screen is there, and obeys keys, while the tool hangs; leaving kills the tool.
func TestTop_hangingTool(t *testing.T) {
	tm := startTop(t, 80, 24, `echo $$ > "$(dirname "$0")/pid"; sleep 1000`)
	tm.want("Asking npu-smi")
	tm.press("?")
	tm.want("Look closer")
	tm.press("q")
	tm.ends(0)
	b, err := os.ReadFile(filepath.Join(filepath.Dir(tm.cmd.Args[3]), "pid"))
	if err == nil && fileExists("/proc/"+strings.TrimSpace(string(b))+"/cmdline") {
		t.Errorf("npu-smi %s lives on", b)
	}
}

func fileExists(p string) bool {
	b, err := os.ReadFile(p)
	return err == nil && len(b) > 0 // a zombie has no command line
}

// A tool that dies leaves the last figures on the screen, with the reason and their age.
func TestTop_dyingTool(t *testing.T) {
	tm := startTop(t, 80, 24, `d=$(dirname "$0")
if [ -e "$d/second" ]; then echo "dcmi module initialize failed. ret is -8005"; exit 187; fi
touch "$d/second"
`+fakeTable, "--interval", "200ms")
	tm.want("the driver cannot be reached", "910B3", "old")
	tm.press("q")
	tm.ends(0)
}

func TestTop_interrupted(t *testing.T) {
	tm := startTop(t, 80, 24, fakeTable)
	tm.want("2 devices")
	tm.press("\x03")
	tm.ends(130)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		tm = startTop(t, 80, 24, fakeTable)
		tm.want("2 devices")
		if err := tm.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		tm.ends(130)
	}
}

// No command speaks to the terminal before it has something to say. Bubble Tea's initialisation would ask for the
// background colour in each of them, and wait for the answer.
func TestTop_quiet(t *testing.T) {
	exe, err := exec.LookPath("npu")
	if err != nil {
		t.Skip("the test binary is not on PATH as npu: ", err)
	}
	fake := filepath.Join(t.TempDir(), "npu-smi")
	script := "#!/bin/sh\n[ $# = 1 ] && echo \"${CI-unset}\" > \"$(dirname \"$0\")/ci\"\n" + fakeTable + "\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"version"}, {"top", "--once", "--npu-smi", fake}} {
		cmd := exec.Command(exe, args...)
		for _, kv := range append(os.Environ(), "TERM=xterm-256color") {
			if !strings.HasPrefix(kv, "CI=") {
				cmd.Env = append(cmd.Env, kv)
			}
		}
		p, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
		if err != nil {
			t.Skip("no pseudo-terminal: ", err)
		}
		out, _ := io.ReadAll(p) // ends with an error when the program is gone
		p.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if strings.Contains(string(out), "\x1b") || len(out) == 0 {
			t.Errorf("npu %v says %q", args, out)
		}
	}
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(fake), "ci")); err != nil || strings.TrimSpace(string(b)) != "unset" {
		t.Errorf("the variable CI reaches npu-smi: %q %v", b, err)
	}
}

// Standard input need not be the terminal: keys are read from the terminal itself.
func TestTop_otherInput(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to start npu from: ", err)
	}
	tm := startTopAs(t, 80, 24, fakeTable, func(exe, fake string) *exec.Cmd {
		return exec.Command(sh, "-c", `exec "$0" top --npu-smi "$1" < /dev/null`, exe, fake)
	})
	tm.want("2 devices")
	tm.press("?")
	tm.want("Look closer")
	tm.press("q")
	tm.ends(0)
}
