package adump

import (
	"encoding/binary"
	"strings"

	"npu/internal/blackbox/elem"
)

func text(b []byte) string { return strings.ToValidUTF8(string(b), "?") }

// tiny parses the header of small chips: magic, version, then type-length-value records, packed.
func (f *File) tiny(b []byte) {
	if len(b) < 8 {
		f.problem(8, "tiny header is cut")
		return
	}
	f.Version = "tiny " + itoa(binary.LittleEndian.Uint32(b[4:]))
	r := reader{b: b, at: 8}
	for r.left() >= 8 {
		kind, n := r.u32(), r.u32()
		if int64(n) > int64(r.left()) {
			f.problem(8+int64(r.at), "record of type %d says %d bytes, %d are left", kind, n, r.left())
			n = uint32(r.left())
		}
		body := reader{b: r.b[:r.at+int(n)], at: r.at}
		r.at += int(n)
		switch kind {
		case 4, 5:
			f.tinyTensors(&body, kind == 5)
		}
	}
}

func (f *File) tinyTensors(r *reader, output bool) {
	count := r.u32()
	for i := uint32(0); i < count && !r.bad; i++ {
		at := int64(r.at) + 8
		t := Tensor{Role: "input", ArgIndex: -1, hasDType: true}
		t.DTypeNo, t.Format = int(int32(r.u32())), int(int32(r.u32()))
		r.u32() // kind of address
		if output {
			t.Role = "output"
			t.OrigOut = int(r.u32())
			r.u32() // original type
			r.u32() // original format
		}
		t.Address = r.u64()
		r.u64() // offset inside the allocation
		t.Size = r.u64()
		sub := int(r.u32())
		if r.bad || sub > r.left() {
			f.problem(at, "%s %d of %d is cut", t.Role, i, count)
			return
		}
		end := r.at + sub
		s := reader{b: r.b[:end], at: r.at}
		for s.left() >= 8 {
			kind, n := s.u32(), int(s.u32())
			if n > s.left() || n < 0 {
				f.problem(8+int64(s.at), "part of type %d says %d bytes, %d are left", kind, n, s.left())
				break
			}
			body := s.b[s.at : s.at+n]
			s.at += n
			switch kind {
			case 0:
				t.Shape = dims(body)
			case 1:
				t.OrigShape = dims(body)
			case 2:
				t.OrigOp = strings.TrimRight(text(body), "\x00")
				if output && f.OpName == "" {
					f.OpName = t.OrigOp
				}
			}
		}
		r.at = end
		t.DType = elem.GE(t.DTypeNo)
		f.add(t)
	}
	if r.bad {
		f.problem(int64(r.at)+8, "list of tensors is cut")
	}
}

func dims(b []byte) []uint64 {
	var out []uint64
	for ; len(b) >= 8 && len(out) < 64; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

// reader takes little-endian words; after the end everything is zero and bad is set.
type reader struct {
	b   []byte
	at  int
	bad bool
}

func (r *reader) left() int { return len(r.b) - r.at }

func (r *reader) u32() uint32 {
	if r.left() < 4 {
		r.bad, r.at = true, len(r.b)
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b[r.at:])
	r.at += 4
	return v
}

func (r *reader) u64() uint64 {
	if r.left() < 8 {
		r.bad, r.at = true, len(r.b)
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b[r.at:])
	r.at += 8
	return v
}

func itoa(n uint32) string {
	var b [10]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
