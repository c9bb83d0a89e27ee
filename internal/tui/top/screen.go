package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"

	"npu/internal/problem"
	"npu/internal/tui/cell"
	"npu/internal/tui/hush"
	"npu/internal/tui/keys"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// Bubble Tea is initialised before this package is, and has kept quiet.
var _ = hush.End()

// Screen is how the live screen is to begin.
type Screen struct {
	Select   Select
	Panel    int
	Interval time.Duration
	Record   *Recorder
	Theme    *theme.Theme
	Mouse    bool // ours from the beginning
	In       io.Reader
	Out      io.Writer
}

// Show runs the screen until it is left or ctx ends. It restores the terminal whatever happens.
func Show(ctx context.Context, src Source, o Screen) error {
	m := newModel(src, o)
	fps := 30
	if os.Getenv("SSH_CONNECTION") != "" {
		fps = 15
	}
	// Signals end ctx. Bubble Tea's own handler besides it can block on a loop that ctx has ended already, and then the
	// terminal stays as it is.
	mouse := func(*tea.Program) {}
	if o.Mouse {
		mouse = tea.WithMouseCellMotion()
	}
	p := tea.NewProgram(m, mouse, tea.WithContext(ctx), tea.WithoutSignalHandler(), input(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithFPS(fps), tea.WithReportFocus())
	_, err := p.Run()
	switch {
	case m.interrupted || ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, tea.ErrProgramPanic):
		return problem.Failedf("the screen broke (the trace is above); please report it with a --record file")
	case err != nil:
		return fmt.Errorf("screen: %w", err)
	}
	return m.failure
}

// input reads keys from in, or from the terminal itself where in is something else, as in "npu top < file".
func input(in io.Reader) tea.ProgramOption {
	if f, ok := in.(*os.File); ok && !term.IsTerminal(int(f.Fd())) {
		return tea.WithInputTTY()
	}
	return tea.WithInput(in)
}

// viewMode is how much is drawn; auto decides by the size.
type viewMode int

const (
	viewAuto viewMode = iota
	viewFull
	viewCompact
	viewModes
)

var viewNames = [viewModes]string{"auto", "full", "compact"}

type model struct {
	src      Source
	player   Player // nil unless src is a recording
	opt      Screen
	th       *theme.Theme
	keys     bindings
	buf      cell.Buffer
	out      string // what View returns; made anew when dirty
	dirty    bool
	w, h     int
	frame    *Frame
	hist     *history
	panels   [panelCount]panel
	active   int
	lower    int // panel in the lower half: the last active one but devices
	view     viewMode
	tree     bool
	ids      bool
	paused   bool
	blurred  bool
	interval time.Duration

	prompt     *widget.Edit // the bottom line; nil when closed
	asks       rune         // what it is for: '/' a filter, ':' a command
	before     string       // the filter before the prompt opened
	promptErr  string
	help       bool
	detail     bool
	detailTop  int
	detailRows int
	helpTop    int
	message    string
	until      time.Time // when message goes
	age        int64     // second in which the frame was last drawn
	cost       costMeter
	pointer    bool // the mouse is ours
	clicked    click
	buttons    []button
	over       spot   // of the details
	clip       string // goes out with the next frame
	now        func() time.Time

	interrupted bool
	failure     error
}

func newModel(src Source, o Screen) *model {
	m := &model{src: src, opt: o, th: o.Theme, keys: newBindings(), hist: newHistory(), active: o.Panel, lower: PanelProcesses,
		interval: o.Interval, pointer: o.Mouse, now: time.Now, dirty: true, w: 80, h: 24}
	m.player, _ = src.(Player)
	if o.Panel != PanelDevices {
		m.lower = o.Panel
	}
	for i := range m.panels {
		m.panels[i].filter = o.Select.Filter
		m.panels[i].sort = o.Select.Sort
		m.panels[i].text = o.Select.Filter.String()
	}
	if o.Select.Sort.Key == "" {
		m.panels[PanelProcesses].sort = natural("mem_mb")
		m.panels[PanelOperators].sort = natural("total_us")
	}
	m.take()
	return m
}

type tick time.Time

// Init starts the clock.
func (m *model) Init() tea.Cmd { return m.tick() }

// tick comes often while an answer is awaited, so that the first devices appear when they are there.
func (m *model) tick() tea.Cmd {
	d := 250 * time.Millisecond
	switch {
	case m.frame.Waiting():
		d = 50 * time.Millisecond
	case m.blurred:
		d = time.Second
	}
	return tea.Tick(d, func(t time.Time) tea.Msg { return tick(t) })
}

// take shows the newest frame of the source.
func (m *model) take() {
	f := m.src.Latest()
	if err := m.opt.Record.Add(f); err != nil && m.failure == nil {
		m.failure = err
		m.say(err.Error())
		m.opt.Record = nil
	}
	if m.paused && m.player == nil && m.frame != nil {
		return
	}
	fresh := m.frame == nil || f.Seq != m.frame.Seq
	if fresh || f != m.frame {
		m.dirty = true
	}
	if fresh && !(f.Waiting() && len(f.Devices) == 0) {
		if m.player != nil {
			m.replayHistory()
		} else {
			m.hist.add(f)
		}
	}
	m.frame = f
}

// replayHistory makes the past of a recording's present frame, which may have been reached by a step back.
func (m *model) replayHistory() {
	m.hist = newHistory()
	for _, f := range m.player.Before(maxSamples) {
		m.hist.add(f)
	}
}

func (m *model) say(s string) {
	m.message, m.until, m.dirty = s, m.now().Add(4*time.Second), true
}

// Update takes a message. It never blocks: sources are asked for what they have.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h, m.dirty = msg.Width, msg.Height, true
		if m.w <= 0 || m.h <= 0 {
			m.w, m.h = 80, 24
		}
	case tick:
		m.take()
		m.cost.look(m.now())
		if s := m.now().Unix(); s != m.age {
			m.dirty = true
		}
		return m, m.tick()
	case tea.FocusMsg:
		m.blurred = false
	case tea.BlurMsg:
		m.blurred = true
	case tea.ResumeMsg:
		m.dirty = true
	case tea.MouseMsg:
		m.dirty = true
		return m, m.mouse(msg)
	case tea.KeyMsg:
		var cmds []tea.Cmd
		for _, k := range keys.Split(msg) {
			cmds = append(cmds, m.key(k))
		}
		m.dirty = true
		return m, tea.Batch(cmds...)
	}
	return m, nil
}

// View is the screen as text.
func (m *model) View() string {
	if m.dirty {
		m.age = m.now().Unix()
		if m.message != "" && !m.now().Before(m.until) {
			m.message = ""
		}
		m.draw()
		m.out, m.dirty = m.clip+m.buf.String(m.th), m.clip != ""
		m.clip = ""
	}
	return m.out
}
