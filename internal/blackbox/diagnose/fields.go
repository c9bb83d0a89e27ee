package diagnose

import (
	"bytes"
	"strconv"
	"strings"
)

// has is bytes.Contains for a constant.
func has(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }

// after is what stands behind the first occurrence of key, without blanks; nil if the key is not there.
func after(b []byte, key string) []byte {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil
	}
	return bytes.TrimLeft(b[i+len(key):], " \t")
}

// field finds key at the start of a word (so that "task_id=" is not found in "first_task_id=").
func field(b []byte, key string) []byte {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(key))
		if i < 0 {
			return nil
		}
		i += from
		if i == 0 || !wordByte(b[i-1]) {
			return bytes.TrimLeft(b[i+len(key):], " \t")
		}
		from = i + 1
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// number reads a decimal or 0x number at the start of b.
func number(b []byte) (uint64, []byte, bool) {
	i := 0
	if len(b) > 2 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		for i = 2; i < len(b) && i < 18 && hexDigit(b[i]); i++ {
		}
		n, err := strconv.ParseUint(string(b[2:i]), 16, 64)
		return n, b[i:], err == nil
	}
	for i < len(b) && i < 20 && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	n, err := strconv.ParseUint(string(b[:i]), 10, 64)
	return n, b[i:], err == nil
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// intField reads "key123" with any of the keys; nil if none is there or it holds no number.
func intField(b []byte, keys ...string) *int {
	for _, k := range keys {
		if v := field(b, k); v != nil {
			if n, _, ok := number(v); ok && n <= 1<<40 {
				i := int(n)
				return &i
			}
		}
	}
	return nil
}

// hexField reads "key: 0x12"; false if it is not there.
func hexField(b []byte, key string) (uint64, bool) {
	v := after(b, key)
	if v == nil {
		return 0, false
	}
	n, _, ok := number(v)
	return n, ok
}

// list reads comma-separated numbers at the start of b.
func list(b []byte) (vals []uint64, hex bool) {
	for len(vals) < 4096 {
		b = bytes.TrimLeft(b, " \t")
		n, rest, ok := number(b)
		if !ok {
			return vals, hex
		}
		hex = hex || len(b) > 1 && b[0] == '0' && b[1] == 'x'
		vals = append(vals, n)
		rest = bytes.TrimLeft(rest, " \t")
		if len(rest) == 0 || rest[0] != ',' {
			return vals, hex
		}
		b = rest[1:]
	}
	return vals, hex
}

// word reads up to a comma, blank, bracket or the end, and drops a final full stop.
func word(b []byte) string {
	i := 0
	for i < len(b) && b[i] != ',' && b[i] != ' ' && b[i] != '\t' && b[i] != ']' && b[i] != '[' && b[i] != ';' {
		i++
	}
	return strings.TrimRight(string(b[:i]), ".")
}

// excerpt makes a line fit for evidence.
func excerpt(b []byte) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), 400)]), "?")
	s = strings.Map(func(r rune) rune {
		if r < 32 || r == 127 {
			return ' '
		}
		return r
	}, s)
	if len(b) > 400 {
		s += "..."
	}
	return s
}
