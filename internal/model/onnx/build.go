package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"

	"google.golang.org/protobuf/encoding/protowire"
)

// Builder makes ONNX files. The first mistake is kept and returned by Bytes. The zero value builds a branch; NewBuilder
// starts a model.
type Builder struct {
	name   string
	opset  int
	body   []byte // fields of GraphProto
	extra  []byte // fields of ModelProto after the graph
	err    error
	nnodes int
}

// NewBuilder starts a model for one opset of ai.onnx.
func NewBuilder(name string, opset int) *Builder { return &Builder{name: name, opset: opset} }

// Input declares an input. dims is like "1,3,H,W": numbers, symbols, or "" for a scalar.
func (b *Builder) Input(name string, t tensor.DType, dims string) {
	b.body = appendMessage(b.body, graphInput, b.valueInfo(name, t, dims))
}

// Output declares an output; dims as for Input.
func (b *Builder) Output(name string, t tensor.DType, dims string) {
	b.body = appendMessage(b.body, graphOutput, b.valueInfo(name, t, dims))
}

// Initializer adds a constant with raw data.
func (b *Builder) Initializer(name string, t *tensor.Tensor) {
	b.body = appendMessage(b.body, graphInitializer, b.tensor(name, t))
}

// Floats adds a float32 constant; without values, a ramp from -0.5 to 0.5, for tests and demonstrations.
func (b *Builder) Floats(name string, shape tensor.Shape, v ...float32) {
	n, err := shape.Elements()
	b.fail(err)
	if len(v) == 0 && err == nil {
		v = make([]float32, n)
		for i := range v {
			v[i] = float32(i*37%101)/100 - 0.5
		}
	}
	b.Initializer(name, &tensor.Tensor{DType: tensor.Float32, Shape: shape, Data: tensor.Bytes(v)})
}

// Ints adds a constant list of int64.
func (b *Builder) Ints(name string, v ...int64) {
	b.Initializer(name, &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)})
}

// Scalar adds a constant of rank 0.
func (b *Builder) Scalar(name string, v float32) {
	b.Initializer(name, &tensor.Tensor{DType: tensor.Float32, Data: tensor.Bytes([]float32{v})})
}

// Node adds an operator; in and out are names separated by blanks, "-" stands for one that is left out. Attributes
// are those of kernels.Attrs and *Builder for branches. The node is called op_N.
func (b *Builder) Node(op, in, out string, attrs kernels.Attrs) {
	var m []byte
	for _, s := range strings.Fields(in) {
		m = appendString(m, nodeInput, strings.TrimSuffix(s, "-"))
	}
	for _, s := range strings.Fields(out) {
		m = appendString(m, nodeOutput, strings.TrimSuffix(s, "-"))
	}
	m = appendString(m, nodeName, op+"_"+strconv.Itoa(b.nnodes))
	b.nnodes++
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		m = appendString(m, nodeDomain, op[:i])
		op = op[i+1:]
	}
	m = appendString(m, nodeOp, op)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		m = appendMessage(m, nodeAttr, b.attr(name, attrs[name]))
	}
	b.body = appendMessage(b.body, graphNode, m)
}

// Metadata adds a property of the model.
func (b *Builder) Metadata(key, value string) {
	b.extra = appendMessage(b.extra, modelMetadata, appendString(appendString(nil, entryKey, key), entryValue, value))
}

// Bytes is the finished file.
func (b *Builder) Bytes() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	m := appendVarint(nil, modelIR, 8)
	m = appendString(m, modelProducer, "npu")
	m = appendMessage(m, modelOpset, appendVarint(nil, opsetVersion, uint64(b.opset)))
	m = append(m, b.extra...)
	return appendMessage(m, modelGraph, b.graph()), nil
}

func (b *Builder) graph() []byte { return append(appendString(nil, graphName, b.name), b.body...) }

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *Builder) valueInfo(name string, t tensor.DType, dims string) []byte {
	var shape []byte
	if dims != "" {
		for d := range strings.SplitSeq(dims, ",") {
			d = strings.TrimSpace(d)
			if n, err := strconv.ParseUint(d, 10, 62); err == nil {
				shape = appendMessage(shape, shapeDim, appendVarint(nil, dimValue, n))
			} else {
				shape = appendMessage(shape, shapeDim, appendString(nil, dimParam, d))
			}
		}
	}
	tt := appendVarint(nil, tensorTypeElem, uint64(elemNumber(t)))
	tt = appendMessage(tt, tensorTypeShape, shape)
	m := appendString(nil, valueName, name)
	return appendMessage(m, valueType, appendMessage(nil, typeTensor, tt))
}

func (b *Builder) tensor(name string, t *tensor.Tensor) []byte {
	want, err := t.Shape.Bytes(t.DType)
	if err == nil && (want != len(t.Data) || t.Format != tensor.ND) {
		err = fmt.Errorf("shape %v of %v needs %d bytes, got %d in format %v", t.Shape, t.DType, want, len(t.Data), t.Format)
	}
	if err != nil {
		b.fail(fmt.Errorf("tensor %q: %w", name, err))
	}
	var m []byte
	for _, d := range t.Shape {
		m = appendVarint(m, tensorDims, uint64(d))
	}
	m = appendVarint(m, tensorType, uint64(elemNumber(t.DType)))
	if name != "" {
		m = appendString(m, tensorName, name)
	}
	return appendMessage(m, tensorRaw, t.Data)
}

func (b *Builder) attr(name string, value any) []byte {
	m := appendString(nil, attrName, name)
	kind := func(k uint64) { m = appendVarint(m, attrType, k) }
	switch v := value.(type) {
	case float32:
		m = protowire.AppendTag(m, attrF, protowire.Fixed32Type)
		m = protowire.AppendFixed32(m, math.Float32bits(v))
		kind(kindFloat)
	case int64:
		m = appendVarint(m, attrI, uint64(v))
		kind(kindInt)
	case string:
		m = appendString(m, attrS, v)
		kind(kindString)
	case []float32:
		m = appendMessage(m, attrFloats, tensor.Bytes(v))
		kind(kindFloats)
	case []int64:
		for _, x := range v {
			m = appendVarint(m, attrInts, uint64(x))
		}
		kind(kindInts)
	case []string:
		for _, x := range v {
			m = appendString(m, attrStrings, x)
		}
		kind(kindStrings)
	case *tensor.Tensor:
		m = appendMessage(m, attrT, b.tensor("", v))
		kind(kindTensor)
	case *Builder:
		b.fail(v.err)
		m = appendMessage(m, attrG, v.graph())
		kind(kindGraph)
	default:
		b.fail(fmt.Errorf("attribute %q: no ONNX attribute can hold a %T", name, value))
	}
	return m
}

func appendMessage(b []byte, num protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), m)
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}
