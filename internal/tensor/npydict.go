package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// dict reads the Python literals of an .npy header. The first problem is kept, with its offset in the file.
type dict struct {
	text string
	pos  int
	at   int64 // offset of text
	err  error
}

func (p *dict) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("offset %d: header: %s", p.at+int64(p.pos), fmt.Sprintf(format, args...))
	}
}

func (p *dict) space() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\n') {
		p.pos++
	}
}

func (p *dict) accept(word string) bool {
	p.space()
	if p.err == nil && strings.HasPrefix(p.text[p.pos:], word) {
		p.pos += len(word)
		return true
	}
	return false
}

func (p *dict) expect(word string) {
	if !p.accept(word) {
		p.fail("expected %q, found %.20q", word, p.text[p.pos:])
	}
}

func (p *dict) quoted() string {
	p.space()
	if p.err != nil {
		return ""
	}
	rest := p.text[p.pos:]
	if rest == "" || rest[0] != '\'' && rest[0] != '"' {
		p.fail("expected a string, found %.20q", rest)
		return ""
	}
	end := strings.IndexByte(rest[1:], rest[0])
	if end < 0 || strings.ContainsAny(rest[1:1+end], "\\\n") {
		p.fail("string %.20q does not end or has escapes", rest)
		return ""
	}
	p.pos += end + 2
	return rest[1 : 1+end]
}

func (p *dict) bool() bool {
	if p.accept("True") {
		return true
	}
	p.expect("False")
	return false
}

// tuple reads (), (3,) or (3, 4). A number may end in L, as Python 2 wrote it.
func (p *dict) tuple() Shape {
	s := Shape{}
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		p.space()
		digits := p.pos
		for digits < len(p.text) && p.text[digits] >= '0' && p.text[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(p.text[p.pos:digits])
		if err != nil {
			p.fail("%.20q is no dimension", p.text[p.pos:])
			break
		}
		p.pos = digits
		p.accept("L")
		if s = append(s, n); len(s) > 64 {
			p.fail("more than 64 dimensions")
		}
		if !p.accept(",") {
			if len(s) == 1 {
				p.fail("expected a comma: a shape is a tuple")
			}
			p.expect(")")
			break
		}
	}
	return s
}
