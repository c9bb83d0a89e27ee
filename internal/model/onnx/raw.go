package onnx

import "npu/internal/tensor"

// The messages of onnx.proto as far as this package needs them.

type rawGraph struct {
	name         string
	nodes        []*rawNode
	initializers []rawTensor
	inputs       []ValueInfo
	outputs      []ValueInfo
}

type rawNode struct {
	name     string
	op       string // domain.op outside of ai.onnx
	function string // key of the model-local function that it may call
	in, out  []string
	attrs    []rawAttr
	off      int // in the file
}

// rawAttr is an attribute: a value of the kinds that kernels.Attrs holds, or a graph; ref names an attribute of the
// function around it.
type rawAttr struct {
	name  string
	ref   string
	value any
	graph *rawGraph
}

type rawTensor struct {
	name string
	t    *tensor.Tensor
}

type rawFunction struct {
	key      string
	in, out  []string
	defaults []rawAttr
	nodes    []*rawNode
	opset    int // of ai.onnx; 0: not imported
}

// Field numbers of onnx.proto.
const (
	modelIR          = 1
	modelProducer    = 2
	modelProducerVer = 3
	modelDomain      = 4
	modelVersion     = 5
	modelDoc         = 6
	modelGraph       = 7
	modelOpset       = 8
	modelMetadata    = 14
	modelFunctions   = 25

	opsetDomain  = 1
	opsetVersion = 2

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	graphSparse      = 15

	nodeInput  = 1
	nodeOutput = 2
	nodeName   = 3
	nodeOp     = 4
	nodeAttr   = 5
	nodeDomain = 7
	nodeOverld = 8

	attrName    = 1
	attrF       = 2
	attrI       = 3
	attrS       = 4
	attrT       = 5
	attrG       = 6
	attrFloats  = 7
	attrInts    = 8
	attrStrings = 9
	attrTensors = 10
	attrGraphs  = 11
	attrType    = 20
	attrRef     = 21
	attrSparse  = 22

	tensorDims      = 1
	tensorType      = 2
	tensorFloats    = 4
	tensorInt32s    = 5
	tensorStrings   = 6
	tensorInt64s    = 7
	tensorName      = 8
	tensorRaw       = 9
	tensorDoubles   = 10
	tensorUint64s   = 11
	tensorExternal  = 13
	tensorLocation  = 14
	entryKey        = 1
	entryValue      = 2
	valueName       = 1
	valueType       = 2
	typeTensor      = 1
	typeSequence    = 4
	typeMap         = 5
	typeSparse      = 8
	typeOptional    = 9
	typeElements    = 1
	tensorTypeElem  = 1
	tensorTypeShape = 2
	shapeDim        = 1
	dimValue        = 1
	dimParam        = 2

	funcName    = 1
	funcInput   = 4
	funcOutput  = 5
	funcNode    = 7
	funcOpset   = 9
	funcDomain  = 10
	funcDefault = 11
	funcOverld  = 13
)

// Attribute types of AttributeProto.
const (
	kindFloat   = 1
	kindInt     = 2
	kindString  = 3
	kindTensor  = 4
	kindGraph   = 5
	kindFloats  = 6
	kindInts    = 7
	kindStrings = 8
	kindTensors = 9
	kindGraphs  = 10
	kindType    = 13
)

// elemTypes maps TensorProto.DataType to our types.
var elemTypes = map[int64]tensor.DType{
	1: tensor.Float32, 2: tensor.Uint8, 3: tensor.Int8, 4: tensor.Uint16, 5: tensor.Int16, 6: tensor.Int32,
	7: tensor.Int64, 8: tensor.String, 9: tensor.Bool, 10: tensor.Float16, 11: tensor.Float64, 12: tensor.Uint32,
	13: tensor.Uint64, 14: tensor.Complex64, 15: tensor.Complex128, 16: tensor.BFloat16, 17: tensor.Float8E4M3,
	18: tensor.Float8E4M3FNUZ, 19: tensor.Float8E5M2, 20: tensor.Float8E5M2FNUZ, 21: tensor.Uint4, 22: tensor.Int4,
	23: tensor.Float4E2M1, 24: tensor.Float8E8M0, 25: tensor.Uint2, 26: tensor.Int2,
}

// elemNumber is the inverse of elemTypes; 0 for types that ONNX does not have.
func elemNumber(t tensor.DType) int64 {
	for n, d := range elemTypes {
		if d == t {
			return n
		}
	}
	return 0
}
