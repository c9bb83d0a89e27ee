// Package stack reads the stacks of crashed host and device processes: the stackcore files of the runtime's signal
// handler (process image, its old form, three text forms), the device daemon's coretrace, and the text that gdb
// prints of a host core. One result for all: process, signal, registers, threads with frames.
package stack

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"npu/internal/problem"
)

// Limits against hostile input.
const (
	maxThreads = 8192
	maxFrames  = 65536
)

// Problem is damage at an offset.
type Problem struct {
	Offset int64
	Text   string
}

// Crash is what a stack file tells.
type Crash struct {
	Form      string // stackcore image, stackcore image (old), stackcore text, stackcore log, coretrace, gdb
	Process   string
	PID, TID  int // -1 unknown
	Signal    int // 0 unknown
	Reason    string
	TimeNS    uint64
	Kernel    string
	Registers [][2]string
	Threads   []Thread
	Maps      int // lines
	Sections  []Section
	Log       []string // of the handler itself
	Problems  []Problem
	frames    int
}

// Thread has frames, innermost first.
type Thread struct {
	Number  int
	TID     int
	Name    string
	Crashed bool
	Frames  []Frame
}

// Frame is one call.
type Frame struct {
	PC, Base uint64
	Lib      string
	Func     string
	Offset   uint64 // inside the function, if known
	Where    string // file:line, from gdb
}

// Section is a part of a process image.
type Section struct {
	Name   string
	Offset int64
	Bytes  int64
}

func (f Frame) String() string {
	s := fmt.Sprintf("0x%x", f.PC)
	if f.Func != "" {
		s += " " + f.Func
		if f.Offset > 0 {
			s += fmt.Sprintf("+0x%x", f.Offset)
		}
	}
	if f.Lib != "" {
		s += " in " + path.Base(f.Lib)
		if f.Base > 0 && f.PC >= f.Base {
			s += fmt.Sprintf("+0x%x", f.PC-f.Base)
		}
	}
	if f.Where != "" {
		s += " at " + f.Where
	}
	return s
}

var signals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
	13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS", 35: "SIGRTMIN+1 (stack on demand)"}

// SignalName names a signal number; "signal N" if it has no name here.
func SignalName(n int) string {
	if s, ok := signals[n]; ok {
		return s
	}
	return fmt.Sprintf("signal %d", n)
}

func signalByName(s string) int {
	for n, name := range signals {
		if name == s {
			return n
		}
	}
	return 0
}

func (c *Crash) thread(t Thread) *Thread {
	if len(c.Threads) >= maxThreads {
		return &Thread{}
	}
	c.Threads = append(c.Threads, t)
	return &c.Threads[len(c.Threads)-1]
}

func (c *Crash) frame(f Frame) {
	if c.frames >= maxFrames {
		return
	}
	c.frames++
	if len(c.Threads) == 0 {
		c.thread(Thread{Number: 1, TID: -1})
	}
	t := &c.Threads[len(c.Threads)-1]
	t.Frames = append(t.Frames, f)
}

type patterns struct {
	thread, gdbThread, frame, trace, gdbFrame, pid, mapLine, reg *regexp.Regexp
}

var re = sync.OnceValue(func() patterns {
	return patterns{
		thread:    regexp.MustCompile(`^Thread (\d+)(?: \((\d+), ?(.*)\))?`),
		gdbThread: regexp.MustCompile(`^Thread (\d+) \((?:Thread 0x[0-9a-f]+ )?\(?LWP (\d+)\)?(?: "(.*)")?`),
		frame:     regexp.MustCompile(`^#(\d+)\s+0x([0-9a-fA-F]+)\s+0x([0-9a-fA-F]+)\s+(\S+)(?: \((.*)\))?`),
		trace:     regexp.MustCompile(`^#(\d+) ([0-9a-fA-F]{8,16})$`),
		gdbFrame:  regexp.MustCompile(`^#(\d+)\s+(?:0x([0-9a-f]+)\s+in\s+)?(\S+)\s*(?:\(.*?\))?(?:.*? at (\S+))?`),
		pid:       regexp.MustCompile(`^PID (\d+) TGID (\d+) comm (.*)`),
		mapLine:   regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+)\s+(?:[rwxps-]{4}\s+\S+\s+\S+\s+\S+\s*)?(\S*)`),
		reg:       regexp.MustCompile(`([a-z][a-z0-9_]{0,7})\s+0x([0-9a-fA-F]+)`),
	}
})

// SniffText says which text form the start of a file has; empty if none.
func SniffText(head []byte) string {
	h := string(head[:min(len(head), 4096)])
	first, _, _ := strings.Cut(h, "\n")
	switch {
	case strings.HasPrefix(h, "[process]") || strings.HasPrefix(h, "[process info]"):
		return "stackcore text"
	case strings.HasPrefix(h, "[main logcat]") || strings.HasPrefix(h, "[sub logcat]"):
		return "stackcore log"
	case strings.HasPrefix(h, "Signal ") && strings.Contains(first, " pid "):
		return "coretrace"
	case strings.Contains(h, "Program terminated with signal") || strings.HasPrefix(h, "GNU gdb"):
		return "gdb"
	}
	return ""
}

// ParseText reads one of the text forms.
func ParseText(b []byte) (*Crash, error) {
	form := SniffText(b)
	if form == "" {
		return nil, problem.Damagedf("offset 0: no text form of a process stack")
	}
	c := &Crash{Form: form, PID: -1, TID: -1}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(make([]byte, 64<<10), 1<<20)
	var libs []mapped
	section := ""
	for s.Scan() {
		l := strings.TrimRight(strings.ToValidUTF8(s.Text(), "?"), "\r ")
		if strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]") && !strings.HasPrefix(l, "[Current") {
			section = l
			continue
		}
		switch form {
		case "coretrace":
			c.traceLine(l, &libs)
		case "gdb":
			c.gdbLine(l)
		case "stackcore log":
			c.logLine(l)
		default:
			c.textLine(section, l)
		}
	}
	if err := s.Err(); err != nil {
		c.Problems = append(c.Problems, Problem{int64(len(b)), "reading stopped: " + err.Error()})
	}
	c.finish(libs)
	return c, nil
}

// finish marks the thread that crashed.
func (c *Crash) finish(libs []mapped) {
	named := false
	for _, t := range c.Threads {
		named = named || t.TID > 0
	}
	for i := range c.Threads {
		t := &c.Threads[i]
		t.Crashed = c.TID > 0 && t.TID == c.TID || len(c.Threads) == 1 || !named && i == 0 // the oldest form lists it first
		for j := range t.Frames {
			f := &t.Frames[j]
			if f.Lib != "" {
				continue
			}
			for _, m := range libs {
				if f.PC >= m.lo && f.PC < m.hi {
					f.Lib, f.Base = m.path, m.base
				}
			}
		}
	}
}

type mapped struct {
	lo, hi, base uint64
	path         string
}

func hex(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	return n
}

func num(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return -1
	}
	return n
}

func (c *Crash) textLine(section, l string) {
	switch section {
	case "[process]", "[process info]":
		if k, v, ok := strings.Cut(l, ":"); ok && !strings.HasPrefix(l, " ") {
			c.processField(strings.TrimSpace(k), strings.TrimSpace(v))
			return
		}
		for _, m := range re().reg.FindAllStringSubmatch(l, -1) {
			if len(c.Registers) < 256 {
				c.Registers = append(c.Registers, [2]string{m[1], "0x" + m[2]})
			}
		}
	case "[stack]":
		if m := re().thread.FindStringSubmatch(l); m != nil {
			t := Thread{Number: num(m[1]), TID: -1, Name: m[3]}
			if m[2] != "" {
				t.TID = num(m[2])
			}
			c.thread(t)
		} else if m := re().frame.FindStringSubmatch(l); m != nil {
			c.frame(Frame{PC: hex(m[2]), Base: hex(m[3]), Lib: m[4], Func: m[5]})
		} else if strings.HasPrefix(l, "#") && len(c.Threads) > 0 {
			c.frame(Frame{Func: "?"})
		}
	case "[maps]":
		if l != "" {
			c.Maps++
		}
	}
}

func (c *Crash) processField(k, v string) {
	switch k {
	case "crash task":
		c.Process = v
	case "crash pid":
		c.PID = num(v)
	case "crash tid":
		c.TID = num(v)
	case "kernel version":
		c.Kernel = v
	case "crash reason":
		v = strings.TrimPrefix(v, "signal ")
		if n := num(v); n > 0 {
			c.Signal = n
		} else {
			c.Signal = signalByName(v)
		}
		c.Reason = SignalName(c.Signal)
		if c.Signal == 0 {
			c.Reason = v
		}
	}
}

// logLine reads the handler's own log; failures in it say why there is no stack.
func (c *Crash) logLine(l string) {
	if l == "" {
		return
	}
	if len(c.Log) < 1000 {
		c.Log = append(c.Log, l)
	}
	if i := strings.Index(l, "signal("); i >= 0 && c.Signal == 0 {
		c.Signal = num(strings.SplitN(l[i+7:], ")", 2)[0])
		c.Reason = SignalName(c.Signal)
	}
	stamp, rest, ok := strings.Cut(l, "(")
	if !ok {
		return
	}
	if id, _, ok := strings.Cut(rest, ")"); ok && strings.Contains(l, "receive signal") {
		c.PID = num(id)
		c.TimeNS, _ = strconv.ParseUint(stamp, 10, 64)
	}
}

// traceLine reads coretrace: signal, map, then threads with bare addresses.
func (c *Crash) traceLine(l string, libs *[]mapped) {
	switch {
	case strings.HasPrefix(l, "Signal "):
		f := strings.Fields(l)
		if len(f) >= 4 {
			c.Signal, c.PID = num(f[1]), num(f[3])
			c.Reason = SignalName(c.Signal)
		}
	case strings.HasPrefix(l, "PID "):
		if m := re().pid.FindStringSubmatch(l); m != nil {
			c.thread(Thread{Number: len(c.Threads) + 1, TID: num(m[1]), Name: strings.TrimSpace(m[3])})
			if c.PID <= 0 {
				c.PID = num(m[2])
			}
			if c.Process == "" {
				c.Process = strings.TrimSpace(m[3])
				c.TID = num(m[1]) // the first thread is the one that crashed
			}
		}
	case strings.HasPrefix(l, "#"):
		if m := re().trace.FindStringSubmatch(l); m != nil {
			c.frame(Frame{PC: hex(m[2])})
		}
	default:
		if m := re().mapLine.FindStringSubmatch(l); m != nil && len(*libs) < 65536 {
			c.Maps++
			lo, hi := hex(m[1]), hex(m[2])
			base := lo
			for _, o := range *libs {
				if o.path == m[3] {
					base = o.base
					break
				}
			}
			*libs = append(*libs, mapped{lo, hi, base, m[3]})
		}
	}
}

// gdbLine reads gdb's output.
func (c *Crash) gdbLine(l string) {
	switch {
	case strings.Contains(l, "Program terminated with signal "):
		_, s, _ := strings.Cut(l, "Program terminated with signal ")
		name, _, _ := strings.Cut(s, ",")
		c.Signal, c.Reason = signalByName(name), name
	case strings.HasPrefix(l, "Thread "):
		if m := re().gdbThread.FindStringSubmatch(l); m != nil {
			c.thread(Thread{Number: num(m[1]), TID: num(m[2]), Name: m[3]})
		}
	case strings.Contains(l, "Current thread is"):
		if _, s, ok := strings.Cut(l, "LWP "); ok {
			c.TID = num(strings.TrimRight(s, ")]"))
		}
	case strings.HasPrefix(l, "#"):
		if m := re().gdbFrame.FindStringSubmatch(l); m != nil {
			c.frame(Frame{PC: hex(m[2]), Func: m[3], Where: m[4]})
		}
	case strings.HasPrefix(l, "    at ") && len(c.Threads) > 0:
		t := &c.Threads[len(c.Threads)-1]
		if n := len(t.Frames); n > 0 && t.Frames[n-1].Where == "" {
			t.Frames[n-1].Where = strings.TrimSpace(strings.TrimPrefix(l, "    at "))
		}
	case strings.HasPrefix(l, "* 1") && strings.Contains(l, "process "):
		_, s, _ := strings.Cut(l, "process ")
		if f := strings.Fields(s); len(f) >= 1 {
			c.PID = num(f[0])
			if len(f) > 1 {
				c.Process = f[1]
			}
		}
	case len(c.Registers) < 256 && strings.Contains(l, " 0x"):
		if m := re().reg.FindStringSubmatch(l); m != nil && strings.HasPrefix(l, m[1]) {
			c.Registers = append(c.Registers, [2]string{m[1], "0x" + m[2]})
		}
	}
}
