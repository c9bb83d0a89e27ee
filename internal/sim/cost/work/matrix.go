package work

import (
	"errors"
	"slices"
	"strings"

	"npu/internal/tensor"
)

var errMatrix = errors.New("shapes from which no matrix product can be told")

// matrix is an operand as batch × rows × columns, whatever its storage format.
type matrix struct{ batch, rows, cols int64 }

func (o *Operand) matrix() (m matrix, ok bool) {
	s := o.Shape
	n := len(s)
	m.batch = 1
	switch {
	case o.Format == "FRACTAL_NZ" && n >= 4: // ..., columns/C0, rows/16, 16, C0
		m.rows, m.cols = int64(s[n-3])*int64(s[n-2]), int64(s[n-4])*int64(s[n-1])
		s = s[:n-4]
	case n >= 2:
		m.rows, m.cols = int64(s[n-2]), int64(s[n-1])
		s = s[:n-2]
	case n == 1:
		m.rows, m.cols = 1, int64(s[0])
		return m, m.cols > 0
	default:
		return m, false
	}
	for _, d := range s {
		m.batch = m.batch * int64(d)
	}
	return m, m.batch > 0 && m.rows > 0 && m.cols > 0
}

// matmul finds M, K and N from the first two inputs and the output, and which operand is transposed.
func (o *operation) matmul() error {
	if len(o.in) < 2 || len(o.out) < 1 {
		return errMatrix
	}
	a, okA := o.in[0].matrix()
	b, okB := o.in[1].matrix()
	c, okC := o.out[0].matrix()
	if !okA || !okB || !okC {
		return errMatrix
	}
	if b.batch == 1 && a.batch > 1 { // one right-hand side for all: the rows of all are one matrix
		a.rows, a.batch = a.rows*a.batch, 1
		c.rows, c.batch = c.rows*c.batch, 1
	}
	batch := max(a.batch, b.batch, c.batch)
	w := &o.w
	w.M, w.N, w.Batch = c.rows, c.cols, batch
	// Fractal formats pad, so that sizes agree only up to a block.
	padded := slices.ContainsFunc([]Operand{o.in[0], o.in[1], o.out[0]}, func(x Operand) bool { return x.Format == "FRACTAL_NZ" })
	same := func(x, y int64) bool { return x == y || padded && (x+31)/32 == (y+31)/32 }
	switch {
	case same(a.rows, c.rows) && same(b.rows, a.cols) && same(b.cols, c.cols):
		w.K = a.cols
	case same(a.rows, c.rows) && same(b.cols, a.cols) && same(b.rows, c.cols):
		w.K, w.TransB = a.cols, true
	case same(a.cols, c.rows) && same(b.rows, a.rows) && same(b.cols, c.cols):
		w.K, w.TransA = a.rows, true
	case same(a.cols, c.rows) && same(b.cols, a.rows) && same(b.rows, c.cols):
		w.K, w.TransA, w.TransB = a.rows, true, true
	default: // grouped or packed operands: what is certain is the count of the first
		if w.M = max(w.M, 1); a.batch*a.rows*a.cols%w.M != 0 {
			return errMatrix
		}
		w.Batch, w.K = 1, a.batch*a.rows*a.cols/w.M
	}
	w.MacType = o.in[0].DType
	if strings.HasPrefix(o.name, "WeightQuant") {
		w.MacType = tensor.Float16 // the weights are widened first
	}
	w.Elements = o.out[0].Count
	w.VectorOps = 0
	return nil
}

// image is the storage of a feature map: positions and channels.
func (o *Operand) image() (positions, channels int64, ok bool) {
	s := o.Shape
	switch {
	case o.Format == "NC1HWC0" && len(s) == 5:
		return int64(s[0]) * int64(s[2]) * int64(s[3]), int64(s[1]) * int64(s[4]), true
	case o.Format == "NDC1HWC0" && len(s) == 6:
		return int64(s[0]) * int64(s[1]) * int64(s[3]) * int64(s[4]), int64(s[2]) * int64(s[5]), true
	case (o.Format == "NHWC" || o.Format == "NDHWC") && len(s) >= 3:
		c := int64(max(s[len(s)-1], 1))
		return o.Count / c, c, true
	case len(s) >= 3: // NCHW, NCDHW, ND
		c := int64(max(s[1], 1))
		return o.Count / c, c, true
	}
	return 0, 0, false
}

// filter says whether the operand is stored as weights of a convolution.
func (o *Operand) filter() bool {
	return strings.HasPrefix(o.Format, "FRACTAL_Z") || o.Format == "HWCN"
}

// convolution is an implicit matrix product. For all three passes the multiplications are those of the gradient's, or
// output's, positions times the weights.
func (o *operation) convolution() error {
	if len(o.in) < 2 || len(o.out) < 1 {
		return errMatrix
	}
	x, weights, y := o.in[0], o.in[1], o.out[0]
	depthwise := strings.HasPrefix(o.name, "Depthwise")
	back := strings.Contains(o.name, "Backprop")
	switch {
	case back && strings.HasSuffix(o.name, "Filter"): // x, [size,] gradient → weights
		weights, y = o.out[0], lastImage(o.in)
	case back || strings.Contains(o.name, "Transpose") || o.name == "Deconvolution": // [size,] weights and gradient → x
		y, weights = imageOf(o.in), filterOf(o.in)
		x = o.out[0]
	}
	positions, channels, ok := y.image()
	if !ok || channels == 0 || weights.Count == 0 || positions == 0 {
		return errMatrix
	}
	_, in, ok := x.image()
	if !ok {
		return errMatrix
	}
	w := &o.w
	w.MacType, w.Batch = x.DType, 1
	taps := max(weights.Count/channels, 1) // input channels × taps of one output channel
	w.M, w.N, w.K = positions, channels, taps
	if depthwise { // the cube multiplies each channel with a block that is empty but for the diagonal
		w.K = max(weights.Count/max(in, 1), 1)
	}
	switch {
	case back && strings.HasSuffix(o.name, "Filter"):
		w.M, w.K = w.K, w.M
		w.TransA = true
	case back:
		w.N, w.K = w.K, w.N
	}
	w.VectorOps, w.Elements = 0, o.out[0].Count
	return nil
}

func lastImage(list []Operand) Operand {
	for i := len(list) - 1; i >= 0; i-- {
		if len(list[i].Shape) >= 3 && !list[i].filter() {
			return list[i]
		}
	}
	return Operand{}
}

// imageOf and filterOf tell gradient and weights of a backward pass apart: by format, else the weights come first.
func imageOf(list []Operand) Operand { return lastImage(list) }

func filterOf(list []Operand) Operand {
	for _, x := range list {
		if x.filter() {
			return x
		}
	}
	for _, x := range list {
		if len(x.Shape) >= 3 {
			return x
		}
	}
	return Operand{}
}

// attention is two matrix products with a softmax between: queries by keys, and that by values. Over all heads the
// multiplications do not depend on their number.
func (o *operation) attention() error {
	if len(o.in) < 3 || len(o.in[0].Shape) < 3 || len(o.in[1].Shape) < 3 {
		return errMatrix
	}
	batch, queries, hidden := sequence(o.in[0])
	_, keys, _ := sequence(o.in[1])
	for _, x := range append(o.out[:len(o.out):len(o.out)], o.in...) { // batch, heads, queries, 8: the row maxima
		if n := len(x.Shape); n == 4 && x.Shape[3] == 8 && x.DType == tensor.Float32 {
			batch, queries = int64(x.Shape[0]), int64(x.Shape[2])
			hidden = o.in[0].Count / max(batch*queries, 1)
			keys = o.in[1].Count / max(batch*lastDim(o.in[1]), 1)
			break
		}
	}
	w := &o.w
	products := int64(2)
	if strings.HasSuffix(o.name, "Grad") {
		products = 5
	}
	w.M, w.N, w.K, w.Batch = queries, keys, products*hidden, batch
	for _, x := range o.in { // a mask of whole sequences is a causal one: half of the blocks are left out
		n := len(x.Shape)
		if (x.DType == tensor.Bool || x.DType == tensor.Uint8) && n >= 2 && x.Shape[n-1] > 1 && x.Shape[n-2] == x.Shape[n-1] {
			w.N = (keys + 1) / 2
		}
	}
	w.MacType, w.VectorOps, w.Elements = o.in[0].DType, 0, o.in[0].Count
	return nil
}

// sequence guesses batch, length and hidden size from a shape without named dimensions.
func sequence(x Operand) (batch, length, hidden int64) {
	s := x.Shape
	switch len(s) {
	case 3: // batch and length in either order before the hidden size; or tokens, heads, head size
		return int64(min(s[0], s[1])), int64(max(s[0], s[1])), int64(s[2])
	default: // batch, then heads and length in either order, head size
		return int64(s[0]), int64(max(s[1], s[2])), int64(min(s[1], s[2])) * int64(s[3])
	}
}

// lastDim is the hidden size of keys that may have fewer heads than the queries.
func lastDim(x Operand) int64 {
	if len(x.Shape) == 3 {
		return int64(max(x.Shape[2], 1))
	}
	_, _, h := sequence(x)
	return max(h, 1)
}
