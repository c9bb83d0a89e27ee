package tensor

import "fmt"

// Format is an Ascend storage format: how the elements of a logical shape lie in memory.
type Format uint8

// Storage formats. ND is row-major of any rank. C0 of the fractal formats is 16 elements for 16-bit types and
// float32, 32 for 8-bit types.
const (
	ND Format = iota
	NCHW
	NHWC
	NC1HWC0
	FractalZ
	FractalNZ
	formatCount
)

var formatNames = [formatCount]string{"ND", "NCHW", "NHWC", "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"}

func (f Format) String() string {
	if f < formatCount {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Tensor is a typed array in host memory. Shape is the logical shape; Data holds the elements little-endian in
// the order of Format.
type Tensor struct {
	DType  DType
	Format Format
	Shape  Shape
	Data   []byte
}

// New makes a zero tensor in ND.
func New(t DType, s Shape) (*Tensor, error) {
	n, err := s.Bytes(t)
	if err != nil {
		return nil, err
	}
	return &Tensor{DType: t, Shape: s.Clone(), Data: make([]byte, n)}, nil
}

func (t *Tensor) String() string { return fmt.Sprintf("%v[%v]", t.DType, t.Shape) }
