package cost

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed operators.tsv
var operatorsTSV string

// Class is what operator types of one kind have in common: what they read and write, and the constants that hold for a
// type that was never measured.
type Class string

// Classes of operators. The comments say which bytes count.
const (
	Elementwise   Class = "elementwise"   // every operand once
	Fill          Class = "fill"          // outputs only
	Broadcast     Class = "broadcast"     // every operand once
	Reduction     Class = "reduction"     // every operand once, elements of the input
	Normalisation Class = "normalisation" // every operand once, elements of the first input
	Softmax       Class = "softmax"       // the same
	Optimizer     Class = "optimizer"     // every operand once; the updated inputs are written back
	Cut           Class = "cut"           // outputs twice: slices, splits
	Join          Class = "join"          // every operand once: concatenation, padding
	Transposition Class = "transposition" // every operand once
	Gather        Class = "gather"        // the gathered rows and the indices
	Scatter       Class = "scatter"       // the rows are read, and their places read and written
	Sort          Class = "sort"          // every operand once
	Pooling       Class = "pooling"       // every operand once
	Random        Class = "random"        // outputs only, on the DSA unit
	Matmul        Class = "matmul"
	Convolution   Class = "convolution"
	Attention     Class = "attention"
	Communication Class = "communication" // waits for other devices: not modelled here
	Other         Class = "other"         // treated as element-wise
)

// Operator is what the table says of an operator type.
type Operator struct {
	Class Class
	Instr int64 // vector instructions an element needs, assumed
}

var operators = sync.OnceValue(func() map[string]Operator {
	m, err := parseOperators(operatorsTSV)
	if err != nil {
		panic("cost: operators.tsv: " + err.Error()) // the embedded table is broken: no input can cause this
	}
	return m
})

func parseOperators(table string) (map[string]Operator, error) {
	m := map[string]Operator{}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("%q: expected class, instructions, types", line)
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 1 || f[0] == "" {
			return nil, fmt.Errorf("%q: instructions are no positive number", line)
		}
		for t := range strings.FieldsSeq(f[2]) {
			if _, twice := m[t]; twice {
				return nil, fmt.Errorf("%s is there twice", t)
			}
			m[t] = Operator{Class(f[0]), n}
		}
	}
	return m, nil
}

// Canonical is a type's name without what only tells implementations of one operator apart: a version (MatMulV3) and
// the D of types whose attributes are no inputs (ReduceSumD).
func Canonical(typ string) string {
	m := operators()
	for s := typ; ; {
		if _, ok := m[s]; ok {
			return s
		}
		cut := strings.TrimRight(s, "0123456789")
		switch {
		case len(cut) < len(s) && strings.HasSuffix(cut, "V") && len(cut) > 1:
			s = cut[:len(cut)-1]
		case strings.HasSuffix(s, "D") && len(s) > 1:
			s = s[:len(s)-1]
		case s != typ && len(s) > 0:
			return s
		default:
			return typ
		}
	}
}

// LookupOperator finds what is known of an operator type, by its canonical name.
func LookupOperator(typ string) Operator {
	if o, ok := operators()[Canonical(typ)]; ok {
		return o
	}
	if strings.HasPrefix(typ, "hcom_") || strings.HasPrefix(typ, "Hcom") || strings.HasPrefix(typ, "hccl") {
		return Operator{Communication, 1}
	}
	return Operator{Other, 2}
}
