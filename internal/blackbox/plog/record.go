// Package plog reads the logs of Ascend hosts and devices: the process logs (plog), the firmware and kernel lines of
// the device, the driver's log, and what people paste of them into issues. It turns bytes into records, one a line,
// with the head taken apart; what the records mean is the business of package diagnose. Reading is streaming: memory
// does not grow with the input. Owns no goroutine.
package plog

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Level of a line. The order is the one that --level uses; EVENT ranks with ERROR because fault events use it.
type Level uint8

// Levels. None is a line without a head.
const (
	None Level = iota
	Debug
	Info
	Warning
	Event
	Error
)

var levelNames = [...]string{"none", "debug", "info", "warning", "event", "error"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads a level as --level takes it.
func ParseLevel(s string) (Level, bool) {
	for i, n := range levelNames {
		if n == s && i > 0 {
			return Level(i), true
		}
	}
	return None, false
}

// NoTime marks a record whose time is not known.
const NoTime = int64(-1 << 63)

// Record is one line. Text is only valid until the next record; everything else is a value.
type Record struct {
	File   int   // index of the file in the order of Reader.Scan
	Line   int   // 1-based line number where the record starts
	Level  Level // of the head it stands under
	Cont   bool  // no head of its own: continues the record above, or stands alone in a paste
	Module string
	PID    int    // -1 unknown (firmware prints -1)
	Proc   string // name of the process, cut to 15 characters by the writer
	Device int    // -1 unless the head says so
	Rank   int    // -1 unless the head or a launcher's prefix says so
	Time   int64  // microseconds of the writer's own clock since 1970, or NoTime
	Code   string // message code at the start of the line: EZ9999, ERR00100
	Origin Origin // which side wrote it
	Text   []byte // the message
}

// Origin is the writer of a line: it decides whose clock its time is.
type Origin uint8

// Origins.
const (
	Host     Origin = iota
	Firmware        // task scheduler firmware: the device's clock
	Device          // operating system or daemon of the device: the device's clock
)

// Clock prints a record time in the form of the logs.
func Clock(us int64) string {
	if us == NoTime {
		return "-"
	}
	return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000")
}

// ParseTime reads "2025-04-02-07:19:26.271.231" and its relatives (a blank or T between date and time, one fraction
// of 3, 6 or 9 digits, none). It returns the number of bytes used; 0 if b does not start with a time.
func ParseTime(b []byte) (int64, int) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' || b[10] != '-' && b[10] != ' ' && b[10] != 'T' {
		return NoTime, 0
	}
	y, ok1 := num(b[0:4])
	mo, ok2 := num(b[5:7])
	d, ok3 := num(b[8:10])
	h, ok4 := num(b[11:13])
	mi, ok5 := num(b[14:16])
	s, ok6 := num(b[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 24 || mi > 59 || s > 60 {
		return NoTime, 0
	}
	us := (days(y, mo, d)*86400 + int64(h)*3600 + int64(mi)*60 + int64(s)) * 1_000_000
	n := 19
	scale := int64(100_000)
	for group := 0; group < 2 && n+1 < len(b) && (b[n] == '.' || group == 0 && b[n] == ',') && digit(b[n+1]); group++ {
		n++
		for k := 0; n < len(b) && digit(b[n]) && k < 9; k++ {
			us += int64(b[n]-'0') * scale
			scale /= 10
			n++
		}
	}
	return us, n
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func num(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if !digit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// days since 1970-01-01 in the Gregorian calendar.
func days(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return int64(365*y+y/4-y/100+y/400+(153*(m-3)+2)/5+d-1) - 719468
}

// level names as they stand in heads.
func levelOf(b []byte) (Level, bool) {
	switch string(b) {
	case "ERROR", "CRITICAL", "FATAL", "EXCEPTION":
		return Error, true
	case "WARNING", "WARN":
		return Warning, true
	case "INFO", "TRACE", "OPLOG", "NULL":
		return Info, true
	case "DEBUG":
		return Debug, true
	case "EVENT":
		return Event, true
	}
	return None, false
}

// parseHead takes a line that starts with "[LEVEL] " apart. It accepts the process log, the firmware and kernel
// forms below it, and the head of torch_npu ("[ERROR] date (PID:1, Device:0, RankID:0) ERR00100 ...").
func parseHead(line []byte, r *Record) bool {
	if len(line) < 8 || line[0] != '[' {
		return false
	}
	e := bytes.IndexByte(line[:min(len(line), 12)], ']')
	if e < 0 {
		return false
	}
	lv, ok := levelOf(line[1:e])
	if !ok {
		return false
	}
	rest := bytes.TrimLeft(line[e+1:], " ")
	r.Level, r.Cont, r.Code, r.Origin, r.Device, r.Rank = lv, false, "", Host, -1, -1
	if us, n := ParseTime(rest); n > 0 { // framework line
		r.Time, r.Module, r.Proc, r.PID = us, "APP", "", -1
		rest = bytes.TrimLeft(rest[n:], " ")
		r.Text = frameworkHead(rest, r)
		return true
	}
	open := bytes.IndexByte(rest, '(')
	if open <= 0 || open > 24 {
		return false
	}
	close := closing(rest[open:])
	if close < 0 {
		return false
	}
	close += open
	us, n := ParseTime(rest[close+2:])
	r.Module = intern(rest[:open])
	r.Time = us
	who := rest[open+1 : close]
	r.PID, r.Proc = -1, ""
	framework := false
	if c := bytes.IndexByte(who, ','); c >= 0 {
		if p, err := strconv.Atoi(string(bytes.TrimSpace(who[:c]))); err == nil {
			r.PID = p
		}
		r.Proc = string(who[c+1:])
		if thread, name, ok := strings.Cut(r.Proc, ","); ok && threadID(thread) { // MindSpore: pid, thread, process
			r.Proc, framework = name, true
		}
	}
	r.Text = tail(bytes.TrimLeft(rest[close+2+n:], " "), r)
	if framework { // it has a module KERNEL too
		r.Origin = Host
	}
	return true
}

// threadID says that s is the address of a thread, as "ffff4effd1e0".
func threadID(s string) bool {
	for i := range len(s) {
		if c := s[i]; !digit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) >= 8
}

// closing finds "):" before a date; process names may contain ')' and ','.
func closing(b []byte) int {
	for i := 0; i+3 < len(b) && i < 64; i++ {
		if b[i] == ')' && b[i+1] == ':' && digit(b[i+2]) {
			return i
		}
	}
	return -1
}

// frameworkHead reads "(PID:6210, Device:0, RankID:3) ERR00100 text".
func frameworkHead(b []byte, r *Record) []byte {
	if len(b) > 0 && b[0] == '(' {
		if c := bytes.IndexByte(b, ')'); c > 0 {
			for _, f := range bytes.Split(b[1:c], []byte{','}) {
				k, v, _ := bytes.Cut(bytes.TrimSpace(f), []byte{':'})
				n, err := strconv.Atoi(string(bytes.TrimSpace(v)))
				if err != nil {
					continue
				}
				switch string(k) {
				case "PID":
					r.PID = n
				case "Device":
					r.Device = n
				case "RankID", "Rank":
					r.Rank = n
				}
			}
			b = bytes.TrimLeft(b[c+1:], " ")
		}
	}
	if n := codeLen(b); n > 0 {
		r.Code = string(b[:n])
	}
	return b
}

// tail drops the source position and names of thread and function where they have a fixed form; what stays is the
// text. It also tells firmware and device lines from host lines.
func tail(b []byte, r *Record) []byte {
	if r.Module == "KERNEL" || r.Proc == "sklogd" {
		r.Origin = Device
	}
	if r.PID == -1 && (r.Proc == "null" || r.Proc == "None" || r.Proc == "") || r.Module == "TSCH" || r.Module == "TSDUMP" {
		r.Origin = Firmware
	}
	if len(b) > 0 && b[0] == '[' {
		if c := bytes.IndexByte(b[:min(len(b), 512)], ']'); c > 0 {
			b = bytes.TrimLeft(b[c+1:], " ")
			if e := bytes.Index(b[:min(len(b), 80)], []byte("] ")); e > 0 && !bytes.ContainsAny(b[:e], " [") { // "] Launch] text": MindSpore's function
				b = b[e+2:]
			}
		}
	}
	return b
}

// codeLen is the length of a message code (EZ9999, E19999, ERR00100, W11001) at the start of b; 0 if there is none.
func codeLen(b []byte) int {
	if len(b) < 6 {
		return 0
	}
	n := 0
	switch {
	case b[0] == 'E' && b[1] == 'R' && b[2] == 'R':
		n = 3
	case (b[0] == 'E' || b[0] == 'W') && b[1] >= 'A' && b[1] <= 'Z':
		n = 2
	case b[0] == 'E' || b[0] == 'W':
		n = 1
	default:
		return 0
	}
	start := n
	for n < len(b) && digit(b[n]) {
		n++
	}
	want := map[int]int{3: 5, 2: 4, 1: 5}[start]
	if n-start != want || n < len(b) && b[n] != ':' && b[n] != ' ' && b[n] != '[' && b[n] != '!' {
		return 0
	}
	return n
}

// codeAt is where a message code stands behind the prefix of a launcher or a collector: "worker-1: EI9999: ",
// "(EngineCore pid=7) EZ9999[PID: 7] "; 0 if there is none.
func codeAt(b []byte) int {
	for i := 1; i < min(len(b), 120); i++ {
		if b[i] != 'E' && b[i] != 'W' {
			continue
		}
		if n := codeLen(b[i:]); n > 0 && i+n < len(b) && (b[i+n] == ':' || b[i+n] == '[') && isPrefix(b[:i]) {
			return i
		}
	}
	return 0
}

// isPrefix says that b can be what a launcher, a collector or a test runner puts in front of a line.
func isPrefix(b []byte) bool {
	words := bytes.TrimRight(b, " \t")
	if len(bytes.Trim(words, " \t0123456789E")) == 0 { // numbers of lines; pytest marks what failed with an E
		return true
	}
	switch last := words[len(words)-1]; last {
	case ']', '|', '>':
		return true
	case ')', ':', '-':
		return len(words) < len(b) || len(words) > 1 && last == ':' && digit(words[len(words)-2]) // or of grep -n
	}
	return bytes.HasSuffix(words, []byte(" F")) // of a container's runtime: "2025-07-23T03:47:57Z stderr F "
}

// intern avoids an allocation for the usual module names.
func intern(b []byte) string {
	switch string(b) {
	case "RUNTIME":
		return "RUNTIME"
	case "TSCH":
		return "TSCH"
	case "KERNEL":
		return "KERNEL"
	case "DRV":
		return "DRV"
	case "GE":
		return "GE"
	case "HCCL":
		return "HCCL"
	case "IDEDD":
		return "IDEDD"
	case "ASCENDCL":
		return "ASCENDCL"
	case "APP":
		return "APP"
	}
	return string(b)
}
