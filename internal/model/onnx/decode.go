package onnx

import (
	"fmt"
	"os"
	"strings"

	"npu/internal/model/graph"
)

// Bounds that no real model comes near; they keep hostile files cheap.
const (
	maxDepth = 48 // graphs in attributes of graphs
	maxNodes = 4 << 20
	maxRank  = 64
)

// decoder turns the file into the raw messages.
type decoder struct {
	b     []byte
	dir   string
	root  *os.Root // dir, opened at the first external tensor
	depth int
	nodes int
	types int // sequences and optionals inside each other now
	m     *Model
}

func (d *decoder) close() {
	if d.root != nil {
		d.root.Close()
	}
}

func (d *decoder) model() (*Model, error) {
	m := &Model{Bytes: len(d.b), Ops: map[string]int{}, functions: map[string]*rawFunction{}}
	d.m = m
	msg := &message{file: d.b, end: len(d.b)}
	var f field
	nf := 0
	for {
		ok, err := msg.next(&f)
		if err != nil || !ok {
			return m, err
		}
		switch f.num {
		case modelIR:
			m.IRVersion, err = msg.int(&f)
		case modelProducer:
			m.Producer, err = msg.str(&f)
		case modelProducerVer:
			m.ProducerVersion, err = msg.str(&f)
		case modelDomain:
			m.Domain, err = msg.str(&f)
		case modelVersion:
			m.Version, err = msg.int(&f)
		case modelDoc:
			m.Doc, err = msg.str(&f)
		case modelGraph:
			if m.graph != nil {
				return nil, msg.broken(f.off, "a second graph")
			}
			at := &where{name: "graph", idx: -1}
			if m.graph, err = d.graph(msg, &f, at); err == nil {
				m.GraphName = m.graph.name
				m.describe()
			}
		case modelOpset:
			var o Opset
			if o, err = d.opset(msg, &f, &where{name: "opset_import", idx: len(m.Opsets)}); err == nil {
				m.Opsets = append(m.Opsets, o)
			}
		case modelMetadata:
			var p Property
			if p, err = d.entry(msg, &f, &where{name: "metadata_props", idx: len(m.Metadata)}); err == nil {
				m.Metadata = append(m.Metadata, p)
			}
		case modelFunctions:
			err = d.function(msg, &f, &where{name: "functions", idx: nf})
			nf++
		}
		if err != nil {
			return nil, err
		}
	}
}

// describe fills the inputs and outputs of the model; before IR 4 every initializer was listed as an input too.
func (m *Model) describe() {
	given := make(map[string]bool, len(m.graph.initializers))
	for _, t := range m.graph.initializers {
		given[t.name] = true
	}
	for _, v := range m.graph.inputs {
		if !given[v.Name] {
			m.Inputs = append(m.Inputs, v)
		}
	}
	m.Outputs = m.graph.outputs
	m.Initializers = len(m.graph.initializers)
}

func (d *decoder) graph(up *message, f *field, at *where) (*rawGraph, error) {
	msg, err := up.sub(f, at)
	if err != nil {
		return nil, err
	}
	if d.depth++; d.depth > maxDepth {
		return nil, up.broken(f.off, fmt.Sprintf("more than %d graphs inside each other", maxDepth))
	}
	defer func() { d.depth-- }()
	g := &rawGraph{}
	for {
		ok, err := msg.next(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			return g, nil
		}
		switch f.num {
		case graphNode:
			n, err := d.node(msg, f, &where{at, "node", len(g.nodes)})
			if err != nil {
				return nil, err
			}
			g.nodes = append(g.nodes, n)
		case graphName:
			if g.name, err = msg.str(f); err != nil {
				return nil, err
			}
		case graphInitializer:
			t, err := d.tensor(msg, f, &where{at, "initializer", len(g.initializers)})
			if err != nil {
				return nil, err
			}
			if t.name == "" {
				return nil, msg.broken(f.off, fmt.Sprintf("initializer %d has no name", len(g.initializers)))
			}
			g.initializers = append(g.initializers, t)
		case graphInput:
			v, err := d.valueInfo(msg, f, &where{at, "input", len(g.inputs)})
			if err != nil {
				return nil, err
			}
			g.inputs = append(g.inputs, v)
		case graphOutput:
			v, err := d.valueInfo(msg, f, &where{at, "output", len(g.outputs)})
			if err != nil {
				return nil, err
			}
			g.outputs = append(g.outputs, v)
		case graphSparse:
			return nil, unsupportedf("%v: sparse initializers", at)
		}
	}
}

func (d *decoder) node(up *message, f *field, at *where) (*rawNode, error) {
	off := f.off
	msg, err := up.sub(f, at)
	if err != nil {
		return nil, err
	}
	if d.nodes++; d.nodes > maxNodes {
		return nil, up.broken(off, fmt.Sprintf("more than %d nodes", maxNodes))
	}
	n := &rawNode{off: off}
	var op, domain, overload, s string
	for {
		ok, err := msg.next(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch f.num {
		case nodeInput:
			s, err = msg.str(f)
			n.in = append(n.in, s)
		case nodeOutput:
			s, err = msg.str(f)
			n.out = append(n.out, s)
		case nodeName:
			n.name, err = msg.str(f)
		case nodeOp:
			op, err = msg.str(f)
		case nodeDomain:
			domain, err = msg.str(f)
		case nodeOverld:
			overload, err = msg.str(f)
		case nodeAttr:
			var a rawAttr
			if a, err = d.attr(msg, f, &where{at, "attribute", len(n.attrs)}); err == nil {
				n.attrs = append(n.attrs, a)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if op == "" {
		return nil, up.broken(off, fmt.Sprintf("%v %q has no op_type", at, n.name))
	}
	n.op = op
	if domain = plainDomain(domain); domain != "" && !graph.IsCollective(op) {
		n.op = domain + "." + op // operators of communication have no domain of their own: exporters put them into theirs
	}
	n.function = functionKey(domain, op, overload)
	d.m.Ops[n.op]++
	return n, nil
}

// plainDomain gives the default domain its short name.
func plainDomain(s string) string {
	if s == "ai.onnx" {
		return ""
	}
	return s
}

func functionKey(domain, name, overload string) string {
	key := domain + "." + name
	if overload != "" {
		key += ":" + overload
	}
	return key
}

func (d *decoder) opset(up *message, f *field, at *where) (Opset, error) {
	var o Opset
	msg, err := up.sub(f, at)
	if err != nil {
		return o, err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			o.Domain = plainDomain(o.Domain)
			return o, err
		}
		switch f.num {
		case opsetDomain:
			o.Domain, err = msg.str(f)
		case opsetVersion:
			o.Version, err = msg.int(f)
		}
		if err != nil {
			return o, err
		}
	}
}

func (d *decoder) entry(up *message, f *field, at *where) (Property, error) {
	var p Property
	msg, err := up.sub(f, at)
	if err != nil {
		return p, err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return p, err
		}
		switch f.num {
		case entryKey:
			p.Key, err = msg.str(f)
		case entryValue:
			p.Value, err = msg.str(f)
		}
		if err != nil {
			return p, err
		}
	}
}

func (d *decoder) function(up *message, f *field, at *where) error {
	off := f.off
	msg, err := up.sub(f, at)
	if err != nil {
		return err
	}
	fn := &rawFunction{}
	var domain, name, overload, s string
	for {
		ok, err := msg.next(f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch f.num {
		case funcName:
			name, err = msg.str(f)
		case funcDomain:
			domain, err = msg.str(f)
		case funcOverld:
			overload, err = msg.str(f)
		case funcInput:
			s, err = msg.str(f)
			fn.in = append(fn.in, s)
		case funcOutput:
			s, err = msg.str(f)
			fn.out = append(fn.out, s)
		case funcDefault:
			var a rawAttr
			if a, err = d.attr(msg, f, &where{at, "attribute_proto", len(fn.defaults)}); err == nil {
				fn.defaults = append(fn.defaults, a)
			}
		case funcNode:
			var n *rawNode
			if n, err = d.node(msg, f, &where{at, "node", len(fn.nodes)}); err == nil {
				fn.nodes = append(fn.nodes, n)
			}
		case funcOpset:
			var o Opset
			if o, err = d.opset(msg, f, &where{at, "opset_import", -1}); err == nil && o.Domain == "" {
				fn.opset = int(o.Version)
			}
		}
		if err != nil {
			return err
		}
	}
	fn.key = functionKey(plainDomain(domain), name, overload)
	if name == "" {
		return up.broken(off, fmt.Sprintf("%v has no name", at))
	}
	if d.m.functions[fn.key] != nil {
		return up.broken(off, fmt.Sprintf("%v: a second function %s", at, fn.key))
	}
	d.m.functions[fn.key] = fn
	d.m.Functions = append(d.m.Functions, strings.TrimPrefix(fn.key, "."))
	return nil
}
