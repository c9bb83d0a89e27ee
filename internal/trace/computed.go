package trace

import "slices"

// computed is a column whose values are worked out when they are asked for. Metrics of a million kernels that nobody looks at
// cost no memory then.
type computed struct {
	rows   int
	text   func(row int) string
	number func(row int) int64
	float  func(row int) float64
}

// ComputedText, ComputedInt and ComputedFloat make columns of so many rows, whose values of gives: "", NoInt and NaN for none.
// of must give the same at any time, in any goroutine.
func ComputedText(name string, rows int, of func(row int) string) SheetColumn {
	return SheetColumn{Name: name, Type: ColumnText, computed: &computed{rows: rows, text: of}}
}

func ComputedInt(name string, rows int, of func(row int) int64) SheetColumn {
	return SheetColumn{Name: name, Type: ColumnInt, computed: &computed{rows: rows, number: of}}
}

func ComputedFloat(name string, rows int, of func(row int) float64) SheetColumn {
	return SheetColumn{Name: name, Type: ColumnFloat, computed: &computed{rows: rows, float: of}}
}

// TextAt, IntAt and FloatAt are the value of row i of a column of that type.
func (c *SheetColumn) TextAt(i int) string {
	if c.computed != nil {
		return c.computed.text(i)
	}
	return c.Text[i]
}

func (c *SheetColumn) IntAt(i int) int64 {
	if c.computed != nil {
		return c.computed.number(i)
	}
	return c.Int[i]
}

func (c *SheetColumn) FloatAt(i int) float64 {
	if c.computed != nil {
		return c.computed.float(i)
	}
	return c.Float[i]
}

// Own makes a computed column one that holds its values, so that they can be changed and added to.
func (c *SheetColumn) Own() {
	of := c.computed
	if of == nil {
		return
	}
	c.computed = nil
	switch c.Type {
	case ColumnText:
		c.Text = make([]string, of.rows)
		for i := range c.Text {
			c.Text[i] = of.text(i)
		}
	case ColumnInt:
		c.Int = make([]int64, of.rows)
		for i := range c.Int {
			c.Int[i] = of.number(i)
		}
	default:
		c.Float = make([]float64, of.rows)
		for i := range c.Float {
			c.Float[i] = of.float(i)
		}
	}
}

// Clone is a column with values of its own. One that is computed is shared: nobody changes it.
func (c *SheetColumn) Clone() SheetColumn {
	n := *c
	n.Text, n.Int, n.Float = slices.Clone(c.Text), slices.Clone(c.Int), slices.Clone(c.Float)
	return n
}

// join puts the rows of o, a column of the same type, behind those of c. The result is computed when one of them is.
func (c *SheetColumn) join(rows int, o *SheetColumn, more int) {
	if c.computed == nil && o.computed == nil {
		c.Text, c.Int, c.Float = append(c.Text, o.Text...), append(c.Int, o.Int...), append(c.Float, o.Float...)
		return
	}
	first, second := *c, *o
	*c = SheetColumn{Name: c.Name, Type: c.Type, computed: &computed{
		rows: rows + more,
		text: func(i int) string {
			if i < rows {
				return first.TextAt(i)
			}
			return second.TextAt(i - rows)
		},
		number: func(i int) int64 {
			if i < rows {
				return first.IntAt(i)
			}
			return second.IntAt(i - rows)
		},
		float: func(i int) float64 {
			if i < rows {
				return first.FloatAt(i)
			}
			return second.FloatAt(i - rows)
		},
	}}
}
