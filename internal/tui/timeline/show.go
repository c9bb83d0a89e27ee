package timeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"

	"npu/internal/problem"
	"npu/internal/tui/svg"
	"npu/internal/tui/theme"
)

// Screen is how the screen is to begin.
type Screen struct {
	Colour Colour
	Keys   string // pressed before anything else, as a person would; <enter>, <tab>, <esc>, <space> and arrows in brackets
	Theme  *theme.Theme
	W, H   int // of a frame that is printed
	In     io.Reader
	Out    io.Writer
}

// Show runs the screen until it is left or ctx ends. It restores the terminal whatever happens.
func Show(ctx context.Context, src Source, o Screen) error {
	m := newModel(src, o.Theme)
	m.colour = o.Colour
	fps := 30
	if os.Getenv("SSH_CONNECTION") != "" {
		fps = 15
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), input(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithFPS(fps), tea.WithMouseCellMotion())
	_, err := p.Run()
	switch {
	case m.interrupted || ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, tea.ErrProgramPanic):
		return problem.Failedf("the screen broke (the trace of calls is above); please report it")
	case err != nil:
		return fmt.Errorf("screen: %w", err)
	}
	return m.failure
}

// input reads keys from in, or from the terminal itself where in is something else.
func input(in io.Reader) tea.ProgramOption {
	if f, ok := in.(*os.File); ok && !term.IsTerminal(int(f.Fd())) {
		return tea.WithInputTTY()
	}
	return tea.WithInput(in)
}

// still is a source that has its data.
type still struct{ d *Data }

func (s still) Latest() (*Data, error) { return s.d, nil }
func (s still) Says() string           { return "" }
func (s still) Close()                 {}

// Frame is the screen as text after o.Keys were pressed.
func Frame(d *Data, o Screen) (string, error) {
	m := newModel(still{d}, o.Theme)
	m.w, m.h, m.colour, m.inline = o.W, o.H, o.Colour, true
	m.resolve()
	keys, err := parseKeys(o.Keys)
	if err != nil {
		return "", err
	}
	for _, k := range keys {
		m.Update(k)
		m.View()
	}
	m.settle()
	return m.View(), nil
}

// Print writes one frame as text, and a line break.
func Print(d *Data, o Screen) error {
	text, err := Frame(d, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Out, text)
	return err
}

// Picture writes one frame as SVG.
func Picture(w io.Writer, d *Data, o Screen) error {
	text, err := Frame(d, o)
	if err != nil {
		return err
	}
	return svg.Write(w, text, svg.Options{Light: o.Theme.Light, Title: "npu trace view " + d.Name})
}

// namedKeys are those that no letter stands for.
var namedKeys = map[string]tea.KeyType{"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
	"right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "ctrl+r": tea.KeyCtrlR}

// parseKeys reads keys as "wwj/conv<enter>". A '<' without a name behind it is itself.
func parseKeys(s string) ([]tea.KeyMsg, error) {
	var out []tea.KeyMsg
	for len(s) > 0 {
		if name, rest, ok := strings.Cut(s[1:], ">"); s[0] == '<' && ok {
			t, known := namedKeys[name]
			if !known && name != "space" {
				return nil, problem.Usagef("--keys: there is no key <%s>", name)
			}
			if name == "space" {
				out = append(out, tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			} else {
				out = append(out, tea.KeyMsg{Type: t})
			}
			s = rest
			continue
		}
		r := []rune(s)[0]
		k := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
		if r == ' ' {
			k.Type = tea.KeySpace
		}
		out = append(out, k)
		s = s[len(string(r)):]
	}
	return out, nil
}
