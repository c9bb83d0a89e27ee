package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Unit is what a number measures.
type Unit uint8

// Units. Times are kept in nanoseconds, sizes in bytes.
const (
	Plain Unit = iota
	Time
	Size
)

func (u Unit) String() string {
	return [...]string{"a plain number", "a time (10us)", "a size (4KiB)"}[u]
}

// units are the suffixes of numbers with what one of them is.
var units = []struct {
	name string
	unit Unit
	one  int64
}{
	{"ns", Time, 1}, {"us", Time, 1e3}, {"µs", Time, 1e3}, {"μs", Time, 1e3}, {"ms", Time, 1e6}, {"s", Time, 1e9},
	{"B", Size, 1}, {"KiB", Size, 1 << 10}, {"MiB", Size, 1 << 20}, {"GiB", Size, 1 << 30},
}

// Expr is an integer expression: numbers with units, loop variables, + - * / %.
type Expr interface{ at() Pos }

type (
	literal struct {
		pos  Pos
		v    int64
		unit Unit
	}
	variable struct {
		pos  Pos
		name string
	}
	operation struct {
		pos  Pos
		op   byte
		l, r Expr
	}
)

func (e *literal) at() Pos   { return e.pos }
func (e *variable) at() Pos  { return e.pos }
func (e *operation) at() Pos { return e.pos }

// splitUnit separates a number from its unit.
func splitUnit(text string) (number, unit string) {
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		return text, ""
	}
	i := strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	return text[:i+1], text[i+1:]
}

// parseNumber reads a number with its unit as a whole number of nanoseconds, bytes or ones.
func parseNumber(t token) (*literal, *Mistake) {
	number, suffix := splitUnit(t.text)
	one, unit := int64(1), Plain
	if suffix != "" {
		found := false
		for _, u := range units {
			if u.name == suffix {
				one, unit, found = u.one, u.unit, true
			}
		}
		if !found {
			return nil, &Mistake{t.pos, fmt.Sprintf("%q is no unit", suffix), "times: ns us ms s; sizes: B KiB MiB GiB"}
		}
	}
	if v, err := strconv.ParseInt(number, 0, 64); err == nil {
		if v > math.MaxInt64/one {
			return nil, &Mistake{t.pos, t.text + " is too large", ""}
		}
		return &literal{t.pos, v * one, unit}, nil
	}
	if v, err := strconv.ParseUint(number, 0, 64); err == nil && unit == Plain { // a bit pattern
		return &literal{t.pos, int64(v), unit}, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	x := f * float64(one)
	switch {
	case err != nil || x >= 1<<62:
		return nil, &Mistake{t.pos, fmt.Sprintf("%q is no number", t.text), ""}
	case x != math.Trunc(x):
		return nil, &Mistake{t.pos, t.text + " is not whole", "counts are whole numbers, times whole nanoseconds, sizes whole bytes"}
	}
	return &literal{t.pos, int64(x), unit}, nil
}

// unitOf checks an expression and says what it measures. known says whether a name is a loop variable in reach.
func unitOf(e Expr, known func(string) bool) (Unit, *Mistake) {
	switch e := e.(type) {
	case *literal:
		return e.unit, nil
	case *variable:
		if !known(e.name) {
			return Plain, &Mistake{e.pos, fmt.Sprintf("%q is no loop variable here", e.name), "only repeat … as NAME makes variables"}
		}
		return Plain, nil
	case *operation:
		l, m := unitOf(e.l, known)
		if m != nil {
			return l, m
		}
		r, m := unitOf(e.r, known)
		if m != nil {
			return r, m
		}
		switch {
		case (e.op == '+' || e.op == '-' || e.op == '%') && l != r:
			return l, &Mistake{e.pos, fmt.Sprintf("%c of %v and %v", e.op, l, r), "both sides must measure the same"}
		case e.op == '*' && l != Plain && r != Plain:
			return l, &Mistake{e.pos, fmt.Sprintf("product of %v and %v", l, r), "one side must be a plain number"}
		case e.op == '/' && r != Plain && l != r:
			return l, &Mistake{e.pos, fmt.Sprintf("quotient of %v and %v", l, r), ""}
		case e.op == '/' && l == r:
			return Plain, nil
		}
		return max(l, r), nil
	}
	return Plain, nil
}

// constant is the value of an expression without variables.
func constant(e Expr) (int64, bool) {
	v, err := eval(e, func(string) (int64, bool) { return 0, false })
	return v, err == nil
}

// eval computes an expression.
func eval(e Expr, vars func(string) (int64, bool)) (int64, error) {
	switch e := e.(type) {
	case *literal:
		return e.v, nil
	case *variable:
		if v, ok := vars(e.name); ok {
			return v, nil
		}
		return 0, fmt.Errorf("no variable %q", e.name)
	case *operation:
		l, err := eval(e.l, vars)
		if err != nil {
			return 0, err
		}
		r, err := eval(e.r, vars)
		if err != nil {
			return 0, err
		}
		return arithmetic(e.op, l, r)
	}
	return 0, fmt.Errorf("no expression")
}

func arithmetic(op byte, l, r int64) (int64, error) {
	overflow := func() (int64, error) { return 0, fmt.Errorf("%d %c %d is too large", l, op, r) }
	switch op {
	case '+':
		if s := l + r; (s > l) == (r > 0) {
			return s, nil
		}
		return overflow()
	case '-':
		if s := l - r; (s < l) == (r > 0) {
			return s, nil
		}
		return overflow()
	case '*':
		if l == 0 || r == 0 {
			return 0, nil
		}
		if p := l * r; p/r == l && !(l == -1 && r == math.MinInt64) && !(r == -1 && l == math.MinInt64) {
			return p, nil
		}
		return overflow()
	}
	switch {
	case r == 0:
		return 0, fmt.Errorf("%d %c 0: division by zero", l, op)
	case r == -1:
		if op == '%' {
			return 0, nil
		}
		return arithmetic('-', 0, l)
	case op == '/':
		return l / r, nil
	}
	return l % r, nil
}
