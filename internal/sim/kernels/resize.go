package kernels

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/tensor"
)

func resizeOps() map[string]*Op {
	return map[string]*Op{
		"Resize":   define(inferResize, buildResize),
		"Upsample": define(inferResize, buildResize),
	}
}

// maxResized bounds an output dimension: each has a table of taps.
const maxResized = 1 << 22

// resizing is a Resize as its attributes and constant operands say; lists have one entry a dimension.
type resizing struct {
	mode         string // nearest, linear, cubic
	coordinates  string
	nearest      string
	cubicA       float64
	excludeOut   bool
	antialias    bool
	extrapolate  float32
	in           tensor.Shape
	out          tensor.Shape // -1: not known
	scale        []float32
	begin, end   []float32 // region of interest
	known        bool      // scales or sizes are known
	simpleRounds bool      // opset 10 and Upsample: up when it shrinks, down when it grows
}

func readResize(s *Spec) (*resizing, error) {
	if err := s.operands(1, 4); err != nil {
		return nil, err
	}
	in := s.In[0].Shape
	at := s.Attrs
	z := &resizing{in: in, out: in.Clone(), mode: at.Str("mode", "nearest"), coordinates: at.Str("coordinate_transformation_mode", "half_pixel"),
		nearest: at.Str("nearest_mode", "round_prefer_floor"), cubicA: float64(at.Float("cubic_coeff_a", -0.75)),
		excludeOut: at.Int("exclude_outside", 0) != 0, antialias: at.Int("antialias", 0) != 0, extrapolate: at.Float("extrapolation_value", 0)}
	z.scale, z.begin, z.end = make([]float32, len(in)), make([]float32, len(in)), make([]float32, len(in))
	for i := range in {
		z.scale[i], z.end[i] = 1, 1
	}
	if z.mode == "bilinear" || z.mode == "trilinear" {
		z.mode = "linear"
	}
	scales, sizes, roi := 2, 3, 1
	if s.Op == "Upsample" || s.Opset < 11 {
		z.coordinates, z.nearest, z.simpleRounds = "asymmetric", "floor", true
		scales, sizes, roi = 1, -1, -1
	}
	if !slices.Contains([]string{"nearest", "linear", "cubic"}, z.mode) {
		return nil, fmt.Errorf("mode %q: want nearest, linear or cubic", z.mode)
	}
	if !slices.Contains([]string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
		"tf_half_pixel_for_nn", "tf_crop_and_resize"}, z.coordinates) {
		return nil, fmt.Errorf("coordinate_transformation_mode %q: %w", z.coordinates, ErrUnsupported)
	}
	if !slices.Contains([]string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, z.nearest) {
		return nil, fmt.Errorf("nearest_mode %q: %w", z.nearest, ErrUnsupported)
	}
	axes, err := resizeAxes(at, len(in))
	if err != nil {
		return nil, err
	}
	if err := z.readSizes(s, axes, scales, sizes); err != nil {
		return nil, err
	}
	if z.coordinates == "tf_crop_and_resize" {
		return z, z.readRegion(s, axes, roi)
	}
	return z, nil
}

// resizeAxes are the dimensions that scales, sizes and roi speak of.
func resizeAxes(at Attrs, rank int) ([]int, error) {
	if !at.Has("axes") {
		return all(rank), nil
	}
	axes := at.Ints("axes")
	if _, err := axisSet(axes, rank); err != nil {
		return nil, err
	}
	for i := range axes {
		axes[i], _ = axis(axes[i], rank)
	}
	return axes, nil
}

// readSizes sets scale and out from the operand (or, in old opsets, the attribute) that is given.
func (z *resizing) readSizes(s *Spec, axes []int, scales, sizes int) error {
	given := func(i int) bool {
		return i > 0 && !s.Input(i).Absent() && !s.Input(i).Shape.Equal(tensor.Shape{0})
	}
	list, attr := s.Attrs["scales"].([]float32)
	switch {
	case given(scales) && given(sizes):
		return fmt.Errorf("scales and sizes are both given")
	case s.Op == "Upsample" && s.Opset < 9 && attr:
		return z.byScales(axes, list)
	case given(scales):
		d := s.Input(scales)
		if d.DType != tensor.Float32 {
			return fmt.Errorf("scales have type %v, must be float32", d.DType)
		}
		if d.Const == nil {
			z.forget(axes)
			return nil
		}
		return z.byScales(axes, tensor.View[float32](d.Const.Data))
	case given(sizes):
		if s.Input(sizes).Const == nil {
			z.forget(axes)
			return nil
		}
		v, err := s.Input(sizes).ConstInts()
		if err != nil {
			return fmt.Errorf("sizes: %w", err)
		}
		return z.bySizes(axes, v, s.Attrs.Str("keep_aspect_ratio_policy", "stretch"))
	}
	return fmt.Errorf("neither scales nor sizes are given")
}

func (z *resizing) forget(axes []int) {
	for _, a := range axes {
		z.out[a] = -1
	}
}

func (z *resizing) byScales(axes []int, scales []float32) error {
	if len(scales) != len(axes) {
		return fmt.Errorf("%d scales for %d dimensions", len(scales), len(axes))
	}
	for i, a := range axes {
		f := scales[i]
		if !(f > 0) || f > maxResized {
			return fmt.Errorf("scale %v: want a positive number", f)
		}
		z.scale[a] = f
		if z.in[a] >= 0 {
			n := f * float32(z.in[a])
			if n > maxResized {
				return fmt.Errorf("dimension %d of %d times %v: %w (at most %d)", a, z.in[a], f, ErrUnsupported, maxResized)
			}
			z.out[a] = int(n)
		}
	}
	z.known = true
	return nil
}

func (z *resizing) bySizes(axes, sizes []int, policy string) error {
	if len(sizes) != len(axes) {
		return fmt.Errorf("%d sizes for %d dimensions", len(sizes), len(axes))
	}
	common, unknown := float32(math.Inf(1)), false
	if policy == "not_smaller" {
		common = 0
	}
	for i, a := range axes {
		if sizes[i] < 0 || sizes[i] > maxResized {
			return fmt.Errorf("size %d: want 0 to %d", sizes[i], maxResized)
		}
		z.out[a] = sizes[i]
		if unknown = unknown || z.in[a] < 0; z.in[a] <= 0 {
			continue
		}
		z.scale[a] = float32(sizes[i]) / float32(z.in[a])
		if policy == "not_smaller" {
			common = max(common, z.scale[a])
		} else {
			common = min(common, z.scale[a])
		}
	}
	z.known = true
	switch policy {
	case "stretch":
		return nil
	case "not_larger", "not_smaller":
	default:
		return fmt.Errorf("keep_aspect_ratio_policy %q: want stretch, not_larger or not_smaller", policy)
	}
	if unknown {
		z.forget(axes)
		return nil
	}
	for _, a := range axes {
		n := math.Floor(float64(common)*float64(z.in[a]) + 0.5)
		if !(n <= maxResized) {
			return fmt.Errorf("dimension %d of %d times %v: %w (at most %d)", a, z.in[a], common, ErrUnsupported, maxResized)
		}
		z.scale[a], z.out[a] = common, int(n)
	}
	return nil
}

// readRegion reads the corners of the cropped region, relative to the input's size.
func (z *resizing) readRegion(s *Spec, axes []int, i int) error {
	d := s.Input(i)
	if d.Absent() {
		return fmt.Errorf("roi is missing")
	}
	if d.Const == nil {
		z.known = false
		return nil
	}
	if !floating(d.DType) || d.Const.Shape.Count() != 2*len(axes) {
		return fmt.Errorf("roi of %v %v: want %d numbers", d.DType, d.Const.Shape, 2*len(axes))
	}
	v := newVec(d.DType, d.Const.Data)
	for j, a := range axes {
		z.begin[a], z.end[a] = v.at(j), v.at(len(axes)+j)
	}
	return nil
}

func inferResize(s *Spec) error {
	z, err := readResize(s)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: z.out})
}

func buildResize(s *Spec) (*Kernel, error) {
	z, err := readResize(s)
	if err != nil {
		return nil, err
	}
	if !z.known {
		return nil, fmt.Errorf("scales, sizes and roi: %w", ErrNotKnown)
	}
	t := s.In[0].DType
	if s.Out[0].Shape.Count() > 0 && s.In[0].Shape.Count() == 0 {
		return nil, fmt.Errorf("cannot resize an input of shape %v", z.in)
	}
	r := &resizer{dtype: t, in: z.in.Clone(), out: z.out.Clone(), fill: z.extrapolate}
	if len(r.in) == 0 {
		r.in, r.out = tensor.Shape{1}, tensor.Shape{1}
		r.taps = []tapTable{{start: []int32{0, 1}, index: []int32{0}, weight: []float32{1}}}
	}
	for i, n := range z.in {
		if n > maxResized {
			return nil, fmt.Errorf("dimension %d of %d: %w (at most %d)", i, n, ErrUnsupported, maxResized)
		}
		r.taps = append(r.taps, z.table(i))
	}
	r.merge()
	if r.planes(z) {
		n := len(z.in)
		return r.compile(s, z.mode, (&bilinear{r, z.pairsOf(n - 2), z.pairsOf(n - 1)}).rows)
	}
	return r.compile(s, z.mode, r.rows)
}
