package top

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"npu/internal/tui/cell"
)

// Select is which rows are shown, and how.
type Select struct {
	Filter Filter
	Sort   Sort
}

// Apply returns the frame with the rows that are selected, in their order.
func (s Select) Apply(f *Frame) *Frame {
	o := *f
	o.Devices = values(pickDevices(f.Devices, s.Filter, s.Sort))
	o.Processes.Rows = values(pickProcesses(f.Processes.Rows, s.Filter, s.Sort))
	o.Streams.Rows = values(pick(f.Streams.Rows, streamFields, s.Filter, s.Sort))
	o.Memory.Rows = values(pick(f.Memory.Rows, memoryFields, s.Filter, s.Sort))
	o.Operators.Rows = values(pick(f.Operators.Rows, operatorFields, s.Filter, s.Sort))
	return &o
}

func values[T any](rows []*T) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

// PrintTable writes a frame as aligned tables without colour or truncation: devices, processes, and whatever else is
// known. A dash is an unknown value; JSON says why.
func PrintTable(w io.Writer, f *Frame, now time.Time) error {
	var b strings.Builder
	b.WriteString(f.Time.UTC().Format(time.RFC3339))
	for _, s := range f.Sources {
		b.WriteString("  " + sourceLine(s, now))
	}
	b.WriteString("\n\n")
	table(&b, f.Devices, []textColumn[Device]{
		{"npu", false, func(d *Device) string { return strconv.Itoa(d.NPU) }},
		{"chip", false, func(d *Device) string { return exact(d.Chip) }},
		{"phy", false, func(d *Device) string { return exact(d.Phy) }},
		{"name", true, func(d *Device) string { return word(d.Name) }},
		{"health", true, func(d *Device) string { return word(d.Health) }},
		{"temp_c", false, func(d *Device) string { return exact(d.Temp) }},
		{"power_w", false, func(d *Device) string { return exact(d.Power) }},
		{"util", false, func(d *Device) string { return exact(d.Util) }},
		{"mem_used_mb", false, func(d *Device) string { return exact(d.Mem().Used) }},
		{"mem_total_mb", false, func(d *Device) string { return exact(d.Mem().Total) }},
		{"bus", true, func(d *Device) string { return word(d.Bus.S) }},
	})
	if f.Processes.Why != "" {
		fmt.Fprintf(&b, "\nno processes: %s\n", f.Processes.Why)
	} else if len(f.Processes.Rows) == 0 {
		b.WriteString("\nno process uses a device\n")
	} else {
		b.WriteByte('\n')
		table(&b, f.Processes.Rows, []textColumn[Process]{
			{"npu", false, func(p *Process) string { return strconv.Itoa(p.NPU) }},
			{"chip", false, func(p *Process) string { return exact(p.Chip) }},
			{"pid", false, func(p *Process) string { return strconv.Itoa(p.PID) }},
			{"user", true, func(p *Process) string { return word(p.User.S) }},
			{"mem_mb", false, func(p *Process) string { return exact(p.Mem) }},
			{"cpu", false, func(p *Process) string { return rounded(p.CPU, 1) }},
			{"age_s", false, func(p *Process) string { return rounded(p.Age, 0) }},
			{"command", true, func(p *Process) string { return word(commandOf(p)) }},
		})
	}
	if len(f.Streams.Rows) > 0 {
		b.WriteByte('\n')
		table(&b, f.Streams.Rows, fieldColumns(streamFields))
	}
	if len(f.Operators.Rows) > 0 {
		b.WriteByte('\n')
		table(&b, f.Operators.Rows, fieldColumns(operatorFields))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sourceLine says in one clause where the figures come from and how they fare.
func sourceLine(s Status, now time.Time) string {
	out := s.Name
	if s.Version != "" {
		out += " " + s.Version
	}
	if !s.At.IsZero() {
		out += fmt.Sprintf(", %s old", seconds(now.Sub(s.At)))
	}
	if s.Says != "" {
		out += ": " + s.Says
	}
	return out
}

// commandOf is the best that is known of what a process is.
func commandOf(p *Process) string {
	if p.Command.S != "" {
		return p.Command.S
	}
	return p.Name
}

type textColumn[T any] struct {
	title string
	left  bool
	text  func(*T) string
}

// fieldColumns shows every field of a row.
func fieldColumns[T any](fields []field[T]) []textColumn[T] {
	var out []textColumn[T]
	for _, f := range fields {
		_, left := f.ref(new(T)).(*string)
		out = append(out, textColumn[T]{f.key, left, func(r *T) string {
			v, _ := plainValue(f.ref(r))
			if v == nil {
				return "-"
			}
			return word(fmt.Sprint(v))
		}})
	}
	return out
}

func table[T any](b *strings.Builder, rows []T, cols []textColumn[T]) {
	lines := make([][]string, len(rows)+1)
	widths := make([]int, len(cols))
	for c, col := range cols {
		for i := range lines {
			s := col.title
			if i > 0 {
				s = clean(col.text(&rows[i-1]))
			}
			lines[i] = append(lines[i], s)
			widths[c] = max(widths[c], cell.Width(s))
		}
	}
	for _, l := range lines {
		for c, s := range l {
			pad := strings.Repeat(" ", widths[c]-cell.Width(s))
			switch last := c == len(cols)-1; {
			case last && cols[c].left:
				b.WriteString(s)
			case last:
				b.WriteString(pad + s)
			case cols[c].left:
				b.WriteString(s + pad + "  ")
			default:
				b.WriteString(pad + s + "  ")
			}
		}
		b.WriteByte('\n')
	}
}

// clean keeps a name from playing with the terminal or the table.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

func word(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func exact(v Value) string { return rounded(v, -1) }

func rounded(v Value, digits int) string {
	if !v.Known {
		return "-"
	}
	return strconv.FormatFloat(v.N, 'f', digits, 64)
}

func seconds(d time.Duration) string {
	switch {
	case d < 0:
		d = 0
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// CSV writes the rows of one panel of frames: one header, then a row each, with the time in front. Unknown
// values are empty.
type CSV struct {
	w      *csv.Writer
	panel  int
	header bool
}

// NewCSV writes the rows of a panel to w.
func NewCSV(w io.Writer, panel int) *CSV { return &CSV{w: csv.NewWriter(w), panel: panel} }

// Write adds a frame.
func (c *CSV) Write(f *Frame) error {
	at := f.Time.UTC().Format(time.RFC3339Nano)
	switch c.panel {
	case PanelProcesses:
		csvRows(c, at, f.Processes.Rows, processFields)
	case PanelStreams:
		csvRows(c, at, f.Streams.Rows, streamFields)
	case PanelMemory:
		csvRows(c, at, f.Memory.Rows, memoryFields)
	case PanelOperators:
		csvRows(c, at, f.Operators.Rows, operatorFields)
	default:
		csvRows(c, at, f.Devices, deviceFields)
	}
	c.w.Flush()
	return c.w.Error()
}

func csvRows[T any](c *CSV, at string, rows []T, fields []field[T]) {
	if !c.header {
		c.header = true
		head := []string{"time"}
		for _, f := range fields {
			switch f.ref(new(T)).(type) {
			case *Pair:
				head = append(head, f.key+"_used", f.key+"_total")
			case *[]Engine, *[]Fact:
			default:
				head = append(head, f.key)
			}
		}
		_ = c.w.Write(head) // Flush's error counts
	}
	for i := range rows {
		line := []string{at}
		for _, f := range fields {
			switch r := f.ref(&rows[i]).(type) {
			case *Pair:
				line = append(line, csvText(&r.Used), csvText(&r.Total))
			case *[]Engine, *[]Fact:
			default:
				line = append(line, csvText(r))
			}
		}
		_ = c.w.Write(line)
	}
}

func csvText(ref any) string {
	v, _ := plainValue(ref)
	switch n := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
