package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// sampleOps read images at places between their pixels.
func sampleOps() map[string]*Op {
	return map[string]*Op{
		"GridSample": define(inferGridSample, buildGridSample),
		"AffineGrid": define(inferAffineGrid, buildAffineGrid),
		"RoiAlign":   define(inferRoiAlign, buildRoiAlign),
	}
}

// gridSampler reads one channel of an image of up to three dimensions (depth, height, width; missing ones have length 1).
type gridSampler struct {
	in      [3]int
	rank    int
	align   bool
	mode    string // nearest, linear, cubic
	padding string // zeros, border, reflection
}

func readGridSampler(s *Spec) (*gridSampler, error) {
	if err := s.operands(2, 2); err != nil {
		return nil, err
	}
	x, grid := s.In[0].Shape, s.In[1].Shape
	if len(x) < 4 || len(x) > 5 || len(grid) != len(x) {
		return nil, fmt.Errorf("input %v with grid %v: %w (ranks must be equal, 4 or 5)", x, grid, ErrUnsupported)
	}
	g := &gridSampler{rank: len(x) - 2, align: s.Attrs.Int("align_corners", 0) != 0, padding: s.Attrs.Str("padding_mode", "zeros")}
	if n := grid[len(grid)-1]; n >= 0 && n != g.rank {
		return nil, fmt.Errorf("grid of shape %v, its last dimension must be %d", grid, g.rank)
	}
	for i, d := range s.In {
		if i == 1 && !floating(d.DType) || !numeric(d.DType) {
			return nil, fmt.Errorf("input %d of type %v: %w", i, d.DType, ErrUnsupported)
		}
	}
	switch m := s.Attrs.Str("mode", "linear"); m {
	case "linear", "bilinear":
		g.mode = "linear"
	case "nearest":
		g.mode = m
	case "cubic", "bicubic":
		if g.mode = "cubic"; g.rank == 3 {
			return nil, fmt.Errorf("mode %s of a volume: %w", m, ErrUnsupported)
		}
	default:
		return nil, fmt.Errorf("mode %q: %w", m, ErrUnsupported)
	}
	switch g.padding {
	case "zeros", "border", "reflection":
	default:
		return nil, fmt.Errorf("padding_mode %q: %w", g.padding, ErrUnsupported)
	}
	g.in = [3]int{1, 1, 1}
	copy(g.in[3-g.rank:], x[2:])
	return g, nil
}

func inferGridSample(s *Spec) error {
	if _, err := readGridSampler(s); err != nil {
		return err
	}
	x, grid := s.In[0].Shape, s.In[1].Shape
	return s.results(Desc{DType: s.In[0].DType, Shape: append(x[:2].Clone(), grid[1:len(grid)-1]...)})
}

func buildGridSample(s *Spec) (*Kernel, error) {
	g, err := readGridSampler(s)
	if err != nil {
		return nil, err
	}
	x, out := s.In[0].Shape, s.Out[0].Shape
	if s.In[1].Shape[0] != x[0] {
		return nil, fmt.Errorf("input %v with grid %v, must have one grid an image", x, s.In[1].Shape)
	}
	area, pixels := volume(g.in), out[2:].Count()
	ge := "GridSampler2D"
	if g.rank == 3 {
		ge = "GridSampler3D"
	}
	cost16 := map[string]int64{"nearest": 12, "linear": 24, "cubic": 80}[g.mode]
	return s.wide(ge, cost.AIV, cost16*int64(out.Count()), 0, func(w *wide) error {
		for n := range x[0] {
			for p := range pixels {
				at := g.place(w.in[1][(n*pixels+p)*g.rank:][:g.rank])
				for c := range x[1] {
					w.out[0][(n*x[1]+c)*pixels+p] = g.at(w.in[0][(n*x[1]+c)*area:][:area], at)
				}
			}
		}
		return nil
	})
}

// place turns normalised coordinates, width first, into places among the pixels.
func (g *gridSampler) place(grid []float64) (at [3]float64) {
	for i, v := range grid {
		d := 2 - i
		n := float64(g.in[d])
		if g.align {
			at[d] = (v + 1) / 2 * (n - 1)
		} else {
			at[d] = ((v+1)*n - 1) / 2
		}
		if g.mode == "nearest" {
			at[d] = math.RoundToEven(at[d])
		}
		if at[d] < -0.5 || at[d] > n-0.5 || at[d] < 0 || at[d] > n-1 {
			switch g.padding {
			case "border":
				at[d] = min(max(at[d], 0), n-1)
			case "reflection":
				at[d] = g.reflect(at[d], g.in[d])
			}
		}
		if at[d] != at[d] || math.Abs(at[d]) > 1<<40 {
			at[d] = -1 << 40 // nowhere
		}
	}
	return at
}

// reflect mirrors a place at the ends: at the outer pixels' centres with align_corners, at their edges without.
func (g *gridSampler) reflect(x float64, n int) float64 {
	lo, hi := -0.5, float64(n)-0.5
	if g.align {
		lo, hi = 0, float64(n-1)
	}
	span := hi - lo
	if span <= 0 || math.IsInf(x, 0) || x != x {
		return 0
	}
	x = math.Mod(math.Abs(x-lo), 2*span)
	if x > span {
		x = 2*span - x
	}
	return x + lo
}

// at samples one channel.
func (g *gridSampler) at(img []float64, at [3]float64) float64 {
	switch g.mode {
	case "nearest":
		return g.pixel(img, int(math.Round(at[0])), int(math.Round(at[1])), int(math.Round(at[2])))
	case "cubic":
		y, x := math.Floor(at[1]), math.Floor(at[2])
		wy, wx := cubicWeights(at[1]-y, -0.75), cubicWeights(at[2]-x, -0.75)
		sum := 0.0
		for i, a := range wy {
			for j, b := range wx {
				sum += a * b * g.pixel(img, 0, int(y)-1+i, int(x)-1+j)
			}
		}
		return sum
	}
	z, y, x := math.Floor(at[0]), math.Floor(at[1]), math.Floor(at[2])
	fz, fy, fx := at[0]-z, at[1]-y, at[2]-x
	sum := 0.0
	for i, a := range [2]float64{1 - fz, fz} {
		for j, b := range [2]float64{1 - fy, fy} {
			for k, c := range [2]float64{1 - fx, fx} {
				if f := a * b * c; f != 0 {
					sum += f * g.pixel(img, int(z)+i, int(y)+j, int(x)+k)
				}
			}
		}
	}
	return sum
}

// cubicWeights are those of the four neighbours of a place at fraction t.
func cubicWeights(t, a float64) [4]float64 {
	near := func(x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }
	far := func(x float64) float64 { return ((a*x-5*a)*x+8*a)*x - 4*a }
	return [4]float64{far(t + 1), near(t), near(1 - t), far(2 - t)}
}

// pixel is a pixel, or what the padding puts outside of the image.
func (g *gridSampler) pixel(img []float64, z, y, x int) float64 {
	p := [3]int{z, y, x}
	for d, v := range p {
		if v >= 0 && v < g.in[d] {
			continue
		}
		switch g.padding {
		case "border":
			p[d] = min(max(v, 0), g.in[d]-1)
		case "reflection":
			p[d] = min(max(int(g.reflect(float64(v), g.in[d])), 0), g.in[d]-1)
		default:
			return 0
		}
	}
	return img[(p[0]*g.in[1]+p[1])*g.in[2]+p[2]]
}

func inferAffineGrid(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	theta := s.In[0]
	if err := wantType(theta.DType, floating); err != nil {
		return err
	}
	rank := -1
	if n, err := s.In[1].length(); err != nil || s.In[1].DType != tensor.Int64 {
		return fmt.Errorf("size is %v %v, must be a list of int64", s.In[1].DType, s.In[1].Shape)
	} else if n >= 0 {
		rank = n - 2
	} else if len(theta.Shape) == 3 && theta.Shape[1] >= 0 {
		rank = theta.Shape[1]
	}
	if rank < 0 {
		return fmt.Errorf("size of unknown length: %w", ErrUnsupported)
	}
	if len(theta.Shape) != 3 || rank < 2 || rank > 3 || theta.Shape[1] >= 0 && theta.Shape[1] != rank || theta.Shape[2] >= 0 && theta.Shape[2] != rank+1 {
		return fmt.Errorf("theta of shape %v for %d spatial dimensions", theta.Shape, rank)
	}
	out := append(tensor.Shape{theta.Shape[0]}, unknown(rank)...)
	if s.In[1].Const != nil {
		size, err := s.values(1)
		if err != nil {
			return err
		}
		for _, n := range size {
			if n < 0 {
				return fmt.Errorf("size %v", size)
			}
		}
		copy(out[1:], size[2:])
	}
	return s.results(Desc{DType: theta.DType, Shape: append(out, rank)})
}

func buildAffineGrid(s *Spec) (*Kernel, error) {
	out, align := s.Out[0].Shape, s.Attrs.Int("align_corners", 0) != 0
	rank := out[len(out)-1]
	dims := out[1 : 1+rank]
	return s.wide("AffineGrid", cost.AIV, int64(2*(rank+1))*int64(out.Count()), 0, func(w *wide) error {
		pixels := dims.Count()
		for u := range out[0] * pixels {
			theta := w.in[0][u/pixels*rank*(rank+1):]
			var at [4]float64 // width first, then 1
			at[rank] = 1
			rest := u % pixels
			for d := rank - 1; d >= 0; d-- {
				i, n := rest%dims[d], dims[d]
				rest /= dims[d]
				switch {
				case !align:
					at[rank-1-d] = float64(2*i+1)/float64(n) - 1
				case n > 1:
					at[rank-1-d] = 2*float64(i)/float64(n-1) - 1
				default:
					at[rank-1-d] = -1
				}
			}
			for r := range rank {
				sum := 0.0
				for c := range rank + 1 {
					sum += theta[r*(rank+1)+c] * at[c]
				}
				w.out[0][u*rank+r] = sum
			}
		}
		return nil
	})
}
