package profcsv

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"npu/internal/trace/ascend"
)

// table reads the rows of a file by the names of its columns.
type table struct {
	csv    *csv.Reader
	column map[string]int
	header []string
	row    []string
}

// openTable reads the header.
func openTable(ctx context.Context, in io.Reader) (*table, error) {
	t := &table{csv: csv.NewReader(&reader{ctx, in}), column: map[string]int{}}
	t.csv.LazyQuotes, t.csv.FieldsPerRecord, t.csv.ReuseRecord = true, -1, true
	head, err := t.csv.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		t.header = append(t.header, name)
		if _, ok := t.column[name]; !ok {
			t.column[name] = i
		}
	}
	return t, nil
}

// next moves to the next row; false at the end.
func (t *table) next() (bool, error) {
	row, err := t.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		line, _ := t.csv.FieldPos(0)
		return false, fmt.Errorf("after line %d: %w", line, err)
	}
	t.row = row
	return true, nil
}

// find is the column with the first of names that there is; -1 for none.
func (t *table) find(names ...string) int {
	for _, n := range names {
		if i, ok := t.column[n]; ok {
			return i
		}
	}
	return -1
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

// micros is a column of microseconds as nanoseconds; ok is false when it holds none.
func (t *table) micros(i int) (int64, bool) {
	s := t.cell(i)
	if s == "" {
		return 0, false
	}
	return ascend.Nanos(s, 1000)
}

// rounded is as micros, for sums with the noise of the exporter's floats.
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
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
