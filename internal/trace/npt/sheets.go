package npt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"npu/internal/trace"
)

// A chunk of a sheet holds up to chunkRows of its rows, column after column, behind its name and those of its columns.
// Whole numbers are zigzag varints, floats their 8 bytes, texts a length and bytes.

// maxColumns is how many columns a sheet has at most.
const maxColumns = 4096

// sheet writes the rows of s. One whose rows do not fit into chunks of the format is an error of the writer.
func (n *Writer) sheet(s *trace.Sheet) {
	for lo := 0; lo < s.Rows; lo += chunkRows {
		hi := min(lo+chunkRows, s.Rows)
		b := binary.AppendUvarint(appendString(n.columns.b[:0], s.Name), uint64(len(s.Columns)))
		for i := range s.Columns {
			b = append(appendString(b, s.Columns[i].Name), byte(s.Columns[i].Type))
		}
		for i := range s.Columns {
			b = appendColumn(b, &s.Columns[i], lo, hi)
		}
		n.columns.b = b
		if (len(b) > maxRaw || len(s.Columns) > maxColumns) && n.err == nil {
			n.err = fmt.Errorf("write capture: table %s has rows that are larger than the format holds", s.Name)
		}
		n.chunk(kindSheets, hi-lo)
	}
}

func appendColumn(b []byte, c *trace.SheetColumn, lo, hi int) []byte {
	for i := lo; i < hi; i++ {
		switch c.Type {
		case trace.ColumnText:
			b = appendString(b, c.TextAt(i))
		case trace.ColumnInt:
			b = binary.AppendUvarint(b, zigzag(c.IntAt(i)))
		default:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.FloatAt(i)))
		}
	}
	return b
}

// takeSheet reads a chunk of a sheet. Its memory stays below a small multiple of the payload: every value takes a byte.
func takeSheet(payload []byte, rows int) (*trace.Sheet, error) {
	c := cursor{b: payload}
	name := string(c.bytes())
	count := int(c.uvarint(maxColumns))
	var columns []trace.SheetColumn
	for i := 0; i < count && c.err == nil; i++ {
		col := trace.SheetColumn{Name: string(c.bytes())}
		if col.Type = trace.ColumnType(c.uvarint(uint64(trace.ColumnFloat))); c.err == nil {
			columns = append(columns, col)
		}
	}
	if c.err == nil && (len(columns) == 0 || !named(name)) {
		return nil, errors.New("a table without a name or columns")
	}
	for i := range columns {
		if c.err == nil && !named(columns[i].Name) {
			return nil, errors.New("a table has a column without a name")
		}
	}
	for i := range columns {
		takeColumn(&c, &columns[i], rows)
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	s := trace.NewSheet(name, columns...)
	s.Rows = rows
	return s, nil
}

// named says that a name is one that can be asked for.
func named(s string) bool {
	return s != "" && !strings.ContainsFunc(s, unicode.IsControl)
}

func takeColumn(c *cursor, col *trace.SheetColumn, rows int) {
	for i := 0; i < rows && c.err == nil; i++ {
		switch col.Type {
		case trace.ColumnText:
			col.Text = append(col.Text, string(c.bytes()))
		case trace.ColumnInt:
			col.Int = append(col.Int, c.varint())
		default:
			if len(c.b) < 8 {
				c.fail()
				return
			}
			col.Float = append(col.Float, math.Float64frombits(binary.LittleEndian.Uint64(c.b)))
			c.b = c.b[8:]
		}
	}
}
