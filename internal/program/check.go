package program

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"npu/internal/problem"
)

// symbol is what a name stands for while a program is checked.
type symbol struct {
	kind   string // stream, event, notify, context, mutex, buffer, kernel, thread
	pos    Pos
	thread string // that declared it
	uses   int

	stream   *StreamStmt
	event    *EventStmt
	buffer   *BufferStmt
	kernel   *KernelStmt
	recorded bool
	waited   Pos // of the first wait or sync
}

// checker walks a program once, in the order of the text.
type checker struct {
	prog     *Program
	dir      string
	names    map[string]*symbol
	all      []*symbol
	vars     map[string]bool
	thread   string
	inThread map[string]string // name → thread that has it for itself
	mistakes []*Mistake
	warnings []string
}

// Check finds what is wrong with a program before anything runs: names, kinds, shapes, units, files of data. The
// error is a *Mistakes of class Damaged. The warnings are one sentence each, about what is legal and strange.
func (p *Program) Check() (warnings []string, err error) {
	c := &checker{prog: p, dir: filepath.Dir(p.File), names: map[string]*symbol{}, vars: map[string]bool{}, inThread: map[string]string{}}
	c.block(p.Body)
	slices.SortStableFunc(c.mistakes, func(a, b *Mistake) int { return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) })
	for _, s := range c.all {
		c.strange(s)
	}
	if len(c.mistakes) > maxMistakes {
		c.mistakes = c.mistakes[:maxMistakes]
	}
	return c.warnings, problem.Mark(problem.Damaged, mistakes(p, c.mistakes))
}

// strange warns of what is legal and most likely not meant.
func (c *checker) strange(s *symbol) {
	name := ""
	switch {
	case s.event != nil:
		name = s.event.Name
	case s.buffer != nil:
		name = s.buffer.Name
	case s.kernel != nil:
		name = s.kernel.Name
	case s.stream != nil:
		name = s.stream.Name
	default:
		return
	}
	switch {
	case s.uses == 0:
		c.warnings = append(c.warnings, fmt.Sprintf("line %d: %s %s is never used", s.pos.Line, s.kind, name))
	case s.event != nil && !s.recorded && s.waited.Line > 0:
		c.warnings = append(c.warnings, fmt.Sprintf("line %d: event %s is waited for and never recorded", s.waited.Line, name))
	}
}

func (c *checker) fail(p Pos, hint, format string, args ...any) {
	c.mistakes = append(c.mistakes, &Mistake{p, fmt.Sprintf(format, args...), hint})
}

func (c *checker) block(list []Stmt) {
	for _, st := range list {
		if len(c.mistakes) > maxMistakes {
			return
		}
		c.stmt(st)
	}
}

// declare gives a name its meaning. The same name may be declared again for an object of the same kind.
func (c *checker) declare(h *Head, name, kind string) *symbol {
	if old := c.names[name]; old != nil && old.kind != kind {
		c.fail(h.Pos, "choose another name", "%s is a %s already (line %d)", name, old.kind, old.pos.Line)
	}
	if c.vars[name] {
		c.fail(h.Pos, "choose another name", "%s is the variable of a loop here", name)
	}
	s := &symbol{kind: kind, pos: h.Pos, thread: c.thread}
	c.names[name] = s
	c.all = append(c.all, s)
	if c.thread != "" {
		c.inThread[name] = c.thread
	}
	return s
}

// find resolves a name that must be one of the kinds; nil after a mistake.
func (c *checker) find(r Ref, kinds ...string) *symbol {
	s := c.names[r.Name]
	switch {
	case s == nil && c.inThread[r.Name] != "":
		c.fail(r.Pos, "declare it before the thread", "%s belongs to thread %s and is not known here", r.Name, c.inThread[r.Name])
	case s == nil:
		c.fail(r.Pos, c.similar(r.Name, kinds), "%q is not declared: expected %s", r.Name, kindList(kinds))
	case !slices.Contains(kinds, s.kind):
		c.fail(r.Pos, "", "%s is a %s (line %d): expected %s", r.Name, s.kind, s.pos.Line, kindList(kinds))
		return nil
	default:
		s.uses++
	}
	return s
}

func kindList(kinds []string) string {
	var l []string
	for _, k := range kinds {
		if k == "event" {
			l = append(l, "an event")
		} else {
			l = append(l, "a "+k)
		}
	}
	return orList(l)
}

// similar is a hint with a declared name that resembles the wrong one, or how to declare it.
func (c *checker) similar(name string, kinds []string) string {
	for _, n := range slices.Sorted(maps.Keys(c.names)) {
		if slices.Contains(kinds, c.names[n].kind) && distance(n, name) < min(3, len(name)) {
			return "did you mean " + n + "?"
		}
	}
	if kinds[0] == "buffer" {
		return fmt.Sprintf("declare it: buffer %s device f32[16]", name)
	}
	return fmt.Sprintf("declare it: %s %s", kinds[0], name)
}

// on resolves the stream of a submission and notes who submits.
func (c *checker) on(o On) {
	if o.Name == "" {
		return
	}
	if s := c.find(Ref{Name: o.Name, Pos: o.Pos}, "stream"); s != nil && s.thread != c.thread {
		s.stream.shared = true
	}
}

// unit checks an expression; nil is fine.
func (c *checker) unit(e Expr, want Unit) {
	if e == nil {
		return
	}
	u, bad := unitOf(e, func(n string) bool { return c.vars[n] })
	switch {
	case bad != nil:
		c.mistakes = append(c.mistakes, bad)
	case u != want && !(want == Size && u == Plain):
		c.fail(e.at(), "", "this is %v: expected %v", u, want)
	}
}

// between checks a constant expression against bounds.
func (c *checker) between(e Expr, lo, hi int64, what string) {
	if e == nil {
		return
	}
	if v, ok := constant(e); ok && (v < lo || v > hi) {
		c.fail(e.at(), "", "%s %d: expected %d to %d", what, v, lo, hi)
	}
}

// limit checks a time-out or another length of time.
func (c *checker) limit(e Expr) {
	c.unit(e, Time)
	if e == nil {
		return
	}
	if v, ok := constant(e); ok && (v < -maxTime || v > maxTime) {
		c.fail(e.at(), "", "a time of more than an hour")
	}
}

// seconds checks a limit that the runtime counts in whole seconds.
func (c *checker) seconds(e Expr) {
	if e == nil {
		return
	}
	before := len(c.mistakes)
	c.limit(e)
	if v, ok := constant(e); ok && v%1e9 != 0 && len(c.mistakes) == before {
		c.fail(e.at(), "", "this limit counts whole seconds")
	}
}

// maxTime bounds the times of a program, in ns.
const maxTime = 3600e9

// buffer resolves a buffer with its range; n is how many elements it names, -1 if that is not known yet.
func (c *checker) buffer(r Ref) (s *symbol, n int) {
	if s = c.find(r, "buffer"); s == nil {
		return nil, -1
	}
	count, _ := s.buffer.Type.Shape.Elements() // the parser has looked at it
	if r.Lo == nil {
		return s, count
	}
	c.unit(r.Lo, Plain)
	c.unit(r.Hi, Plain)
	lo, ok1 := constant(r.Lo)
	hi, ok2 := constant(r.Hi)
	switch {
	case !ok1 || !ok2:
		return s, -1
	case lo < 0 || hi > int64(count) || lo >= hi:
		c.fail(r.Lo.at(), "", "elements %d to %d of %s, which has %d", lo, hi, r.Name, count)
		return s, -1
	}
	return s, int(hi - lo)
}

// data checks that data fits n elements of a buffer.
func (c *checker) data(d *Init, b *BufferStmt, n int) {
	if d == nil {
		return
	}
	if d.Kind == FromFile && d.data == nil {
		if err := d.load(c.dir); err != nil {
			c.fail(d.Pos, "a .npy file, its path is relative to the program", "%v", err)
			return
		}
	}
	if err := d.exact(b.Type.DType); err != nil {
		c.fail(d.Pos, "", "%v", err)
	}
	if n < 0 {
		return
	}
	have := n
	switch d.Kind {
	case Values:
		have = len(d.V)
	case FromFile:
		have, _ = d.data.Shape.Elements()
	}
	if have != n {
		c.fail(d.Pos, "fill V and ramp START STEP give as many as there are", "%d values for %d elements of %s", have, n, b.Name)
	}
}
