package top

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
	"github.com/creack/pty"

	"npu/internal/tui/theme"
)

// panicEnv makes the test binary a screen whose source breaks.
const panicEnv = "NPU_TOP_TEST_PANIC"

type broken struct {
	still
	looks int
}

func (b *broken) Latest() *Frame {
	if b.looks++; b.looks > 3 {
		panic("a source that breaks")
	}
	return machine("910B3", 2, 1, b.looks)
}

func panicChild() {
	err := Show(context.Background(), &broken{}, Screen{Theme: theme.New(theme.True, false, theme.Braille), Interval: time.Second, In: os.Stdin, Out: os.Stdout})
	if err != nil {
		os.Stdout.WriteString("\r\nafter: " + err.Error() + "\r\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// A panic leaves a usable terminal: the screen is left, the cursor shown, echo on again.
func TestShow_panic(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), panicEnv+"=1", "TERM=xterm-256color")
	p, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer p.Close()
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(&out, p) // ends with an error when the child is gone
		close(done)
	}()
	if err := cmd.Wait(); err == nil {
		t.Error("the child did not fail")
	}
	<-done
	text := out.String()
	after := strings.LastIndex(text, "after: ")
	for _, seq := range []string{"\x1b[?1049l", "\x1b[?25h"} {
		if i := strings.LastIndex(text, seq); i < 0 || i > after {
			t.Errorf("no %q before the message, or none at all:\n%q", seq, text)
		}
	}
	if strings.Contains(text[strings.LastIndex(text, "\x1b[?1049l"):], "\x1b[?1049h") {
		t.Error("the screen came back")
	}
}

// The whole program: first frame, a frame that comes later, keys, quit.
func TestProgram(t *testing.T) {
	m, s := screen(t, theme.None, theme.Braille, 80, 24, 3, machines["8cards"])
	tm := teatest.NewTestModel(t, m, teatest.WithInitialTermSize(80, 24))
	wait := func(text string) {
		t.Helper()
		teatest.WaitFor(t, tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(text)) }, teatest.WithDuration(10*time.Second), teatest.WithCheckInterval(20*time.Millisecond))
	}
	wait("8 devices")
	tm.Send(tea.WindowSizeMsg{Width: 100, Height: 40})
	wait("1 Devices")
	tm.Type("?")
	wait("Look closer")
	tm.Type("q")
	tm.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second))
	final := tm.FinalModel(t).(*model)
	if !final.help || final.w != 100 || s.watched != nil {
		t.Errorf("help %v, width %d", final.help, final.w)
	}
	fits(t, final.View(), 100, 40)
}
