package timeline

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"npu/internal/trace/ascend"
)

// fields walks the keys and values of an object.
type fields struct {
	b  []byte
	at int
}

func newFields(object []byte) fields { return fields{object, 1} }

// What ends a number or a word, what stands before keys and before values, and what nests or quotes.
const (
	stops = 1 << iota
	commas
	colons
	nests
)

// classes is what each byte is.
var classes = [256]uint8{
	' ': stops | commas | colons, '\n': stops | commas | colons, '\t': stops | commas | colons, '\r': stops | commas | colons,
	',': stops | commas, ':': colons, '}': stops | nests, ']': stops | nests, '{': nests, '[': nests, '"': nests,
}

// key is the next key, without quotes, and the place of its value. It ends at the end of the object and at anything that is
// not JSON. The caller moves f.at behind the value.
func (f *fields) key() (key []byte, value int, ok bool) {
	b := f.b
	i := f.at
	for i < len(b) && classes[b[i]]&commas != 0 {
		i++
	}
	if i >= len(b) || b[i] != '"' {
		return nil, 0, false
	}
	end := textEnd(b, i)
	if end < 0 {
		return nil, 0, false
	}
	for value = end; value < len(b) && classes[b[value]]&colons != 0; {
		value++
	}
	return b[i+1 : end-1], value, true
}

// next is the next key, without quotes, and its value as text. It ends where key does, and where no value follows.
func (f *fields) next() (key, value []byte, ok bool) {
	key, at, ok := f.key()
	if !ok {
		return nil, nil, false
	}
	end := valueEnd(f.b, at)
	if end <= at {
		return nil, nil, false
	}
	f.at = end
	return key, f.b[at:end], true
}

// end is the place after the object once next found no more; 0 when the object does not end there.
func (f *fields) end() int {
	for i := f.at; i < len(f.b); i++ {
		switch f.b[i] {
		case ' ', ',', '\n', '\t', '\r':
		case '}':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// Eight bytes at a time: the lowest of those that are zero in x has its highest bit set in zero(x).
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func zero(x uint64) uint64 { return (x - ones) &^ x & highs }

// textEnd is the place after the string at i; -1 when b ends before it does. Most strings are short: long ones are searched
// for their end by more than eight bytes at a time.
func textEnd(b []byte, i int) int {
	i++
	for far := i + 64; i+8 <= len(b) && i < far; {
		w := binary.LittleEndian.Uint64(b[i:])
		hit := zero(w^ones*'"') | zero(w^ones*'\\')
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) / 8
		if b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for i < len(b) {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return -1
		}
		slash := bytes.IndexByte(b[i:i+k], '\\')
		if slash < 0 {
			return i + k + 1
		}
		i += slash + 2
	}
	return -1
}

// valueEnd is the place after the value at i; i when there is none.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return max(textEnd(b, i), i)
	case '{', '[':
		return max(nestedEnd(b, i), i)
	}
	for k := i; k < len(b); k++ {
		if classes[b[k]]&stops != 0 {
			return k
		}
	}
	return i // b ends within the value
}

// nestedEnd is the place after the object or array at i; -1 when b ends before it does.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		c := b[i]
		if classes[c]&nests == 0 {
			i++
			continue
		}
		switch c {
		case '"':
			if i = textEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		default:
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// bare is a value without the quotes of a string.
func bare(v []byte) []byte {
	if len(v) >= 2 && v[0] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// plain undoes the escapes of a string without its quotes. What is no escape stays as it is.
func plain(v []byte) string {
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 >= len(v) {
			out = append(out, v[i])
			continue
		}
		i++
		switch v[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n := unicode(v[i+1:])
			if n == 0 {
				out = append(out, '\\', 'u')
				continue
			}
			out = utf8.AppendRune(out, r)
			i += n
		default:
			out = append(out, v[i])
		}
	}
	return string(out)
}

// unicode reads the digits after \u, and those of the second half of a pair.
func unicode(v []byte) (r rune, n int) {
	half := func(v []byte) (rune, bool) {
		if len(v) < 4 {
			return 0, false
		}
		u, err := strconv.ParseUint(string(v[:4]), 16, 16)
		return rune(u), err == nil
	}
	r, ok := half(v)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(v) >= 10 && v[4] == '\\' && v[5] == 'u' {
		if low, ok := half(v[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return r, 4
}

// micros reads a time in microseconds, a number or a string, as nanoseconds. No float is between: at Unix times those step
// by 250 ns.
func micros(v []byte) (int64, bool) {
	v = bare(v)
	whole, digits := int64(0), 0
	i := 0
	for ; i < len(v) && v[i]-'0' < 10; i++ {
		whole = whole*10 + int64(v[i]-'0')
		digits++
	}
	if digits == 0 || digits > 16 || whole > 9e15 || i < len(v) && v[i] != '.' {
		return ascend.Nanos(string(v), 1000)
	}
	ns := whole * 1000
	if i < len(v) {
		unit := int64(100)
		for i++; i < len(v); i++ {
			d := v[i] - '0'
			if d > 9 {
				return ascend.Nanos(string(v), 1000)
			}
			ns += int64(d) * unit
			unit /= 10
		}
	}
	return ns, true
}

// length reads a duration: what is less than a nanosecond is noise of the exporter's floats, so it is rounded.
func length(v []byte) (int64, bool) {
	ns, ok := micros(v)
	v = bare(v)
	for i := range v {
		if v[i] == '.' && i+4 < len(v) && v[i+4] >= '5' && v[i+4] <= '9' {
			return ns + 1, ok
		}
	}
	return ns, ok
}

// whole reads a number without a fraction; ok is false for what is none.
func whole(v []byte) (int64, bool) {
	v = bare(v)
	if len(v) == 0 || len(v) > 20 {
		return 0, false
	}
	n, i := uint64(0), 0
	if v[0] == '-' {
		i = 1
	}
	for ; i < len(v); i++ {
		d := v[i] - '0'
		if d > 9 || n > (1<<63-10)/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if v[0] == '-' {
		return -int64(n), len(v) > 1
	}
	return int64(n), true
}
