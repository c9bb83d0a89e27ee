package decode

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/elem"
	"npu/internal/tensor"
)

// payload is a tensor's bytes in a file or in memory.
type payload struct {
	r       io.ReaderAt
	off     int64
	size    int64 // that are there
	dtype   elem.Type
	shape   []uint64
	format  string
	orig    []uint64
	formatN int
}

// piece is how much is read at a time.
const piece = 1 << 20

// numbers takes statistics and exports of one tensor, both at once where the bytes need no conversion.
func (j *job) numbers(t *Tensor, p payload) error {
	if p.size > 0 {
		t.First, t.Hex = firstValues(p)
	}
	if j.o.NoStats {
		return nil
	}
	if p.dtype.Bits >= 8 {
		p.size -= p.size % int64(p.dtype.Bits/8)
	}
	a := elem.NewAccumulator(p.dtype)
	stats := func(b []byte) error { a.Add(b); return nil }
	quick := j.o.Format == "npy" || j.o.Format == "bin" // only the files are wanted
	if err := j.export(t, p, stats, quick); err != nil {
		return err
	}
	if !quick {
		figures(t, p.dtype, a.Stats())
	}
	return nil
}

// figures fills in what the statistics say.
func figures(t *Tensor, dt elem.Type, s elem.Stats) {
	num := func(f float64) *Number { n := Number(f); return &n }
	count := func(n int64) *int64 { return &n }
	t.Elements, t.NaN, t.Inf, t.Zeros = count(s.Count/int64(dt.Numbers())), count(s.NaN), count(s.PosInf+s.NegInf), count(s.Zeros)
	if s.Count > 0 {
		t.Min, t.Max, t.Mean, t.Std, t.L2 = num(s.Min), num(s.Max), num(s.Mean), num(s.Std), num(s.L2)
	}
	if s.FirstBad >= 0 {
		t.FirstBad = &s.FirstBad
	}
}

// firstValues decodes the start of a payload; without a type it is shown as hex.
func firstValues(p payload) ([]Value, string) {
	head := make([]byte, min(p.size, 64))
	n, err := p.r.ReadAt(head, p.off)
	if err != nil && n == 0 {
		return nil, ""
	}
	head = head[:n]
	if !p.dtype.Numeric() {
		return nil, fmt.Sprintf("% x", head[:min(n, 32)])
	}
	buf := make([]float64, int(p.dtype.Count(uint64(len(head))))*p.dtype.Numbers())
	k := p.dtype.Decode(buf, head)
	if n, ok := adump.Elements(p.shape); ok && len(p.shape) > 0 {
		k = int(min(uint64(k), n*uint64(p.dtype.Numbers())))
	}
	var out []Value
	for _, f := range buf[:min(k, 8)] {
		out = append(out, Value(f))
	}
	return out, ""
}

// export writes the tensor: .npy in its own layout (and in natural order when the layout is a fractal one), .bin
// when the type is not known or the user wants bytes. The statistics see the same bytes on the way, unless quick.
func (j *job) export(t *Tensor, p payload, stats func([]byte) error, quick bool) error {
	sinks := func(more ...func([]byte) error) []func([]byte) error {
		if quick || !p.dtype.Numeric() {
			return more
		}
		return append(more, stats)
	}
	if j.o.Out == "" || p.size == 0 {
		if s := sinks(); len(s) > 0 {
			return pump(j.ctx, p.r, p.off, p.size, piece, s...)
		}
		return nil
	}
	name := j.base + "." + t.Name
	out := p.dtype.Out()
	if j.o.Format == "bin" || out == tensor.Undefined {
		if j.o.Format == "bin" && out != tensor.Undefined { // as the vendor's converter names them
			name += "." + strings.ReplaceAll(shapeText(p.shape), "x", "_") + "." + p.dtype.Name + "." + p.format
		}
		path, err := j.write(name+".bin", func(w io.Writer) error { return pump(j.ctx, p.r, p.off, p.size, piece, sinks(writer(w))...) })
		t.File = path
		return err
	}
	shape, whole := npyShape(p)
	if !whole {
		name += ".partial"
	}
	path, err := j.write(name+".npy", func(w io.Writer) error { return j.npyTo(w, p, shape, sinks) })
	if err != nil {
		return err
	}
	t.File = path
	if whole {
		t.Natural, err = j.natural(name, p)
	}
	return err
}

func writer(w io.Writer) func([]byte) error {
	return func(b []byte) error { _, err := w.Write(b); return err }
}

// npyShape is the shape of the array: the tensor's, if its bytes are all there, else a flat one.
func npyShape(p payload) (tensor.Shape, bool) {
	count := p.dtype.Count(uint64(p.size))
	if n, ok := adump.Elements(p.shape); ok && n <= count && (n == count || p.dtype.Bits < 8) && len(p.shape) > 0 {
		s := make(tensor.Shape, len(p.shape))
		for i, d := range p.shape {
			s[i] = int(d)
		}
		return s, true
	}
	need, _ := p.dtype.Bytes(1)
	return tensor.Shape{int(count)}, len(p.shape) == 0 && need > 0
}

// write makes a file below the output folder; it appears when it is complete.
func (j *job) write(name string, fn func(io.Writer) error) (string, error) {
	path := filepath.Join(j.o.Out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	if err := place(path, fn); err != nil {
		return "", err
	}
	return path, nil
}

// copy streams the payload as it is.
func (j *job) copy(w io.Writer, p payload) error {
	return pump(j.ctx, p.r, p.off, p.size, piece, writer(w))
}

// npyTo writes header and numbers; types that NumPy lacks are widened on the way.
func (j *job) npyTo(w io.Writer, p payload, shape tensor.Shape, sinks func(...func([]byte) error) []func([]byte) error) error {
	head, err := tensor.NPYHeader(p.dtype.Out(), shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if b, ok := w.(interface{ Flush() error }); ok { // the numbers go past the buffer
		if err := b.Flush(); err != nil {
			return err
		}
	}
	if p.dtype.Direct() {
		return pump(j.ctx, p.r, p.off, p.size, piece-int64(len(head)), sinks(writer(w))...)
	}
	count, err := shape.Elements()
	if err != nil {
		return err
	}
	left := int64(count) * int64(p.dtype.Numbers()) * int64(outWord(p.dtype))
	var wide []byte
	widen := func(b []byte) error {
		wide = p.dtype.Widen(wide[:0], b)
		wide = wide[:min(int64(len(wide)), left)]
		left -= int64(len(wide))
		_, err := w.Write(wide)
		return err
	}
	return pump(j.ctx, p.r, p.off, p.size, piece, sinks(widen)...)
}

// outWord is the size of one number of the widened type.
func outWord(t elem.Type) int {
	return t.Out().Size() / t.Numbers()
}

// maxNatural bounds the tensors that are rearranged in memory.
const maxNatural = 1 << 30

// natural writes a fractal tensor in row-major order, cut to its original shape.
func (j *job) natural(name string, p payload) (string, error) {
	f, ok := layouts[p.format]
	if !ok || len(p.orig) == 0 || p.size > maxNatural || p.dtype.DType() == tensor.Undefined || p.dtype.Bits < 8 {
		return "", nil
	}
	t, err := unpack(p, f)
	if err != nil || t == nil {
		return "", nil // stored and original shape do not fit together: the raw array is there
	}
	return j.write(name+"."+t.Format.String()+".npy", func(w io.Writer) error { return tensor.WriteNPY(w, t) })
}

var layouts = map[string]tensor.Format{"NC1HWC0": tensor.NC1HWC0, "FRACTAL_Z": tensor.FractalZ, "FRACTAL_NZ": tensor.FractalNZ}

// unpack reads a fractal payload into row-major memory. The innermost dimension of the stored shape says what C0 is.
func unpack(p payload, f tensor.Format) (*tensor.Tensor, error) {
	b := make([]byte, p.size)
	if _, err := p.r.ReadAt(b, p.off); err != nil && err != io.EOF {
		return nil, err
	}
	shape := make(tensor.Shape, len(p.orig))
	for i, d := range p.orig {
		shape[i] = int(min(d, 1<<40))
	}
	l := tensor.Layout{Format: f}
	if n := len(p.shape); n > 0 {
		l.C0 = int(min(p.shape[n-1], 1<<16))
	}
	dt := p.dtype.DType()
	stored, err := l.StorageShape(shape, dt)
	if err != nil {
		return nil, err
	}
	if n, err := stored.Bytes(dt); err != nil || n != len(b) {
		return nil, fmt.Errorf("stored shape %v needs %d bytes, %d are there", stored, n, len(b))
	}
	out, err := tensor.New(dt, shape)
	if err != nil {
		return nil, err
	}
	if err := l.Unpack(out.Data, b, shape, dt); err != nil {
		return nil, err
	}
	out.Format = tensor.ND
	if len(shape) == 4 && f != tensor.FractalNZ {
		out.Format = tensor.NCHW
	}
	return out, nil
}

func shapeText(s []uint64) string {
	if len(s) == 0 {
		return "-"
	}
	var out []string
	for _, d := range s {
		out = append(out, strconv.FormatUint(d, 10))
	}
	return strings.Join(out, "x")
}
