package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"npu/internal/tensor"
)

// shortTypes are the short names of element types; the long ones are those of package tensor.
var shortTypes = map[string]tensor.DType{
	"f16": tensor.Float16, "f32": tensor.Float32, "f64": tensor.Float64, "bf16": tensor.BFloat16,
	"i8": tensor.Int8, "i16": tensor.Int16, "i32": tensor.Int32, "i64": tensor.Int64,
	"u8": tensor.Uint8, "u16": tensor.Uint16, "u32": tensor.Uint32, "u64": tensor.Uint64,
}

// dtypeOf reads the name of an element type with a whole number of bytes.
func dtypeOf(s string) (tensor.DType, bool) {
	if t, ok := shortTypes[s]; ok {
		return t, true
	}
	t, err := tensor.ParseDType(s)
	return t, err == nil && t.Size() > 0 && t.Size() <= 8
}

// typeRef takes f32[2x3]; a dimension may have a unit of size: u8[4MiB].
func (s *parser) typeRef() TypeRef {
	t := s.peek()
	if t.kind != tokType {
		if t.kind == tokName {
			if d, ok := dtypeOf(t.text); ok {
				s.i++
				return TypeRef{t.pos, d, tensor.Shape{}}
			}
		}
		s.fail("%v: expected a type as f32[2x3]", t)
		return TypeRef{}
	}
	s.i++
	name, dims, _ := strings.Cut(strings.TrimSuffix(t.text, "]"), "[")
	d, _ := dtypeOf(name)
	r := TypeRef{Pos: t.pos, DType: d, Shape: tensor.Shape{}}
	if strings.TrimSpace(dims) == "" {
		s.failAt(t.pos, fmt.Sprintf("%s has no dimension", t.text), "a scalar has no brackets at all: "+name)
		return r
	}
	for _, dim := range strings.FieldsFunc(dims, func(c rune) bool { return c == 'x' || c == ',' }) {
		dim = strings.TrimSpace(dim)
		v, bad := parseNumber(token{tokNumber, dim, t.pos})
		if dim == "" || dim[0] < '0' || dim[0] > '9' || bad != nil || v.unit == Time {
			s.failAt(t.pos, fmt.Sprintf("dimension %q of %s is no number", dim, t.text), "write f32[2x3] or u8[4MiB]")
			return r
		}
		r.Shape = append(r.Shape, int(v.v))
	}
	n, err := r.Shape.Bytes(r.DType)
	if err != nil || n == 0 || len(r.Shape) == 0 || len(r.Shape) > 8 {
		s.failAt(t.pos, fmt.Sprintf("%s is no size", t.text), "one to eight dimensions of at least 1")
	}
	return r
}

// expr is a sum of products.
func (s *parser) expr() Expr { return s.sum(0) }

func (s *parser) sum(depth int) Expr {
	e := s.product(depth)
	for {
		t := s.peek()
		if !s.punct("+") && !s.punct("-") {
			return e
		}
		e = &operation{t.pos, t.text[0], e, s.product(depth)}
	}
}

func (s *parser) product(depth int) Expr {
	e := s.factor(depth)
	for {
		t := s.peek()
		if !s.punct("*") && !s.punct("/") && !s.punct("%") {
			return e
		}
		e = &operation{t.pos, t.text[0], e, s.factor(depth)}
	}
}

func (s *parser) factor(depth int) Expr {
	t := s.peek()
	switch {
	case depth > maxDepth:
		s.fail("an expression nested deeper than %d", maxDepth)
	case s.punct("("):
		e := s.sum(depth + 1)
		s.need(")")
		return e
	case s.punct("-"):
		return &operation{t.pos, '-', &literal{pos: t.pos, unit: unitHint(s.peek())}, s.factor(depth + 1)}
	case t.kind == tokNumber:
		s.i++
		v, bad := parseNumber(t)
		if bad != nil {
			s.failAt(bad.Pos, bad.Text, bad.Hint)
			break
		}
		return v
	case t.kind == tokName && !reserved(t.text):
		s.i++
		return &variable{t.pos, t.text}
	default:
		s.fail("%v: expected a number", t)
	}
	return &literal{pos: t.pos}
}

// unitHint is the unit of the literal that follows a minus, so that -1ms is 0 ms - 1 ms.
func unitHint(t token) Unit {
	if t.kind == tokNumber {
		if v, bad := parseNumber(t); bad == nil {
			return v.unit
		}
	}
	return Plain
}

// number takes a number of a list: perhaps a minus, then digits, inf, nan, true or false.
func (s *parser) number() (float64, bool) {
	start, sign := s.i, 1.0
	if s.punct("-") {
		sign = -1
	}
	t := s.peek()
	if t.kind == tokNumber {
		if f, err := strconv.ParseFloat(t.text, 64); err == nil {
			s.i++
			return sign * f, true
		}
		if v, err := strconv.ParseUint(t.text, 0, 64); err == nil {
			s.i++
			return sign * float64(v), true
		}
	}
	for w, f := range map[string]float64{"inf": math.Inf(1), "nan": math.NaN(), "true": 1, "false": 0} {
		if s.word(w) {
			return sign * f, true
		}
	}
	s.i = start
	return 0, false
}

// float takes one number, or is a mistake.
func (s *parser) float() float64 {
	f, ok := s.number()
	if !ok {
		s.fail("%v: expected a number", s.peek())
	}
	return f
}

// init takes data: numbers, fill V, ramp START STEP, random LOW HIGH seed N, file "x.npy".
func (s *parser) init() *Init {
	n := &Init{Pos: s.peek().pos}
	switch {
	case s.word("fill"):
		n.Kind, n.V = Fill, []float64{s.float()}
	case s.word("ramp"):
		n.Kind, n.V = Ramp, []float64{s.float(), s.float()}
	case s.word("random"):
		n.Kind, n.V, n.Seed = Random, []float64{s.float(), s.float()}, 1
		if s.word("seed") {
			n.Seed = uint64(s.whole())
		}
		if s.bad == nil && !(n.V[0] < n.V[1]) {
			s.failAt(n.Pos, fmt.Sprintf("random from %g to %g", n.V[0], n.V[1]), "the first number is the smaller one")
		}
	case s.word("file"):
		n.Kind, n.File = FromFile, s.str("a file name")
	default:
		s.word("values")
		for {
			v, ok := s.number()
			if !ok {
				break
			}
			n.V = append(n.V, v)
			s.punct(",")
		}
		if len(n.V) == 0 {
			s.fail("%v: expected numbers, fill, ramp, random or file", s.peek())
		}
	}
	return n
}

// whole takes a plain whole number.
func (s *parser) whole() int64 {
	t := s.peek()
	if t.kind == tokNumber {
		if v, bad := parseNumber(t); bad == nil && v.unit == Plain {
			s.i++
			return v.v
		}
	}
	s.fail("%v: expected a whole number", t)
	return 0
}
