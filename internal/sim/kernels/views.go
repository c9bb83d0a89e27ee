package kernels

import (
	"fmt"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// viewOps give the first operand another shape; the kernel, for where a view does not do, is a copy.
func viewOps() map[string]*Op {
	return map[string]*Op{
		"Identity":  view(define(inferIdentity, buildCopy("Identity"))),
		"Reshape":   view(define(inferReshape, buildCopy("Reshape"))),
		"Flatten":   view(define(inferFlatten, buildCopy("Flatten"))),
		"Squeeze":   view(define(inferSqueeze, buildCopy("Squeeze"))),
		"Unsqueeze": view(define(inferUnsqueeze, buildCopy("Unsqueeze"))),
		"Dropout":   define(inferDropout, buildDropout),
	}
}

func view(o *Op) *Op {
	o.View = true
	return o
}

// buildCopy makes the kernel that copies operand 0.
func buildCopy(ge string) builder {
	return func(s *Spec) (*Kernel, error) {
		n := s.Out[0].bytes()
		if m := s.In[0].bytes(); m != n {
			return nil, fmt.Errorf("from shape %v to %v", s.In[0].Shape, s.Out[0].Shape)
		}
		return s.kernel(ge, cost.AIV, 1, []int{0}, copyAll(0, n)), nil
	}
}

func inferIdentity(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func inferReshape(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	want, there, known, err := s.listOrInput("shape", 1)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("no target shape")
	case !known:
		rank, err := s.In[1].length()
		if err != nil {
			return err
		}
		if rank < 0 || rank > maxRank {
			return fmt.Errorf("target shape of length %d: %w", rank, ErrNotKnown)
		}
		return s.results(Desc{DType: s.In[0].DType, Shape: unknown(rank)})
	}
	out, err := reshape(s.In[0].Shape, want, s.Attrs.Int("allowzero", 0) != 0)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

// reshape resolves 0 (the input's dimension) and -1 (what is left) in a target shape.
func reshape(in tensor.Shape, want []int, allowZero bool) (tensor.Shape, error) {
	out := make(tensor.Shape, len(want))
	free, rest := -1, tensor.Shape{}
	unsure := false
	for i, d := range want {
		switch {
		case d == -1 && free >= 0:
			return nil, fmt.Errorf("target %v has more than one -1", want)
		case d == -1:
			free = i
			continue
		case d < -1:
			return nil, fmt.Errorf("target %v has dimension %d", want, d)
		case d == 0 && !allowZero:
			if i >= len(in) {
				return nil, fmt.Errorf("target %v has 0 at %d, beyond the input's rank %d", want, i, len(in))
			}
			d = in[i]
		}
		out[i] = d
		unsure = unsure || d < 0
		rest = append(rest, d)
	}
	if unsure || !in.Static() {
		if free >= 0 {
			out[free] = freeDim(in, rest)
		}
		return out, nil
	}
	total, err := in.Elements()
	if err != nil {
		return nil, err
	}
	n, err := rest.Elements()
	if err != nil {
		return nil, err
	}
	if free >= 0 {
		if n == 0 || total%n != 0 {
			return nil, fmt.Errorf("%v (%d elements) does not divide into %v", in, total, want)
		}
		out[free] = total / n
		n *= out[free]
	}
	if n != total {
		return nil, fmt.Errorf("%v has %d elements, %v has %d", in, total, want, n)
	}
	return out, nil
}

// freeDim solves the -1 of a target where both sides have unknown dimensions that stay in place: they cancel.
func freeDim(in, rest tensor.Shape) int {
	known := func(s tensor.Shape) (n, open int) {
		n = 1
		for _, d := range s {
			if d < 0 {
				open++
			} else if d < maxDim && n < maxDim {
				n *= d
			}
		}
		return n, open
	}
	a, openA := known(in)
	b, openB := known(rest)
	if openA == openB && b > 0 && a%b == 0 {
		return a / b
	}
	return -1
}

func inferFlatten(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	in := s.In[0].Shape
	at := s.Attrs.Int("axis", 1)
	if at != len(in) {
		var err error
		if at, err = axis(at, len(in)); err != nil {
			if len(in) == 0 && s.Attrs.Int("axis", 1) == 1 {
				at = 0
			} else {
				return err
			}
		}
	}
	rows, err := product(in[:at])
	if err != nil {
		return err
	}
	cols, err := product(in[at:])
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: tensor.Shape{rows, cols}})
}

// product is the number of elements, or -1 where that is not known.
func product(s tensor.Shape) (int, error) {
	if !s.Static() {
		return -1, nil
	}
	return s.Elements()
}

func inferSqueeze(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	in := s.In[0].Shape
	axes, there, known, err := s.listOrInput("axes", 1)
	if err != nil {
		return err
	}
	var out tensor.Shape
	switch {
	case !known:
		n, err := s.In[1].length()
		if err != nil || n < 0 || n > len(in) {
			return fmt.Errorf("axes: %w", ErrNotKnown)
		}
		out = unknown(len(in) - n)
	case !there:
		if !in.Static() {
			return fmt.Errorf("no axes given and shape %v has unknown dimensions: %w", in, ErrNotKnown)
		}
		out = slices.DeleteFunc(in.Clone(), func(d int) bool { return d == 1 })
	default:
		drop, err := axisSet(axes, len(in))
		if err != nil {
			return err
		}
		out = tensor.Shape{}
		for i, d := range in {
			if !drop[i] {
				out = append(out, d)
			} else if d > 1 || d == 0 {
				return fmt.Errorf("axis %d of %v is not 1", i, in)
			}
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func inferUnsqueeze(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	in := s.In[0].Shape
	axes, there, known, err := s.listOrInput("axes", 1)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("no axes")
	case !known:
		n, err := s.In[1].length()
		if err != nil || n < 0 || n > maxRank {
			return fmt.Errorf("axes: %w", ErrNotKnown)
		}
		return s.results(Desc{DType: s.In[0].DType, Shape: unknown(len(in) + n)})
	}
	set, err := axisSet(axes, len(in)+len(axes))
	if err != nil {
		return err
	}
	out := make(tensor.Shape, len(set))
	for i, fresh := range set {
		if fresh {
			out[i] = 1
		} else {
			out[i], in = in[0], in[1:]
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func inferDropout(s *Spec) error {
	if err := s.operands(1, 3); err != nil {
		return err
	}
	if _, err := wholeBytes(s.In[0].DType); err != nil {
		return err
	}
	mask := tensor.Bool
	if s.Opset < 10 {
		mask = s.In[0].DType
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape}, Desc{DType: mask, Shape: s.In[0].Shape})
}

// buildDropout copies and fills the mask with ones. Training with a ratio above 0 is random and not computed.
func buildDropout(s *Spec) (*Kernel, error) {
	if mode := s.Input(2); !mode.Absent() && mode.Const == nil {
		return nil, fmt.Errorf("training_mode: %w", ErrNotKnown)
	} else if !mode.Absent() && !isZero(mode) {
		ratio := s.Input(1)
		if ratio.Const == nil || !isZero(ratio) {
			return nil, fmt.Errorf("training mode: %w", ErrUnsupported)
		}
	}
	copied := copyAll(0, s.Out[0].bytes())
	size := 0
	var one []byte
	if len(s.Out) > 1 {
		size = s.Out[1].bytes()
		one = make([]byte, s.Out[1].DType.Size())
		if s.Out[1].DType == tensor.Bool {
			one[0] = 1
		} else {
			storeFloat(s.Out[1].DType, one, 0, []float64{1}, true)
		}
	}
	return s.kernel("Dropout", cost.AIV, 1, []int{0}, func(x *Exec) error {
		if x.wanted(1) {
			repeat(x.Out[1][:size], one)
		}
		return copied(x)
	}), nil
}

// isZero says whether the first element of a constant is zero.
func isZero(d Desc) bool {
	return !slices.ContainsFunc(d.Const.Data, func(b byte) bool { return b != 0 })
}

// repeat fills memory with a pattern by doubling what is there.
func repeat(dst, pattern []byte) {
	for n := copy(dst, pattern); n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
