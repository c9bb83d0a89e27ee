package om

// This file holds the messages of the graph engine (package ge.proto) that a model consists of. Attributes keep the
// order of the file, so that a message of ours encodes to the same bytes again.

// ModelDef is the root message of MODEL_DEF.
type ModelDef struct {
	Name          string
	Version       uint32
	CustomVersion string
	Graphs        []*GraphDef // the first is the root, the others are found by name through Op.Subgraphs
	Attrs         Attrs
}

// GraphDef is one graph; operators are in execution order.
type GraphDef struct {
	Name    string
	Inputs  []string
	Outputs []string
	Ops     []*OpDef
	Attrs   Attrs
}

// OpDef is one operator.
type OpDef struct {
	Name, Type string
	Inputs     []string // "source:output" by anchor, "" where nothing is connected, "source:-1" for control edges
	Attrs      Attrs
	HasOutAttr bool
	ID, Stream int64
	InputNames []string
	SrcNames   []string
	SrcIndex   []int64
	DstNames   []string
	DstIndex   []int64
	InputI     []int64 // offsets of connected data inputs in feature memory
	OutputI    []int64
	Workspace  []int64
	WorkBytes  []int64
	ConstInput []bool
	In, Out    []*TensorDesc
	Subgraphs  []string

	offset int // of the message in the file
}

// TensorDesc describes an operand as it is stored.
type TensorDesc struct {
	Name        string
	DType       int64 // protobuf numbering, see dtypeOf
	Shape       []int64
	Scalar      bool // a shape message without dimensions was there
	Layout      string
	Attrs       Attrs
	HasOutAttr  bool
	Size        int64
	WeightSize  int64
	ReuseInput  bool
	OutputTens  bool
	DeviceType  string
	InputTens   bool
	RealDims    int64
	ReuseIndex  int64
	DataOffset  int64
	CmpsSize    int64
	CmpsTab     []byte
	CmpsTabOffs int64
}

// TensorDef is a tensor with inline data, or with a place in the weights (Desc.DataOffset, Desc.WeightSize).
type TensorDef struct {
	Desc *TensorDesc
	Data []byte
}

// NamedAttrs is a group of attributes.
type NamedAttrs struct {
	Name  string
	Attrs Attrs
}

// AttrKind is which member of an attribute is set.
type AttrKind uint8

// Kinds are the field numbers of AttrDef; AttrNone is an attribute with no member: a default value.
const (
	AttrNone       AttrKind = 0
	AttrList       AttrKind = 1
	AttrString     AttrKind = 2
	AttrInt        AttrKind = 3
	AttrFloat      AttrKind = 4
	AttrBool       AttrKind = 5
	AttrBytes      AttrKind = 7
	AttrFunc       AttrKind = 10
	AttrDesc       AttrKind = 11
	AttrTensor     AttrKind = 12
	AttrGraph      AttrKind = 13
	AttrIntLists   AttrKind = 14
	AttrDType      AttrKind = 15
	AttrFloatLists AttrKind = 16
	AttrExpr       AttrKind = 17
)

// Attr is a value.
type Attr struct {
	Kind AttrKind
	Int  int64 // i, b, dt
	F    float32
	Data []byte // s, bt, expression: not always UTF-8
	// At most one of the following is set.
	List   *List
	Func   *NamedAttrs
	Desc   *TensorDesc
	Tensor *TensorDef
	Graph  *GraphDef
	Ints   [][]int64
	Floats [][]float32
}

// List is a list value; Type is its val_type, which also types an empty list.
type List struct {
	Strings [][]byte
	Ints    []int64
	Floats  []float32
	Bools   []bool
	Bytes   [][]byte
	Descs   []*TensorDesc
	Tensors []*TensorDef
	Graphs  []*GraphDef
	Funcs   []*NamedAttrs
	DTypes  []int64
	Type    int64
}

// Types of a List.
const (
	listString = 1
	listInt    = 2
	listFloat  = 3
	listBool   = 4
)

// KV is a named attribute.
type KV struct {
	Key string
	Attr
}

// Attrs are attributes in the order of the file.
type Attrs []KV

// Get finds an attribute; nil where there is none.
func (a Attrs) Get(key string) *Attr {
	for i := range a {
		if a[i].Key == key {
			return &a[i].Attr
		}
	}
	return nil
}

// Has says whether the attribute is there.
func (a Attrs) Has(key string) bool { return a.Get(key) != nil }

// Str is a string attribute, or "".
func (a Attrs) Str(key string) string {
	if x := a.Get(key); x != nil && (x.Kind == AttrString || x.Kind == AttrBytes) {
		return string(x.Data)
	}
	return ""
}

// Int is an integer, boolean or type attribute; def where it is missing. An attribute without a member is 0.
func (a Attrs) Int(key string, def int64) int64 {
	if x := a.Get(key); x != nil {
		switch x.Kind {
		case AttrInt, AttrBool, AttrDType, AttrNone:
			return x.Int
		}
	}
	return def
}

// Bool is Int as a truth value.
func (a Attrs) Bool(key string, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	return a.Int(key, d) != 0
}

// Float is a float attribute; def where it is missing. An attribute without a member is 0.
func (a Attrs) Float(key string, def float32) float32 {
	if x := a.Get(key); x != nil && (x.Kind == AttrFloat || x.Kind == AttrNone) {
		return x.F
	}
	return def
}

// Ints is a list of integers; nil where it is missing. A single integer is a list of one.
func (a Attrs) Ints(key string) []int64 {
	x := a.Get(key)
	switch {
	case x == nil:
	case x.Kind == AttrList && x.List != nil:
		return x.List.Ints
	case x.Kind == AttrInt:
		return []int64{x.Int}
	}
	return nil
}

// Strs is a list of strings; a single one is a list of one.
func (a Attrs) Strs(key string) []string {
	x := a.Get(key)
	switch {
	case x == nil:
	case x.Kind == AttrList && x.List != nil:
		out := make([]string, len(x.List.Strings))
		for i, s := range x.List.Strings {
			out[i] = string(s)
		}
		return out
	case x.Kind == AttrString:
		return []string{string(x.Data)}
	}
	return nil
}

// add appends an attribute; the set functions are for writing.
func (a *Attrs) add(key string, v Attr) { *a = append(*a, KV{key, v}) }

func (a *Attrs) setStr(key, v string) { a.add(key, Attr{Kind: AttrString, Data: []byte(v)}) }

func (a *Attrs) setInt(key string, v int64) { a.add(key, Attr{Kind: AttrInt, Int: v}) }

func (a *Attrs) setBool(key string, v bool) {
	x := Attr{Kind: AttrBool}
	if v {
		x.Int = 1
	}
	a.add(key, x)
}

func (a *Attrs) setFloat(key string, v float32) { a.add(key, Attr{Kind: AttrFloat, F: v}) }

func (a *Attrs) setInts(key string, v []int64) {
	a.add(key, Attr{Kind: AttrList, List: &List{Ints: v, Type: listInt}})
}

func (a *Attrs) setFloats(key string, v []float32) {
	a.add(key, Attr{Kind: AttrList, List: &List{Floats: v, Type: listFloat}})
}

func (a *Attrs) setStrs(key string, v []string) {
	l := &List{Type: listString}
	for _, s := range v {
		l.Strings = append(l.Strings, []byte(s))
	}
	a.add(key, Attr{Kind: AttrList, List: l})
}
