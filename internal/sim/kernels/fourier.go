package kernels

import (
	"fmt"
	"math"
	"math/bits"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// fourierOps are the discrete Fourier transforms. The last dimension of a signal is 1 (real) or 2 (complex).
func fourierOps() map[string]*Op {
	return map[string]*Op{
		"DFT":  define(inferDFT, buildDFT),
		"STFT": define(inferSTFT, buildSTFT),
	}
}

// maxPoints bounds the length of a transform, and with it the table of its angles.
const maxPoints = 1 << 20

// dft is a DFT along one axis: n points of the input that count, length of the transform, points of the result.
type dft struct {
	axis, n, length, points int
	inverse, onesided       bool
}

// readDFT: lengths are -1 where they depend on values that are not known.
func readDFT(s *Spec) (*dft, error) {
	if err := s.operands(1, 3); err != nil {
		return nil, err
	}
	x := s.In[0].Shape
	if err := wantType(s.In[0].DType, floating); err != nil {
		return nil, err
	}
	if len(x) < 2 || x[len(x)-1] > 2 || x[len(x)-1] == 0 {
		return nil, fmt.Errorf("input of shape %v, its last dimension must be 1 or 2", x)
	}
	d := &dft{inverse: s.Attrs.Int("inverse", 0) != 0, onesided: s.Attrs.Int("onesided", 0) != 0}
	at := s.Attrs.Int("axis", 1)
	if s.Opset >= 20 {
		at = -2
		if a := s.Input(2); !a.Absent() {
			if a.Const == nil {
				return nil, nil
			}
			v, err := s.values(2)
			if err != nil || len(v) != 1 {
				return nil, fmt.Errorf("axis has %d values: %w", len(v), ErrUnsupported)
			}
			at = v[0]
		}
	}
	var err error
	if d.axis, err = axis(at, len(x)); err != nil {
		return nil, err
	}
	if d.axis == len(x)-1 {
		return nil, fmt.Errorf("axis %d is the one of real and imaginary parts", at)
	}
	d.n = x[d.axis]
	d.length = d.n
	if d.onesided && d.inverse && d.n > 0 {
		d.length = 2 * (d.n - 1)
	}
	if l := s.Input(1); !l.Absent() {
		d.length = -1
		if l.Const != nil {
			v, err := s.values(1)
			if err != nil || len(v) != 1 || v[0] < 1 || v[0] > maxPad {
				return nil, fmt.Errorf("dft_length %v", v)
			}
			d.length = v[0]
		}
	}
	d.points = d.length
	if d.onesided && !d.inverse && d.length >= 0 {
		d.points = d.length/2 + 1
	}
	return d, nil
}

func inferDFT(s *Spec) error {
	d, err := readDFT(s)
	if err != nil {
		return err
	}
	x := s.In[0].Shape
	parts := 2
	if s.Attrs.Int("onesided", 0) != 0 && s.Attrs.Int("inverse", 0) != 0 {
		parts = 1
	}
	out := unknown(len(x))
	if d != nil {
		out = x.Clone()
		out[d.axis] = d.points
	}
	out[len(x)-1] = parts
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildDFT(s *Spec) (*Kernel, error) {
	d, err := readDFT(s)
	if err != nil {
		return nil, err
	}
	if d == nil || d.length < 0 {
		return nil, fmt.Errorf("axis and dft_length: %w", ErrNotKnown)
	}
	if d.length > maxPoints {
		return nil, fmt.Errorf("%d points: %w (at most %d)", d.length, ErrUnsupported, maxPoints)
	}
	x, out := s.In[0].Shape, s.Out[0].Shape
	parts := x[len(x)-1]
	made := out[len(out)-1]
	outer, inner := x[:d.axis].Count(), x[d.axis+1:len(x)-1].Count()
	f := newFourier(d.length, d.inverse)
	ops := 10 * int64(outer*inner) * int64(d.length) * int64(bits.Len(uint(d.length)))
	return s.wide("DFT", cost.AICPU, ops, 4*d.length, func(w *wide) error {
		re, im, rest := w.tmp[:d.length], w.tmp[d.length:2*d.length], w.tmp[2*d.length:]
		for u := range outer * inner {
			o, i := u/inner, u%inner
			clear(w.tmp[:2*d.length])
			for k := range min(d.n, d.length) {
				at := ((o*d.n+k)*inner + i) * parts
				re[k] = w.in[0][at]
				if parts == 2 {
					im[k] = w.in[0][at+1]
				}
			}
			if d.inverse && d.onesided { // the second half mirrors the first
				for k := d.length/2 + 1; k < d.length; k++ {
					re[k], im[k] = re[d.length-k], -im[d.length-k]
				}
			}
			f.run(re, im, rest)
			for k := range d.points {
				at := ((o*d.points+k)*inner + i) * made
				w.out[0][at] = re[k]
				if made == 2 {
					w.out[0][at+1] = im[k]
				}
			}
		}
		return nil
	})
}

// fourier transforms n complex numbers: in n·log n steps where n is a power of two, else in n².
type fourier struct {
	n        int
	cos, sin []float64 // of k/n of a turn, in the direction of the transform
	scale    float64
}

func newFourier(n int, inverse bool) *fourier {
	f := &fourier{n: n, cos: make([]float64, n), sin: make([]float64, n), scale: 1}
	turn := -2 * math.Pi / float64(max(1, n))
	if inverse {
		turn, f.scale = -turn, 1/float64(max(1, n))
	}
	for k := range n {
		f.sin[k], f.cos[k] = math.Sincos(turn * float64(k))
	}
	return f
}

// run transforms in place; rest has room for 2n numbers.
func (f *fourier) run(re, im, rest []float64) {
	n := f.n
	if n&(n-1) == 0 {
		f.fast(re, im)
	} else {
		a, b := rest[:n], rest[n:2*n]
		for k := range n {
			var x, y float64
			for j, t := 0, 0; j < n; j++ {
				x += re[j]*f.cos[t] - im[j]*f.sin[t]
				y += re[j]*f.sin[t] + im[j]*f.cos[t]
				if t += k; t >= n {
					t -= n
				}
			}
			a[k], b[k] = x, y
		}
		copy(re, a)
		copy(im, b)
	}
	for k := range n {
		re[k] *= f.scale
		im[k] *= f.scale
	}
}

// fast is the radix-2 transform: reorder by reversed bits, then butterflies of growing length.
func (f *fourier) fast(re, im []float64) {
	n := f.n
	shift := 64 - bits.Len(uint(n)) + 1
	for i := range n {
		if j := int(bits.Reverse64(uint64(i)) >> shift); n > 1 && j > i {
			re[i], re[j] = re[j], re[i]
			im[i], im[j] = im[j], im[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		for first := 0; first < n; first += size {
			for k := range size / 2 {
				c, s := f.cos[k*(n/size)], f.sin[k*(n/size)]
				i, j := first+k, first+k+size/2
				x, y := re[j]*c-im[j]*s, re[j]*s+im[j]*c
				re[j], im[j] = re[i]-x, im[i]-y
				re[i], im[i] = re[i]+x, im[i]+y
			}
		}
	}
}

// stft is an STFT: frames of length points, step apart.
type stft struct{ step, length, frames, points int }

// readSTFT: nil where frame_step or the length is not known.
func readSTFT(s *Spec) (*stft, error) {
	if err := s.operands(2, 4); err != nil {
		return nil, err
	}
	x := s.In[0].Shape
	if err := wantType(s.In[0].DType, floating); err != nil {
		return nil, err
	}
	if len(x) == 2 {
		x = append(x.Clone(), 1)
	}
	if len(x) != 3 || x[2] > 2 || x[2] == 0 {
		return nil, fmt.Errorf("signal of shape %v, must be batch,length,1 or 2", x)
	}
	f := &stft{length: -1}
	for i, p := range map[int]*int{1: &f.step, 3: &f.length} {
		d := s.Input(i)
		if d.Absent() {
			continue
		}
		if d.Const == nil {
			return nil, nil
		}
		v, err := s.values(i)
		if err != nil || len(v) != 1 || v[0] < 1 || v[0] > maxPad {
			return nil, fmt.Errorf("input %d is %v", i, v)
		}
		*p = v[0]
	}
	if w := s.Input(2); !w.Absent() {
		if len(w.Shape) != 1 || f.length >= 0 && w.Shape[0] >= 0 && w.Shape[0] != f.length {
			return nil, fmt.Errorf("window of shape %v for frames of %d", w.Shape, f.length)
		}
		f.length = w.Shape[0]
	}
	if f.length < 0 || x[1] < 0 {
		return nil, nil
	}
	if f.length == 0 || x[1] < f.length {
		return nil, fmt.Errorf("frames of %d in a signal of %d", f.length, x[1])
	}
	f.frames, f.points = (x[1]-f.length)/f.step+1, f.length
	if s.Attrs.Int("onesided", 1) != 0 {
		if x[2] == 2 {
			return nil, fmt.Errorf("onesided transform of a complex signal")
		}
		f.points = f.length/2 + 1
	}
	return f, nil
}

func inferSTFT(s *Spec) error {
	f, err := readSTFT(s)
	if err != nil {
		return err
	}
	out := tensor.Shape{s.In[0].Shape[0], -1, -1, 2}
	if f != nil {
		out[1], out[2] = f.frames, f.points
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildSTFT(s *Spec) (*Kernel, error) {
	f, err := readSTFT(s)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("frame_step and frame_length: %w", ErrNotKnown)
	}
	if f.length > maxPoints {
		return nil, fmt.Errorf("%d points: %w (at most %d)", f.length, ErrUnsupported, maxPoints)
	}
	x := s.In[0].Shape
	parts := 1
	if len(x) == 3 {
		parts = x[2]
	}
	t := newFourier(f.length, false)
	ops := 10 * int64(x[0]*f.frames) * int64(f.length) * int64(bits.Len(uint(f.length)))
	return s.wide("STFT", cost.AICPU, ops, 4*f.length, func(w *wide) error {
		re, im, rest := w.tmp[:f.length], w.tmp[f.length:2*f.length], w.tmp[2*f.length:]
		for u := range x[0] * f.frames {
			first := u/f.frames*x[1] + u%f.frames*f.step
			for k := range f.length {
				re[k], im[k] = w.in[0][(first+k)*parts], 0
				if parts == 2 {
					im[k] = w.in[0][(first+k)*parts+1]
				}
				if w.in[2] != nil {
					re[k] *= w.in[2][k]
					im[k] *= w.in[2][k]
				}
			}
			t.run(re, im, rest)
			for k := range f.points {
				w.out[0][(u*f.points+k)*2], w.out[0][(u*f.points+k)*2+1] = re[k], im[k]
			}
		}
		return nil
	})
}
