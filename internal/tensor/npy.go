package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// npyMagic starts every .npy file; two bytes of version follow.
const npyMagic = "\x93NUMPY"

// ReadNPY reads one array in NumPy's .npy format, versions 1 to 3, C or Fortran order, either byte order, and leaves r
// behind its last byte. size is how many bytes r holds at most, or -1 if that is unknown; no more memory is taken
// than so many bytes can fill. The result is row-major ND. '<V2' is read as bfloat16, as ml_dtypes writes it, '|V1' as
// uint8. Structured, object, string and time types are refused. Errors name the offset in r.
func ReadNPY(r io.Reader, size int64) (*Tensor, error) {
	h, at, err := readHeader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	n, err := h.shape.Bytes(h.dtype)
	if err != nil {
		return nil, fmt.Errorf("npy: header: %w", err)
	}
	if size >= 0 && int64(n) > size-at {
		return nil, fmt.Errorf("npy: offset %d: %v[%v] needs %d bytes, %d are left (file truncated?)", at, h.dtype, h.shape, n, size-at)
	}
	data, err := readBounded(r, n)
	if err != nil {
		return nil, fmt.Errorf("npy: offset %d: %v[%v] needs %d bytes, %d are left: %w", at, h.dtype, h.shape, n, len(data), err)
	}
	if h.bigEndian {
		swapBytes(data, wordSize(h.dtype))
	}
	t := &Tensor{DType: h.dtype, Shape: h.shape, Data: data}
	if h.fortran && len(h.shape) > 1 {
		return transposed(t)
	}
	return t, nil
}

// transposed turns column-major memory of the tensor's shape into row-major.
func transposed(t *Tensor) (*Tensor, error) {
	rows := *t
	rows.Shape = t.Shape.Clone()
	slices.Reverse(rows.Shape)
	axes := make([]int, len(t.Shape))
	for i := range axes {
		axes[i] = len(axes) - 1 - i
	}
	return permute(&rows, t.Format, axes...)
}

// readBounded reads n bytes; memory grows with what really arrives, so that a header alone cannot claim it. On an
// error it returns what came.
func readBounded(r io.Reader, n int) ([]byte, error) {
	const first = 1 << 20
	data := make([]byte, min(n, first))
	got := 0
	for {
		m, err := io.ReadFull(r, data[got:])
		got += m
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return data[:got], err
		}
		if got == n {
			return data, nil
		}
		bigger := make([]byte, min(n, 4*got))
		copy(bigger, data)
		data = bigger
	}
}

// npyHeader is what the dictionary in front of the data says.
type npyHeader struct {
	dtype     DType
	bigEndian bool
	fortran   bool
	shape     Shape
}

// readHeader returns the header and the offset of the data.
func readHeader(r io.Reader, size int64) (*npyHeader, int64, error) {
	var start [12]byte
	if _, err := io.ReadFull(r, start[:8]); err != nil {
		return nil, 0, fmt.Errorf("offset 0: shorter than the 8 bytes of magic and version: %w", err)
	}
	if string(start[:6]) != npyMagic {
		return nil, 0, fmt.Errorf("offset 0: starts with % x, not with \\x93NUMPY", start[:6])
	}
	version, at := start[6], int64(10)
	lengthBytes := start[8:10]
	switch version {
	case 1:
	case 2, 3:
		at, lengthBytes = 12, start[8:12]
	default:
		return nil, 0, fmt.Errorf("offset 6: version %d.%d, expected 1 to 3", version, start[7])
	}
	if _, err := io.ReadFull(r, lengthBytes); err != nil {
		return nil, 0, fmt.Errorf("offset 8: no header length: %w", err)
	}
	n := int64(binary.LittleEndian.Uint16(lengthBytes))
	if len(lengthBytes) == 4 {
		n = int64(binary.LittleEndian.Uint32(lengthBytes))
	}
	if n > 1<<20 || size >= 0 && n > size-at {
		return nil, 0, fmt.Errorf("offset 8: header length %d, beyond the file or 1 MiB", n)
	}
	text, err := readBounded(r, int(n))
	if err != nil {
		return nil, 0, fmt.Errorf("offset %d: header of %d bytes, %d are left: %w", at, n, len(text), err)
	}
	h, err := parseHeader(string(text), at)
	return h, at + n, err
}

// parseHeader reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else; at is its offset.
func parseHeader(text string, at int64) (*npyHeader, error) {
	p := &dict{text: text, at: at}
	h := &npyHeader{}
	seen := make(map[string]bool)
	p.expect("{")
	for p.err == nil && !p.accept("}") {
		key := p.quoted()
		p.expect(":")
		if p.err == nil && seen[key] {
			p.fail("%q is there twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			p.descr(h)
		case "fortran_order":
			h.fortran = p.bool()
		case "shape":
			h.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	if p.err == nil && strings.Trim(p.text[p.pos:], " \n\x00") != "" {
		p.fail("%.20q behind the dictionary", p.text[p.pos:])
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			p.fail("no %q", key)
		}
	}
	return h, p.err
}

func (p *dict) descr(h *npyHeader) {
	p.space()
	if strings.HasPrefix(p.text[p.pos:], "[") {
		p.fail("a structured type, which is not supported")
		return
	}
	start := p.pos
	s := p.quoted()
	if p.err != nil {
		return
	}
	var ok bool
	if h.dtype, h.bigEndian, ok = fromDescr(s); !ok {
		p.pos = start
		p.fail("type %q is not supported", s)
	}
}

// fromDescr reads a type string such as <f4.
func fromDescr(s string) (t DType, bigEndian, ok bool) {
	if len(s) < 3 {
		return Undefined, false, false
	}
	switch s[0] {
	case '>':
		bigEndian = true
	case '<', '=':
	case '|': // without a byte order: single bytes, and raw data
		if s[2:] != "1" && s[1] != 'V' {
			return Undefined, false, false
		}
	default:
		return Undefined, false, false
	}
	for t := Float32; t < dtypeCount; t++ {
		if d := toDescr(t); d != "" && d[1:] == s[1:] {
			return t, bigEndian, true
		}
	}
	switch s[1:] {
	case "V1":
		return Uint8, false, true
	case "V2":
		return BFloat16, bigEndian, true
	}
	return Undefined, false, false
}

// toDescr is the type string of a type that NumPy has itself; empty for others.
func toDescr(t DType) string {
	kind := byte(0)
	switch t {
	case Bool:
		return "|b1"
	case Float16, Float32, Float64:
		kind = 'f'
	case Int8, Int16, Int32, Int64:
		kind = 'i'
	case Uint8, Uint16, Uint32, Uint64:
		kind = 'u'
	case Complex64, Complex128:
		kind = 'c'
	default:
		return ""
	}
	order := '<'
	if t.Size() == 1 {
		order = '|'
	}
	return fmt.Sprintf("%c%c%d", order, kind, t.Size())
}

// wordSize is the size of what a byte order applies to.
func wordSize(t DType) int {
	if t == Complex64 || t == Complex128 {
		return t.Size() / 2
	}
	return t.Size()
}

func swapBytes(b []byte, word int) {
	for ; word > 1 && len(b) >= word; b = b[word:] {
		slices.Reverse(b[:word])
	}
}
