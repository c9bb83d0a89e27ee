package main

import (
	"encoding/csv"
	"fmt"
	"strings"
)

// section is one table of a report. Columns that end in _ns hold nanoseconds: a terminal shows them with a unit.
type section struct {
	name    string
	columns []string
	rows    [][]any
}

// formats of reports.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatCSV   = "csv"
	formatMD    = "md"
)

// printSections prints tables one below the other, those without rows not at all.
func (s *streams) printSections(list []section, format string) error {
	some := false
	for _, x := range list {
		if len(x.rows) == 0 {
			continue
		}
		if some {
			if _, err := fmt.Fprintln(s.out); err != nil {
				return err
			}
		}
		some = true
		var err error
		switch format {
		case formatCSV:
			err = s.sectionCSV(&x)
		case formatMD:
			err = s.sectionMD(&x)
		default:
			err = s.sectionTable(&x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *streams) sectionTable(x *section) error {
	columns := x.columns
	if s.outTTY {
		columns = make([]string, len(x.columns))
		for i, c := range x.columns {
			columns[i] = strings.TrimSuffix(c, "_ns")
		}
	}
	return s.table(strings.Join(columns, "\t"), func(row func(cells ...any)) {
		for _, r := range x.rows {
			cells := make([]any, len(r))
			for i, v := range r {
				cells[i] = cell(v)
				if ns, ok := v.(int64); ok && strings.HasSuffix(x.columns[i], "_ns") {
					cells[i] = s.ns(ns)
				}
			}
			row(cells...)
		}
	})
}

// cell is a value as text. Floats keep six digits: more is noise.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return fmt.Sprintf("%.6g", v)
	}
	return fmt.Sprint(v)
}

func (s *streams) sectionCSV(x *section) error {
	w := csv.NewWriter(s.out)
	if err := w.Write(x.columns); err != nil {
		return err
	}
	for _, r := range x.rows {
		cells := make([]string, len(r))
		for i, v := range r {
			if v != nil {
				cells[i] = cell(v)
			}
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// sectionMD prints a table of Markdown under a heading.
func (s *streams) sectionMD(x *section) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n|", strings.ReplaceAll(x.name, "_", " "))
	for _, c := range x.columns {
		b.WriteString(" " + c + " |")
	}
	b.WriteString("\n|")
	for i := range x.columns {
		if len(x.rows) > 0 && number(x.rows[0][i]) {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteString("\n")
	escape := strings.NewReplacer("|", `\|`, "\n", " ", "\r", "", "`", "\\`", "<", "&lt;")
	for _, r := range x.rows {
		b.WriteString("|")
		for _, v := range r {
			b.WriteString(" " + escape.Replace(cell(v)) + " |")
		}
		b.WriteString("\n")
	}
	_, err := s.out.Write([]byte(b.String()))
	return err
}

func number(v any) bool {
	switch v.(type) {
	case int64, int, float64, uint16, uint32, nil:
		return true
	}
	return false
}
