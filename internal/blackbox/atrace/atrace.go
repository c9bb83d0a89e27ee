// Package atrace decodes the binary trace rings that the runtime and its libraries write beside a crash
// (ascend/atrace/.../*.bin). A file describes its own message structures; messages are packed fields. See
// docs/formats/atrace.md.
package atrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"npu/internal/problem"
)

// Magic starts a file.
const Magic = 0xD928

// Problem is damage at an offset.
type Problem struct {
	Offset int64
	Text   string
}

// File is a decoded ring.
type File struct {
	Version     uint32
	Device      bool  // written on the device side
	MinutesWest int32 // of the writer's zone
	RealTime    uint64
	Freq        uint64 // cycles per millisecond; 0: stamps are nanoseconds
	Structs     []Struct
	Messages    []Message
	Busy        int // messages that were being written, left out
	Unknown     int // messages of a structure that the file does not describe
	Problems    []Problem
}

// Struct is one kind of message.
type Struct struct {
	ID    uint8
	Name  string
	Items []Item
}

// Item is a field of a message.
type Item struct {
	Name   string
	Type   uint8 // 0 char, 1 i8, 2 u8, 3 i16, ... 8 u64; +100: array
	Mode   uint8 // 0 decimal, 1 binary, 2 hexadecimal, 3 characters
	Length int   // bytes of the field
}

// Message is one record.
type Message struct {
	Offset int64
	Time   time.Time // UTC
	Struct string
	Fields [][2]string
}

// Sniff says whether a file starts like an atrace ring.
func Sniff(head []byte) bool {
	return len(head) >= 48 && binary.LittleEndian.Uint32(head) == Magic && (binary.LittleEndian.Uint32(head[4:]) == 2 || binary.LittleEndian.Uint32(head[4:]) == 3)
}

// Parse decodes a file. A file that is cut gives the whole messages before the cut.
func Parse(b []byte) (*File, error) {
	if !Sniff(b) {
		return nil, problem.Damagedf("offset 0: no atrace ring (magic 0x%x, version 2 or 3 expected)", Magic)
	}
	le := binary.LittleEndian
	f := &File{Version: le.Uint32(b[4:]), Device: b[8] == 0x80, MinutesWest: int32(le.Uint32(b[20:])), RealTime: le.Uint64(b[24:])}
	if f.Version == 3 {
		f.Freq = le.Uint64(b[32:])
	}
	structs := uint64(le.Uint32(b[12:]))
	if structs > uint64(len(b)-48) {
		f.problem(12, "the structure part says %d bytes, %d are left (file cut short)", structs, len(b)-48)
		structs = uint64(len(b) - 48)
	}
	f.structs(b[48 : 48+structs])
	f.messages(b, 48+int(structs))
	return f, nil
}

func (f *File) problem(at int64, format string, args ...any) {
	if len(f.Problems) < 200 {
		f.Problems = append(f.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

func name(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "?")
}

func (f *File) structs(b []byte) {
	le := binary.LittleEndian
	if len(b) < 40 {
		f.problem(48, "no structure is described")
		return
	}
	count := le.Uint32(b)
	at := 40
	for i := uint32(0); i < count && i < 256; i++ {
		if at+40 > len(b) {
			f.problem(48+int64(at), "structure %d of %d is cut", i, count)
			return
		}
		s := Struct{Name: name(b[at : at+32]), ID: b[at+36]}
		items := le.Uint32(b[at+32:])
		at += 40
		for k := uint32(0); k < items; k++ {
			if at+40 > len(b) {
				f.problem(48+int64(at), "item %d of %d in structure %s is cut", k, items, s.Name)
				return
			}
			s.Items = append(s.Items, Item{Name: name(b[at : at+32]), Type: b[at+32], Mode: b[at+33], Length: int(le.Uint16(b[at+34:]))})
			at += 40
		}
		f.Structs = append(f.Structs, s)
	}
}

func (f *File) messages(b []byte, at int) {
	le := binary.LittleEndian
	if at+16 > len(b) {
		f.problem(int64(at), "the data head is missing (file cut short)")
		return
	}
	size, count := int(le.Uint32(b[at:])), int(le.Uint32(b[at+8:]))
	at += 16
	if size < 16 {
		f.problem(int64(at-16), "messages of %d bytes: their head alone has 16", size)
		return
	}
	if whole := (len(b) - at) / size; count > whole {
		f.problem(int64(at), "the data head says %d messages, %d are in the file", count, whole)
		count = whole
	}
	for i := range count {
		m := b[at+i*size : at+(i+1)*size]
		switch {
		case m[12] != 0:
			f.Busy++
			continue
		case le.Uint32(m[8:]) == 0 && le.Uint64(m) == 0: // never written
			continue
		}
		s := f.find(m[13])
		if s == nil {
			f.Unknown++
			continue
		}
		f.Messages = append(f.Messages, Message{Offset: int64(at + i*size), Time: f.time(le.Uint64(m)), Struct: s.Name, Fields: s.fields(m[16:])})
	}
}

func (f *File) find(id uint8) *Struct {
	for i := range f.Structs {
		if f.Structs[i].ID == id {
			return &f.Structs[i]
		}
	}
	return nil
}

// time turns a cycle count into a time: the ring's start plus the cycles since boot of the counter.
func (f *File) time(cycle uint64) time.Time {
	ns := cycle
	if f.Freq > 0 {
		hi, lo := bits.Mul64(cycle, 1_000_000)
		if hi >= f.Freq {
			return time.Unix(0, int64(f.RealTime)).UTC()
		}
		ns, _ = bits.Div64(hi, lo, f.Freq)
	}
	return time.Unix(0, int64(f.RealTime+ns)).UTC()
}

func (s *Struct) fields(b []byte) [][2]string {
	var out [][2]string
	for _, it := range s.Items {
		n := it.Length
		if n > len(b) {
			out = append(out, [2]string{it.Name, "<cut>"})
			break
		}
		out = append(out, [2]string{it.Name, it.value(b[:n])})
		b = b[n:]
	}
	return out
}

var widths = [...]int{1, 1, 1, 2, 2, 4, 4, 8, 8}

// value prints a field in the mode that the writer asked for.
func (it Item) value(b []byte) string {
	t := it.Type
	if t >= 100 {
		t -= 100
	}
	if int(t) >= len(widths) {
		return fmt.Sprintf("<type %d: % x>", it.Type, b[:min(len(b), 16)])
	}
	if t == 0 || it.Mode == 3 {
		return name(b)
	}
	w := widths[t]
	var out []string
	for ; len(b) >= w; b = b[w:] {
		var x [8]byte
		copy(x[:], b[:w])
		v := binary.LittleEndian.Uint64(x[:])
		switch {
		case it.Mode == 2:
			out = append(out, "0x"+strconv.FormatUint(v, 16))
		case it.Mode == 1:
			out = append(out, "0b"+strconv.FormatUint(v, 2))
		case t%2 == 1: // signed
			out = append(out, strconv.FormatInt(int64(v<<(64-8*w))>>(64-8*w), 10))
		default:
			out = append(out, strconv.FormatUint(v, 10))
		}
	}
	return strings.Join(out, ",")
}

func (m Message) String() string {
	var b strings.Builder
	when := m.Time.Round(time.Microsecond)
	ns := when.Nanosecond()
	fmt.Fprintf(&b, "%s.%03d.%03d %s:", when.Format("2006-01-02 15:04:05"), ns/1e6, ns/1e3%1e3, m.Struct)
	for i, f := range m.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s[%s]", f[0], f[1])
	}
	return b.String()
}
