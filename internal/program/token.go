package program

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos is a place in a program: line and column in characters, both from 1.
type Pos struct{ Line, Col int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber // with its unit, as written: 10us
	tokString // text is what the quotes hold
	tokType   // f32[2x3]
	tokPunct
)

type token struct {
	kind tokenKind
	text string
	pos  Pos
}

// String is the token for messages.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end of the line"
	case tokString:
		return fmt.Sprintf("%q", t.text)
	}
	return fmt.Sprintf("%q", t.text)
}

// punctuation of two characters, then of one.
var puncts = []string{"<-", "->", ">=", "<=", "==", "!=", ">", "<", "=", "(", ")", "[", "]", ",", ":", "+", "-", "*", "/", "%", "&", "~"}

// scan splits a line into tokens, the last of which is tokEnd. A comment ends the line.
func scan(line string, no int) ([]token, *Mistake) {
	var toks []token
	at := 0 // byte offset
	pos := func() Pos { return Pos{no, utf8.RuneCountInString(line[:at]) + 1} }
	for {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
			at++
		}
		if at == len(line) || line[at] == '#' {
			return append(toks, token{tokEnd, "", pos()}), nil
		}
		p := pos()
		rest := line[at:]
		switch c := rest[0]; {
		case c == '"':
			text, n, err := scanString(rest)
			if err != "" {
				return nil, &Mistake{Pos: p, Text: err, Hint: "a string stands between double quotes, with \\\" \\\\ \\n inside"}
			}
			toks = append(toks, token{tokString, text, p})
			at += n
		case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			n := scanNumber(rest)
			toks = append(toks, token{tokNumber, rest[:n], p})
			at += n
		case nameStart(rest):
			n := scanName(rest)
			if _, ok := dtypeOf(rest[:n]); ok && n < len(rest) && rest[n] == '[' {
				end := strings.IndexByte(rest, ']')
				if end < 0 {
					return nil, &Mistake{Pos: p, Text: fmt.Sprintf("the shape of %s has no end", rest[:n]), Hint: "write f32[2x3]"}
				}
				n = end + 1
				toks = append(toks, token{tokType, rest[:n], p})
			} else {
				toks = append(toks, token{tokName, rest[:n], p})
			}
			at += n
		default:
			n := 0
			for _, s := range puncts {
				if strings.HasPrefix(rest, s) {
					n = len(s)
					break
				}
			}
			if n == 0 {
				r, _ := utf8.DecodeRuneInString(rest)
				return nil, &Mistake{Pos: p, Text: fmt.Sprintf("character %q has no place here", r), Hint: "comments begin with #, text stands in double quotes"}
			}
			toks = append(toks, token{tokPunct, rest[:n], p})
			at += n
		}
	}
}

func nameStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

func scanName(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// scanNumber takes digits, a fraction, an exponent and the letters of a unit.
func scanNumber(s string) int {
	i := 0
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		for i = 2; i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0; i++ {
		}
		return i
	}
	digits := func() {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
	}
	digits()
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i+1 < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if s[j] == '-' || s[j] == '+' {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			i = j
			digits()
		}
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) {
			break
		}
		i += n
	}
	return i
}

// scanString reads a quoted string from the start of s; n is its length with the quotes, and problem says what is
// wrong with it.
func scanString(s string) (text string, n int, problem string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i + 1, ""
		case '\\':
			i++
			if i == len(s) {
				return "", 0, "the string has no end"
			}
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case '"', '\\':
				b.WriteByte(s[i])
			default:
				return "", 0, fmt.Sprintf("\\%c is no escape", s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, "the string has no end"
}
