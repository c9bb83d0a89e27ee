package program

import (
	"fmt"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
)

func parseKernel(s *parser, h Head) Stmt {
	st := &KernelStmt{Head: h, Name: s.name("kernel")}
	s.need("=")
	t := s.peek()
	if t.kind != tokName {
		s.fail("%v: expected an operator, or vector, cube, mix, aicpu", t)
		return st
	}
	for w, k := range map[string]trace.Kind{"vector": trace.KernelAIVector, "cube": trace.KernelAICore, "mix": trace.KernelMix, "aicpu": trace.KernelAICPU} {
		if s.word(w) {
			st.Own = s.ownKernel(t.pos, k)
			return st
		}
	}
	s.i++
	st.Op = s.opKernel(t)
	return st
}

// ownKernel takes the options of a plain kernel in any order.
func (s *parser) ownKernel(at Pos, core trace.Kind) *OwnKernel {
	k := &OwnKernel{Pos: at, Core: core}
	for s.bad == nil {
		switch {
		case s.word("blocks"):
			k.Blocks = s.expr()
		case s.word("time"):
			k.Time = s.expr()
		case s.word("fault"):
			k.Fault = s.oneOf("oob", "divzero", "hang")
		case s.word("set"):
			k.Effect, k.Value = "set", s.float()
		case s.word("add"):
			k.Effect, k.Value = "add", s.float()
		default:
			if k.Time == nil && k.Fault != "hang" {
				s.failAt(at, "how long does a block of this kernel take?", "add: time 10us")
			}
			return k
		}
	}
	return k
}

// opKernel takes (TYPE, …) opset N NAME=VALUE ….
func (s *parser) opKernel(name token) *OpKernel {
	k := &OpKernel{Pos: name.pos, Type: name.text, Opset: 18, Outputs: 1, Attrs: kernels.Attrs{}}
	s.need("(")
	for s.bad == nil && !s.punct(")") {
		if len(k.In) > 0 {
			s.need(",")
		}
		if len(k.In) == 64 {
			s.fail("more than 64 inputs")
		}
		k.In = append(k.In, s.operand())
	}
	for s.bad == nil {
		switch {
		case s.word("opset"):
			k.Opset = int(s.whole())
			continue
		case s.word("outputs"):
			p := s.peek().pos
			if k.Outputs = int(s.whole()); k.Outputs < 1 || k.Outputs > 64 {
				s.failAt(p, "an operator has 1 to 64 outputs", "")
			}
			continue
		}
		break
	}
	for s.bad == nil && s.peek().kind == tokName && s.peek().text != "expect" {
		a := s.next().text
		s.need("=")
		k.Attrs[a] = s.attribute()
	}
	return k
}

// operand takes an input: none, a type, or a type with a constant value.
func (s *parser) operand() Operand {
	if s.word("none") {
		return Operand{Absent: true}
	}
	o := Operand{TypeRef: s.typeRef()}
	if s.punct("=") {
		n := &Init{Pos: s.peek().pos}
		s.need("[")
		for s.bad == nil && !s.punct("]") {
			n.V = append(n.V, s.float())
			s.punct(",")
		}
		o.Const = n
	}
	return o
}

// attribute takes a whole number, a fraction, a string, or a list of them in brackets.
func (s *parser) attribute() any {
	if !s.punct("[") {
		return s.attributeItem()
	}
	var items []any
	for s.bad == nil && !s.punct("]") {
		items = append(items, s.attributeItem())
		s.punct(",")
	}
	return attributeList(items)
}

// attributeList is a list of one type: of strings if there is one, else of fractions if there is one.
func attributeList(items []any) any {
	ints, floats, texts := []int64{}, []float32{}, []string{}
	for _, v := range items {
		switch v := v.(type) {
		case int64:
			ints, floats = append(ints, v), append(floats, float32(v))
		case float32:
			floats = append(floats, v)
		case string:
			texts = append(texts, v)
		}
	}
	switch {
	case len(texts) > 0:
		return texts
	case len(ints) < len(floats):
		return floats
	}
	return ints
}

func (s *parser) attributeItem() any {
	t := s.peek()
	if t.kind == tokString {
		s.i++
		return t.text
	}
	sign := int64(1)
	if s.punct("-") {
		sign = -1
	}
	if u := s.peek(); u.kind == tokNumber {
		if v, bad := parseNumber(u); bad == nil && v.unit == Plain && isWhole(u.text) {
			s.i++
			return sign * v.v
		}
	}
	return float32(sign) * float32(s.float())
}

// isWhole says whether a number is written without a fraction: axis=1 is an integer, alpha=1.0 is none.
func isWhole(text string) bool {
	for _, c := range text {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}

// parseLaunch takes KERNEL, perhaps (A, B -> C), perhaps "on".
func parseLaunch(s *parser, h Head) Stmt {
	st := &LaunchStmt{Head: h, Kernel: s.ref("the name of a kernel", false), Inputs: -1}
	if s.punct("(") {
		for s.bad == nil && !s.punct(")") {
			switch {
			case s.punct("->"):
				if st.Inputs >= 0 {
					s.fail("a second arrow")
				}
				st.Inputs = len(st.Args)
				continue
			case len(st.Args) > 0 && st.Inputs != len(st.Args):
				s.need(",")
			}
			if len(st.Args) == 64 {
				s.fail("more than 64 arguments")
			}
			st.Args = append(st.Args, s.ref("a buffer", true))
		}
	}
	if st.Inputs < 0 {
		st.Inputs = len(st.Args)
	}
	if st.On = s.on(); s.word("timeout") {
		st.Timeout = s.expr()
	}
	return st
}

// spec is the operator with its operands, for package kernels.
func (k *OpKernel) makeSpec() (*kernels.Spec, *Mistake) {
	spec := &kernels.Spec{Op: k.Type, Opset: k.Opset, Attrs: k.Attrs, Out: make([]kernels.Desc, k.Outputs)}
	for _, o := range k.In {
		d := kernels.Desc{}
		if !o.Absent {
			d.DType, d.Shape = o.DType, o.Shape
		}
		if o.Const != nil {
			n, _ := o.Shape.Elements() // the parser has looked at it
			data := &tensor.Tensor{DType: o.DType, Shape: o.Shape}
			var err error
			if data.Data, err = o.Const.bytes(o.DType, n); err != nil {
				return nil, &Mistake{o.Const.Pos, err.Error(), ""}
			}
			d.Const = data
		}
		spec.In = append(spec.In, d)
	}
	return spec, nil
}

// operandText is an operand for messages.
func operandText(d tensor.DType, s tensor.Shape) string {
	if len(s) == 0 {
		return d.String()
	}
	return fmt.Sprintf("%v[%v]", d, s)
}
