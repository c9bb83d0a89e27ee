package kprint

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// format is C's printf over argument slots of 8 bytes: slots holds the slots (the first one is the format's offset),
// all the whole value for strings, whose offset counts from their own slot. What is malformed is printed as it is.
func format(f, slots, all []byte) string {
	var out strings.Builder
	slot := 8
	next := func() (uint64, int, bool) {
		if slot+8 > len(slots) {
			return 0, 0, false
		}
		at := slot
		slot += 8
		return binary.LittleEndian.Uint64(slots[at:]), at, true
	}
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out.WriteByte(f[i])
			continue
		}
		j := i + 1
		for j < len(f) && strings.IndexByte("-+ #0123456789.", f[j]) >= 0 {
			j++
		}
		spec := string(f[i+1 : j])
		for j < len(f) && strings.IndexByte("hlLqjzt", f[j]) >= 0 {
			j++
		}
		if j >= len(f) {
			out.Write(f[i:])
			break
		}
		verb := f[j]
		i = j
		if verb == '%' {
			out.WriteByte('%')
			continue
		}
		if len(spec) > 16 || tooWide(spec) {
			spec = ""
		}
		v, at, ok := next()
		if !ok {
			out.WriteString("<no argument>")
			continue
		}
		switch verb {
		case 'd', 'i':
			fmt.Fprintf(&out, "%"+spec+"d", int64(v))
		case 'u':
			fmt.Fprintf(&out, "%"+spec+"d", v)
		case 'x', 'X', 'o':
			fmt.Fprintf(&out, "%"+spec+string(verb), v)
		case 'p':
			fmt.Fprintf(&out, "0x%x", v)
		case 'c':
			fmt.Fprintf(&out, "%c", rune(byte(v)))
		case 'f', 'F', 'e', 'E', 'g', 'G':
			fmt.Fprintf(&out, "%"+spec+string(verb), floatSlot(v))
		case 's':
			if s := uint64(at) + v; v < uint64(len(all)) && s < uint64(len(all)) {
				fmt.Fprintf(&out, "%"+spec+"s", cstring(all[s:]))
			} else {
				out.WriteString("<string outside the record>")
			}
		default:
			fmt.Fprintf(&out, "<%%%c 0x%x>", verb, v)
		}
	}
	return strings.ToValidUTF8(out.String(), "?")
}

// tooWide refuses widths that would print pages of blanks.
func tooWide(spec string) bool {
	n := 0
	for _, c := range spec {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
			if n > 1000 {
				return true
			}
		} else {
			n = 0
		}
	}
	return false
}

// floatSlot: a slot whose upper half is set is a double, else a float.
func floatSlot(v uint64) float64 {
	if v>>32 != 0 {
		return math.Float64frombits(v)
	}
	return float64(math.Float32frombits(uint32(v)))
}
