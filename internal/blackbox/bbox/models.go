// Package bbox decodes what the black box of a device leaves behind: the history of exceptions, the list of devices,
// the reserved memory (rdr head, areas of the modules), boot and run history (HDR), chip registers (CDR), the
// kernel's log ring. The binary areas are decoded by a table of fields for each chip family. See
// docs/formats/blackbox.md.
package bbox

import (
	_ "embed"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables/models.csv
var modelsCSV string

// row is one line of the field table.
type row struct {
	field, kind, where string
	off, size          uint64
}

// models by chip and name; chips are "910B/A3" and "950".
var models = sync.OnceValue(func() map[string]map[string][]row {
	out := map[string]map[string][]row{"910B/A3": {}, "950": {}}
	r := csv.NewReader(strings.NewReader(modelsCSV))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return out
	}
	for _, f := range all[1:] {
		if len(f) < 6 {
			continue
		}
		x := row{field: f[2], kind: f[3], where: f[4], off: expr(f[4]), size: expr(f[5])}
		for _, chip := range strings.Split(f[0], "+") {
			if m, ok := out[chip]; ok {
				m[f[1]] = append(m[f[1]], x)
			}
		}
	}
	return out
})

// expr reads a number or "a - b".
func expr(s string) uint64 {
	a, b, minus := strings.Cut(s, " - ")
	n, err := strconv.ParseUint(strings.TrimSpace(a), 0, 64)
	if err != nil {
		return 0
	}
	if minus {
		m, err := strconv.ParseUint(strings.TrimSpace(b), 0, 64)
		if err == nil && m <= n {
			n -= m
		}
	}
	return n
}

// alias repairs two names that the table's sub-table rows abbreviate.
func alias(s string) string {
	switch s {
	case "CDR_FL":
		return "CDR_FULL"
	case "CDR_SRAM_MIN":
		return "CDR_MIN"
	}
	return s
}

// Fact is one decoded field.
type Fact struct {
	Area   string // path of models: HDR/HDR_STATUS
	Name   string
	Value  string
	Offset int64
}

// decoder walks a model over an area of memory.
type decoder struct {
	chip  string
	facts []Fact
	depth int
	left  int // budget of steps: tables may nest, never loop for long
}

const maxFacts = 20000

// decode applies a model to b, which lies at base in the file.
func (d *decoder) decode(model, path string, b []byte, base int64) {
	d.left--
	if d.depth > 8 || d.left < 0 {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	rows := models()[d.chip][alias(model)]
	if path == "" {
		path = model
	}
	var area []byte
	var areaAt int64
	var count, size uint64
	for i := 0; i < len(rows); i++ {
		x := rows[i]
		v, ok := part(b, x.off, x.size)
		switch x.kind {
		case "check-at":
			if i+1 < len(rows) && rows[i+1].kind == "expect" {
				if !ok || number(v)&mask(x.size) != rows[i+1].off&mask(x.size) {
					return // the area is not in use
				}
				i++
			}
		case "uint":
			if ok {
				d.fact(path, x.field, fmt.Sprintf("0x%x", number(v)), base+int64(x.off))
			}
		case "enum-at":
			i = d.enum(path, x, rows, i, v, ok, base)
		case "reg32[]":
			if ok || len(v) > 0 {
				d.registers(path, x, v, base)
			}
		case "hexbytes":
			if ok {
				d.fact(path, x.field, hexWords(v), base+int64(x.off))
			}
		case "text", "chars":
			if s := printable(v); s != "" {
				d.fact(path, x.field, s, base+int64(x.off))
			}
		case "sub-area", "blocks-at":
			area, areaAt = v, base+int64(min(x.off, uint64(len(b))))
		case "block-count-size":
			count, size = x.off, x.size
		case "sub-table":
			d.decode(x.where, path+"/"+alias(x.where), area, areaAt)
		case "block-table":
			for k := uint64(0); k < count && size > 0 && (k+1)*size <= uint64(len(area)); k++ {
				blk := area[k*size : (k+1)*size]
				if zero(blk) {
					continue
				}
				d.decode(x.where, fmt.Sprintf("%s/block %d", path, k), blk, areaAt+int64(k*size))
			}
		}
	}
}

// enum reads a value and the case rows behind it.
func (d *decoder) enum(path string, x row, rows []row, i int, v []byte, ok bool, base int64) int {
	n := number(v)
	name := ""
	for i+1 < len(rows) && (rows[i+1].kind == "case" || rows[i+1].kind == "default") {
		i++
		f := rows[i].field[strings.LastIndexByte(rows[i].field, '.')+1:]
		if rows[i].kind == "case" && rows[i].off == n || rows[i].kind == "default" && name == "" {
			name = f
		}
	}
	if ok {
		d.fact(path, x.field, fmt.Sprintf("0x%x %s", n, name), base+int64(x.off))
	}
	return i
}

func (d *decoder) fact(path, name, value string, at int64) {
	if len(d.facts) < maxFacts {
		d.facts = append(d.facts, Fact{path, name, value, at})
	}
}

// registers lists the words of a register block that are not zero.
func (d *decoder) registers(path string, x row, v []byte, base int64) {
	n := 0
	var shown []string
	for k := 0; k+4 <= len(v); k += 4 {
		if w := binary.LittleEndian.Uint32(v[k:]); w != 0 {
			n++
			if len(shown) < 12 {
				shown = append(shown, fmt.Sprintf("+0x%x=0x%x", k, w))
			}
		}
	}
	if n == 0 {
		return
	}
	s := fmt.Sprintf("%d of %d words set: %s", n, len(v)/4, strings.Join(shown, " "))
	if n > len(shown) {
		s += " ..."
	}
	d.fact(path, x.field, s, base+int64(x.off))
}

// part cuts [off, off+size) out of b; what lies beyond is cut, and ok is false then.
func part(b []byte, off, size uint64) ([]byte, bool) {
	if off > uint64(len(b)) {
		return nil, false
	}
	b = b[off:]
	if size > uint64(len(b)) {
		return b, false
	}
	return b[:size], true
}

func number(b []byte) uint64 {
	var x [8]byte
	copy(x[:], b)
	return binary.LittleEndian.Uint64(x[:])
}

func mask(size uint64) uint64 {
	if size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*size) - 1
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// hexWords prints up to eight 64-bit words, or bytes.
func hexWords(b []byte) string {
	if len(b)%8 != 0 {
		return fmt.Sprintf("% x", b[:min(len(b), 32)])
	}
	var s []string
	for k := 0; k+8 <= len(b) && len(s) < 8; k += 8 {
		s = append(s, fmt.Sprintf("0x%x", binary.LittleEndian.Uint64(b[k:])))
	}
	return strings.Join(s, " ")
}

// printable is the text up to the first NUL that follows some; control characters become blanks.
func printable(b []byte) string {
	start := 0
	for start < len(b) && b[start] == 0 {
		start++
	}
	b = b[start:]
	for i, c := range b {
		if c == 0 || c == 0xff {
			b = b[:i]
			break
		}
	}
	s := strings.ToValidUTF8(string(b), "?")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < 32 && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, s))
}

// Text holds the long texts apart from the facts.
func (f Fact) Text() bool { return strings.ContainsRune(f.Value, '\n') }
