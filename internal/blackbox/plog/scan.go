package plog

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// Options of a scan.
type Options struct {
	Level Level // lowest level that is handed out; None means Event and above
	Since int64 // earliest time (microseconds, the writer's clock); NoTime for all
	Live  bool  // the input grows while it is read: hand lines out at once, expect no broken ones
}

// Stats is what a scan saw.
type Stats struct {
	Bytes, Lines int64
	Records      int64 // handed out
	Cut          int   // lines cut because they were longer than 256 KiB
	Headed       int64 // lines with a head
	First, Last  int64 // times of the first and last headed record; NoTime if none
}

// Scan reads r and hands every record that the options let through to fn, in order. It stops at the first error of
// fn or r. A record's Text is valid only inside fn.
func Scan(r io.Reader, file int, o Options, fn func(*Record) error) (Stats, error) {
	if o.Level == None {
		o.Level = Event
	}
	s := &scan{o: o, fn: fn, stats: Stats{First: NoTime, Last: NoTime}}
	if !o.Live {
		br := bufio.NewReaderSize(r, 256<<10)
		sample, err := br.Peek(256 << 10)
		s.paste = detect(sample, err != nil)
		r = br
	}
	s.rec = Record{File: file, PID: -1, Device: -1, Rank: -1, Time: NoTime}
	l := newLines(r)
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		s.stats.Lines++
		if err := s.line(line); err != nil {
			return s.finish(l), err
		}
	}
	if err := s.flush(); err != nil {
		return s.finish(l), err
	}
	if l.err != nil && l.err != io.EOF {
		return s.finish(l), l.err
	}
	return s.finish(l), nil
}

type scan struct {
	o     Options
	fn    func(*Record) error
	paste paste
	stats Stats
	rec   Record // the head that governs the current line
	below bool   // the last headed line was below the level or too old: its continuations are skipped as well
	held  []byte // a line that may go on (only when lines are broken at a width)
	heldN int
	piece int // length of its last physical line
}

func (s *scan) finish(l *lines) Stats {
	s.stats.Bytes, s.stats.Cut = l.bytes, l.cut
	return s.stats
}

// line takes one physical line.
func (s *scan) line(line []byte) error {
	if inner, ok := collected(line); ok {
		for l := range bytes.SplitSeq(inner, []byte{'\n'}) {
			if err := s.physical(bytes.TrimRight(l, "\r")); err != nil {
				return err
			}
		}
		return nil
	}
	return s.physical(line)
}

func (s *scan) physical(line []byte) error {
	if s.paste.width == 0 {
		if skippable(line, s.o.Level) { // the fast path of big logs
			s.below = true
			s.stats.Headed++
			return nil
		}
		return s.logical(clean(line), int(s.stats.Lines))
	}
	line = bytes.TrimRight(clean(line), " ")
	if join, blank := s.paste.continues(s.piece, line); join {
		s.piece = len(line)
		if blank {
			s.held = append(s.held, ' ')
			line = bytes.TrimLeft(line, " \t")
		}
		s.held = append(s.held, line...)
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.held, s.heldN, s.piece = append(s.held[:0], line...), int(s.stats.Lines), len(line)
	return nil
}

func (s *scan) flush() error {
	if len(s.held) == 0 {
		return nil
	}
	line := s.held
	s.held = s.held[:0]
	return s.logical(line, s.heldN)
}

// skippable says that a line has a plain head of a level that nobody wants. Levels are decided by a few bytes.
func skippable(line []byte, lowest Level) bool {
	if len(line) < 8 || line[0] != '[' {
		return false
	}
	switch line[1] {
	case 'I':
		return lowest > Info && bytes.HasPrefix(line, []byte("[INFO] "))
	case 'D':
		return lowest > Debug && bytes.HasPrefix(line, []byte("[DEBUG] "))
	case 'W':
		return lowest > Warning && bytes.HasPrefix(line, []byte("[WARNING] "))
	}
	return false
}

// logical takes a whole line, put together if it was broken.
func (s *scan) logical(line []byte, n int) error {
	if len(line) == 0 {
		return nil
	}
	r := &s.rec
	r.Line, r.Code = n, ""
	at := 0
	if line[0] != '[' || !parseHead(line, r) {
		at = -1
		if line[0] != '<' {
			at = headAt(line)
		}
		if at > 0 {
			rank := rankOf(line[:at])
			parseHead(line[at:], r)
			if rank >= 0 {
				r.Rank = rank
			}
		}
	}
	switch {
	case at >= 0:
		s.below = false
		s.stats.Headed++
	case driverLine(line, r), historyLine(line, r):
		s.below = false
		s.stats.Headed++
	default:
		if s.below && !startsRecord(line) {
			return nil
		}
		s.headless(line)
	}
	if r.Time != NoTime && !r.Cont {
		if s.stats.First == NoTime {
			s.stats.First = r.Time
		}
		s.stats.Last = r.Time
	}
	if r.Level != None && !r.Cont && r.Level < s.o.Level || r.Time != NoTime && r.Time < s.o.Since {
		s.below = true
		return nil
	}
	s.stats.Records++
	return s.fn(r)
}

// headless handles continuation lines, lines of stripped pastes and message-code lines.
func (s *scan) headless(line []byte) {
	r := &s.rec
	line = bytes.TrimLeft(line, " \t")
	r.Cont = true
	if lv := bracketLevel(line); lv != None {
		r.Level = lv
	}
	if rank := rankOf(line); rank >= 0 { // [rank3]: text
		if c := bytes.Index(line, []byte("]:")); c > 0 {
			r.Rank = rank
			line = bytes.TrimLeft(line[c+2:], " ")
		}
	}
	n := codeLen(line)
	if n == 0 {
		if at := codeAt(line); at > 0 { // behind the prefix of a launcher
			line = line[at:]
			n = codeLen(line)
		}
	}
	if n > 0 {
		r.Code, r.Module, r.Level, r.Origin = string(line[:n]), "", Error, Host
		line = codeHead(line[n:], r)
	} else if bytes.HasPrefix(line, []byte("[PID:")) {
		line = codeHead(line, r)
	}
	if bytes.HasPrefix(line, []byte("<exception_print>")) {
		r.Origin = Firmware
	}
	r.Text = line
}

// codeHead reads what stands between a message code and its text: "[PID: 12] date (EZ9999): " or ": [PID: 12] date ".
func codeHead(b []byte, r *Record) []byte {
	for len(b) > 0 {
		b = bytes.TrimLeft(b, ": ")
		if bytes.HasPrefix(b, []byte("[PID:")) {
			c := bytes.IndexByte(b, ']')
			if c < 0 {
				return b
			}
			if p, err := strconv.Atoi(string(bytes.TrimSpace(b[5:c]))); err == nil {
				r.PID = p
			}
			b = b[c+1:]
			continue
		}
		if us, n := ParseTime(b); n > 0 {
			r.Time = us
			b = b[n:]
			continue
		}
		if len(b) > 9 && b[0] == '(' && codeLen(b[1:min(len(b), 12)]) == 0 {
			if c := bytes.IndexByte(b, ')'); c > 0 && c < 12 && codeLen(append(b[1:c:c], ':')) > 0 {
				if r.Code == "" {
					r.Code = string(b[1:c])
				}
				b = b[c+1:]
				continue
			}
		}
		return b
	}
	return b
}

// driverLine reads "[date] [ascend] [module] [LEVEL] [func line] <comm:pid> text" and the kernel ring's variant.
func driverLine(line []byte, r *Record) bool {
	if line[0] != '[' {
		return false
	}
	c := bytes.IndexByte(line[:min(len(line), 40)], ']')
	if c < 0 {
		return false
	}
	rest := bytes.TrimLeft(line[c+1:], " ")
	if !bytes.HasPrefix(rest, []byte("[ascend] [")) {
		return false
	}
	us, n := ParseTime(line[1:c])
	if n == 0 {
		us = NoTime
	}
	r.Time, r.Cont, r.Module, r.PID, r.Proc, r.Level, r.Origin, r.Device, r.Rank = us, false, "DRV", -1, "", Info, Host, -1, -1
	rest = rest[len("[ascend] "):]
	for len(rest) > 0 && rest[0] == '[' {
		e := bytes.IndexByte(rest, ']')
		if e < 0 {
			break
		}
		if lv, ok := levelOf(rest[1:e]); ok {
			r.Level = lv
		}
		rest = bytes.TrimLeft(rest[e+1:], " ")
	}
	r.Text = rest
	return true
}

// historyLine reads the black box's history: "[date] system exception code [0x..]: ...".
func historyLine(line []byte, r *Record) bool {
	if line[0] != '[' {
		return false
	}
	c := bytes.IndexByte(line[:min(len(line), 40)], ']')
	if c < 0 || !bytes.Contains(line[c:min(len(line), c+40)], []byte("exception code [0x")) {
		return false
	}
	us, n := ParseTime(line[1:c])
	if n == 0 {
		return false
	}
	r.Time, r.Cont, r.Module, r.PID, r.Proc, r.Level, r.Origin, r.Device, r.Rank = us, false, "BBOX", -1, "", Error, Host, -1, -1
	r.Text = bytes.TrimLeft(line[c+1:], " ")
	return true
}
