package program

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"npu/internal/problem"
)

// Bounds on a program's text, so that a file that is none is refused at once.
const (
	maxBytes = 8 << 20
	maxLine  = 64 << 10
	maxDepth = 16
)

// Read parses the program in a file. An error is of class Damaged; a *Mistakes if the text is wrong.
func Read(path string) (*Program, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxBytes {
		return nil, problem.Damagedf("%s: no regular file, or %d bytes: a stream program has at most %d", path, st.Size(), maxBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	p, err := Parse(path, text)
	return p, problem.Mark(problem.Damaged, err)
}

// Is says whether text is a stream program by its content: its first statement is "program".
func Is(head []byte) bool {
	for line := range bytes.Lines(head) {
		if !utf8.Valid(line) {
			return false
		}
		f := strings.Fields(string(line))
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		return f[0] == "program" && len(f) > 1 && (len(f) == 2 || f[1][0] == '"' || f[2][0] == '#')
	}
	return false
}

// Parse reads a program. All mistakes of the text are in the error, a *Mistakes; the program then holds what could be
// read.
func Parse(file string, text []byte) (*Program, error) {
	p := &Program{File: file, Name: strings.TrimSuffix(filepath.Base(file), ".stream")}
	s := &parser{prog: p, forms: formsByVerb()}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(text) {
		p.lines = append(p.lines, strings.TrimSuffix(string(line), "\n"))
	}
	s.open = []*block{{}}
	for i, line := range p.lines {
		s.line(line, i+1)
		if len(s.mistakes) >= maxMistakes {
			break
		}
	}
	for len(s.open) > 1 {
		b := s.close()
		if len(s.mistakes) < maxMistakes {
			s.mistakes = append(s.mistakes, &Mistake{b.stmt.head().Pos, fmt.Sprintf("this %s has no end", b.stmt.head().Verb), "close it with a line \"end\""})
		}
	}
	p.Body = s.open[0].body
	return p, mistakes(p, s.mistakes)
}

func mistakes(p *Program, list []*Mistake) error {
	if len(list) == 0 {
		return nil
	}
	return &Mistakes{File: p.File, List: list, lines: p.lines}
}

// block is an open repeat or thread with the statements so far.
type block struct {
	stmt Stmt
	body []Stmt
}

// parser reads one line at a time. The first mistake of a line ends the line.
type parser struct {
	prog     *Program
	forms    map[string]*Form
	open     []*block
	mistakes []*Mistake

	toks []token
	i    int
	bad  *Mistake
}

func (s *parser) line(text string, no int) {
	switch {
	case len(text) > maxLine:
		s.mistakes = append(s.mistakes, &Mistake{Pos{no, 1}, fmt.Sprintf("a line of %d bytes", len(text)), ""})
		return
	case !utf8.ValidString(text):
		s.mistakes = append(s.mistakes, &Mistake{Pos{no, 1}, "the line is no UTF-8 text", "is this a stream program? npu inspect FILE says what it is"})
		return
	}
	toks, bad := scan(text, no)
	if bad != nil {
		s.mistakes = append(s.mistakes, bad)
		return
	}
	if toks[0].kind == tokEnd {
		return
	}
	s.toks, s.i, s.bad = toks, 0, nil
	st := s.statement()
	if s.bad != nil {
		s.mistakes = append(s.mistakes, s.bad)
	}
	if st == nil {
		return
	}
	switch st.(type) {
	case blockStmt: // also a wrong one has an end
		if len(s.open) > maxDepth {
			s.mistakes = append(s.mistakes, &Mistake{st.head().Pos, fmt.Sprintf("blocks nested deeper than %d", maxDepth), ""})
		}
		s.open = append(s.open, &block{stmt: st})
	default:
		if s.bad == nil {
			s.add(st)
		}
	}
}

func (s *parser) add(st Stmt) {
	b := s.open[len(s.open)-1]
	b.body = append(b.body, st)
}

// close ends the innermost block.
func (s *parser) close() *block {
	b := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	if st, ok := b.stmt.(blockStmt); ok {
		st.take(b.body)
	}
	s.add(b.stmt)
	return b
}

// statement parses the line; nil for what makes none (setup, end) and for unknown verbs.
func (s *parser) statement() Stmt {
	verb := s.toks[0]
	f := s.forms[verb.text]
	if verb.kind != tokName || f == nil {
		s.failAt(verb.pos, fmt.Sprintf("%v begins no statement", verb), didYouMean(verb.text, s.forms))
		return nil
	}
	s.i++
	h := Head{Pos: verb.pos, Verb: verb.text}
	st := f.parse(s, h)
	if s.bad == nil && st != nil && s.word("expect") {
		st.head().Want = s.want()
	}
	if t := s.peek(); s.bad == nil && t.kind != tokEnd {
		s.fail("%v is too much here: expected %s", t, f.Usage)
	}
	return st
}

// peek is the next token.
func (s *parser) peek() token { return s.toks[s.i] }

// next takes it; the end of the line stays.
func (s *parser) next() token {
	t := s.toks[s.i]
	if t.kind != tokEnd {
		s.i++
	}
	return t
}

func (s *parser) failAt(p Pos, text, hint string) {
	if s.bad == nil {
		s.bad = &Mistake{p, text, hint}
	}
}

// fail is a mistake at the next token.
func (s *parser) fail(format string, args ...any) {
	s.failAt(s.peek().pos, fmt.Sprintf(format, args...), "")
}

// word takes the next token if it is this word.
func (s *parser) word(w string) bool {
	if t := s.peek(); s.bad == nil && t.kind == tokName && t.text == w {
		s.i++
		return true
	}
	return false
}

// oneOf takes one of the words, or is a mistake.
func (s *parser) oneOf(words ...string) string {
	for _, w := range words {
		if s.word(w) {
			return w
		}
	}
	s.fail("%v: expected %s", s.peek(), orList(words))
	return ""
}

// punct takes the next token if it is this sign.
func (s *parser) punct(p string) bool {
	if t := s.peek(); s.bad == nil && t.kind == tokPunct && t.text == p {
		s.i++
		return true
	}
	return false
}

// need takes this sign, or is a mistake.
func (s *parser) need(p string) {
	if !s.punct(p) {
		s.fail("%v: expected %q", s.peek(), p)
	}
}

// name takes a new object's name.
func (s *parser) name(what string) string {
	t := s.peek()
	switch {
	case t.kind != tokName:
		s.fail("%v: expected the name of the %s", t, what)
		return ""
	case reserved(t.text):
		s.failAt(t.pos, fmt.Sprintf("%q is a word of the language and cannot be a name", t.text), "")
		return ""
	}
	s.i++
	return t.text
}

// ref takes the name of an object, with [i] or [lo:hi] if ranged.
func (s *parser) ref(what string, ranged bool) Ref {
	t := s.peek()
	if t.kind != tokName {
		s.fail("%v: expected %s", t, what)
		return Ref{}
	}
	s.i++
	r := Ref{Name: t.text, Pos: t.pos}
	if ranged && s.punct("[") {
		r.Lo = s.expr()
		if s.punct(":") {
			r.Hi = s.expr()
		} else if s.bad == nil {
			r.Hi = &operation{r.Lo.at(), '+', r.Lo, &literal{r.Lo.at(), 1, Plain}}
		}
		s.need("]")
	}
	return r
}

// str takes a string.
func (s *parser) str(what string) string {
	t := s.peek()
	if t.kind != tokString {
		s.fail("%v: expected %s in double quotes", t, what)
		return ""
	}
	s.i++
	return t.text
}

// on takes "on STREAM" if it stands there.
func (s *parser) on() On {
	t := s.peek()
	if !s.word("on") {
		return On{Pos: t.pos, Sync: true}
	}
	if s.word("default") {
		return On{Pos: t.pos}
	}
	r := s.ref("the name of a stream, or default", false)
	return On{Name: r.Name, Pos: r.Pos}
}

// onStream takes "on STREAM", which must stand there.
func (s *parser) onStream(what string) On {
	on := s.on()
	if s.bad == nil && on.Name == "" {
		s.fail("%v: expected on STREAM, %s", s.peek(), what)
	}
	return on
}

// words takes one of some words that need not stand there; empty for none.
func (s *parser) words(list ...string) string {
	for _, w := range list {
		if s.word(w) {
			return w
		}
	}
	return ""
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func trimLine(s string) string {
	// A # in a string does not begin a comment.
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '#' && !quoted:
			return strings.TrimSpace(s[:i])
		}
	}
	return strings.TrimSpace(s)
}
