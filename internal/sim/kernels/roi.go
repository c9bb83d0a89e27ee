package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// maxSamples bounds the samples along one side of a bin.
const maxSamples = 1 << 12

func inferRoiAlign(s *Spec) error {
	if err := s.operands(3, 3); err != nil {
		return err
	}
	x, rois, batch := s.In[0], s.In[1], s.In[2]
	if err := wantType(x.DType, floating); err != nil {
		return err
	}
	if len(x.Shape) != 4 || len(rois.Shape) != 2 || rois.Shape[1] >= 0 && rois.Shape[1] != 4 || len(batch.Shape) != 1 || batch.DType != tensor.Int64 {
		return fmt.Errorf("input %v, rois %v and batch_indices %v %v", x.Shape, rois.Shape, batch.DType, batch.Shape)
	}
	h, w := s.Attrs.Int("output_height", 1), s.Attrs.Int("output_width", 1)
	if h < 1 || w < 1 || h > maxKernel || w > maxKernel {
		return fmt.Errorf("output of %d×%d", h, w)
	}
	return s.results(Desc{DType: x.DType, Shape: tensor.Shape{rois.Shape[0], x.Shape[1], h, w}})
}

// buildRoiAlign averages (or takes the largest of) bilinear samples in each bin of each region.
func buildRoiAlign(s *Spec) (*Kernel, error) {
	x, out := s.In[0].Shape, s.Out[0].Shape
	if s.In[2].Shape[0] != out[0] {
		return nil, fmt.Errorf("%d batch_indices for %d rois", s.In[2].Shape[0], out[0])
	}
	mode, half := s.Attrs.Str("mode", "avg"), true
	if mode != "avg" && mode != "max" {
		return nil, fmt.Errorf("mode %q, must be avg or max", mode)
	}
	switch m := s.Attrs.Str("coordinate_transformation_mode", "half_pixel"); {
	case s.Opset < 16 || m == "output_half_pixel":
		half = false
	case m != "half_pixel":
		return nil, fmt.Errorf("coordinate_transformation_mode %q: %w", m, ErrUnsupported)
	}
	scale, sampling := float64(s.Attrs.Float("spatial_scale", 1)), s.Attrs.Int("sampling_ratio", 0)
	if sampling < 0 || sampling > maxSamples {
		return nil, fmt.Errorf("sampling_ratio %d", sampling)
	}
	r := roiAligner{h: x[2], w: x[3], most: mode == "max"}
	oh, ow := out[2], out[3]
	work := int64(out.Count()) * int64(max(1, sampling*sampling)) * 12
	return s.wide("ROIAlign", cost.AIV, work, 0, func(w *wide) error {
		for n := range out[0] {
			b := w.in[2][n]
			if b < 0 || b >= float64(x[0]) {
				return fmt.Errorf("batch index %d is %g of %d images", n, b, x[0])
			}
			box, off := w.in[1][4*n:][:4], 0.0
			if half {
				off = 0.5
			}
			left, top := box[0]*scale-off, box[1]*scale-off
			width, height := box[2]*scale-off-left, box[3]*scale-off-top
			if !half {
				width, height = max(width, 1), max(height, 1)
			}
			bw, bh := width/float64(ow), height/float64(oh)
			nx, ny := sampling, sampling
			if sampling == 0 {
				nx, ny = int(min(max(math.Ceil(bw), 1), maxSamples)), int(min(max(math.Ceil(bh), 1), maxSamples))
			}
			for c := range x[1] {
				img := w.in[0][(int(b)*x[1]+c)*r.h*r.w:][:r.h*r.w]
				for p := range oh * ow {
					y0, x0 := top+float64(p/ow)*bh, left+float64(p%ow)*bw
					w.out[0][(n*x[1]+c)*oh*ow+p] = r.bin(img, y0, x0, bh/float64(ny), bw/float64(nx), ny, nx)
				}
			}
		}
		return nil
	})
}

type roiAligner struct {
	h, w int
	most bool // the largest weighted pixel, as the reference does, instead of the mean
}

// bin reduces ny×nx samples that lie dy and dx apart.
func (r *roiAligner) bin(img []float64, y0, x0, dy, dx float64, ny, nx int) float64 {
	sum, top := 0.0, math.Inf(-1)
	for i := range ny {
		for j := range nx {
			total, most := r.sample(img, y0+(float64(i)+0.5)*dy, x0+(float64(j)+0.5)*dx)
			sum, top = sum+total, max(top, most)
		}
	}
	if r.most {
		return top
	}
	return sum / float64(max(1, ny*nx))
}

// sample is the bilinear sum at a place and the largest of its four terms; both 0 outside of the image.
func (r *roiAligner) sample(img []float64, y, x float64) (sum, most float64) {
	if !(y >= -1 && y <= float64(r.h) && x >= -1 && x <= float64(r.w)) || len(img) == 0 {
		return 0, 0
	}
	y, x = max(y, 0), max(x, 0)
	y0, x0 := min(int(y), r.h-1), min(int(x), r.w-1)
	y1, x1 := min(y0+1, r.h-1), min(x0+1, r.w-1)
	fy, fx := y-float64(y0), x-float64(x0)
	if y0 == r.h-1 {
		fy = 0
	}
	if x0 == r.w-1 {
		fx = 0
	}
	a, b := (1-fy)*(1-fx)*img[y0*r.w+x0], (1-fy)*fx*img[y0*r.w+x1]
	c, d := fy*(1-fx)*img[y1*r.w+x0], fy*fx*img[y1*r.w+x1]
	return a + b + c + d, max(a, b, c, d)
}
