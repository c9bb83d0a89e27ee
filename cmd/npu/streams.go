package main

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"

	"npu/internal/problem"
)

// streams is where a command reads and writes, and what it may assume of the other side.
type streams struct {
	in       io.Reader
	out, err io.Writer
	outTTY   bool // standard output is a terminal
	errTTY   bool
	width    int // columns of the terminal; 0 in a pipe
	colors   bool
}

func newStreams() *streams {
	s := &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	s.outTTY = term.IsTerminal(int(os.Stdout.Fd()))
	s.errTTY = term.IsTerminal(int(os.Stderr.Fd()))
	if s.outTTY {
		s.width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	return s
}

// setColor decides about colour from --color, NO_COLOR and the terminal.
func (s *streams) setColor(mode string) error {
	switch mode {
	case "auto":
		_, no := os.LookupEnv("NO_COLOR")
		s.colors = s.outTTY && !no && os.Getenv("TERM") != "dumb"
	case "always":
		s.colors = true
	case "never":
		s.colors = false
	default:
		return problem.Usagef("--color %q: expected auto, always or never", mode)
	}
	return nil
}

// printJSON writes v indented, with a final newline.
func (s *streams) printJSON(v any) error {
	e := json.NewEncoder(s.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
