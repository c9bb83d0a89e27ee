package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sheet is a table that a source holds beside its tasks: memory by operator, traffic by link, counters of the PMU by task.
// All columns have Rows values.
type Sheet struct {
	Name    string // a word that SQL takes as it is
	Columns []SheetColumn
	Rows    int
}

// ColumnType is what the values of a column are.
type ColumnType uint8

// Types of columns. Each has a value that stands for none: "", NoInt and NaN.
const (
	ColumnText ColumnType = iota
	ColumnInt
	ColumnFloat
)

// NoInt stands for no value in a column of whole numbers.
const NoInt = math.MinInt64

// SheetColumn is a column: the slice of its type holds the values, but for those that are computed. Units are in the name:
// size_bytes, start_ns.
type SheetColumn struct {
	Name     string
	Type     ColumnType
	Text     []string
	Int      []int64
	Float    []float64
	computed *computed
}

// TextColumn, IntColumn and FloatColumn make empty columns.
func TextColumn(name string) SheetColumn  { return SheetColumn{Name: name, Type: ColumnText} }
func IntColumn(name string) SheetColumn   { return SheetColumn{Name: name, Type: ColumnInt} }
func FloatColumn(name string) SheetColumn { return SheetColumn{Name: name, Type: ColumnFloat} }

// Value is the value of row i: nil for none, else a string, int64 or float64.
func (c *SheetColumn) Value(i int) any {
	switch c.Type {
	case ColumnInt:
		if v := c.IntAt(i); v != NoInt {
			return v
		}
	case ColumnFloat:
		if v := c.FloatAt(i); !math.IsNaN(v) {
			return v
		}
	default:
		if v := c.TextAt(i); v != "" {
			return v
		}
	}
	return nil
}

// Add appends v, an int64, float64 or string as the type of the column asks; anything else is none.
func (c *SheetColumn) Add(v any) {
	c.Own()
	switch c.Type {
	case ColumnInt:
		n, ok := v.(int64)
		if !ok {
			n = NoInt
		}
		c.Int = append(c.Int, n)
	case ColumnFloat:
		x, ok := v.(float64)
		if !ok {
			x = math.NaN()
		}
		c.Float = append(c.Float, x)
	default:
		s, _ := v.(string)
		c.Text = append(c.Text, s)
	}
}

// Take appends v as Add does, and changes the type of the column where v does not fit: whole numbers become floats, and numbers
// text. A column starts as one of whole numbers.
func (c *SheetColumn) Take(v any) {
	c.Own()
	switch v := v.(type) {
	case string:
		if v != "" && c.Type != ColumnText {
			c.widen(c.len())
		}
	case float64:
		if c.Type == ColumnInt {
			c.toFloat()
		}
		if c.Type == ColumnText {
			c.Add(fmt.Sprint(v))
			return
		}
	case int64:
		switch c.Type {
		case ColumnFloat:
			if v > 1<<53 || v < -1<<53 {
				c.widen(c.len())
				break
			}
			c.Add(float64(v))
			return
		}
		if c.Type == ColumnText {
			c.Add(fmt.Sprint(v))
			return
		}
	}
	c.Add(v)
}

// toFloat makes a column of floats of one of whole numbers; of text where a float would not keep them.
func (c *SheetColumn) toFloat() {
	out := make([]float64, len(c.Int))
	for i, v := range c.Int {
		switch {
		case v == NoInt:
			out[i] = math.NaN()
		case v > 1<<53 || v < -1<<53:
			c.widen(len(c.Int))
			return
		default:
			out[i] = float64(v)
		}
	}
	c.Type, c.Float, c.Int = ColumnFloat, out, nil
}

// some says whether the column holds a value at all.
func (c *SheetColumn) some(rows int) bool {
	for i := range rows {
		if c.Value(i) != nil {
			return true
		}
	}
	return false
}

// NewSheet makes an empty table. Names of columns that come twice get a number.
func NewSheet(name string, columns ...SheetColumn) *Sheet {
	s := &Sheet{Name: name, Columns: columns}
	seen := map[string]int{} // how often a name was given
	for i := range s.Columns {
		c := &s.Columns[i]
		for base := c.Name; seen[c.Name] > 0; c.Name = fmt.Sprintf("%s_%d", base, seen[base]) {
			seen[base]++
		}
		seen[c.Name]++
	}
	return s
}

// Add appends a row; values that are not given are none.
func (s *Sheet) Add(values ...any) {
	for i := range s.Columns {
		var v any
		if i < len(values) {
			v = values[i]
		}
		s.Columns[i].Add(v)
	}
	s.Rows++
}

// Column is the column of that name; nil when there is none.
func (s *Sheet) Column(name string) *SheetColumn {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return &s.Columns[i]
		}
	}
	return nil
}

// Trim drops the columns that hold no value.
func (s *Sheet) Trim() {
	kept := s.Columns[:0]
	for _, c := range s.Columns {
		if c.some(s.Rows) {
			kept = append(kept, c)
		}
	}
	s.Columns = kept
}

// Fixed sets column name to v in all rows, in front of the others when it is not there yet. Rows that have a value keep it.
func (s *Sheet) Fixed(c SheetColumn, v any) {
	at := s.Column(c.Name)
	if at == nil {
		for range s.Rows {
			c.Add(v)
		}
		s.Columns = append([]SheetColumn{c}, s.Columns...)
	}
}

// Append adds the rows of o: columns go by name, and what one of the two has not is none.
func (s *Sheet) Append(o *Sheet) {
	for i := range o.Columns {
		c := &o.Columns[i]
		to := s.Column(c.Name)
		if to == nil {
			n := SheetColumn{Name: c.Name, Type: c.Type}
			for range s.Rows {
				n.Add(nil)
			}
			s.Columns = append(s.Columns, n)
			to = s.Column(c.Name)
		}
		if to.Type == c.Type {
			to.join(s.Rows, c, o.Rows)
			continue
		}
		to.widen(s.Rows)
		for k := range o.Rows {
			v := c.Value(k)
			if c.Type != ColumnText && v != nil {
				v = fmt.Sprint(v)
			}
			to.Add(v)
		}
	}
	s.Rows += o.Rows
	for i := range s.Columns {
		for s.Columns[i].len() < s.Rows {
			s.Columns[i].Add(nil)
		}
	}
}

func (c *SheetColumn) len() int {
	if c.computed != nil {
		return c.computed.rows
	}
	return max(len(c.Text), len(c.Int), len(c.Float))
}

// widen makes a column of text of one whose types do not agree.
func (c *SheetColumn) widen(rows int) {
	text := make([]string, rows)
	for i := range rows {
		switch v := c.Value(i).(type) {
		case int64:
			text[i] = strconv.FormatInt(v, 10)
		case float64:
			text[i] = strconv.FormatFloat(v, 'f', -1, 64)
		case string:
			text[i] = v
		}
	}
	*c = SheetColumn{Name: c.Name, Type: ColumnText, Text: text}
}

// Sheet is the table of that name; nil when the source has none.
func (s *Source) Sheet(name string) *Sheet {
	for i := range s.Sheets {
		if s.Sheets[i].Name == name {
			return &s.Sheets[i]
		}
	}
	return nil
}

// AddSheet adds a table, or its rows to the table of the same name. Empty tables are left out.
func (s *Source) AddSheet(t *Sheet) {
	if t == nil || t.Rows == 0 || len(t.Columns) == 0 {
		return
	}
	if have := s.Sheet(t.Name); have != nil {
		have.Append(t)
		return
	}
	s.Sheets = append(s.Sheets, *t)
}

// Word makes a name that SQL takes without quotes of what exporters write over columns: "Total Allocated(MB)" becomes
// total_allocated_mb, "Ratio(%)" ratio_percent.
func Word(s string) string {
	var b strings.Builder
	last := byte('_')
	put := func(c byte) {
		if c != '_' || last != '_' {
			b.WriteByte(c)
			last = c
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			// A capital after a small letter starts a word: deviceId.
			if i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
				put('_')
			}
			put(c + 'a' - 'A')
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			put(c)
		case c == '%':
			put('_')
			for _, p := range []byte("percent") {
				put(p)
			}
		default:
			put('_')
		}
	}
	out := strings.Trim(b.String(), "_")
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = strings.TrimSuffix("c_"+out, "_")
	}
	return out
}
