// Package query answers SQL over a trace: an SQLite database in memory with the tables tasks, calls, counters, streams and
// steps, and those that the source holds beside them. Only tables that the query names are filled.
package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/problem"
	"npu/internal/trace"
)

// Result gives the columns once, then each row, whose values are nil, int64, float64 or string.
type Result interface {
	Columns(names []string) error
	Row(values []any) error
}

// table is a table with what fills it.
type table struct {
	name, columns string
	fill          func(t *trace.Trace, row func(values ...any) error) error
}

// Schema describes the tables, for help texts.
func Schema() []string {
	var out []string
	for _, t := range tables() {
		out = append(out, t.name+"("+t.columns+")")
	}
	return out
}

// told names the tables, and the columns of those that sql names.
func told(tables []table, sql string) string {
	var names, columns []string
	for _, t := range tables {
		name := strings.Trim(t.name, `"`)
		names = append(names, name)
		if mentions(sql, name) {
			columns = append(columns, strings.ReplaceAll(t.name+"("+t.columns+")", `"`, ""))
		}
	}
	out := "tables: " + strings.Join(names, ", ")
	if len(columns) > 0 {
		out += "; columns: " + strings.Join(columns, ", ")
	}
	return out
}

// Run answers one statement. An error in the statement is a problem.Usage.
func Run(ctx context.Context, t *trace.Trace, sql string, out Result) error {
	db, err := sqlite3.OpenFlags(":memory:", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer db.Close()
	db.SetInterrupt(ctx)
	db.Limit(sqlite3.LIMIT_ATTACHED, 0) // a query opens no files
	all := append(tables(), sheets(t)...)
	for _, tb := range all {
		if err := tb.make(db, t, mentions(sql, strings.Trim(tb.name, `"`))); err != nil {
			return fmt.Errorf("query: table %s: %w", tb.name, err)
		}
	}
	if err := errors.Join(db.Exec("PRAGMA query_only=1"), db.Exec("PRAGMA trusted_schema=0")); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	s, tail, err := db.Prepare(sql)
	switch {
	case err != nil:
		return problem.Usagef("query: %w; %s", err, told(all, sql))
	case s == nil:
		return problem.Usagef("query: no statement")
	}
	defer s.Close()
	if strings.Trim(tail, " \t\r\n;") != "" {
		return problem.Usagef("query: more than one statement: %.40q is left over", tail)
	}
	return results(ctx, s, out)
}

func results(ctx context.Context, s *sqlite3.Stmt, out Result) error {
	names := make([]string, s.ColumnCount())
	for i := range names {
		names[i] = s.ColumnName(i)
	}
	if err := out.Columns(names); err != nil {
		return err
	}
	values := make([]any, len(names))
	for s.Step() {
		for i := range values {
			switch s.ColumnType(i) {
			case sqlite3.INTEGER:
				values[i] = s.ColumnInt64(i)
			case sqlite3.FLOAT:
				values[i] = s.ColumnFloat(i)
			case sqlite3.NULL:
				values[i] = nil
			default:
				values[i] = s.ColumnText(i)
			}
		}
		if err := out.Row(values); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return problem.Usagef("query: %w", err)
	}
	return nil
}

// mentions says whether sql has the word name.
func mentions(sql, name string) bool {
	return strings.Contains(strings.ToLower(sql), name)
}

func (tb *table) make(db *sqlite3.Conn, t *trace.Trace, fill bool) error {
	if err := db.Exec("CREATE TABLE " + tb.name + "(" + tb.columns + ")"); err != nil {
		return err
	}
	if !fill {
		return nil
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", strings.Count(tb.columns, ",")+1), ",")
	s, _, err := db.Prepare("INSERT INTO " + tb.name + " VALUES(" + marks + ")")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := db.Exec("BEGIN"); err != nil {
		return err
	}
	err = tb.fill(t, func(values ...any) error {
		for i, v := range values {
			if err := bind(s, i+1, v); err != nil {
				return err
			}
		}
		s.Step()
		return s.Reset()
	})
	return errors.Join(err, db.Exec("COMMIT"))
}

func bind(s *sqlite3.Stmt, i int, v any) error {
	switch v := v.(type) {
	case int64:
		return s.BindInt64(i, v)
	case float64:
		return s.BindFloat(i, v)
	case string:
		return s.BindText(i, v)
	}
	return s.BindNull(i)
}

// Format writes a value as text.
func Format(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	}
	return ""
}
