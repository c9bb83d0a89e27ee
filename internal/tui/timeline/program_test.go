package timeline

import (
	"bytes"
	"context"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

// The whole program, with what it does beside the screen: a trace that comes later, statistics, an alignment, a new size, quit.
func TestProgram(t *testing.T) {
	start := make(chan struct{})
	src := Open(File{Name: "job.npt", Load: func(context.Context, func([]trace.Task)) (*trace.Trace, error) {
		<-start
		return gen.Trace(gen.Options{Tasks: 2000, Devices: 2}), nil
	}})
	defer src.Close()
	m := newModel(src, theme.New(theme.None, false, theme.Braille))
	tm := teatest.NewTestModel(t, m, teatest.WithInitialTermSize(120, 40))
	wait := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			teatest.WaitFor(t, tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(text)) }, teatest.WithDuration(time.Minute), teatest.WithCheckInterval(20*time.Millisecond))
		}
	}
	wait("reading job.npt")
	close(start)
	wait("runs on")
	tm.Type("wwww")
	wait("streams idle")
	tm.Type("B")
	wait("operators line up")
	tm.Send(tea.WindowSizeMsg{Width: 90, Height: 30})
	tm.Type("?")
	wait("closer, about the cursor")
	tm.Type("?")
	tm.Type("q")
	tm.WaitFinished(t, teatest.WithFinalTimeout(time.Minute))
	final := tm.FinalModel(t).(*model)
	if final.w != 90 || final.d.plain == nil || final.counts == nil {
		t.Errorf("width %d, aligned %v, statistics %v", final.w, final.d.plain != nil, final.counts != nil)
	}
	fits(t, final.View(), 90, 30)
}
