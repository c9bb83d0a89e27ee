package tensor

import "fmt"

// cubeRows is the height of the blocks that the fractal formats are made of: the M and N size of the cube.
const cubeRows = 16

// C0 is the usual number of elements in the innermost dimension of the fractal formats: 32 for 8-bit types, 64 for
// 4-bit types, 16 for wider ones; 0 for types without a fixed size. Kernels that feed float32 to the cube use 8: give
// Layout.C0 then, as the stored shape or the code in the format number (C0FromCode) says.
func C0(t DType) int {
	switch b := t.Bits(); {
	case b == 4:
		return 64
	case b == 8:
		return 32
	case b >= 16:
		return 16
	}
	return 0
}

// C0FromCode reads the innermost dimension from a format number as GE writes it (format_for_int): bits 24 to 27 hold
// n for 2^(n-1); 0 when the number does not say.
func C0FromCode(format int) int { return 1 << (format >> 24 & 15) >> 1 }

// Layout is a storage format with what its name leaves open.
type Layout struct {
	Format Format
	C0     int // innermost dimension of NC1HWC0, FRACTAL_Z, FRACTAL_NZ; 0: C0 of the type
	Groups int // FRACTAL_Z: groups of the convolution ("FRACTAL_Z:32"); 0 is 1
}

// RowMajor says whether memory is the shape itself, last dimension fastest.
func (f Format) RowMajor() bool { return f == ND || f == NCHW || f == NHWC }

// StorageShape is the shape in which memory holds a tensor of logical shape s:
//
//	ND, NCHW, NHWC  s itself: dimensions in the order of the name, row-major
//	NC1HWC0         s = N,C,H,W (or C alone):     N, ceil(C/C0), H, W, C0
//	FRACTAL_Z       s = O,I,KH,KW, I of a group:  ceil(I/C0)*KH*KW, ceil(O/16), 16, C0
//	FRACTAL_NZ      s = ...,M,N (or N alone):     ..., ceil(N/C0), ceil(M/16), 16, C0
//
// Padding elements are zero.
func StorageShape(f Format, s Shape, t DType) (Shape, error) {
	return Layout{Format: f}.StorageShape(s, t)
}

// StorageShape is the function of that name with the layout's C0 and groups. With groups, E of them share a block: E
// is the least number that fills whole blocks in both channel dimensions, at most Groups; the shape is then
// ceil(Groups/E)*C1*KH*KW, N1, 16, C0 with C1 = ceil(E*I/C0) and N1 = ceil(E*O/Groups/16).
func (l Layout) StorageShape(s Shape, t DType) (Shape, error) {
	if l.Format.RowMajor() {
		_, err := s.Bytes(t)
		return s.Clone(), err
	}
	g, err := l.plan(s, t)
	if err != nil {
		return nil, err
	}
	return g.stored, nil
}

// geometry is a fractal layout applied to a logical shape.
type geometry struct {
	stored     Shape
	elements   int // of the logical shape
	c0         int
	n, c, h, w int // N,C,H,W; for filters O,I,KH,KW; for matrices outer count, 1, M, N
	c1, n1     int // blocks along C and O; for matrices along N and M
	groups     int
	perBlock   int // groups that share a block (E)
}

func (l Layout) plan(s Shape, t DType) (*geometry, error) {
	elements, err := s.Elements()
	if err != nil {
		return nil, err
	}
	for _, d := range s {
		if d > 1<<40 {
			return nil, fmt.Errorf("%v of %v: a dimension is beyond 2^40", l.Format, s)
		}
	}
	g := &geometry{elements: elements, c0: l.C0, groups: max(l.Groups, 1), perBlock: 1}
	if g.c0 == 0 {
		g.c0 = C0(t)
	}
	if g.c0 < 1 || g.c0 > 4096 {
		return nil, fmt.Errorf("%v of %v has no innermost dimension of %d", l.Format, t, g.c0)
	}
	if g.groups > 1 && l.Format != FractalZ {
		return nil, fmt.Errorf("%v has no groups, %d given", l.Format, l.Groups)
	}
	switch l.Format {
	case NC1HWC0:
		err = g.image(s)
	case FractalZ:
		err = g.filter(s)
	case FractalNZ:
		err = g.matrix(s)
	default:
		err = fmt.Errorf("no conversion is known for %v", l.Format)
	}
	if err != nil {
		return nil, err
	}
	if _, err := g.stored.Bytes(t); err != nil {
		return nil, fmt.Errorf("%v of %v: %w", l.Format, s, err)
	}
	return g, nil
}

func (g *geometry) image(s Shape) error {
	switch len(s) {
	case 1: // a vector over channels
		g.n, g.c, g.h, g.w = 1, s[0], 1, 1
	case 4:
		g.n, g.c, g.h, g.w = s[0], s[1], s[2], s[3]
	default:
		return fmt.Errorf("NC1HWC0 of %v: expected N,C,H,W or a vector over C", s)
	}
	g.c1 = ceilDiv(g.c, g.c0)
	g.stored = Shape{g.n, g.c1, g.h, g.w, g.c0}
	return nil
}

func (g *geometry) filter(s Shape) error {
	if len(s) != 4 {
		return fmt.Errorf("FRACTAL_Z of %v: expected O,I,KH,KW", s)
	}
	if s[0]%g.groups != 0 {
		return fmt.Errorf("FRACTAL_Z of %v: %d outputs are no multiple of %d groups", s, s[0], g.groups)
	}
	g.n, g.c, g.h, g.w = s[0], s[1], s[2], s[3]
	out := g.n / g.groups
	if g.groups > 1 && g.c > 0 && out > 0 {
		g.perBlock = min(lcm(lcm(g.c, g.c0)/g.c, lcm(out, cubeRows)/out), g.groups)
	}
	g.c1, g.n1 = ceilDiv(g.perBlock*g.c, g.c0), ceilDiv(g.perBlock*out, cubeRows)
	first, err := Shape{ceilDiv(g.groups, g.perBlock), g.c1, g.h, g.w}.Elements()
	g.stored = Shape{first, g.n1, cubeRows, g.c0}
	return err
}

func (g *geometry) matrix(s Shape) error {
	if len(s) == 0 {
		return fmt.Errorf("FRACTAL_NZ of a scalar: expected a matrix")
	}
	outer := s[:max(len(s)-2, 0)]
	g.c, g.h, g.w = 1, 1, s[len(s)-1]
	if len(s) > 1 {
		g.h = s[len(s)-2]
	}
	var err error
	g.n, err = outer.Elements()
	g.c1, g.n1 = ceilDiv(g.w, g.c0), ceilDiv(g.h, cubeRows)
	g.stored = append(outer.Clone(), g.c1, g.n1, cubeRows, g.c0)
	return err
}

func ceilDiv(a, b int) int { return a/b + min(a%b, 1) }

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
