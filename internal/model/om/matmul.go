package om

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// product is one way to read a matrix product: the operands in order, each transposed or not.
type product struct {
	a, b         int
	transA, tran bool
}

// matmul is the product of inputs 0 and 1 plus the bias at input 2, in logical order. Flags of fused kernels are lost;
// then the shapes decide.
func (x *kernelOp) matmul(fused bool) *graph.Value {
	v := [2]*graph.Value{x.origin(0), x.origin(1)}
	dims, ok := x.o.Out[0].originShape()
	if x.err != nil {
		return v[0]
	}
	if len(v[0].Shape) < 2 || len(v[1].Shape) < 2 || !ok {
		return x.bad(x.errorf("product of %v and %v", v[0].Shape, v[1].Shape))
	}
	want := product{a: 0, b: 1, transA: x.flag("transpose_x1", "adj_x1", "transpose_a"), tran: x.flag("transpose_x2", "adj_x2", "transpose_b")}
	if fused {
		var err error
		if want, err = x.products(v, shapeOf(dims), want); err != nil {
			return x.bad(err)
		}
	}
	attrs := kernels.Attrs{"transA": bit(want.transA), "transB": bit(want.tran)}
	in := []*graph.Value{v[want.a], v[want.b]}
	if x.connected(2) && !fused || fused && x.connected(2) && x.isBias(2, shapeOf(dims)) {
		b := x.origin(2)
		in = append(in, x.reshape(b, tensor.Shape{b.Shape.Count()}))
	}
	return x.oneType("FusedMatMul", attrs, x.o.Out[0], in...)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (x *kernelOp) flag(names ...string) bool {
	for _, n := range names {
		if x.o.Attrs.Has(n) {
			return x.o.Attrs.Bool(n, false)
		}
	}
	return false
}

// isBias says that an input is a vector along the columns.
func (x *kernelOp) isBias(i int, out tensor.Shape) bool {
	v := x.s.input(x.o, i).v
	return v != nil && len(out) > 0 && v.Shape.Count() == out[len(out)-1] && len(v.Shape) <= 1
}

// products finds the reading that gives the output's shape. The stored flags come first, then transpositions, then the
// operands in the other order. More than one, and the file's other products, decide between transposed weights.
func (x *kernelOp) products(v [2]*graph.Value, out tensor.Shape, stored product) (product, error) {
	var fit []product
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		for _, t := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			p := product{order[0], order[1], t[0], t[1]}
			if p.fits(v[p.a].Shape, v[p.b].Shape, out) {
				fit = append(fit, p)
			}
		}
	}
	var straight []product
	for _, p := range fit {
		if p.a == 0 {
			straight = append(straight, p)
		}
	}
	if len(straight) > 0 {
		fit = straight // swapped operands only where nothing else fits
	}
	switch {
	case len(fit) == 0:
		return stored, fmt.Errorf("no product of %v and %v has shape %v", v[0].Shape, v[1].Shape, out)
	case len(fit) == 1:
		if p := fit[0]; p.a == 0 && !p.transA && v[1].Const != nil {
			x.b.trans = &p.tran
		}
		if fit[0] != stored {
			x.note("transposition inferred from the shapes (%v and %v give %v)", v[0].Shape, v[1].Shape, out)
		}
		return fit[0], nil
	}
	// A square matrix fits both ways. Weights follow the file's other products, or the habit of their framework.
	if v[1].Const != nil {
		tran := !x.tensorFlow() && x.connected(2)
		from := "the usual form of its framework"
		if x.b.trans != nil {
			tran, from = *x.b.trans, "the other products of the file"
		}
		for _, p := range fit {
			if p.a == 0 && !p.transA && p.tran == tran {
				x.note("square weights taken as transposed: %t, from %s", tran, from)
				return p, nil
			}
		}
	}
	for _, p := range fit {
		if p == stored && v[0].Const == nil && v[1].Const == nil {
			x.note("square operands: flags as stored, though the compiler resets them in fused kernels")
			return p, nil
		}
	}
	return stored, fmt.Errorf("square operands of shape %v and %v: which one is transposed is not stored", v[0].Shape, v[1].Shape)
}

func (p product) fits(a, b, out tensor.Shape) bool {
	m, k := ends(a, p.transA)
	k2, n := ends(b, p.tran)
	if k != k2 || len(out) < 2 || out[len(out)-2] != m || out[len(out)-1] != n {
		return false
	}
	batch, err := tensor.Broadcast(a[:len(a)-2], b[:len(b)-2])
	return err == nil && batch.Count() == out[:len(out)-2].Count()
}

func ends(s tensor.Shape, trans bool) (rows, cols int) {
	rows, cols = s[len(s)-2], s[len(s)-1]
	if trans {
		return cols, rows
	}
	return rows, cols
}

// fullyConnection is x as a matrix from an axis on, times the weights, which are kept as num_output rows unless the
// shapes say otherwise. The result has the order of the output.
func (x *kernelOp) fullyConnection() *graph.Value {
	v, w := x.in(0), x.in(1)
	d := x.o.Out[0]
	dims, ok := d.dims()
	if x.err != nil {
		return v
	}
	axis := int(x.o.Attrs.Int("axis", 1))
	if axis < 0 || axis > len(v.Shape) || !ok {
		return x.bad(x.errorf("axis %d of shape %v", axis, v.Shape))
	}
	rows := v.Shape[:axis].Count()
	k := v.Shape[axis:].Count()
	total := shapeOf(dims).Count()
	if rows == 0 || total%rows != 0 {
		return x.bad(x.errorf("%v does not make %v", v.Shape, dims))
	}
	n := total / rows
	if w.Shape.Count() != n*k {
		return x.bad(x.errorf("weights of shape %v for %d times %d", w.Shape, n, k))
	}
	trans, flat := int64(1), tensor.Shape{n, k}
	if len(w.Shape) == 2 && w.Shape[0] == k && w.Shape[1] == n && (n != k || x.o.Attrs.Bool("transpose", false)) {
		trans, flat = 0, tensor.Shape{k, n}
	}
	in := []*graph.Value{x.reshape(v, tensor.Shape{rows, k}), x.reshape(w, flat)}
	if x.connected(2) && len(x.o.Inputs) > 2 {
		b := x.in(2)
		if b.Shape.Count() != n {
			return x.bad(x.errorf("bias of shape %v for %d outputs", b.Shape, n))
		}
		in = append(in, x.reshape(b, tensor.Shape{n}))
	}
	y := x.oneType("FusedMatMul", kernels.Attrs{"transB": trans}, d, in...)
	return x.reshape(y, shapeOf(dims))
}
