// Package textdump decodes the core dump that the task scheduler's firmware writes as text into device logs and
// atrace files when an AI core fails: registers, samples of the local memories, the stack, and which cores ran the
// task. Two dialects: the old one of the 910 (SLOT_INFO, AICORE_INFO) and the one of the 910B. It takes the message
// part of log lines one by one (package plog splits them) and keeps what is whole when the text is cut.
package textdump

import (
	"bytes"
	"strconv"
	"strings"

	"npu/internal/blackbox/plog"
)

// Limits keep a hostile log from growing the memory.
const (
	maxEvents = 256
	maxCores  = 256  // an event
	maxRegs   = 1024 // a core
	maxRows   = 1 << 16
)

// Event is one failure of a task as the firmware saw it.
type Event struct {
	Time               int64 // microseconds, the device's clock; plog.NoTime if unknown
	Old                bool  // dialect of the 910
	Device             int   // -1 unknown
	Stream, Task       int   // -1 unknown
	PID, VF            int
	SQEType, ErrorType int
	ExceptionCode      uint32
	SQE                []uint32 // the 64-byte queue entry, if it was printed whole
	Slots              []string // the SLOTn lines as they stand
	AICBitmap          uint64   // cores that ran the task
	AIVBitmap          [4]uint64
	Registers          []Register // of the slot (old dialect)
	Cores              []*Core
	Line               int
	sqe                [16]uint32
	sqeSeen            uint16
	rows               int
}

// Register is one NAME=value line.
type Register struct {
	Name  string
	Value uint64
}

// Core is what was printed of one core.
type Core struct {
	Type       string // AIC, AIV; empty if the line that names the core is missing
	ID         int    // -1 as long as the core is not named
	Block      int    // block of the task it ran; -1 unknown
	Registers  []Register
	Memories   []Memory
	StackStart uint64
	Stack      []Memory // rows of 32 bytes by address
	FirmwarePC uint64   // the program counter that the firmware repaired itself (err_pc); 0 if not printed
	Complete   bool     // registers with error words and counters are there
	line       int
}

// Memory is the sample of a local memory.
type Memory struct {
	Name string
	Rows []Row
}

// Row is a run of bytes at an offset (local memories) or address (stack).
type Row struct {
	Addr uint64
	Data []byte
}

// Parser collects events.
type Parser struct {
	Events  []*Event
	Dropped int // lines beyond the limits
	core    *Core
	mem     string
}

// Wants says whether a line can be part of a text dump; a cheap test for callers that read big logs.
func Wants(text []byte) bool {
	return bytes.HasPrefix(text, []byte("<exception_print>")) || bytes.Contains(text, []byte("_print> 0x")) ||
		bytes.Contains(text, []byte("proc_stars_acc_exception")) || bytes.Contains(text, []byte("dump_sqe")) ||
		bytes.Contains(text, []byte("core_id=")) || bytes.Contains(text, []byte("stack")) ||
		bytes.Contains(text, []byte("err_pc=")) || bytes.Contains(text, []byte("slot_dfx"))
}

// Feed takes the message of one line and its time.
func (p *Parser) Feed(text []byte, when int64, line int) {
	if rest, ok := bytes.CutPrefix(text, []byte("<exception_print>")); ok {
		p.print(bytes.TrimSpace(rest), when, line)
		return
	}
	switch {
	case bytes.Contains(text, []byte("proc_stars_acc_exception")) && bytes.Contains(text, []byte("stream_id=")):
		ev := p.begin(when, line)
		ev.Stream, ev.Task = integer(text, "stream_id="), integer(text, "task_id=")
		ev.SQEType, ev.ErrorType = integer(text, "sqe_type="), integer(text, "error_type=")
		ev.PID, ev.VF = integer(text, " pid="), integer(text, "vf_id=")
	case len(p.Events) == 0:
		return
	case bytes.Contains(text, []byte("dump_sqe")) && bytes.Contains(text, []byte("word[")):
		ev := p.last()
		i, v := integer(text, "word["), value(text, "]=")
		if i >= 0 && i < 16 {
			ev.sqe[i] = uint32(v)
			if ev.sqeSeen |= 1 << i; ev.sqeSeen == 0xffff {
				ev.SQE = ev.sqe[:]
			}
		}
	case bytes.Contains(text, []byte("slot_dfx")):
		if i := bytes.Index(text, []byte("SLOT")); i >= 0 && len(p.last().Slots) < 64 {
			p.last().Slots = append(p.last().Slots, string(text[i:]))
		}
	case bytes.Contains(text, []byte(" begin***")):
		p.open(text)
	case bytes.Contains(text, []byte(" end***")):
		p.mem = ""
	case bytes.Contains(text, []byte("_print> 0x")):
		_, row, _ := bytes.Cut(text, []byte("_print> "))
		p.row(row)
	case bytes.Contains(text, []byte("stack_info,")):
		p.current(line).StackStart = value(text, "start_addr=")
	case bytes.Contains(text, []byte("stack mem info")):
		p.stack(text, line)
	case bytes.Contains(text, []byte("err_pc=")):
		p.current(line).FirmwarePC = value(text, "err_pc=")
	case bytes.Contains(text, []byte("start reset core_id=")):
		if p.core != nil && p.core.ID < 0 {
			p.core.ID = integer(text, "core_id=")
		}
		p.core = nil
	}
}

func (p *Parser) last() *Event { return p.Events[len(p.Events)-1] }

func (p *Parser) begin(when int64, line int) *Event {
	ev := &Event{Time: when, Device: -1, Stream: -1, Task: -1, PID: -1, SQEType: -1, ErrorType: -1, Line: line}
	p.core, p.mem = nil, ""
	if len(p.Events) >= maxEvents {
		p.Dropped++
		p.Events[len(p.Events)-1] = ev
		return ev
	}
	p.Events = append(p.Events, ev)
	return ev
}

// current is the core whose lines are being read. Registers come before the line that names their core.
func (p *Parser) current(line int) *Core {
	if len(p.Events) == 0 {
		p.begin(plog.NoTime, line)
	}
	if p.core == nil {
		p.core = &Core{ID: -1, Block: -1, line: line}
		if ev := p.last(); len(ev.Cores) < maxCores {
			ev.Cores = append(ev.Cores, p.core)
		} else {
			p.Dropped++
		}
	}
	return p.core
}

// print takes what stands behind <exception_print>.
func (p *Parser) print(b []byte, when int64, line int) {
	lower := bytes.HasPrefix(b, []byte("Time:"))
	switch {
	case lower || bytes.HasPrefix(b, []byte("TIME:")):
		us, n := plog.ParseTime(b[5:])
		if n == 0 {
			us = when
		}
		if !lower { // old dialect: this line starts the event
			ev := p.begin(us, line)
			ev.Old = true
			ev.Device, ev.Stream, ev.Task = integer(b, "device_id="), integer(b, "stream_id="), integer(b, "task_id=")
			ev.ExceptionCode = uint32(value(b, "exception_code="))
			return
		}
		if len(p.Events) == 0 {
			p.begin(us, line)
		}
		ev := p.last()
		if bytes.Contains(b, []byte("aic_own_bitmap")) {
			ev.AICBitmap = value(b, "aic_own_bitmap_l=") | value(b, "aic_own_bitmap_h=")<<32
			for i := range ev.AIVBitmap {
				ev.AIVBitmap[i] = value(b, "aiv_own_bitmap_0"+strconv.Itoa(i)+"=")
			}
		} else if ev.ErrorType < 0 {
			ev.ErrorType = integer(b, "err_type=")
		}
	case bytes.HasPrefix(b, []byte("####AICORE_INFO_START")):
		p.core = nil
		c := p.current(line)
		c.Type, c.ID = "AIC", integer(b, "core_id=")
	case bytes.HasPrefix(b, []byte("####")), bytes.HasPrefix(b, []byte("SLOT_INFO")):
		p.core = nil
	case bytes.HasPrefix(b, []byte("core_list=")):
		if len(p.Events) > 0 {
			p.last().AICBitmap = value(b, "core_list=")
		}
	case bytes.HasPrefix(b, []byte("fsm_id=")):
		c := p.current(line)
		switch {
		case integer(b, "aiv_id=") >= 0:
			c.Type, c.ID = "AIV", integer(b, "aiv_id=")
		case integer(b, "aic_id=") >= 0:
			c.Type, c.ID = "AIC", integer(b, "aic_id=")
		}
		c.Block = integer(b, "blkid=")
	case bytes.HasPrefix(b, []byte("***")):
		p.mem = ""
		if f := bytes.Fields(bytes.Trim(b, "*")); len(f) >= 2 && string(f[len(f)-1]) == "begin" {
			p.mem = strings.ToUpper(string(f[len(f)-2]))
		}
	case bytes.HasPrefix(b, []byte("0x")):
		p.row(b)
	default:
		p.register(b, line)
	}
}

func (p *Parser) register(b []byte, line int) {
	k, v, ok := bytes.Cut(b, []byte{'='})
	if !ok || len(k) == 0 || len(k) > 48 || bytes.ContainsAny(k, " :,") && !bytes.Contains(k, []byte("[")) {
		return
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(first(v))), 0, 64)
	if err != nil {
		return
	}
	name := normal(string(k))
	if p.core == nil && len(p.Events) > 0 && p.last().Old {
		if ev := p.last(); len(ev.Registers) < maxRegs {
			ev.Registers = append(ev.Registers, Register{name, n})
		}
		return
	}
	c := p.current(line)
	if name == "MASK" && len(c.Registers) > 0 { // the first register of the next core: this one was never closed
		p.core = nil
		c = p.current(line)
	}
	if len(c.Registers) >= maxRegs {
		p.Dropped++
		return
	}
	c.Registers = append(c.Registers, Register{name, n})
	if name == "CUBE_ERR_INFO" || name == "MTE_ERR_INFO" {
		c.Complete = c.has("PC_START") && c.has("AIC_ERROR")
	}
}

// normal gives both dialects the names of the core file: X[3] and X3, AIC_ERROR0 and AIC_ERROR.
func normal(s string) string {
	if strings.HasPrefix(s, "X[") {
		return "X" + strings.TrimSuffix(s[2:], "]")
	}
	return s
}

// open notes which local memory the next rows belong to. In the new dialect the line names the core as well.
func (p *Parser) open(text []byte) {
	i := bytes.Index(text, []byte("core_id="))
	if i < 0 {
		return
	}
	f := bytes.Fields(text[i:])
	if len(f) < 2 {
		return
	}
	c := p.current(0)
	if id := integer(text, "core_id="); c.ID < 0 {
		c.ID = id
		switch {
		case bytes.Contains(text, []byte("aiv_show")):
			c.Type = "AIV"
		case bytes.Contains(text, []byte("aic_show")):
			c.Type = "AIC"
		}
	}
	p.mem = string(f[1])
}

// row reads "0xc000: 0x0 0x0 ...": an offset and 32-bit words.
func (p *Parser) row(b []byte) {
	if p.mem == "" || p.core == nil {
		return
	}
	at, words, ok := bytes.Cut(b, []byte{':'})
	addr, err := strconv.ParseUint(string(bytes.TrimSpace(at)), 0, 64)
	if !ok || err != nil || p.last().rows >= maxRows {
		return
	}
	p.last().rows++
	var data []byte
	for _, w := range bytes.Fields(words) {
		v, err := strconv.ParseUint(string(w), 0, 32)
		if err != nil || len(data) >= 256 {
			break
		}
		data = append(data, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	p.core.Memories = add(p.core.Memories, p.mem, Row{addr, data})
}

func (p *Parser) stack(text []byte, line int) {
	if p.last().rows >= maxRows {
		return
	}
	addr := value(text, "addr=")
	i := bytes.Index(text, []byte("addr="))
	_, hex, ok := bytes.Cut(text[max(i, 0):], []byte{':'})
	if i < 0 || !ok {
		return
	}
	p.last().rows++
	var data []byte
	for _, w := range bytes.Fields(hex) {
		v, err := strconv.ParseUint(string(w), 16, 8)
		if err != nil || len(data) >= 64 {
			break
		}
		data = append(data, byte(v))
	}
	c := p.current(line)
	c.Stack = add(c.Stack, "stack", Row{addr, data})
}

func add(ms []Memory, name string, r Row) []Memory {
	if n := len(ms); n == 0 || ms[n-1].Name != name {
		if n >= 64 {
			return ms
		}
		ms = append(ms, Memory{Name: name})
	}
	m := &ms[len(ms)-1]
	m.Rows = append(m.Rows, r)
	return ms
}
