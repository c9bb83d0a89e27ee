package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/query"
)

type traceQueryOptions struct {
	*app
	traceInput
	format string
	sql    string
	files  []string
}

func newTraceQueryCmd(a *app) *cobra.Command {
	o := &traceQueryOptions{app: a}
	c := &cobra.Command{
		Use:   "query SQL FILE|DIR...",
		Short: "Answer SQL over a trace",
		Long: `The trace becomes an SQLite database in memory. Tables:
  ` + strings.Join(query.Schema(), "\n  "),
		Example: `  npu trace query "select op_type, count(*), sum(duration_ns) from tasks group by 1 order by 3 desc" run.npt
  npu trace query --format csv "select * from calls where duration_ns > 1e6" PROF_000001_20260716124543725_00195781ONMNNAML`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.sql, o.files = args[0], args[1:]
			return runTraceQuery(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.format, "format", "table", "table, csv or json")
	return c
}

func runTraceQuery(ctx context.Context, o *traceQueryOptions) error {
	return o.read(ctx, o.files, func(t *trace.Trace) error {
		switch o.format {
		case "table":
			var rows queryRows
			if err := query.Run(ctx, t, o.sql, &rows); err != nil {
				return err
			}
			return o.table(strings.Join(rows.names, "\t"), func(row func(cells ...any)) {
				for _, r := range rows.rows {
					row(r...)
				}
			})
		case "csv":
			w := csv.NewWriter(o.out)
			if err := query.Run(ctx, t, o.sql, &queryCSV{w}); err != nil {
				return err
			}
			w.Flush()
			return w.Error()
		case "json":
			j := &queryJSON{out: o.out}
			if err := query.Run(ctx, t, o.sql, j); err != nil {
				return err
			}
			return j.end()
		}
		return problem.Usagef("--format %q: expected table, csv or json", o.format)
	})
}

// queryRows keeps the rows, whose widths a table needs to know first.
type queryRows struct {
	names []string
	rows  [][]any
}

func (q *queryRows) Columns(names []string) error { q.names = names; return nil }

func (q *queryRows) Row(values []any) error {
	row := make([]any, len(values))
	for i, v := range values {
		row[i] = query.Format(v)
	}
	q.rows = append(q.rows, row)
	return nil
}

type queryCSV struct{ *csv.Writer }

func (q *queryCSV) Columns(names []string) error { return q.Write(names) }

func (q *queryCSV) Row(values []any) error {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = query.Format(v)
	}
	return q.Write(row)
}

// queryJSON writes a list with an object a row, keys in the order of the columns.
type queryJSON struct {
	out   io.Writer
	names []string
	some  bool
}

func (q *queryJSON) Columns(names []string) error { q.names = names; return nil }

func (q *queryJSON) Row(values []any) error {
	b := []byte("[\n")
	if q.some {
		b = []byte(",\n")
	}
	q.some = true
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		key, err := json.Marshal(q.names[i])
		if err != nil {
			return err
		}
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b = append(append(append(b, key...), ": "...), value...)
	}
	_, err := q.out.Write(append(b, '}'))
	return err
}

func (q *queryJSON) end() error {
	end := "[]\n"
	if q.some {
		end = "\n]\n"
	}
	_, err := io.WriteString(q.out, end)
	return err
}
