package plog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// paste undoes what terminals, issue trackers and launchers do to log lines: colours, markdown quotes and fences,
// prefixes of torchrun, ray, docker and kubernetes, and lines broken at a width.
type paste struct {
	width int  // lines are broken at this width; 0 if they are not
	hard  bool // broken in the middle of words
}

// starters begin a line of their own even when it has no head (heads get stripped in pastes).
var starters = [][]byte{
	[]byte("The error from"), []byte("An error occurs on"), []byte("The extend info"), []byte("The device("), []byte("coreId("),
	[]byte("Kernel task happen"), []byte("AIV Kernel happen"), []byte("AICORE Kernel"), []byte("AIC Kernel happen"),
	[]byte("Aicore kernel execute"), []byte("aicore kernel execute"), []byte("Aicpu kernel execute"), []byte("fftsplus task"),
	[]byte("[AIC_INFO]"), []byte("DEVICE["), []byte("EXCEPTION STREAM"), []byte("Exception info:"), []byte("Message info["),
	[]byte("Other info["), []byte("Task run failed"), []byte("report error module"), []byte("rtStream"), []byte("rtDevice"),
	[]byte("rtModel"), []byte("synchronize stream failed"), []byte("Stream Synchronize"), []byte("Stream synchronize"),
	[]byte("TraceBack"), []byte("Traceback"), []byte("Memory async copy"), []byte("Notify wait"), []byte("notify wait"),
	[]byte("Solution:"), []byte("Possible Cause"), []byte("RuntimeError"), []byte("<exception_print>"), []byte("<UB_print>"),
	[]byte("tilingKey"), []byte("print "), []byte("File \""), []byte("wait for compute"), []byte("mte error"),
	[]byte("[PID:"), []byte("[Dump]"), []byte("[ASSERT]"),
}

// clean strips decoration from a line. The result may share memory with the line or not.
func clean(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = stripColour(line)
	}
	for len(line) > 0 && (line[0] == '>' || line[0] == '|') {
		line = bytes.TrimLeft(line[1:], " ")
	}
	if bytes.HasPrefix(line, []byte("```")) {
		return line[:0]
	}
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// collected is the log line inside a line of JSON, as collectors of containers write them: {"log":"...","time":"..."}.
func collected(line []byte) ([]byte, bool) {
	if len(line) < 10 || line[0] != '{' || line[len(line)-1] != '}' {
		return nil, false
	}
	var l struct{ Log, Message, Msg string }
	if json.Unmarshal(line, &l) != nil {
		return nil, false
	}
	text := cmp.Or(l.Log, l.Message, l.Msg)
	return []byte(strings.TrimRight(text, "\r\n")), text != ""
}

// stripColour removes terminal control sequences.
func stripColour(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			out = append(out, b[i])
			continue
		}
		i++
		if i < len(b) && b[i] == '[' {
			for i++; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
			}
		}
	}
	return out
}

// headAt finds a head that does not stand at the start of the line: behind a launcher's prefix or indentation.
// It returns -1 if there is none in the first 160 bytes.
func headAt(line []byte) int {
	limit := min(len(line), 160)
	for i := 0; i < limit; i++ {
		c := bytes.IndexByte(line[i:limit], '[')
		if c < 0 {
			return -1
		}
		i += c
		if e := bytes.IndexByte(line[i:min(len(line), i+12)], ']'); e > 0 {
			if _, ok := levelOf(line[i+1 : i+e]); ok {
				var r Record
				if parseHead(line[i:], &r) {
					return i
				}
			}
		}
	}
	return -1
}

// rankOf reads the prefixes [rank3]: and [3]: of launchers; -1 if there is none.
func rankOf(prefix []byte) int {
	prefix = bytes.TrimSpace(prefix)
	for _, open := range [][]byte{[]byte("[rank"), []byte("["), []byte("rank")} {
		if !bytes.HasPrefix(prefix, open) {
			continue
		}
		n, i := 0, len(open)
		for ; i < len(prefix) && digit(prefix[i]) && i < len(open)+5; i++ {
			n = n*10 + int(prefix[i]-'0')
		}
		if i > len(open) && i < len(prefix) && (prefix[i] == ']' || prefix[i] == ':') {
			return n
		}
	}
	return -1
}

// detect looks at the start of an input and decides whether its lines are broken at a width. Long lines as the
// writers make them mean that they are not.
func detect(sample []byte, whole bool) paste {
	var ls [][]byte
	for _, l := range bytes.Split(sample, []byte{'\n'}) {
		l = bytes.TrimRight(clean(bytes.TrimRight(l, "\r")), " ")
		if len(l) > 0 {
			ls = append(ls, l)
		}
	}
	if !whole && len(ls) > 0 {
		ls = ls[:len(ls)-1]
	}
	width := 0
	for _, l := range ls {
		width = max(width, len(l))
	}
	if len(ls) < 4 || width > 300 || width < 40 {
		return paste{}
	}
	full, near, breaks, continued := 0, 0, 0, 0
	for i, l := range ls {
		if len(l) == width {
			full++
		}
		if i+1 < len(ls) && !startsRecord(ls[i+1]) {
			continued++
			if len(l) >= width-1 {
				near++
			}
			w, _, _ := bytes.Cut(bytes.TrimLeft(ls[i+1], " \t"), []byte{' '})
			if len(l)+1+len(w) > width {
				breaks++
			}
		}
	}
	switch {
	case full >= 2 && near >= 2 && near*5 >= continued*4:
		return paste{width: width, hard: true}
	case continued >= 3 && breaks*3 >= continued*2:
		return paste{width: width}
	}
	return paste{}
}

// startsRecord says that a line begins something of its own.
func startsRecord(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || codeLen(line) > 0 || headAt(line) >= 0 || bracketLevel(line) != None {
		return true
	}
	for _, s := range starters {
		if bytes.HasPrefix(line, s) {
			return true
		}
	}
	return false
}

// bracketLevel is the level of a line that begins with "[ERROR] " and has no other head: programs print such lines too.
func bracketLevel(line []byte) Level {
	if len(line) > 0 && line[0] == '[' {
		if e := bytes.IndexByte(line[:min(len(line), 12)], ']'); e > 0 {
			if lv, ok := levelOf(line[1:e]); ok {
				return lv
			}
		}
	}
	return None
}

// continues says that next is the rest of a broken line whose last piece is prev bytes long, and whether a blank
// belongs between them.
func (p paste) continues(prev int, next []byte) (join, blank bool) {
	if prev == 0 || len(bytes.TrimSpace(next)) == 0 || startsRecord(next) {
		return false, false
	}
	if p.hard {
		return prev >= p.width-1, prev < p.width
	}
	w, _, _ := bytes.Cut(bytes.TrimLeft(next, " \t"), []byte{' '})
	return prev+1+len(w) > p.width, true
}
