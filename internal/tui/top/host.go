package top

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hostReader adds to a process what the host knows of it: user, command line, memory, CPU time. The vendor tool gives
// pids of the host's name space, so in a container the same number may be another process: only a process whose name
// fits is taken. It belongs to one source and is used under its lock.
type hostReader struct {
	proc  string
	users map[string]string
	ticks map[int]ticks
}

type ticks struct {
	at    time.Time
	used  uint64
	start string
}

func newHostReader(proc string) *hostReader {
	return &hostReader{proc: proc, users: map[string]string{}, ticks: map[int]ticks{}}
}

// hostPass is one look at all processes.
type hostPass struct {
	*hostReader
	now    time.Time
	uptime float64
	next   map[int]ticks
	known  map[int]Process
}

func (h *hostReader) begin() *hostPass {
	p := &hostPass{hostReader: h, now: time.Now(), next: map[int]ticks{}, known: map[int]Process{}}
	if b, err := os.ReadFile(filepath.Join(h.proc, "uptime")); err == nil {
		p.uptime, _ = strconv.ParseFloat(strings.SplitN(string(b), " ", 2)[0], 64)
	}
	return p
}

func (p *hostPass) end() { p.ticks = p.next }

// clockTicks is USER_HZ, which Linux fixes for all programs.
const clockTicks = 100

func (p *hostPass) fill(o *Process) {
	if k, ok := p.known[o.PID]; ok && k.Name == o.Name {
		o.User, o.Command, o.HostMem, o.CPU, o.Age = k.User, k.Command, k.HostMem, k.CPU, k.Age
		return
	}
	why := "the pid is not in this name space (a container's or another user's process)"
	o.User, o.Command, o.HostMem, o.CPU, o.Age = Text{Why: why}, Text{Why: why}, Unknown(why), Unknown(why), Unknown(why)
	p.read(o)
	p.known[o.PID] = *o
}

func (p *hostPass) read(o *Process) {
	dir := filepath.Join(p.proc, strconv.Itoa(o.PID))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return
	}
	// "pid (comm) state ppid ...": comm may hold blanks and brackets
	open, shut := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if open < 0 || shut < open {
		return
	}
	comm, f := string(stat[open+1:shut]), strings.Fields(string(stat[shut+1:]))
	if len(f) < 22 || !sameName(comm, o.Name) {
		return
	}
	o.Command = Text{Why: "it has no command line"}
	if b, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(b) > 0 {
		o.Command = Text{S: strings.TrimSpace(strings.ReplaceAll(string(b[:min(len(b), 4096)]), "\x00", " "))}
	}
	o.User = p.user(dir)
	if pages, err := strconv.ParseFloat(f[21], 64); err == nil {
		o.HostMem = Num(pages * float64(os.Getpagesize()) / (1 << 20))
	}
	u, _ := strconv.ParseUint(f[11], 10, 64)
	s, _ := strconv.ParseUint(f[12], 10, 64)
	p.next[o.PID] = ticks{p.now, u + s, f[19]}
	if start, err := strconv.ParseFloat(f[19], 64); err == nil && p.uptime > 0 {
		o.Age = Num(max(0, p.uptime-start/clockTicks))
	}
	o.CPU = Unknown("the first look at this process")
	if b, ok := p.ticks[o.PID]; ok && b.start == f[19] && u+s >= b.used && p.now.After(b.at) {
		o.CPU = Num(100 * float64(u+s-b.used) / clockTicks / p.now.Sub(b.at).Seconds())
	}
}

// sameName compares a name of the kernel with what npu-smi made of it: colons and tabs removed, cut to some length.
func sameName(comm, name string) bool {
	comm = strings.NewReplacer(":", "", "\t", "").Replace(comm)
	return len(name) >= 3 && strings.HasPrefix(comm, name) || comm == name && name != ""
}

func (p *hostPass) user(dir string) Text {
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Text{Why: "its status cannot be read"}
	}
	_, rest, ok := strings.Cut(string(b), "\nUid:")
	w := strings.Fields(rest)
	if !ok || len(w) == 0 {
		return Text{Why: "its status has no uid"}
	}
	if _, ok := p.users[w[0]]; !ok {
		p.users[w[0]] = w[0]
		if u, err := user.LookupId(w[0]); err == nil {
			p.users[w[0]] = u.Username
		}
	}
	return Text{S: p.users[w[0]]}
}
