package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"npu/internal/runtime"
	"npu/internal/sim/soc"
)

// peer is a second process of this program, which runs Peer: a command a line goes in, an answer a line comes back. The
// answer is "ok" with what was asked for, or what went wrong.
type peer struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last bytes.Buffer // what it says when it breaks; read after its end
}

// startPeer starts the process and opens a runtime in it that shares the run directory dir.
func startPeer(o *Options, dir string) (*peer, error) {
	if o.Peer == nil {
		return nil, errors.New("nobody says how to start a second process")
	}
	cmd, err := o.Peer()
	if err != nil {
		return nil, err
	}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	p := &peer{cmd: cmd, in: in}
	cmd.Stderr = &p.last
	if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
		return nil, fmt.Errorf("second process: %w", err)
	}
	p.out = bufio.NewReader(out)
	if _, err := p.ask("open %s %s", o.Chip.Name, dir); err != nil {
		return nil, cmp.Or(err, p.close())
	}
	return p, nil
}

func (p *peer) send(format string, args ...any) error {
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	return err
}

func (p *peer) answer() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("second process: %w", err)
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(line), "ok")
	if !ok {
		return "", fmt.Errorf("second process: %s", strings.TrimSpace(line))
	}
	return strings.TrimSpace(text), nil
}

func (p *peer) ask(format string, args ...any) (string, error) {
	if err := p.send(format, args...); err != nil {
		return "", fmt.Errorf("second process: %w", err)
	}
	return p.answer()
}

// close lets the process end by itself, and ends it if it does not.
func (p *peer) close() error {
	p.in.Close()
	late := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		said, _, _ := strings.Cut(p.last.String(), "\n")
		return fmt.Errorf("second process: %w: %s", err, said)
	}
	return nil
}

// Peer is the second process: it does what comes in until there is no more.
func Peer(in io.Reader, out io.Writer) error {
	s := &second{in: bufio.NewReader(in), out: out}
	for {
		line, err := s.next()
		if err != nil {
			break
		}
		text, err := s.do(strings.Fields(line))
		if err != nil {
			text = "failed: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		} else {
			text = strings.TrimSpace("ok " + text)
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			break
		}
	}
	if s.r != nil {
		return s.r.close()
	}
	return nil
}

// second is the state of the second process.
type second struct {
	in   *bufio.Reader
	out  io.Writer
	r    *rig
	side *side
}

// next is the next command. While it is awaited this process holds no other back.
func (s *second) next() (line string, err error) {
	read := func() { line, err = s.in.ReadString('\n') }
	if s.r == nil {
		read()
	} else {
		s.r.th.Outside(read)
	}
	return line, err
}

func (s *second) do(w []string) (string, error) {
	if len(w) == 0 {
		return "", errors.New("no command")
	}
	arg := strings.Join(w[1:], " ")
	switch w[0] {
	case "open":
		chip, err := soc.Lookup(w[1])
		if err == nil {
			s.r, err = newSharedRig(chip, strings.Join(w[2:], " "))
		}
		return "", err
	case "import": // N times the key that follows
		var n int
		var key string
		if _, err := fmt.Sscan(arg, &n, &key); err != nil {
			return "", err
		}
		return "", s.imports(n, append([]byte(key), 0))
	case "notify": // makes this process's side; the answer is its key
		var err error
		s.side, err = newSide(s.r.th)
		if err != nil {
			return "", err
		}
		return string(s.side.key[:len(s.side.key)-1]), nil
	case "link": // to the other's key
		return "", s.side.link([]byte(arg))
	case "play":
		return "", s.side.play(false)
	case "echo":
		return "", s.echo()
	}
	return "", fmt.Errorf("no command %q", w[0])
}

func (s *second) imports(n int, key []byte) error {
	for range n {
		_, err := s.r.th.ImportMemory(key, 0)
		if err = cmp.Or(err, s.r.th.CloseMemory(key)); err != nil {
			return err
		}
	}
	return nil
}

// echo sends back as many bytes as a burst of round trips takes.
func (s *second) echo() error {
	var b [1]byte
	for range rounds {
		if _, err := io.ReadFull(s.in, b[:]); err != nil {
			return err
		}
		if _, err := s.out.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// newSharedRig is a rig that shares the devices of a run directory.
func newSharedRig(chip *soc.Chip, dir string) (*rig, error) {
	r, err := newRig(chip, func(c *runtime.Config) { c.RunDir, c.Program = dir, "npu bench" })
	if err != nil {
		return nil, err
	}
	if err := r.rt.Alone(); err != nil {
		return nil, cmp.Or(err, r.close())
	}
	return r, nil
}
