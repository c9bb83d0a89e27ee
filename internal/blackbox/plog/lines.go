package plog

import (
	"bytes"
	"io"
)

const (
	chunk   = 1 << 20
	maxLine = 256 << 10 // a longer line is cut: no writer makes one
)

// lines hands out lines without their end. A line is valid until the next call.
type lines struct {
	r        io.Reader
	buf      []byte
	pos, end int
	err      error
	skip     bool // inside a line whose start was handed out already
	bytes    int64
	cut      int // lines longer than maxLine
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, chunk)} }

func (l *lines) next() ([]byte, bool) {
	from := l.pos // searched up to here
	for {
		if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
			line := l.buf[l.pos : from+i]
			l.pos = from + i + 1
			from = l.pos
			if l.skip {
				l.skip = false
				continue
			}
			return l.trim(line), true
		}
		switch {
		case l.err != nil:
			if l.pos == l.end || l.skip {
				return nil, false
			}
			line := l.buf[l.pos:l.end]
			l.pos = l.end
			return l.trim(line), true
		case l.skip:
			l.pos, l.end = 0, 0
		case l.pos > 0:
			copy(l.buf, l.buf[l.pos:l.end])
			l.end -= l.pos
			l.pos = 0
		case l.end == len(l.buf):
			l.skip = true
			line := l.buf[:l.end]
			l.pos, l.end = 0, 0
			return l.trim(line), true
		}
		from = l.end
		n, err := l.r.Read(l.buf[l.end:])
		l.bytes += int64(n)
		l.end += n
		l.err = err
	}
}

func (l *lines) trim(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if len(b) > maxLine {
		l.cut++
		b = b[:maxLine]
	}
	return b
}
