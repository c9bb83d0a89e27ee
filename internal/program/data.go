package program

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"npu/internal/tensor"
)

// maxHost is the largest buffer in host memory, and the largest with initial data.
const maxHost = 4 << 30

// floats are the n numbers that the data stands for.
func (d *Init) floats(n int) ([]float64, error) {
	switch d.Kind {
	case Values:
		if len(d.V) != n {
			return nil, fmt.Errorf("%d values for %d elements", len(d.V), n)
		}
		return d.V, nil
	case FromFile:
		if d.data == nil {
			return nil, fmt.Errorf("file %q was not read", d.File)
		}
		v, err := tensor.Floats(d.data)
		if err == nil && len(v) != n {
			err = fmt.Errorf("file %q has %d elements for %d", d.File, len(v), n)
		}
		return v, err
	}
	v := make([]float64, n)
	rng := rand.New(rand.NewPCG(d.Seed, 0x9e3779b97f4a7c15))
	for i := range v {
		switch d.Kind {
		case Fill:
			v[i] = d.V[0]
		case Ramp:
			v[i] = d.V[0] + float64(i)*d.V[1]
		case Random:
			v[i] = d.V[0] + rng.Float64()*(d.V[1]-d.V[0])
		}
	}
	return v, nil
}

// bytes are n elements of type t.
func (d *Init) bytes(t tensor.DType, n int) ([]byte, error) {
	if d.Kind == FromFile && d.data != nil && d.data.DType == t && len(d.data.Data) == n*t.Size() {
		return d.data.Data, nil // exact also beyond 2^53
	}
	v, err := d.floats(n)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n*t.Size())
	return b, tensor.EncodeFloats(b, t, 0, v)
}

// exact says of the first value that type t cannot hold.
func (d *Init) exact(t tensor.DType) error {
	if d.Kind == FromFile || d.Kind == Random {
		return nil
	}
	var b [8]byte
	var back [1]float64
	for _, v := range d.V {
		if t.Float() {
			continue
		}
		if err := tensor.EncodeFloats(b[:], t, 0, []float64{v}); err != nil {
			return err
		}
		if err := tensor.DecodeFloats(back[:], t, b[:], 0); err != nil {
			return err
		}
		if back[0] != v && math.Abs(v) < 1<<53 {
			return fmt.Errorf("%g is no %v", v, t)
		}
	}
	return nil
}

// load reads the data's file, a .npy beside the program.
func (d *Init) load(dir string) error {
	path := d.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > maxHost {
		return fmt.Errorf("%s: no regular file, or more than %d bytes", path, int64(maxHost))
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if d.data, err = tensor.ReadNPY(f, st.Size()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// compare says how the bytes of a buffer differ from the data; empty if they do not, within the tolerance.
func (d *Init) compare(got []byte, t tensor.DType, n int, tol tensor.Tolerance) (string, error) {
	want, err := d.bytes(t, n)
	if err != nil {
		return "", err
	}
	g := &tensor.Tensor{DType: t, Shape: tensor.Shape{n}, Data: got}
	diff, err := tensor.Compare(g, &tensor.Tensor{DType: t, Shape: tensor.Shape{n}, Data: want}, tol)
	if err != nil || diff.Equal() {
		return "", err
	}
	return fmt.Sprintf("%d of %d elements differ, the worst is [%d]: %s, expected %s", diff.Mismatches, n, diff.Worst,
		number(diff.Got), number(diff.Want)), nil
}

// number is a value in few digits.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}

// maxPrint is how many elements of a buffer print shows.
const maxPrint = 8

// valuesText shows the first values of a buffer of n elements, whose bytes b holds.
func valuesText(b []byte, t tensor.DType, n int) (string, error) {
	v := make([]float64, len(b)/t.Size())
	if err := tensor.DecodeFloats(v, t, b, 0); err != nil {
		return "", err
	}
	s := ""
	for i, x := range v {
		if i > 0 {
			s += " "
		}
		s += number(x)
	}
	if n > len(v) {
		s += fmt.Sprintf(" … (%d elements)", n)
	}
	return s, nil
}
