// Package work says what a kernel does to its operands, by the rules of its class of operators: what it reads and writes,
// how many elements go through the vector unit, in how many pieces. It is one rule for kernels that are simulated and for
// kernels that were measured, so that constants fitted to the ones hold for the others. It knows shapes, not values.
package work

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// Operand is one tensor of a kernel: the shape is that of the storage format.
type Operand struct {
	Shape  tensor.Shape
	DType  tensor.DType
	Format string // without FORMAT_
	Count  int64  // elements; 1 for a scalar and for an operand that is left out
	Bytes  int64
}

// Most is where counts of elements and bytes are refused.
const Most = 1 << 46

// Of is what a kernel of that type does to operands of these shapes, by the rules of its class. Values of inputs
// (permutations, offsets) are not in the files: where they matter the shapes have to tell.
func Of(typ string, in, out []Operand) (cost.Work, error) {
	op := cost.LookupOperator(typ)
	o := operation{in: in, out: out, name: cost.Canonical(typ), w: cost.Work{Type: typ}}
	o.w.VectorType = o.vectorType()
	bytesIn, bytesOut := total(in), total(out)
	o.w.ReadBytes, o.w.WriteBytes = bytesIn, bytesOut
	o.w.Elements = max(largest(in).Count, largest(out).Count)
	switch op.Class {
	case cost.Matmul:
		if err := o.matmul(); err != nil {
			return cost.Work{}, err
		}
	case cost.Convolution:
		if err := o.convolution(); err != nil {
			return cost.Work{}, err
		}
	case cost.Attention:
		if err := o.attention(); err != nil {
			return cost.Work{}, err
		}
	case cost.Fill, cost.Random:
		o.w.ReadBytes = 0
		o.w.Elements = largest(out).Count
	case cost.Optimizer:
		if len(out) == 0 { // updated in place: all but the gradient
			o.w.WriteBytes = bytesIn - largest(in).Bytes
		}
	case cost.Normalisation, cost.Softmax, cost.Reduction:
		o.w.Elements = max(first(in).Count, 1)
	case cost.Cut:
		o.w.ReadBytes = bytesOut
		o.w.Elements = largest(out).Count
		o.w.Runs = o.pieces(first(in), out)
	case cost.Join:
		o.w.Runs = o.pieces(first(out), in)
	case cost.Transposition:
		o.w.Runs = moved(first(in), first(out))
	case cost.Gather:
		o.w.ReadBytes = bytesOut + bytesIn - first(in).Bytes
		o.w.Elements = largest(out).Count
		o.w.Runs = rows(first(in), first(out))
	case cost.Scatter:
		o.scatter()
	case cost.Sort:
		o.w.Elements *= int64(math.Ceil(math.Log2(float64(max(o.w.Elements, 2)))))
	default:
		o.w.Runs = o.rowsOfBroadcast()
	}
	switch op.Class {
	case cost.Elementwise, cost.Reduction, cost.Optimizer, cost.Fill, cost.Other:
		o.w.Cold = o.name != "TensorMove" && (flat(in) > 0 || flat(out) > 0)
	}
	if len(in)+len(out) == 0 || o.w.ReadBytes+o.w.WriteBytes == 0 {
		return cost.Work{}, fmt.Errorf("operands without a size")
	}
	if o.w.VectorOps == 0 {
		o.w.VectorOps = o.w.Elements * op.Instr
	}
	return o.w, nil
}

// operation is a kernel whose work is being worked out.
type operation struct {
	name    string
	in, out []Operand
	w       cost.Work
}

func total(list []Operand) (bytes int64) {
	for _, o := range list {
		bytes += o.Bytes
	}
	return min(bytes, Most)
}

// flat is the bytes of long vectors. Frameworks keep parameters, gradients and optimizer states so; what lies between
// two visits to them is more than L2 holds.
func flat(list []Operand) (bytes int64) {
	for _, o := range list {
		if len(o.Shape) == 1 && o.Count >= 1<<17 {
			bytes += o.Bytes
		}
	}
	return bytes
}

func first(list []Operand) Operand {
	if len(list) == 0 {
		return Operand{}
	}
	return list[0]
}

func largest(list []Operand) (big Operand) {
	for _, o := range list {
		if o.Count > big.Count && o.Bytes > 0 {
			big = o
		}
	}
	return big
}

// vectorType is the widest type among the largest operands: casts are done where the wider one is.
func (o *operation) vectorType() tensor.DType {
	var t tensor.DType
	n := max(largest(o.in).Count, largest(o.out).Count)
	for _, list := range [2][]Operand{o.in, o.out} {
		for _, x := range list {
			if x.Count*2 >= n && x.DType.Bits() > t.Bits() {
				t = x.DType
			}
		}
	}
	return t
}

// pieces is in how many contiguous pieces the parts lie in the whole (slices, concatenation): a piece spans the
// dimensions that part and whole share at the end, and the one where they differ.
func (o *operation) pieces(whole Operand, parts []Operand) int64 {
	var n int64
	for _, p := range parts {
		if p.Bytes == 0 || len(p.Shape) == 0 {
			continue
		}
		run := int64(1)
		for i := 1; i <= min(len(p.Shape), len(whole.Shape)); i++ {
			a, b := p.Shape[len(p.Shape)-i], whole.Shape[len(whole.Shape)-i]
			run *= int64(max(a, 1))
			if a != b {
				break
			}
		}
		n += max(p.Count/max(run, 1), 1)
	}
	if n <= int64(len(parts)) {
		return 0
	}
	return n
}

// moved is in how many pieces a transposition moves its data: dimensions at the end that stay where they are move
// together; where the last one moves, whole rows of the input are read and turned in the vector unit.
func moved(in, out Operand) int64 {
	keep := int64(1)
	for i := 1; i <= min(len(in.Shape), len(out.Shape)); i++ {
		d := in.Shape[len(in.Shape)-i]
		if d != out.Shape[len(out.Shape)-i] {
			break
		}
		keep *= int64(max(d, 1))
	}
	if keep == in.Count || in.Count == 0 {
		return 0
	}
	if keep == 1 && len(in.Shape) > 0 {
		keep = int64(in.Shape[len(in.Shape)-1])
	}
	return in.Count / max(keep, 1)
}

// rows is how many rows of a table a gather fetches.
func rows(table, out Operand) int64 {
	if len(table.Shape) == 0 || table.Shape[0] == 0 {
		return 0
	}
	row := table.Count / int64(table.Shape[0])
	if out.Count < row || row == 0 {
		return out.Count
	}
	return out.Count / row
}

// scatter: the rows are read, and the places where they go are read and written; the table as a whole is not touched.
func (o *operation) scatter() {
	big, bytes := largest(append(o.in[:len(o.in):len(o.in)], o.out...)), total(o.in)
	rows := Operand{}
	for _, x := range o.in {
		if x.Count < big.Count && x.Bytes > rows.Bytes {
			rows = x
		}
	}
	if rows.Bytes == 0 {
		return
	}
	if first(o.in).Count == big.Count {
		bytes -= first(o.in).Bytes
	}
	o.w.ReadBytes, o.w.WriteBytes, o.w.Elements = bytes+rows.Bytes, rows.Bytes, rows.Count
	if n := len(rows.Shape); n > 1 {
		o.w.Runs = rows.Count / int64(max(rows.Shape[n-1], 1))
	}
}

// rowsOfBroadcast is the number of rows when an input is stretched along a short last dimension: each row is then
// handled on its own.
func (o *operation) rowsOfBroadcast() int64 {
	out := first(o.out)
	if len(out.Shape) < 2 || out.Count == 0 {
		return 0
	}
	last := out.Shape[len(out.Shape)-1]
	for _, x := range o.in {
		n := len(x.Shape)
		if n >= 2 && x.Count > 1 && x.Shape[n-1] == 1 && last > 1 {
			return out.Count / int64(last)
		}
	}
	return 0
}
