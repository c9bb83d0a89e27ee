package timeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace"
	"npu/internal/tui/theme"
)

// look is a model of a source that is read in the background, with its messages carried out until quit or until a text is
// on the screen.
func look(t *testing.T, src Source, want string) (m *model, quit bool) {
	t.Helper()
	m = newModel(src, theme.New(theme.None, false, theme.Braille))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, cmd := m.Update(tick{}); m.failure != nil && m.d == nil {
			if _, quit = cmd().(tea.QuitMsg); quit {
				return m, true
			}
		}
		fits(t, m.View(), 80, 24)
		if want != "" && strings.Contains(m.View(), want) {
			return m, false
		}
	}
	t.Fatalf("no %q on the screen:\n%s", want, m.View())
	return nil, false
}

func TestOpen(t *testing.T) {
	start := make(chan struct{})
	src := Open(File{Name: "job.npt", Load: func(context.Context, func([]trace.Task)) (*trace.Trace, error) { <-start; return job(), nil }})
	defer src.Close()
	look(t, src, "reading job.npt")
	close(start)
	look(t, src, "Stream 1")
}

// What could be read of a damaged file is shown, with what is wrong; leaving says it again.
func TestOpen_damaged(t *testing.T) {
	damage := errors.New("job.npt ends within chunk 7")
	src := Open(File{Name: "job.npt", Load: func(context.Context, func([]trace.Task)) (*trace.Trace, error) { return job(), damage }})
	defer src.Close()
	m, _ := look(t, src, "ends within chunk 7")
	if !strings.Contains(m.View(), "Stream 1") || !errors.Is(m.failure, damage) {
		t.Error(m.failure, m.View())
	}
}

// A file that cannot be read ends the screen.
func TestOpen_failed(t *testing.T) {
	src := Open(File{Name: "job.npt", Load: func(context.Context, func([]trace.Task)) (*trace.Trace, error) { return nil, errors.New("no trace") }})
	defer src.Close()
	if m, quit := look(t, src, ""); !quit || m.failure.Error() != "no trace" {
		t.Error(m.failure)
	}
}

// Leaving while the file is read ends the reading.
func TestOpen_left(t *testing.T) {
	src := Open(File{Name: "job.npt", Load: func(ctx context.Context, _ func([]trace.Task)) (*trace.Trace, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	src.Close()
	if d, err := src.Latest(); d != nil || !errors.Is(err, context.Canceled) {
		t.Error(d, err)
	}
}
