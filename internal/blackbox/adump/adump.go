// Package adump reads tensor dumps: operator data dumps, exception dumps (L0, L1, custom), the tiny-chip form, overflow
// records, dump statistics, and what lies beside them (file names, mapping.csv, kernel descriptions). Payloads are
// not read, only located: callers stream them. See docs/formats/dump.md.
package adump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/blackbox/elem"
	"npu/internal/problem"
)

// Magic is the start of the tiny-chip header and of overflow records.
const Magic = 0x5a5a5a5a

// maxHeader bounds the message that is held in memory.
const maxHeader = 256 << 20

// Problem is damage at an offset of the file.
type Problem struct {
	Offset int64
	Text   string
}

// File is a parsed dump.
type File struct {
	Tiny       bool
	Version    string
	Time       uint64 // microseconds since 1970; 0 unknown
	OpName     string
	Attrs      [][2]string
	DFX        string // the log of an exception dump
	HeaderLen  uint64
	Size       int64
	Tensors    []Tensor // in the order of the payload
	Problems   []Problem
	unknown    map[protowire.Number]int
	PayloadLen uint64 // sum of the sizes
}

// Tensor is one payload and what is known of it.
type Tensor struct {
	Role      string // input, output, buffer, space
	Index     int
	DType     elem.Type
	DTypeNo   int
	Format    int
	SubFormat int
	Shape     []uint64
	OrigShape []uint64
	OrigOp    string
	OrigOut   int
	Size      uint64 // as the header says
	Offset    int64  // of the payload in the file
	Have      uint64 // bytes that are really there
	Address   uint64 // device address; 0 unknown
	ArgIndex  int    // -1 unknown
	InputType int    // DfxTensorType; 0 unknown
	Ranges    [][2]uint64
	BufType   int
	hasDType  bool
}

// Sniff says whether the start of a file of the given size can be a tensor dump.
func Sniff(head []byte, size int64) bool {
	if len(head) < 16 || size < 16 {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	if binary.LittleEndian.Uint32(head[8:]) == Magic && n >= 8 && n <= 1<<32 {
		return true
	}
	if n == 0 || n > maxHeader {
		return false
	}
	num, typ, k := protowire.ConsumeTag(head[8:])
	if k < 0 || num < 1 || num > 9 || wireType(num) != typ {
		return false
	}
	if typ == protowire.BytesType { // the length must fit into the header
		l, m := protowire.ConsumeVarint(head[8+k:])
		return m > 0 && l <= n && (num != 1 || l < 32)
	}
	return true
}

// wireType of the fields of DumpData.
func wireType(n protowire.Number) protowire.Type {
	if n == 2 {
		return protowire.VarintType
	}
	return protowire.BytesType
}

// Parse reads the header of a dump of size bytes. A header that is cut gives what stands before the cut; only a file
// that is no dump at all is an error.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	var h [16]byte
	n, err := r.ReadAt(h[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read dump: %w", err)
	}
	if n < 16 {
		return nil, problem.Damagedf("offset 0: %d bytes are no dump (the header alone has 16)", size)
	}
	if !Sniff(h[:], size) {
		return nil, problem.Damagedf("offset 0: no tensor dump (header length %d, then bytes % x)", binary.LittleEndian.Uint64(h[:]), h[8:])
	}
	f := &File{HeaderLen: binary.LittleEndian.Uint64(h[:]), Size: size, unknown: map[protowire.Number]int{}}
	have := min(f.HeaderLen, uint64(size-8), maxHeader)
	b := make([]byte, have)
	if n, err := r.ReadAt(b, 8); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read dump header: %w", err)
	} else {
		b = b[:n]
	}
	if uint64(len(b)) < f.HeaderLen {
		f.problem(8, "the header says %d bytes, %d are in the file: the list of tensors is cut", f.HeaderLen, len(b))
	}
	if binary.LittleEndian.Uint32(h[8:]) == Magic {
		f.Tiny = true
		f.tiny(b)
	} else {
		f.message(b)
	}
	f.layout()
	return f, nil
}

func (f *File) problem(at int64, format string, args ...any) {
	if len(f.Problems) < 200 {
		f.Problems = append(f.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

// layout gives every tensor its place: inputs, outputs, buffers, spaces, back to back, whatever their order on the
// wire.
func (f *File) layout() {
	var ordered []Tensor
	for _, role := range []string{"input", "output", "buffer", "space"} {
		k := 0
		for _, t := range f.Tensors {
			if t.Role == role {
				t.Index = k
				k++
				ordered = append(ordered, t)
			}
		}
	}
	f.Tensors = ordered
	if f.HeaderLen > uint64(f.Size)-8 {
		return
	}
	at, sum := 8+f.HeaderLen, uint64(0)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		t.Offset = int64(min(at, uint64(f.Size)))
		left := uint64(f.Size) - uint64(t.Offset)
		t.Have = min(t.Size, left)
		if t.Have < t.Size {
			whole := ""
			if c := t.DType.Count(t.Have); t.DType.Bits > 0 {
				whole = fmt.Sprintf(", %d whole elements", c)
			}
			f.problem(t.Offset, "%s %d has %d of its %d bytes%s (file cut short)", t.Role, t.Index, t.Have, t.Size, whole)
		}
		var carry uint64
		if at, carry = bits.Add64(at, t.Size, 0); carry != 0 {
			at = 1 << 63
		}
		sum += t.Size
	}
	f.PayloadLen = sum
	if at < uint64(f.Size) {
		f.problem(int64(at), "%d bytes follow the last payload that the header lists", uint64(f.Size)-at)
	}
}

// message parses DumpData.
func (f *File) message(b []byte) {
	f.fields(b, 8, func(num protowire.Number, v uint64, sub []byte, at int64) {
		switch num {
		case 1:
			f.Version = text(sub)
		case 2:
			f.Time = v
		case 3, 4:
			f.tensor(num == 3, sub, at)
		case 5:
			t := Tensor{Role: "buffer", ArgIndex: -1}
			f.fields(sub, at, func(n protowire.Number, v uint64, _ []byte, _ int64) {
				switch n {
				case 1:
					t.BufType = int(v)
				case 3:
					t.Size = v
				}
			})
			f.add(t)
		case 6:
			f.OpName = text(sub)
		case 7:
			var kv [2]string
			f.fields(sub, at, func(n protowire.Number, _ uint64, s []byte, _ int64) {
				if n == 1 || n == 2 {
					kv[n-1] = text(s)
				}
			})
			if len(f.Attrs) < 4096 {
				f.Attrs = append(f.Attrs, kv)
			}
		case 8:
			t := Tensor{Role: "space", ArgIndex: -1}
			f.fields(sub, at, func(n protowire.Number, v uint64, _ []byte, _ int64) {
				switch n {
				case 1:
					t.BufType = int(v)
				case 3:
					t.Size = v
				case 4:
					t.ArgIndex = int(uint32(v))
				}
			})
			f.add(t)
		case 9:
			f.DFX = text(sub)
		default:
			f.unknown[num]++
		}
	})
}

func (f *File) add(t Tensor) {
	if len(f.Tensors) < 1<<16 {
		f.Tensors = append(f.Tensors, t)
	}
}

// tensor parses OpOutput and OpInput, whose fields have different numbers from the fifth on.
func (f *File) tensor(output bool, b []byte, at int64) {
	t := Tensor{Role: "input", ArgIndex: -1}
	if output {
		t.Role = "output"
	}
	common := func(n protowire.Number, v uint64, sub []byte, at int64) {
		switch n {
		case 1:
			t.DTypeNo, t.hasDType = int(int32(v)), true
		case 2:
			t.Format = int(int32(v))
		case 3:
			t.Shape = f.shape(sub, at)
		}
	}
	if output {
		f.fields(b, at, func(n protowire.Number, v uint64, sub []byte, at int64) {
			switch n {
			case 4:
				f.fields(sub, at, func(n protowire.Number, v uint64, s []byte, _ int64) {
					switch n {
					case 1:
						t.OrigOp = text(s)
					case 2:
						t.OrigOut = int(uint32(v))
					}
				})
			case 6:
				t.Size = v
			case 7:
				t.OrigShape = f.shape(sub, at)
			case 8:
				t.SubFormat = int(int32(v))
			case 9:
				t.Address = v
			case 10:
				var r [2]uint64
				f.fields(sub, at, func(n protowire.Number, v uint64, _ []byte, _ int64) {
					if n == 1 || n == 2 {
						r[n-1] = v
					}
				})
				if len(t.Ranges) < 64 {
					t.Ranges = append(t.Ranges, r)
				}
			case 12:
				t.ArgIndex = int(uint32(v))
			default:
				common(n, v, sub, at)
			}
		})
	} else {
		f.fields(b, at, func(n protowire.Number, v uint64, sub []byte, at int64) {
			switch n {
			case 5:
				t.Size = v
			case 6:
				t.OrigShape = f.shape(sub, at)
			case 7:
				t.SubFormat = int(int32(v))
			case 8:
				t.Address = v
			case 10:
				t.ArgIndex = int(uint32(v))
			case 11:
				t.InputType = int(uint32(v))
			default:
				common(n, v, sub, at)
			}
		})
	}
	t.DType = elem.Proto(t.DTypeNo)
	f.add(t)
}

// shape reads Shape{dim[]}, packed or not.
func (f *File) shape(b []byte, at int64) []uint64 {
	out := []uint64{}
	f.fields(b, at, func(n protowire.Number, v uint64, sub []byte, at int64) {
		if n != 1 {
			return
		}
		if sub == nil {
			out = append(out, v)
			return
		}
		for len(sub) > 0 && len(out) < 64 {
			d, k := protowire.ConsumeVarint(sub)
			if k < 0 {
				f.problem(at, "dimension list is cut")
				return
			}
			out = append(out, d)
			sub = sub[k:]
		}
	})
	return out[:min(len(out), 64)]
}

// fields walks a message; damage ends the walk with a problem.
func (f *File) fields(b []byte, base int64, fn func(num protowire.Number, v uint64, sub []byte, at int64)) {
	start := len(b)
	for len(b) > 0 {
		at := base + int64(start-len(b))
		num, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			f.problem(at, "message: field tag is damaged")
			return
		}
		b = b[k:]
		switch typ {
		case protowire.VarintType:
			v, k := protowire.ConsumeVarint(b)
			if k < 0 {
				f.problem(at, "message: value of field %d is cut", num)
				return
			}
			fn(num, v, nil, at)
			b = b[k:]
		case protowire.BytesType:
			l, k := protowire.ConsumeVarint(b)
			if k < 0 {
				f.problem(at, "message: length of field %d is cut", num)
				return
			}
			body := b[k:]
			if l > uint64(len(body)) {
				f.problem(at, "message: field %d says %d bytes, %d are left", num, l, len(body))
				if len(body) > 0 {
					fn(num, 0, body, at+int64(k))
				}
				return
			}
			fn(num, 0, body[:l:l], base+int64(start-len(b)+k))
			b = body[l:]
		default:
			k := protowire.ConsumeFieldValue(num, typ, b)
			if k < 0 {
				f.problem(at, "message: value of field %d is damaged", num)
				return
			}
			b = b[k:]
		}
	}
}
