package timeline

import (
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

// next is the next key, without quotes, and its value as text. It ends at the end of the object and at anything that is not
// JSON.
func (f *fields) next() (key, value []byte, ok bool) {
	b := f.b
	i := f.at
	for i < len(b) && (b[i] == ' ' || b[i] == ',' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	n, ok := text(b[i:])
	if !ok {
		return nil, nil, false
	}
	key = b[i+1 : i+n-1]
	for i += n; i < len(b) && (b[i] == ' ' || b[i] == ':' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r'); i++ {
	}
	end := valueEnd(b, i)
	if end <= i {
		return nil, nil, false
	}
	f.at = end
	return key, b[i:end], true
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

// valueEnd is the place after the value at i; i when there is none.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		if n, ok := text(b[i:]); ok {
			return i + n
		}
		return i
	case '{', '[':
		depth := 0
		for k := i; k < len(b); {
			switch b[k] {
			case '"':
				n, ok := text(b[k:])
				if !ok {
					return i
				}
				k += n
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return k + 1
				}
			}
			k++
		}
		return i
	}
	k := i
	for k < len(b) {
		switch b[k] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return k
		}
		k++
	}
	return i // b ends within the value
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
