package tensor

import "fmt"

// Pack stores the row-major elements src (N,C,H,W for NC1HWC0, O,I,KH,KW for FRACTAL_Z) of logical shape s into dst
// in this layout, padding included. The lengths must be exact; nothing is allocated beyond a few words.
func (l Layout) Pack(dst, src []byte, s Shape, t DType) error { return l.move(dst, src, s, t, true) }

// Unpack is the inverse of Pack; what the padding holds is ignored.
func (l Layout) Unpack(dst, src []byte, s Shape, t DType) error { return l.move(src, dst, s, t, false) }

func (l Layout) move(stored, rows []byte, s Shape, t DType, pack bool) error {
	need, err := s.Bytes(t)
	if err != nil {
		return err
	}
	shape, err := l.StorageShape(s, t)
	if err != nil {
		return err
	}
	needStored, err := shape.Bytes(t)
	if err != nil {
		return err
	}
	if len(rows) != need || len(stored) != needStored {
		return fmt.Errorf("%v of %v[%v]: %d stored and %d row-major bytes, expected %d and %d",
			l.Format, t, s, len(stored), len(rows), needStored, need)
	}
	dst, src := rows, stored
	if pack {
		dst, src = stored, rows
	}
	if l.Format.RowMajor() {
		copy(dst, src)
		return nil
	}
	g, err := l.plan(s, t)
	if err != nil {
		return err
	}
	clear(dst)
	if g.elements == 0 {
		return nil
	}
	run, err := mover(dst, src, t)
	if err != nil {
		return err
	}
	if !pack {
		forward := run
		run = func(stored, row, n, storedStep, rowStep int) { forward(row, stored, n, rowStep, storedStep) }
	}
	switch l.Format {
	case NC1HWC0:
		g.walkImage(run)
	case FractalZ:
		g.walkFilter(run)
	case FractalNZ:
		g.walkMatrix(run)
	}
	return nil
}

// run moves n elements from row + i*rowStep to stored + i*storedStep.
type run func(stored, row, n, storedStep, rowStep int)

func (g *geometry) walkImage(f run) {
	hw := g.h * g.w
	for n := range g.n {
		for c := range g.c {
			f(((n*g.c1+c/g.c0)*hw)*g.c0+c%g.c0, (n*g.c+c)*hw, hw, g.c0, 1)
		}
	}
}

func (g *geometry) walkFilter(f run) {
	taps := g.h * g.w
	out := g.n / g.groups
	for o := range g.n {
		group := o / out
		inBlock := group % g.perBlock
		so := inBlock*out + o%out // output channel in the block
		for i := 0; i < g.c; {
			si := inBlock*g.c + i // input channel in the block
			n := min(g.c0-si%g.c0, g.c-i)
			for k := range taps {
				first := (group/g.perBlock*g.c1+si/g.c0)*taps + k
				f(((first*g.n1+so/cubeRows)*cubeRows+so%cubeRows)*g.c0+si%g.c0, (o*g.c+i)*taps+k, n, 1, taps)
			}
			i += n
		}
	}
}

func (g *geometry) walkMatrix(f run) {
	for b := range g.n {
		for m := range g.h {
			for n1 := range g.c1 {
				n := n1 * g.c0
				f((((b*g.c1+n1)*g.n1+m/cubeRows)*cubeRows+m%cubeRows)*g.c0, (b*g.h+m)*g.w+n, min(g.c0, g.w-n), 1, 1)
			}
		}
	}
}

// mover copies elements of t from src to dst by position and step.
func mover(dst, src []byte, t DType) (func(d, s, n, ds, ss int), error) {
	switch t.Bits() {
	case 2:
		return func(d, s, n, ds, ss int) {
			for ; n > 0; n, d, s = n-1, d+ds, s+ss {
				sh := d & 3 * 2
				dst[d/4] = dst[d/4]&^(3<<sh) | src[s/4]>>(s&3*2)&3<<sh
			}
		}, nil
	case 4:
		return func(d, s, n, ds, ss int) {
			for ; n > 0; n, d, s = n-1, d+ds, s+ss {
				sh := d & 1 * 4
				dst[d/2] = dst[d/2]&^(15<<sh) | src[s/2]>>(s&1*4)&15<<sh
			}
		}, nil
	case 8:
		return strided(dst, src), nil
	case 16:
		return strided(View[uint16](dst), View[uint16](src)), nil
	case 32:
		return strided(View[uint32](dst), View[uint32](src)), nil
	case 64:
		return strided(View[uint64](dst), View[uint64](src)), nil
	case 128:
		return func(d, s, n, ds, ss int) {
			for ; n > 0; n, d, s = n-1, d+ds, s+ss {
				copy(dst[16*d:16*d+16], src[16*s:])
			}
		}, nil
	}
	return nil, fmt.Errorf("%v elements cannot be moved one by one", t)
}

func strided[T Number](dst, src []T) func(d, s, n, ds, ss int) {
	return func(d, s, n, ds, ss int) {
		if ds == 1 && ss == 1 {
			copy(dst[d:d+n], src[s:])
			return
		}
		for ; n > 0; n, d, s = n-1, d+ds, s+ss {
			dst[d] = src[s]
		}
	}
}

// Convert returns the tensor in another format; its memory may be shared when nothing has to move. Shape follows the
// order of a row-major format's name, so NCHW to NHWC permutes it. ND of rank 4 is taken as N,C,H,W (or O,I,KH,KW);
// NC1HWC0 and FRACTAL_Z tensors have that logical shape too. Between row-major formats other ranks only change their
// label. C0 is that of the type, one group; for others there is Layout.
func Convert(t *Tensor, to Format) (*Tensor, error) {
	if t.Format == to {
		return t, nil
	}
	rows := &Tensor{DType: t.DType, Format: NCHW, Shape: t.Shape, Data: t.Data}
	switch {
	case t.Format.RowMajor() && to.RowMajor() && len(t.Shape) != 4: // the names say nothing about other ranks
		rows.Format = to
		return rows, checkBytes(rows)
	case t.Format == NHWC:
		n, err := permute(t, NCHW, 0, 3, 1, 2)
		if err != nil {
			return nil, err
		}
		rows = n
	case !t.Format.RowMajor():
		n, err := New(t.DType, t.Shape)
		if err != nil {
			return nil, err
		}
		if err := (Layout{Format: t.Format}).Unpack(n.Data, t.Data, t.Shape, t.DType); err != nil {
			return nil, err
		}
		rows = n
	}
	switch to {
	case ND, NCHW:
		rows.Format = to
		return rows, checkBytes(rows)
	case NHWC:
		return permute(rows, NHWC, 0, 2, 3, 1)
	}
	s, err := StorageShape(to, rows.Shape, rows.DType)
	if err != nil {
		return nil, err
	}
	n, err := s.Bytes(rows.DType)
	if err != nil {
		return nil, err
	}
	out := &Tensor{DType: t.DType, Format: to, Shape: rows.Shape.Clone(), Data: make([]byte, n)}
	return out, (Layout{Format: to}).Pack(out.Data, rows.Data, rows.Shape, rows.DType)
}

func checkBytes(t *Tensor) error {
	n, err := t.Shape.Bytes(t.DType)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("tensor %v has %d bytes, its shape needs %d", t, len(t.Data), n)
	}
	return err
}
