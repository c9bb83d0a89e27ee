package profcsv

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"npu/internal/plaintext"
	"npu/internal/trace/ascend"
)

// table reads the rows of a file by the names of its columns.
type table struct {
	csv    *csv.Reader
	column map[string]int
	header []string
	row    []string

	in   *bufio.Reader // of csv, which has no buffer of its own
	src  *reader
	rest bool // the file ends within the last row
}

// mostColumns is far more than the widest table has.
const mostColumns = 4096

// openTable reads the header.
func openTable(ctx context.Context, in io.Reader) (*table, error) {
	src := &reader{ctx: ctx, Reader: in}
	b := bufio.NewReaderSize(src, 1<<16)
	head, _ := b.Peek(1 << 15)
	if decoded := plaintext.Decoded(head, b); decoded != nil { // lines that end in CR
		b = bufio.NewReaderSize(decoded, 1<<16)
	}
	t := &table{csv: csv.NewReader(b), in: b, src: src, column: map[string]int{}}
	t.csv.Comma = delimiter(b)
	t.csv.LazyQuotes, t.csv.FieldsPerRecord, t.csv.ReuseRecord = true, -1, true
	columns, err := t.csv.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	if len(columns) > mostColumns {
		return nil, fmt.Errorf("its header has %d columns, expected at most %d", len(columns), mostColumns)
	}
	for i, name := range columns {
		name = title(name)
		t.header = append(t.header, name)
		if _, ok := t.column[plain(name)]; !ok {
			t.column[plain(name)] = i
		}
	}
	return t, nil
}

// delimiter is what stands between the cells of the first line: a comma, or what spreadsheets made of it.
func delimiter(b *bufio.Reader) rune {
	head, _ := b.Peek(1 << 15)
	line, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n\ufeff"), "\n")
	switch {
	case strings.Contains(line, ","):
	case strings.Contains(line, "\t"):
		return '\t'
	case strings.Contains(line, ";"):
		return ';'
	}
	return ','
}

// next moves to the next row; false at the end. Where tables were joined, the header comes again: that is no row.
func (t *table) next() (bool, error) {
	row, err := t.csv.Read()
	for err == nil && t.isHeader(row) {
		row, err = t.csv.Read()
	}
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		line, _ := t.csv.FieldPos(0)
		return false, fmt.Errorf("after line %d: %w", line, err)
	}
	// Exporters end each line. A last row without one was cut, and cells that it still has may be cut as well.
	if _, end := t.in.Peek(1); errors.Is(end, io.EOF) && t.src.last != '\n' && t.src.last != '\r' {
		if t.rest = len(row) < len(t.header); t.rest {
			return false, nil
		}
	}
	t.row = row
	return true, nil
}

func (t *table) isHeader(row []string) bool {
	return len(row) > 1 && slices.EqualFunc(row, t.header, func(cell, name string) bool { return cell == name || title(cell) == name })
}

// title is a cell of the header without what stands around it.
func title(s string) string { return strings.Trim(strings.TrimPrefix(s, "\ufeff"), " \t\r\"") }

// plain is a name without what versions of exporters differ in: capitals, blanks and underscores.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name))
}

// find is the column with the first of names that there is; -1 for none.
func (t *table) find(names ...string) int {
	for _, n := range names {
		if i, ok := t.column[plain(n)]; ok {
			return i
		}
	}
	return -1
}

// clock is a column of times with its unit in nanoseconds.
type clock struct {
	at   int
	unit int64
}

// findTime is as find for times. Versions that write no unit mean microseconds.
func (t *table) findTime(names ...string) clock {
	for _, n := range names {
		for _, u := range []struct {
			suffix string
			ns     int64
		}{{"(us)", 1000}, {"", 1000}, {"(ns)", 1}, {"(ms)", 1_000_000}} {
			if i, ok := t.column[plain(n+u.suffix)]; ok {
				return clock{i, u.ns}
			}
		}
	}
	return clock{-1, 1000}
}

// time is the cell of a clock in nanoseconds, cut off below; ok is false when it holds none.
func (t *table) time(c clock) (int64, bool) {
	s := t.cell(c.at)
	if s == "" {
		return 0, false
	}
	return ascend.Nanos(s, c.unit)
}

// length is as time for durations, which are rounded: exporters leave the noise of floats in them.
func (t *table) length(c clock) (int64, bool) {
	s := t.cell(c.at)
	if s == "" {
		return 0, false
	}
	return exact(s, c.unit)
}

// cell is the value of a column. Exporters put blanks and tabs around values, and N/A for none.
func (t *table) cell(i int) string {
	if i < 0 || i >= len(t.row) {
		return ""
	}
	s := strings.Trim(t.row[i], " \t\r\"")
	if s == "N/A" || s == "NA" {
		return ""
	}
	return s
}

// rounded is a column of microseconds as nanoseconds, rounded: sums hold the noise of the exporter's floats. ok is false when it
// holds none.
func (t *table) rounded(i int) (int64, bool) {
	ps, ok := ascend.Nanos(t.cell(i), 1_000_000)
	if ps < 0 {
		return (ps - 500) / 1000, ok
	}
	return (ps + 500) / 1000, ok
}

// whole is a column of numbers without a fraction, 0 when it holds none.
func (t *table) whole(i int) int64 {
	v, ok := ascend.Nanos(t.cell(i), 1)
	if !ok {
		return 0
	}
	return v
}

type reader struct {
	ctx context.Context
	io.Reader
	last byte // that was read
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.last = p[n-1]
	}
	return n, err
}
